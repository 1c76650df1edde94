// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
)

// reasonsOf are those for a message whose features weigh what weight says.
func reasonsOf(t *testing.T, raw string, h featurize.History, from filter.Correspondence, weight func(Facet) float64) Reasons {
	t.Helper()
	reader := newTest(t)
	x := reader.Freeze(reader.Read([]byte(raw)), h)
	var parts []filter.Contribution
	for n := range x.All() {
		if w := weight(FacetOf(n.Name)); w != 0 {
			parts = append(parts, filter.Contribution{Index: n.Index, Group: n.Group, Name: n.Name, Value: n.Value, Weight: w, Amount: w * n.Value})
		}
	}
	return ReasonsOf(x, parts, from, true)
}

// TestFactsOfListsAreReasonsOnListsOnly: a letter whose subject looks like that of a patch is
// no patch to the person who gets it.
func TestFactsOfListsAreReasonsOnListsOnly(t *testing.T) {
	patch := func(f Facet) float64 { return map[Facet]float64{FacetPatch: 5}[f] }
	for header, want := range map[string]bool{"": false, "List-Id: <dev.example.org>\r\n": true} {
		raw := fmt.Sprintf("From: Ann <ann@example.org>\r\nTo: %s\r\n%sIn-Reply-To: <a@b>\r\nSubject: Re: [PATCH] trousers\r\nMessage-ID: <p@x>\r\n\r\nMended.\r\n", owner, header)
		why := reasonsOf(t, raw, featurize.History{}, filter.Correspondence{}, patch)
		if got := strings.Contains(strings.Join(Texts(why.For), "; "), "patch"); got != want {
			t.Errorf("with the header %q the reasons are %q", header, Texts(why.For))
		}
	}
}

// TestWhatTheOwnerDidWithASenderIsSaid although other things weigh more.
func TestWhatTheOwnerDidWithASenderIsSaid(t *testing.T) {
	raw := fmt.Sprintf("From: Ann <ann@example.org>\r\nTo: %s\r\nSubject: harbour invoice\r\nMessage-ID: <p@x>\r\n\r\nMended?\r\n", owner)
	weight := func(f Facet) float64 {
		if f == FacetSender {
			return 0.01
		}
		return 5
	}
	why := reasonsOf(t, raw, featurize.History{Received: 6, Answered: 4}, filter.Correspondence{Received: 6, Answered: 4}, weight)
	if got := strings.Join(Texts(why.For), "; "); !strings.Contains(got, "you answered 4 of 6 messages from ann@example.org") {
		t.Errorf("the reasons are %q", got)
	}
}
