// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hinged/hinged/ingest"
)

// Program is a mail program, or a group of them that show the same.
type Program struct {
	// Title is how docs/mail-programs.md names it.
	Title string
	// Names are what people call it; the first is the one that is printed.
	Names []string
	// Tried tells programs that were tried from those whose documentation was read.
	Tried bool
	// Shows says in words which marks it shows.
	Shows string
	// Mark is what to set for it.
	Mark string
	// Sees are the marks that it shows without further ado, and SeesWith those that it
	// shows with the lines in docs/mail-programs.md. Both may have Mark.
	Sees, SeesWith []string

	mailers  []string // what its X-Mailer or User-Agent contains, in lower case
	keywords []string // that it sets and other programs do not, in lower case
}

const (
	star         = `\Flagged`
	important    = "$Important"
	tagImportant = "$label1"
)

// programs are the mail programs whose display of marks is known, in the order of
// docs/mail-programs.md. Its tables say the same; a test compares them.
var programs = []Program{
	{
		Title: "mutt 2.2", Names: []string{"mutt"}, Tried: true,
		Shows: `\Flagged as !; keywords nowhere`, Mark: star, Sees: []string{star}, mailers: []string{"mutt/"},
	},
	{
		Title: "NeoMutt 20220429", Names: []string{"NeoMutt"}, Tried: true,
		Shows: `\Flagged as !; keywords with the lines below`, Mark: important,
		Sees: []string{star}, SeesWith: []string{important, tagImportant}, mailers: []string{"neomutt/"},
	},
	{
		Title: "aerc 0.14", Names: []string{"aerc"}, Tried: true,
		Shows: `\Flagged as !; keywords nowhere`, Mark: star, Sees: []string{star}, mailers: []string{"aerc/", "aerc "},
	},
	{
		Title: "mbsync (isync) 1.4", Names: []string{"mbsync", "isync"}, Tried: true,
		Shows: `copies \Flagged to the Maildir as the letter F; never copies keywords`, Mark: star, Sees: []string{star},
	},
	{
		Title: "OfflineIMAP 8.0", Names: []string{"OfflineIMAP"}, Tried: true,
		Shows: `copies \Flagged; keywords with the lines below`, Mark: star,
		Sees: []string{star}, SeesWith: []string{important, tagImportant},
	},
	{
		Title: "Thunderbird", Names: []string{"Thunderbird"},
		Shows: "$label1, its red Important, and the star", Mark: tagImportant, Sees: []string{tagImportant, star},
		mailers:  []string{"thunderbird"},
		keywords: []string{"$label1", "$label2", "$label3", "$label4", "$label5", "nonjunk", "junk"},
	},
	{
		Title: "Apple Mail, iPhone and iPad", Names: []string{"Apple Mail", "iPhone", "iPad", "Mac"},
		Shows: "the flag alone", Mark: star, Sees: []string{star},
		mailers:  []string{"apple mail", "iphone mail", "ipad mail"},
		keywords: []string{"$mailflagbit0", "$mailflagbit1", "$mailflagbit2", "junkrecorded"},
	},
	{
		Title: "Thunderbird for Android, K-9 Mail, FairEmail", Names: []string{"K-9 Mail", "Thunderbird for Android", "FairEmail", "K-9"},
		Shows: "the star", Mark: star, Sees: []string{star},
		mailers: []string{"k-9 mail", "thunderbird for android", "fairemail"},
	},
	{
		Title: "another program on a phone", Names: []string{"phone", "Android"},
		Shows: "mostly the star alone", Mark: star, Sees: []string{star},
	},
	{
		Title: "Outlook", Names: []string{"Outlook"},
		Shows: "the flag alone", Mark: star, Sees: []string{star}, mailers: []string{"microsoft outlook", "microsoft-macoutlook"},
	},
	{
		Title: "Roundcube", Names: []string{"Roundcube"},
		Shows: "the flag; keywords with a plugin", Mark: star, Sees: []string{star}, mailers: []string{"roundcube"},
	},
	{
		Title: "Nextcloud Mail", Names: []string{"Nextcloud Mail", "Nextcloud"},
		Shows: "the star; $label1, too, but that it sets itself", Mark: star, Sees: []string{star}, mailers: []string{"nextcloud"},
	},
	{
		Title: "Gmail in the browser and its app", Names: []string{"Gmail", "Google"},
		Shows: "the star; no keywords of other programs", Mark: star, Sees: []string{star},
	},
	{
		Title: "Fastmail in the browser and its app", Names: []string{"Fastmail"},
		Shows: "the flag, as a pin", Mark: star, Sees: []string{star}, mailers: []string{"cyrus-jmap/"},
	},
	{
		Title: "Evolution", Names: []string{"Evolution"},
		Shows: "$Labelimportant, its Important, and the flag", Mark: "$Labelimportant", Sees: []string{"$Labelimportant", star},
		mailers:  []string{"evolution"},
		keywords: []string{"$labelimportant", "$labelwork", "$labelpersonal", "$labeltodo", "$labellater"},
	},
	{
		Title: "KMail", Names: []string{"KMail"},
		Shows: "the star, as its Important, and its own tags", Mark: star, Sees: []string{star},
		mailers: []string{"kmail"}, keywords: []string{"$watched", "$ignored", "$todo"},
	},
}

