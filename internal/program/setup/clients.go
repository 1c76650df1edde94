// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
)

// Client is a mail program or service of which the mailbox has traces.
type Client struct {
	Name  string `json:"name"`  // usual name of the program
	By    string `json:"by"`    // what shows that it is used
	Shows string `json:"shows"` // which marks the program shows
}

const gmail = "X-GM-EXT-1"

// clients names the mail programs that left traces: in the server's capabilities, in the
// keywords in use, and in the messages that the owner wrote, of which mailers tells.
func clients(f *Found, mailers []imap.Mailer) []Client {
	var out []Client
	for i := range programs() {
		p := &programs()[i]
		if by := p.trace(f, mailers); by != "" {
			out = append(out, Client{p.Name(), by, p.Shows})
		}
	}
	return out
}

// trace says how the program gave itself away; "": it did not.
func (p *Program) trace(f *Found, mailers []imap.Mailer) string {
	if p.Name() == "Gmail" && slices.Contains(f.Capabilities, gmail) {
		return "capability " + gmail
	}
	for _, m := range mailers {
		if m.Messages >= habit && writer(m.Name) == p {
			return m.Field + " " + m.Name
		}
	}
	for _, keyword := range p.Keywords {
		i := slices.IndexFunc(f.Keywords, func(k imap.KeywordUse) bool { return strings.EqualFold(k.Name, keyword) })
		if i >= 0 {
			return "keyword " + f.Keywords[i].Name
		}
	}
	return ""
}

// writer returns the program that calls itself so, nil if it is not known. The longest
// name counts: "Thunderbird for Android" is not Thunderbird.
func writer(name string) *Program {
	var found *Program
	longest := 0
	for i := range programs() {
		for _, m := range programs()[i].Mailers {
			if len(m) > longest && strings.Contains(strings.ToLower(name), m) {
				found, longest = &programs()[i], len(m)
			}
		}
	}
	return found
}

// suspicious is how many unread messages must have a mark before it looks like a
// program's work: people mark what they have seen.
const suspicious = 3

func others(keywords []imap.KeywordUse) []imap.KeywordUse {
	var out []imap.KeywordUse
	for _, k := range keywords {
		switch ingest.CanonicalFlag(k.Name) {
		case "$important", "$label1":
			if k.Unread >= suspicious {
				out = append(out, k)
			}
		}
	}
	return out
}

// Suggestion is the choice of marks that suits the mailbox and the owner's answers.
type Suggestion struct {
	Marks   []string `json:"marks"`             // Marks are keywords, or \Flagged for the star.
	Reads   []string `json:"reads"`             // Reads are the mail programs that the marks were chosen for; empty if none is known.
	Why     string   `json:"why"`               // Why gives the reason in sentences.
	Shadow  string   `json:"shadow"`            // Shadow is the suggested value of the setting shadow: "auto", or "on" if nothing can be marked.
	Instead string   `json:"instead,omitempty"` // Instead says what else could be chosen; "" if there is nothing to add.
}

// Suggest chooses marks that are seen in each of the programs that the owner reads in,
// and that INBOX keeps. It prefers the program's own mark for important mail to the star,
// and a mark that the owner does not use to one that is in use.
func Suggest(f *Found, reads []*Program) Suggestion {
	s := Suggestion{Marks: []string{}, Reads: []string{}, Shadow: "auto"}
	for _, p := range reads {
		s.Reads = append(s.Reads, p.Name())
	}
	var why []string
	switch {
	case !f.keeps(important) && !f.keeps(star):
		s.Marks, s.Shadow = []string{important}, "on"
		s.Why = "The server keeps neither keywords nor stars, so nothing can be marked: hinged only decides and logs."
		if slices.Contains(f.Capabilities, "UIDPLUS") || slices.Contains(f.Capabilities, "IMAP4REV2") {
			s.Instead = `mark = [] with mark_copy = "Important" and shadow = "auto" puts a copy of each important message into that folder.`
		}
		return s
	case len(reads) == 0 && f.keeps(important):
		s.Marks = []string{important}
		why = append(why, "The standard mark (RFC 8457). Few mail programs show it by themselves, and it is not known where you read your mail.")
		s.Instead = `mark = ["\\Flagged"] is the star, which all show; mark = ["$label1"] is Thunderbird's red Important.`
	case len(reads) == 0:
		s.Marks = []string{star}
	}
	for _, p := range reads {
		mark := f.markFor(p, s.Marks)
		if !hasMark(s.Marks, mark) {
			s.Marks = append(s.Marks, mark)
		}
	}
	why = append(why, reasons(s.Marks, reads)...)
	if !f.keeps(important) {
		why = append(why, "The server keeps no new keywords.")
	}
	for _, m := range s.Marks {
		if n := f.uses(m); n > 0 {
			why = append(why, fmt.Sprintf("%s is on %s already; hinged's own stand among them.", called(m), desk.Count(n, "message")))
		}
	}
	for _, k := range f.Others {
		if hasMark(s.Marks, k.Name) {
			why = append(why, fmt.Sprintf("Another program, or an earlier hinged, seems to set %s: switch one of the two off, or choose another mark.", k.Name))
		}
	}
	s.Why = strings.Join(why, " ")
	return s
}

// reasons says for each mark which of the programs show it.
func reasons(marks []string, reads []*Program) []string {
	var out []string
	for _, m := range marks {
		var by, withLines []*Program
		for _, p := range reads {
			switch {
			case p.shows(m):
				by = append(by, p)
			case hasMark(p.SeesWith, m):
				withLines = append(withLines, p)
			}
		}
		if len(by) > 0 {
			out = append(out, fmt.Sprintf("%s is seen in %s.", called(m), programNames(by)))
		}
		if len(withLines) > 0 {
			out = append(out, fmt.Sprintf("%s is seen in %s with the lines in docs/mail-programs.md.", called(m), programNames(withLines)))
		}
	}
	return out
}

func called(mark string) string {
	if strings.EqualFold(mark, star) {
		return "The star"
	}
	return mark
}

// keeps reports whether INBOX keeps a flag, as far as the server said.
func (f *Found) keeps(flag string) bool {
	return len(f.Permanent) == 0 || imap.Opened{Permanent: f.Permanent, Keywords: f.NewKeywords}.Keeps(flag)
}

// uses returns on how many of the counted messages a mark is.
func (f *Found) uses(mark string) int {
	if strings.EqualFold(mark, star) {
		return f.Starred
	}
	for _, k := range f.Keywords {
		if ingest.CanonicalFlag(k.Name) == ingest.CanonicalFlag(mark) {
			return k.Messages
		}
	}
	return 0
}

func (f *Found) markFor(p *Program, chosen []string) string {
	var kept []string
	for _, m := range append([]string{p.Mark}, p.Sees...) {
		if f.keeps(m) {
			kept = append(kept, m)
		}
	}
	// Its own mark, or another that it shows, as long as nobody uses that.
	for _, m := range kept {
		if f.uses(m) == 0 {
			return m
		}
	}
	for _, m := range kept {
		if hasMark(chosen, m) {
			return m
		}
	}
	for _, m := range kept {
		if !slices.ContainsFunc(f.Others, func(k imap.KeywordUse) bool { return hasMark([]string{m}, k.Name) }) {
			return m
		}
	}
	return append(kept, important)[0]
}
