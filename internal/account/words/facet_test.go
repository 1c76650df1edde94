// SPDX-License-Identifier: Apache-2.0

package words

import "testing"

func TestEveryFeatureIsAboutSomething(t *testing.T) {
	for name, want := range map[string]Facet{
		"constant":                        FacetConstant,
		"":                                FacetForm,
		"from:ann@example.org":            FacetSender,
		"from?:ann@example.org | to":      FacetSender,
		"name@example.org:ann":            FacetSender,
		"history:sender answered new":     FacetSender,
		"history?:sender answered new":    FacetSender,
		"history:answers the owner | to":  FacetThread,
		"history:thread by owner 0":       FacetThread,
		"place:reply | to alone":          FacetThread,
		"place:patch reply | cc":          FacetPatch,
		"patch version 2":                 FacetPatch,
		"shape:recipients 1 | to alone":   FacetAddressed,
		"shape:questions 4+ | to":         FacetQuestion,
		"shape:questions 0 | to":          FacetAbsent,
		"shape:trailers 0 | reply":        FacetAbsent,
		"shape:trailers 2 | reply":        FacetPatch,
		"shape:own lines 8+ | quoted 0":   FacetForm,
		"list:crew.example.org":           FacetList,
		"header:list-unsubscribe":         FacetList,
		"header:x-mailer":                 FacetForm,
		"subject:summer | party":          FacetSubject,
		"body:roof":                       FacetText,
		"opening:roof":                    FacetText,
		"signature:roof":                  FacetQuoted,
		"attachment:.pdf":                 FacetAttachment,
		"host:example.org":                FacetLinks,
		"no such prefix: but with a word": FacetForm,
	} {
		if got := FacetOf(name); got != want {
			t.Errorf("%q is about %v, want %v", name, got, want)
		}
	}
}