// Name is what people call the program.
func (p *Program) Name() string { return p.Names[0] }

// shows reports whether the program shows a flag without further ado.
func (p *Program) shows(flag string) bool { return hasMark(p.Sees, flag) }

// hasMark reports whether a flag is among marks; $Important and \Important are one.
func hasMark(marks []string, flag string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return ingest.CanonicalFlag(m) == ingest.CanonicalFlag(flag) })
}

// ProgramNames are the names that Programs takes, one for each program, those that most
// people use before those for a text terminal.
func ProgramNames() []string {
	var out, text []string
	for i := range programs {
		if p := &programs[i]; p.Tried {
			text = append(text, p.Name())
		} else {
			out = append(out, p.Name())
		}
	}
	return append(out, text...)
}

// otherProgram is the answer of those who read their mail in no program that is known.
const otherProgram = "other"

// Programs finds mail programs by their names, between commas. Case, spaces and
// punctuation don't matter; "other" is a program of which nothing is known. The error
// names what is not known.
func Programs(names string) ([]*Program, error) {
	var out []*Program
	for _, name := range strings.Split(names, ",") {
		key := plain(name)
		if key == "" || key == otherProgram {
			continue
		}
		i := slices.IndexFunc(programs, func(p Program) bool {
			return slices.ContainsFunc(append(p.Names, p.Title), func(n string) bool { return plain(n) == key })
		})
		if i < 0 {
			return nil, fmt.Errorf("%q is not a mail program that hinged knows; it knows %s, and other", strings.TrimSpace(name), strings.Join(ProgramNames(), ", "))
		}
		if p := &programs[i]; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// plain is a name without what people spell in several ways.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// programNames joins the names of programs.
func programNames(list []*Program) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name())
	}
	return strings.Join(names, ", ")
}

// shown says in which programs one of the marks is seen without further ado, in which
// with the lines in docs/mail-programs.md, and in which it is not seen.
func shown(marks []string) (seen, withLines, unseen []*Program) {
	for i := range programs {
		p := &programs[i]
		switch {
		case slices.ContainsFunc(marks, p.shows):
			seen = append(seen, p)
		case slices.ContainsFunc(marks, func(m string) bool { return hasMark(p.SeesWith, m) }):
			withLines = append(withLines, p)
		default:
			unseen = append(unseen, p)
		}
	}
	return seen, withLines, unseen
}

// WhereSeen says in a sentence which mail programs show one of the marks.
func WhereSeen(marks []string) string {
	seen, withLines, unseen := shown(marks)
	if len(seen) == len(programs) {
		return strings.Join(marks, ", ") + " is seen in every mail program that hinged knows."
	}
	var parts []string
	if len(seen) > 0 {
		parts = append(parts, "is seen in "+programNames(seen))
	}
	if len(withLines) > 0 {
		parts = append(parts, "is seen with some lines of configuration in "+programNames(withLines))
	}
	if len(unseen) > 0 {
		parts = append(parts, "is not seen in "+programNames(unseen))
	}
	return strings.Join(marks, ", ") + " " + strings.Join(parts, "; ") + "."
}
