// SPDX-License-Identifier: Apache-2.0

package prior

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/internal/words"
)

// A file begins with the line "# hinged prior 1" and the line "# owners N". Lines that
// begin with "#" follow, in words, then a line for each weight: the number in the fewest
// digits that give it back, a tab, and the name of the feature. Names ascend.
const (
	headLine   = "# hinged prior 1"
	ownersHead = "# owners "
)

// The limits of a file, all far above what a real one has.
const (
	maxLines  = 20_000
	maxLine   = 500 // bytes
	maxOwners = 1_000_000
)

// ErrFormat is wrapped by every error about what is in a file.
var ErrFormat = errors.New("not a prior")

// Load reads the file at path.
func Load(path string) (*Prior, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read prior: %w", err)
	}
	defer f.Close()
	return Parse(f, path)
}

// Parse reads a prior. name stands for the file in errors, which say the line, too.
func Parse(r io.Reader, name string) (*Prior, error) {
	p := &Prior{}
	lines := bufio.NewScanner(io.LimitReader(r, maxLines*(maxLine+2)))
	lines.Buffer(make([]byte, 0, maxLine+2), maxLine+2)
	n := 0
	for lines.Scan() {
		n++
		if problem := p.line(n, lines.Text()); problem != "" {
			return nil, fmt.Errorf("%s:%d: %w: %s", name, n, ErrFormat, problem)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: %w: the line is longer than %d bytes", name, n+1, ErrFormat, maxLine)
	case err != nil:
		return nil, fmt.Errorf("read prior %s: %w", name, err)
	case n < 2:
		return nil, fmt.Errorf("%s:%d: %w: it ends before the line %q with how many owners it is made of", name, n+1, ErrFormat, ownersHead+"N")
	}
	return p, nil
}

// line reads the n-th line, and says what is wrong with it; "" when nothing is.
func (p *Prior) line(n int, line string) string {
	switch {
	case n > maxLines:
		return fmt.Sprintf("it has more than %d lines", maxLines)
	case !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }):
		return "the line has bytes that are not text"
	case n == 1:
		if line != headLine {
			return fmt.Sprintf("the first line is %q, want %q", line, headLine)
		}
		return ""
	case n == 2:
		owners, err := strconv.Atoi(strings.TrimPrefix(line, ownersHead))
		if err != nil || owners < 1 || owners > maxOwners || line != ownersHead+strconv.Itoa(owners) {
			return fmt.Sprintf("the second line is %q, want %q with how many owners it is made of, 1 to %d", line, ownersHead+"N", maxOwners)
		}
		p.Owners = owners
		return ""
	case strings.HasPrefix(line, "#"):
		if len(p.Weights) > 0 {
			return "there is a comment between weights; want all comments before the first weight"
		}
		note, spaced := strings.CutPrefix(line, "# ")
		if !spaced && line != "#" {
			return `words begin with "#" alone, want "# "`
		}
		if line == "#" {
			note = ""
		}
		p.Notes = append(p.Notes, note)
		return ""
	}
	number, name, found := strings.Cut(line, "\t")
	if !found {
		return fmt.Sprintf("the line is %q, want a number, a tab and the name of a feature", line)
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > most || value == 0 {
		return fmt.Sprintf("the weight is %q, want a number other than 0 from %d to %d", number, int(-most), int(most))
	}
	if want := decimal(value); number != want {
		return fmt.Sprintf("the weight is %q, want it in the fewest digits: %q", number, want)
	}
	if _, ok := words.ImpersonalIndex(name); !ok {
		return fmt.Sprintf("%q is not among the features that name nobody", name)
	}
	if k := len(p.Weights); k > 0 && p.Weights[k-1].Name >= name {
		return fmt.Sprintf("%q comes after %q, want names in ascending order, each once", name, p.Weights[k-1].Name)
	}
	p.Weights = append(p.Weights, Weight{name, value})
	return ""
}

// decimal writes a weight.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Write writes p as Parse reads it. A note of several lines becomes as many.
func (p *Prior) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n%s%d\n", headLine, ownersHead, p.Owners)
	for _, note := range p.Notes {
		for line := range strings.SplitSeq(note, "\n") {
			fmt.Fprintln(b, strings.TrimRight("# "+line, " "))
		}
	}
	for _, at := range p.Weights {
		fmt.Fprintf(b, "%s\t%s\n", decimal(at.Value), at.Name)
	}
	return b.Flush()
}
