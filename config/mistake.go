// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong in a configuration file.
type Mistake struct {
	File    string
	Line    int    // from 1
	Key     string // as it would be written in full, "account.imap.address"; "" where the syntax is wrong
	Problem string
	Got     string // what was found, "" when that says nothing or would show a secret
	Want    string // what would be right
}

// String returns "file:line: key: problem, got X, want Y".
func (m Mistake) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", m.File, m.Line)
	if m.Key != "" {
		b.WriteString(m.Key + ": ")
	}
	b.WriteString(m.Problem)
	if m.Got != "" {
		b.WriteString(", got " + m.Got)
	}
	if m.Want != "" {
		b.WriteString(", want " + m.Want)
	}
	return b.String()
}

// Error is everything that is wrong in one configuration file, in the order of
// its lines. There is at least one Mistake.
type Error struct{ Mistakes []Mistake }

// Error returns one line for each mistake.
func (e *Error) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

type mistakes struct {
	file string
	list []Mistake
}

func (m *mistakes) add(line int, key, problem, got, want string) {
	m.list = append(m.list, Mistake{m.file, line, key, problem, got, want})
}

func (m *mistakes) err() error {
	if len(m.list) == 0 {
		return nil
	}
	slices.SortStableFunc(m.list, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{slices.Compact(m.list)}
}

func oneOf(choices []string) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = fmt.Sprintf("%q", c)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

func nearest(name string, candidates []string) string {
	tolerated := max(2, len(name)/3)
	if len(name) < 5 {
		tolerated = 1
	}
	best, least := "", tolerated+1
	for _, c := range candidates {
		if d := distance(strings.ReplaceAll(strings.ToLower(name), "-", "_"), c); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of inserted, deleted, replaced or swapped neighbouring
// bytes that turn a into b (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
