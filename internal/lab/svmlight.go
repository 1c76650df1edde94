// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hinged/hinged/model"
)

// Limits of what is read.
const (
	maxLine = 16 << 20 // bytes
	maxRows = 1 << 22
)

// ErrFormat is wrapped by every error about the text itself.
var ErrFormat = errors.New("not readable")

// firstIndex is the model's index of feature 0: lower ones are reserved.
const firstIndex = 2

// IndexOf gives the model's index of a feature of an svmlight file.
func IndexOf(feature uint64) model.Index { return model.Index(feature + firstIndex) }

// FeatureOf is its inverse.
func FeatureOf(i model.Index) uint64 { return uint64(i) - firstIndex }

// ReadSVMLight reads labelled vectors, one a line (Joachims, SVM-light, "Input"):
//
//	label feature:value feature:value … # comment
//
// label is a number above 0 for important, below 0 for ordinary; features are
// whole numbers from 0 on in any order, each at most once; "cost:…" is the lesson's
// weight, which is 1 otherwise; "qid:…" is ignored. Empty lines and comments are
// skipped. name stands in errors.
func ReadSVMLight(r io.Reader, name string) ([]model.Lesson, error) {
	var out []model.Lesson
	var reader rowReader
	err := eachLine(r, name, func(line string) error {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		if len(out) == maxRows {
			return fmt.Errorf("there are more than %d rows", maxRows)
		}
		e, err := reader.svmlight(line)
		if err == nil {
			out = append(out, e)
		}
		return err
	})
	return out, err
}

// rowReader has what rows share while they are read.
type rowReader struct {
	numbers numbers
	vector  model.Vector // of the row
	room    model.Vector // to sort it
}

// own returns a copy of the vector, without room for more.
func (r *rowReader) own() model.Vector {
	return slices.Clone(r.vector)
}

// svmlight reads one row that is not blank.
func (r *rowReader) svmlight(line string) (e model.Lesson, err error) {
	e = model.Lesson{Weight: 1}
	r.vector = r.vector[:0]
	for f := range strings.FieldsSeq(line) {
		if e.Label == 0 {
			if e.Label, err = svmlightLabel(f); err != nil {
				return e, err
			}
			continue
		}
		if strings.HasPrefix(f, "qid:") {
			continue
		}
		if cost, ok := strings.CutPrefix(f, "cost:"); ok {
			if e.Weight, err = r.numbers.parse(cost); err != nil || !(e.Weight > 0) {
				return e, fmt.Errorf("the cost %q is not a number above 0", shorten(cost))
			}
			continue
		}
		x, err := r.feature(f)
		if err != nil {
			return e, err
		}
		if x.Value != 0 {
			r.vector = append(r.vector, x)
		}
	}
	r.vector.Sort()
	for i := 1; i < len(r.vector); i++ {
		if r.vector[i].Index == r.vector[i-1].Index {
			return e, fmt.Errorf("feature %d stands twice", FeatureOf(r.vector[i].Index))
		}
	}
	e.Vector = r.own()
	return e, nil
}

// svmlightLabel reads the label of a row.
func svmlightLabel(text string) (model.Label, error) {
	label, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the label %q is not a number", shorten(text))
	case label < 0:
		return model.Ordinary, nil
	case !(label > 0):
		return 0, fmt.Errorf("the label %s says neither yes (above 0) nor no (below 0)", text)
	}
	return model.Important, nil
}

// feature reads feature:value.
func (r *rowReader) feature(text string) (model.Feature, error) {
	feature, value, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(feature, 10, 64)
	if !ok || err != nil || n > math.MaxUint64-firstIndex {
		return model.Feature{}, fmt.Errorf("%q is not feature:value with a whole number as feature", shorten(text))
	}
	v, err := r.numbers.parse(value)
	if err != nil {
		return model.Feature{}, fmt.Errorf("the value of feature %d: %w", n, err)
	}
	return model.Feature{Index: IndexOf(n), Value: v}, nil
}

// eachLine calls fn for every line without its comment; its error, if any, gets
// the line's number.
func eachLine(r io.Reader, name string, fn func(line string) error) error {
	return eachRawLine(r, name, func(line string) error {
		line, _, _ = strings.Cut(line, "#")
		return fn(line)
	})
}

// eachRawLine is eachLine for formats without comments.
func eachRawLine(r io.Reader, name string, fn func(line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		if err := fn(s.Text()); err != nil {
			return fmt.Errorf("%w: %s, line %d: %w", ErrFormat, name, n, err)
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: %s, line %d: longer than %d bytes", ErrFormat, name, n+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// firstLine returns the beginning of what r holds, up to the end of the first line
// that is neither empty nor a comment, and a reader of all of it.
func firstLine(r io.Reader) (string, io.Reader, error) {
	b := bufio.NewReader(r)
	var seen strings.Builder
	for {
		line, err := b.ReadString('\n')
		seen.WriteString(line)
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' || errors.Is(err, io.EOF) || seen.Len() > maxLine {
			return t, io.MultiReader(strings.NewReader(seen.String()), b), nil
		}
		if err != nil {
			return "", nil, err
		}
	}
}

// parseNumber reads a finite number.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a finite number", shorten(s))
	}
	return v, nil
}

// numbers reads numbers and remembers some: the features of one message have a handful of
// values, of up to 20 digits each. The zero value is ready to use.
type numbers [64]struct {
	text  string
	value float64
}

// parse is parseNumber.
func (n *numbers) parse(s string) (float64, error) {
	if s == "" {
		return parseNumber(s)
	}
	// The last digits differ most.
	last := &n[(int(s[len(s)-1])+10*int(s[len(s)/2]))%len(n)]
	if last.text == s {
		return last.value, nil
	}
	v, err := parseNumber(s)
	if err == nil {
		last.text, last.value = strings.Clone(s), v
	}
	return v, err
}

// shorten keeps errors to one line.
func shorten(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
