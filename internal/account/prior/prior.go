// SPDX-License-Identifier: Apache-2.0

// Package prior reads, writes and makes priors: the weights that accounts begin with,
// made of what the mail of other owners taught. They are of features that name nobody
// (words.Impersonal), so no address, no name and no word of any mail is in a prior.
//
// Data flow: weights of accounts → Mean → Prior → a text file → Parse → Pack, for
// filter.Primed. One prior is part of the program (Default).
package prior

import (
	"bufio"
	_ "embed" // default.prior
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Prior is a set of weights of features that name nobody. Nothing changes it once it is
// made; it may be read concurrently.
type Prior struct {
	// Owners is of how many owners' weights it is the mean.
	Owners int
	// Notes say in words where it comes from, a line each.
	Notes []string
	// Weights ascend by name; none is 0.
	Weights []Weight
}

// Weight is the weight of one feature.
type Weight struct {
	Name  string
	Value float64
}

// step is what weights are rounded to: finer ones made no difference beyond .003 to the
// figures of docs/results.md, and every account's state holds its prior.
const step = 0.01

// most bounds the magnitude of a weight. Learners that take steps of at most a few units
// come nowhere near it.
const most = 1e6

// Mean adds up the weights of owners, of whom every one counts alike. A feature that an
// owner's mail never had weighs 0 there. The zero value is ready for use.
type Mean struct {
	owners int
	sums   map[string]float64
}

// Add adds those of an owner's weights that name nobody.
func (m *Mean) Add(w *model.Weights) {
	m.owners++
	for _, name := range words.Impersonal() {
		index, _ := words.ImpersonalIndex(name)
		m.add(name, w.Get(index))
	}
}

// AddPrior adds the owners that a prior is made of.
func (m *Mean) AddPrior(p *Prior) {
	m.owners += p.Owners
	for _, w := range p.Weights {
		m.add(w.Name, float64(float64(p.Owners)*w.Value))
	}
}

func (m *Mean) add(name string, value float64) {
	if m.sums == nil {
		m.sums = map[string]float64{}
	}
	if value != 0 {
		m.sums[name] += value
	}
}

// Owners returns how many were added.
func (m *Mean) Owners() int { return m.owners }

// Prior returns the mean, without notes.
func (m *Mean) Prior() *Prior {
	p := &Prior{Owners: m.owners}
	for _, name := range words.Impersonal() {
		if sum, ok := m.sums[name]; ok {
			p.add(name, sum/float64(m.owners))
		}
	}
	return p
}

// add rounds a weight and, unless nothing is left of it, appends it.
func (p *Prior) add(name string, value float64) {
	value = math.Round(value/step) / math.Round(1/step)
	if value != 0 && math.Abs(value) <= most {
		p.Weights = append(p.Weights, Weight{name, value})
	}
}

// Pack returns the weights as filter.Primed takes them; nil for a nil prior.
func (p *Prior) Pack() store.PackedVector {
	if p == nil || len(p.Weights) == 0 {
		return nil
	}
	x := make(model.Vector, 0, len(p.Weights))
	for _, w := range p.Weights {
		index, _ := words.ImpersonalIndex(w.Name)
		x = append(x, model.Feature{Index: index, Value: w.Value})
	}
	return store.PackVector(x)
}

//go:embed default.prior
var embedded string

// Default returns the prior that is part of the program.
var Default = sync.OnceValue(func() *Prior {
	p, err := Parse(strings.NewReader(embedded), "default.prior")
	if err != nil {
		panic(err) // a test has it that it can be read
	}
	return p
})

// The names of the choices that are no file.
const (
	NameDefault = "default"
	NameNone    = "none"
	NameZero    = "zero"
)

// constantAlone is the weight of the constant that an account begins with if it gets no
// weights of other owners. The constant has a value of 0.147 by featurize's defaults, so a
// message of which nothing is known scores −0.5: most mail is ordinary, which a learner that
// begins at 0 has yet to learn (docs/decisions/learning.md, "The constant begins below zero").
const constantAlone = -3.4

// None returns the prior without weights of other owners: that of the constant alone.
func None() *Prior {
	return &Prior{Weights: []Weight{{Name: featurize.Constant.String(), Value: constantAlone}}}
}

// Named returns the prior that a setting names: "default", "none" (see None), "zero", which
// is nil: every weight begins at 0, as in the theory; or the path of a file.
func Named(name string) (*Prior, error) {
	switch name {
	case NameDefault:
		return Default(), nil
	case NameNone:
		return None(), nil
	case NameZero:
		return nil, nil
	case "":
		return nil, fmt.Errorf("prior: no name; it is %q, %q, %q or a file", NameDefault, NameNone, NameZero)
	}
	return Load(name)
}

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
