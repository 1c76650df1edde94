// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
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
	err := eachLine(r, name, func(line string) error {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		if len(out) == maxRows {
			return fmt.Errorf("there are more than %d rows", maxRows)
		}
		e, err := svmlightRow(line)
		if err == nil {
			out = append(out, e)
		}
		return err
	})
	return out, err
}

// svmlightRow reads one row that is not blank.
func svmlightRow(line string) (e model.Lesson, err error) {
	e = model.Lesson{Weight: 1}
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
			if e.Weight, err = parseNumber(cost); err != nil || !(e.Weight > 0) {
				return e, fmt.Errorf("the cost %q is not a number above 0", shorten(cost))
			}
			continue
		}
		x, err := svmlightFeature(f)
		if err != nil {
			return e, err
		}
		if x.Value != 0 {
			e.Vector = append(e.Vector, x)
		}
	}
	e.Vector.Sort()
	for i := 1; i < len(e.Vector); i++ {
		if e.Vector[i].Index == e.Vector[i-1].Index {
			return e, fmt.Errorf("feature %d stands twice", FeatureOf(e.Vector[i].Index))
		}
	}
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

// svmlightFeature reads feature:value.
func svmlightFeature(text string) (model.Feature, error) {
	feature, value, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(feature, 10, 64)
	if !ok || err != nil || n > math.MaxUint64-firstIndex {
		return model.Feature{}, fmt.Errorf("%q is not feature:value with a whole number as feature", shorten(text))
	}
	v, err := parseNumber(value)
	if err != nil {
		return model.Feature{}, fmt.Errorf("the value of feature %d: %w", n, err)
	}
	return model.Feature{Index: IndexOf(n), Value: v}, nil
}

// eachLine calls fn for every line without its comment; its error, if any, gets
// the line's number.
func eachLine(r io.Reader, name string, fn func(line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line, _, _ := strings.Cut(s.Text(), "#")
		if err := fn(line); err != nil {
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

// parseNumber reads a finite number.
func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a finite number", shorten(s))
	}
	return v, nil
}

// shorten keeps errors to one line.
func shorten(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Writer writes labelled vectors in svmlight's format, one a line. Features are numbered
// from 1 in order of first appearance, since other tools do not take 64-bit numbers; the
// affine coordinate is always 1. Values are written so that reading them gives the same bits.
type Writer struct {
	w       *bufio.Writer
	numbers map[model.Index]uint64
	line    []byte
}

// NewWriter returns a Writer; Flush ends its work.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriter(w), numbers: map[model.Index]uint64{model.Affine: 1}}
}

// Write writes one lesson; its weight, where that is not 1, as "cost".
func (w *Writer) Write(e model.Lesson) error {
	b := append(w.line[:0], "+1"...)
	if e.Label == model.Ordinary {
		b[0] = '-'
	}
	if e.Weight != 1 {
		b = append(b, " cost:"...)
		b = strconv.AppendFloat(b, e.Weight, 'g', -1, 64)
	}
	// svmlight wants ascending numbers.
	x := make(model.Vector, len(e.Vector))
	for i, f := range e.Vector {
		n, ok := w.numbers[f.Index]
		if !ok {
			n = uint64(len(w.numbers) + 1)
			w.numbers[f.Index] = n
		}
		x[i] = model.Feature{Index: model.Index(n), Value: f.Value}
	}
	x.Sort()
	for _, f := range x {
		b = append(b, ' ')
		b = strconv.AppendUint(b, uint64(f.Index), 10)
		b = append(b, ':')
		b = strconv.AppendFloat(b, f.Value, 'g', -1, 64)
	}
	w.line = append(b, '\n')
	_, err := w.w.Write(w.line)
	return err
}

// Flush writes what is left.
func (w *Writer) Flush() error { return w.w.Flush() }
