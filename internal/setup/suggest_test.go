// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest/imap"
)

func TestTheMarksFitWhatWasFound(t *testing.T) {
	t.Parallel()
	flags := []string{`\answered`, `\deleted`, `\draft`, `\flagged`, `\seen`}
	use := func(name string, n int) imap.KeywordUse { return imap.KeywordUse{Name: name, Messages: n} }
	for _, tt := range []struct {
		name  string
		found Found
		marks string
		why   string
	}{
		{"nothing is known", Found{NewKeywords: true}, "$Important", "not known where you read"},
		{"the server does not say what it keeps", Found{}, "$Important", "standard"},
		{"no new keywords", Found{Permanent: flags}, star, "keeps no new keywords"},
		{"no new keywords, but this one", Found{Permanent: []string{"$important", `\flagged`}}, "$Important", "standard"},
		{"nothing at all", Found{Permanent: []string{`\seen`}}, "$Important", "only decides"},
		{"nothing at all", Found{Permanent: []string{`\seen`}, Capabilities: []string{"UIDPLUS"}}, "$Important", "only decides"},
		{"Gmail", Found{NewKeywords: true, Capabilities: []string{"IDLE", "X-GM-EXT-1"}}, star, "The star is seen in Gmail."},
		{"Thunderbird, whose red label is free", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("NonJunk", 3)}}, "$label1", "$label1 is seen in Thunderbird."},
		{"Thunderbird, whose red label is taken", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$Label1", 3)}}, star, "The star is seen in Thunderbird."},
		{"Thunderbird, and both are taken", Found{NewKeywords: true, Starred: 1, Keywords: []imap.KeywordUse{use("$Label1", 3)}}, "$label1", "$label1 is on 3 messages already"},
		{"Apple Mail alone", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$MailFlagBit1", 1)}}, star, "The star is seen in Apple Mail."},
		{
			"Apple Mail and Thunderbird", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$label3", 1), use("$MailFlagBit1", 1)}},
			`$label1 \Flagged`, "The star is seen in Thunderbird, Apple Mail.",
		},
		{"Apple Mail and Thunderbird without keywords", Found{Permanent: append(flags, "nonjunk"), Keywords: []imap.KeywordUse{use("NonJunk", 1), use("$MailFlagBit1", 1)}}, star, "keeps no new keywords"},
		{"another program sets the mark", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 5}}}, "$Important", "seems to set $important"},
		{"another program sets Thunderbird's", Found{NewKeywords: true, Starred: 1, Keywords: []imap.KeywordUse{{Name: "$label1", Messages: 9, Unread: 5}}}, star, "The star is on 1 message already"},
		{"people mark what they have seen", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 2}}}, "$Important", "standard mark (RFC 8457)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.found.Clients = clients(&tt.found, nil)
			tt.found.Others = others(tt.found.Keywords)
			got := Suggest(&tt.found, tt.found.Reads())
			if strings.Join(got.Marks, " ") != tt.marks || !strings.Contains(got.Why, tt.why) {
				t.Errorf("got %+v, want %s because of %q", got, tt.marks, tt.why)
			}
			if want := map[bool]string{true: "on", false: "auto"}[tt.name == "nothing at all"]; got.Shadow != want {
				t.Errorf("shadow is %q, want %q", got.Shadow, want)
			}
			if offered := strings.Contains(got.Instead, "mark_copy"); offered != (tt.name == "nothing at all" && len(tt.found.Capabilities) > 0) {
				t.Errorf("a copy is offered: %v", offered)
			}
			if tt.name == "people mark what they have seen" && strings.Contains(got.Why, "nother program") {
				t.Errorf("a program is suspected: %s", got.Why)
			}
		})
	}
}

// TestTheMarkIsSeenWhereMailIsRead gives every answer to the question where mail is read.
func TestTheMarkIsSeenWhereMailIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reads, marks string }{
		{"phone, Thunderbird", `\Flagged $label1`},
		{"thunderbird,phone", `$label1 \Flagged`},
		{"iPhone", `\Flagged`},
		{"K-9 Mail,k9mail", `\Flagged`},
		{"Evolution", `$Labelimportant`},
		{"NeoMutt", `$Important`},
		{"other", `$Important`},
	} {
		list, err := Programs(tt.reads)
		if err != nil {
			t.Fatal(err)
		}
		got := Suggest(&Found{NewKeywords: true}, list)
		if strings.Join(got.Marks, " ") != tt.marks {
			t.Errorf("%s: got %+v, want %s", tt.reads, got, tt.marks)
		}
	}
	// Whatever is answered, on whatever server that keeps the star, it shows in each program.
	for _, found := range []Found{
		{NewKeywords: true},
		{NewKeywords: true, Starred: 5, Keywords: []imap.KeywordUse{{Name: "$label1", Messages: 2}, {Name: "$labelimportant", Messages: 3}}},
		{Permanent: []string{`\flagged`}},
	} {
		for i := range programs() {
			for j := range programs() {
				got := Suggest(&found, []*Program{&programs()[i], &programs()[j]})
				for _, p := range []Program{programs()[i], programs()[j]} {
					if !slices.ContainsFunc(got.Marks, func(m string) bool { return hasMark(append(p.SeesWith, p.Sees...), m) }) {
						t.Errorf("%s and %s: %s does not show %q", programs()[i].Title, programs()[j].Title, p.Title, got.Marks)
					}
				}
				for _, m := range got.Marks {
					if !found.keeps(m) {
						t.Errorf("the server does not keep %s", m)
					}
				}
			}
		}
	}
	if _, err := Programs("phone, abacus"); err == nil || !strings.Contains(err.Error(), `"abacus"`) || !strings.Contains(err.Error(), "Thunderbird") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramIsKnownByWhatItWroteInSentMail(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:91.0) Gecko/20100101 Thunderbird/91.5": "Thunderbird",
		"Mozilla Thunderbird":           "Thunderbird",
		"Thunderbird for Android":       "K-9 Mail",
		"K-9 Mail for Android":          "K-9 Mail",
		"iPhone Mail (20A362)":          "Apple Mail",
		"Apple Mail (2.3696.120.41.1)":  "Apple Mail",
		"Microsoft Outlook 16.0":        "Outlook",
		"Roundcube Webmail/1.6.5":       "Roundcube",
		"Evolution 3.46.4-2":            "Evolution",
		"KMail/5.1.3 (Linux/6.1; KDE/)": "KMail",
		"Mutt/2.2.9 (2022-11-12)":       "mutt",
		"NeoMutt/20220429":              "NeoMutt",
		"aerc/0.14.0":                   "aerc",
		"Something else":                "",
	} {
		got := ""
		if p := writer(value); p != nil {
			got = p.Name()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", value, got, want)
		}
	}
	f := Found{NewKeywords: true}
	if got := clients(&f, []imap.Mailer{{Field: "X-Mailer", Name: "iPhone Mail (20A362)", Messages: habit}, {Field: "User-Agent", Name: "Evolution 3", Messages: habit - 1}}); len(got) != 1 || got[0].Name != "Apple Mail" || got[0].By != "X-Mailer iPhone Mail (20A362)" {
		t.Errorf("got %+v", got)
	}
}
