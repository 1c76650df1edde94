package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
)

// Client is a mail program, or a service, that left traces.
type Client struct {
	Name  string `json:"name"`  // as people know it
	By    string `json:"by"`    // the trace
	Shows string `json:"shows"` // which marks it shows
}

// traces are the keywords that one mail program sets and others do not, in
// lower case.
var traces = []struct {
	client, shows string
	keywords      []string
}{
	{
		"Thunderbird", "$label1 as its red Important, and the star",
		[]string{"$label1", "$label2", "$label3", "$label4", "$label5", "nonjunk", "junk"},
	},
	{"Apple Mail", "the star (its flag) alone", []string{"$mailflagbit0", "$mailflagbit1", "$mailflagbit2", "junkrecorded"}},
	{"Evolution", "$Labelimportant, and the star", []string{"$labelimportant", "$labelwork", "$labelpersonal", "$labeltodo", "$labellater"}},
	{"KMail", "its own tags, and the star", []string{"$watched", "$ignored", "$todo"}},
}

// gmail is the capability of Google's server.
const gmail = "X-GM-EXT-1"

// clients names the mail programs that gave themselves away.
func clients(f *Found) []Client {
	var out []Client
	if slices.Contains(f.Capabilities, gmail) {
		out = append(out, Client{"Gmail", "capability " + gmail, "the star; keywords of other programs never"})
	}
	for _, t := range traces {
		for _, keyword := range t.keywords {
			i := slices.IndexFunc(f.Keywords, func(k imap.KeywordUse) bool { return strings.EqualFold(k.Name, keyword) })
			if i >= 0 {
				out = append(out, Client{t.client, "keyword " + f.Keywords[i].Name, t.shows})
				break
			}
		}
	}
	return out
}

// programs is how many unread messages must have a mark before it looks like a
// program's work: people mark what they have seen.
const programs = 3

// others returns the marks that another program seems to set.
func others(keywords []imap.KeywordUse) []imap.KeywordUse {
	var out []imap.KeywordUse
	for _, k := range keywords {
		switch ingest.CanonicalFlag(k.Name) {
		case "$important", "$label1":
			if k.Unread >= programs {
				out = append(out, k)
			}
		}
	}
	return out
}

// Suggestion is the mark that fits what was found.
type Suggestion struct {
	Mark string `json:"mark"` // a keyword, or \Flagged, the star
	Why  string `json:"why"`  // in a sentence
	// Shadow is the setting that goes with it: "auto", or "on" where nothing can
	// be marked.
	Shadow string `json:"shadow"`
	// Instead tells what else could be chosen; "" when there is no more to say.
	Instead string `json:"instead,omitempty"`
}

const star = `\Flagged`

// suggest chooses the mark: one that the server keeps, that a mail program in
// use shows, that the owner does not use for something else, and that no other
// program sets. The star is the owner's strongest word, so it comes last.
func suggest(f *Found) Suggestion {
	s := Suggestion{Mark: "$Important", Shadow: "auto"}
	has := func(client string) bool {
		return slices.ContainsFunc(f.Clients, func(c Client) bool { return c.Name == client })
	}
	use := func(keyword string) int {
		for _, k := range f.Keywords {
			if strings.EqualFold(k.Name, keyword) {
				return k.Messages
			}
		}
		return 0
	}
	keepsNew := f.NewKeywords || len(f.Permanent) == 0
	starToo := fmt.Sprintf("mark = [%q] is the star that phones show, too; then hinged's stars stand among your own.", star)
	switch {
	case !keepsNew && !ingest.HasFlag(f.Permanent, "$Important"):
		if !ingest.HasFlag(f.Permanent, star) {
			s.Shadow = "on"
			s.Why = "The server keeps neither keywords nor stars, so nothing can be marked: hinged only decides and logs."
			if slices.Contains(f.Capabilities, "UIDPLUS") || slices.Contains(f.Capabilities, "IMAP4REV2") {
				s.Instead = `mark = [] with mark_copy = "Important" and shadow = "auto" puts a copy of each important message into that folder.`
			}
			return s
		}
		s.Mark = star
		s.Why = "The server keeps no new keywords, so the star it is."
	case has("Gmail"):
		s.Mark = star
		s.Why = "Gmail shows no keywords, so the star it is."
		s.Instead = `mark = ["$Important"] is kept by Gmail and shown nowhere.`
	case has("Thunderbird") && use("$label1") == 0:
		s.Mark = "$label1"
		s.Why = `Thunderbird shows $label1 as its red Important, and you do not use it yet.`
		s.Instead = starToo
	case has("Thunderbird"):
		s.Why = fmt.Sprintf("Thunderbird's red Important ($label1) is on %s already, so hinged keeps to a mark of its own.", count(use("$label1"), "message"))
		s.Instead = "Thunderbird shows $Important once you make a tag with that key; mark = [\"$label1\"] shows at once. " + starToo
	case has("Apple Mail") && len(f.Clients) == 1:
		s.Mark = star
		s.Why = "Apple Mail shows nothing but the star (its flag)."
		s.Instead = `mark = ["$Important"] keeps hinged's marks apart from your own flags, where Apple Mail does not show them.`
	default:
		s.Why = "The standard mark (RFC 8457)."
		s.Instead = `mark = ["$label1"] is Thunderbird's red Important. ` + starToo
	}
	for _, k := range f.Others {
		if ingest.CanonicalFlag(k.Name) == ingest.CanonicalFlag(s.Mark) {
			s.Why += fmt.Sprintf(" But another program, or an earlier hinged, seems to set %s: switch one of the two off, or choose another mark.", k.Name)
		}
	}
	return s
}
