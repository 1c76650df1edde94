package setup

import (
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest/imap"
)

func TestTheMarkFitsWhatWasFound(t *testing.T) {
	flags := []string{`\answered`, `\deleted`, `\draft`, `\flagged`, `\seen`}
	for _, tt := range []struct {
		name  string
		found Found
		mark  string
		why   string
	}{
		{"nothing is known", Found{NewKeywords: true}, "$Important", "standard"},
		{"the server does not say what it keeps", Found{}, "$Important", "standard"},
		{"no new keywords", Found{Permanent: flags}, `\Flagged`, "keeps no new keywords"},
		{"no new keywords, but this one", Found{Permanent: []string{"$important", `\flagged`}}, "$Important", "standard"},
		{"nothing at all", Found{Permanent: []string{`\seen`}}, "$Important", "only decides"},
		{"nothing at all", Found{Permanent: []string{`\seen`}, Capabilities: []string{"UIDPLUS"}}, "$Important", "only decides"},
		{"Gmail", Found{NewKeywords: true, Capabilities: []string{"IDLE", "X-GM-EXT-1"}}, `\Flagged`, "Gmail shows no keywords"},
		{"Thunderbird, whose red label is free", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "NonJunk", Messages: 3}}}, "$label1", "you do not use it yet"},
		{"Thunderbird, whose red label is taken", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$Label1", Messages: 3}}}, "$Important", "on 3 messages already"},
		{"Apple Mail alone", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$MailFlagBit1", Messages: 1}}}, `\Flagged`, "Apple Mail shows nothing but the star"},
		{
			"Apple Mail and Thunderbird", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$label3", Messages: 1}, {Name: "$MailFlagBit1", Messages: 1}}},
			"$label1", "Thunderbird",
		},
		{"another program sets the mark", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 5}}}, "$Important", "seems to set $important"},
		{"people mark what they have seen", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 2}}}, "$Important", "standard mark (RFC 8457)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.found.Clients = clients(&tt.found)
			tt.found.Others = others(tt.found.Keywords)
			got := suggest(&tt.found)
			if got.Mark != tt.mark || !strings.Contains(got.Why, tt.why) {
				t.Errorf("got %+v, want %s because of %q", got, tt.mark, tt.why)
			}
			if want := map[bool]string{true: "on", false: "auto"}[tt.name == "nothing at all"]; got.Shadow != want {
				t.Errorf("shadow is %q, want %q", got.Shadow, want)
			}
			if offered := strings.Contains(got.Instead, "mark_copy"); offered != (tt.name == "nothing at all" && slices.Contains(tt.found.Capabilities, "UIDPLUS")) {
				t.Errorf("a copy is offered: %v", offered)
			}
			if tt.name == "people mark what they have seen" && strings.Contains(got.Why, "another program") {
				t.Errorf("a program is suspected: %s", got.Why)
			}
		})
	}
}
