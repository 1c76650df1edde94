// SPDX-License-Identifier: Apache-2.0

package setup

import (
	_ "embed" // of programs.toml
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/pelletier/go-toml/v2"

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
	Sees     []string
	SeesWith []string `toml:"sees_with"`

	Mailers  []string // what its X-Mailer or User-Agent contains, in lower case
	Keywords []string // that it sets and other programs do not, in lower case
}

const (
	star         = `\Flagged`
	important    = "$Important"
	tagImportant = "$label1"
)

//go:embed programs.toml
var programsFile []byte

var programs = sync.OnceValue(func() []Program {
	var file struct{ Program []Program }
	if err := toml.Unmarshal(programsFile, &file); err != nil {
		panic(err) // a test reads it
	}
	return file.Program
})

// Name is what people call the program.
func (p *Program) Name() string { return p.Names[0] }

func (p *Program) shows(flag string) bool { return hasMark(p.Sees, flag) }

// hasMark reports whether a flag is among marks; $Important and \Important are one.
func hasMark(marks []string, flag string) bool {
	return slices.ContainsFunc(marks, func(m string) bool { return ingest.CanonicalFlag(m) == ingest.CanonicalFlag(flag) })
}

// ProgramNames are the names that Programs takes, one for each program, those that most
// people use before those for a text terminal.
func ProgramNames() []string {
	var out, text []string
	for i := range programs() {
		if p := &programs()[i]; p.Tried {
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
		i := slices.IndexFunc(programs(), func(p Program) bool {
			return slices.ContainsFunc(append(p.Names, p.Title), func(n string) bool { return plain(n) == key })
		})
		if i < 0 {
			return nil, fmt.Errorf("%q is not a mail program that hinged knows; it knows %s, and other", strings.TrimSpace(name), strings.Join(ProgramNames(), ", "))
		}
		if p := &programs()[i]; !slices.Contains(out, p) {
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
	for i := range programs() {
		p := &programs()[i]
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
	if len(seen) == len(programs()) {
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
