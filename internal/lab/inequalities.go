// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
)

// Inequalities are a system with the names of its unknowns and the text of its
// rows.
type Inequalities struct {
	theory.System
	// Names of the unknowns in order of first use; the first has index IndexOf(0).
	Names []string
	Lines []string // of the rows, as they were written, without comments
}

// ReadInequalities reads linear inequalities, one a line, as people write them:
//
//	2 x - 3.5*y >= 1   # a comment
//	x + y + 2 < 3 y
//
// A term is a number, a name, or a number and a name with or without * between
// them; names begin with a letter and go on with letters, digits, _ and dots. The
// relation is one of >=, >, <=, <. An equality is refused: no point satisfies one
// strictly.
func ReadInequalities(r io.Reader, name string) (*Inequalities, error) {
	s := &Inequalities{}
	places := map[string]int{}
	err := eachLine(r, name, func(line string) error {
		line = strings.TrimSpace(line)
		if line == "" {
			return nil
		}
		left, relation, right, err := splitRelation(line)
		if err != nil {
			return err
		}
		side := map[int]float64{} // left − right, by unknown; constants under −1
		for _, part := range []struct {
			text string
			sign float64
		}{{left, 1}, {right, -1}} {
			if err := s.terms(part.text, part.sign, places, side); err != nil {
				return err
			}
		}
		sign := 1.0
		if relation[0] == '<' {
			sign = -1
		}
		var a model.Vector
		for n := range s.Names {
			if v := side[n] * sign; v != 0 {
				a = append(a, model.Feature{Index: IndexOf(uint64(n)), Value: v})
			}
		}
		if len(s.Rows) == maxRows {
			return fmt.Errorf("there are more than %d rows", maxRows)
		}
		s.Rows, s.At, s.Lines = append(s.Rows, a), append(s.At, 0-side[-1]*sign), append(s.Lines, line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func splitRelation(line string) (left, relation, right string, err error) {
	at := strings.IndexAny(line, "<>=")
	if at < 0 {
		return "", "", "", fmt.Errorf("%q has none of >=, >, <=, <", shorten(line))
	}
	end := at + 1
	if line[at] != '=' && end < len(line) && line[end] == '=' {
		end++
	}
	left, relation, right = line[:at], line[at:end], line[end:]
	switch {
	case relation == "=":
		return "", "", "", fmt.Errorf("%q is an equality, which no point satisfies strictly; eliminate an unknown instead", shorten(line))
	case strings.ContainsAny(right, "<>="):
		return "", "", "", fmt.Errorf("%q has more than one relation", shorten(line))
	}
	return left, relation, right, nil
}

// terms adds up one side of an inequality.
func (s *Inequalities) terms(text string, sign float64, places map[string]int, sum map[int]float64) error {
	rest := strings.TrimSpace(text)
	if rest == "" {
		return fmt.Errorf("there is nothing on one side")
	}
	for first := true; rest != ""; first = false {
		factor, signed := sign, false
		for rest != "" && (rest[0] == '+' || rest[0] == '-') {
			if rest[0] == '-' {
				factor = -factor
			}
			signed = true
			rest = strings.TrimSpace(rest[1:])
		}
		if !first && !signed {
			return fmt.Errorf("a + or − is missing before %q", shorten(rest))
		}
		v, name, after, err := term(rest)
		if err != nil {
			return err
		}
		rest = after
		place := -1
		if name != "" {
			place = s.place(name, places)
		}
		if sum[place] += float64(factor * v); math.IsInf(sum[place], 0) {
			return fmt.Errorf("the numbers are too great")
		}
	}
	return nil
}

// place returns the number of an unknown, and gives it one when it has none.
func (s *Inequalities) place(name string, places map[string]int) int {
	place, known := places[name]
	if !known {
		place = len(s.Names)
		places[name] = place
		s.Names = append(s.Names, name)
	}
	return place
}

// term reads what text begins with: a number, a name, or both. rest is what follows.
func term(text string) (factor float64, name, rest string, err error) {
	factor, rest = 1, text
	digits := numberAt(rest)
	if digits > 0 {
		if factor, err = parseNumber(rest[:digits]); err != nil {
			return 0, "", "", err
		}
		rest = strings.TrimSpace(rest[digits:])
		if after, ok := strings.CutPrefix(rest, "*"); ok {
			if rest = strings.TrimSpace(after); nameAt(rest) == 0 {
				return 0, "", "", fmt.Errorf("there is no name after *")
			}
		}
	}
	letters := nameAt(rest)
	if digits == 0 && letters == 0 {
		return 0, "", "", fmt.Errorf("%q is neither a number nor a name", shorten(rest))
	}
	return factor, rest[:letters], strings.TrimSpace(rest[letters:]), nil
}

// numberAt returns the length of the unsigned number that s begins with, or 0.
func numberAt(s string) int {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
		n++
	}
	if n > 0 && n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if m < len(s) && s[m] >= '0' && s[m] <= '9' {
			for n = m; n < len(s) && s[n] >= '0' && s[n] <= '9'; {
				n++
			}
		}
	}
	return n
}

// nameAt returns the length of the name that s begins with, or 0.
func nameAt(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r) && r != '_' && r != '.') {
			return i
		}
	}
	return len(s)
}
