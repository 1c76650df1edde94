// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hinged/hinged/model"
)

// ReadVW reads labelled vectors as Vowpal Wabbit takes them, one a line:
//
//	label [importance] [base] ['tag]|namespace[:scale] feature[:value] … |…
//
// label is above 0 for important and below 0 for ordinary; the importance is the
// lesson's weight; a base must be 0. A feature without a value has 1. The same
// feature of the same namespace twice in a line adds up, as it does there. Nothing
// is lifted: add a constant with --lift.
func ReadVW(r io.Reader, name string) ([]model.Lesson, error) {
	var out []model.Lesson
	var reader rowReader
	err := eachRawLine(r, name, func(line string) error {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		head, body, ok := strings.Cut(line, "|")
		if !ok {
			return fmt.Errorf("%q has no |", shorten(line))
		}
		e, err := vwHead(head)
		if err != nil {
			return err
		}
		reader.vector = reader.vector[:0]
		for part := range strings.SplitSeq(body, "|") {
			if err := reader.vwNamespace(part); err != nil {
				return err
			}
		}
		reader.addUp()
		e.Vector = reader.own()
		if len(out) == maxRows {
			return fmt.Errorf("there are more than %d rows", maxRows)
		}
		if err := e.Vector.Validate(); err != nil {
			return err
		}
		out = append(out, e)
		return nil
	})
	return out, err
}

func vwHead(head string) (e model.Lesson, err error) {
	fields := strings.Fields(head)
	if n := len(fields); n > 0 && (strings.HasPrefix(fields[n-1], "'") || !strings.HasSuffix(head, " ") && n > 1) {
		fields = fields[:n-1] // the tag
	}
	if len(fields) == 0 || len(fields) > 3 {
		return e, fmt.Errorf("%q is not label, importance, base and tag", shorten(head))
	}
	label, err := parseNumber(fields[0])
	if err != nil || label == 0 {
		return e, fmt.Errorf("the label %q says neither yes (above 0) nor no (below 0)", shorten(fields[0]))
	}
	e = model.Lesson{Label: model.Important, Weight: 1}
	if label < 0 {
		e.Label = model.Ordinary
	}
	if len(fields) > 1 {
		if e.Weight, err = parseNumber(fields[1]); err != nil || !(e.Weight > 0) {
			return e, fmt.Errorf("the importance %q is not a number above 0", shorten(fields[1]))
		}
	}
	if len(fields) > 2 {
		if base, err := parseNumber(fields[2]); err != nil || base != 0 {
			return e, errors.New("a base other than 0 is not supported")
		}
	}
	return e, nil
}

// vwNamespace appends the features of one namespace to the row's vector, each as often as
// it stands there.
func (r *rowReader) vwNamespace(part string) error {
	space, scale := "", 1.0
	named := !strings.HasPrefix(part, " ") && !strings.HasPrefix(part, "\t") // the name comes first
	for f := range strings.FieldsSeq(part) {
		name, text, valued := strings.Cut(f, ":")
		v := 1.0
		if valued {
			var err error
			if v, err = r.numbers.parse(text); err != nil {
				what := "value of feature"
				if named {
					what = "scale of namespace"
				}
				return fmt.Errorf("the %s %q: %w", what, shorten(name), err)
			}
		}
		if named {
			space, scale, named = name, v, false
			continue
		}
		r.vector = append(r.vector, model.Feature{Index: vwIndex(space, name), Value: v * scale})
	}
	return nil
}

// vwIndex is the index of a feature: FNV-1a of its namespace, a zero byte and its name, as
// hash/fnv has it.
func vwIndex(space, name string) model.Index {
	const basis, prime = 14695981039346656037, 1099511628211
	h := uint64(basis)
	for i := range len(space) {
		h = (h ^ uint64(space[i])) * prime
	}
	h *= prime
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	return model.FoldIndex(h)
}

// addUp sorts the row's vector and adds up the values of a feature, in the order in which
// they stood. Zeros are left out.
func (r *rowReader) addUp() {
	r.sort()
	kept := r.vector[:0]
	for _, f := range r.vector {
		if n := len(kept); n > 0 && kept[n-1].Index == f.Index {
			kept[n-1].Value += f.Value
		} else {
			kept = append(kept, f)
		}
	}
	r.vector = slices.DeleteFunc(kept, func(f model.Feature) bool { return f.Value == 0 })
}

// sort sorts the row's vector by index, equals in the order in which they stood: by the last
// eight bits of it, then by the eight before, and so on.
func (r *rowReader) sort() {
	const digits, base = (model.IndexBits + 7) / 8, 256
	var ends [digits][base]int32
	for _, f := range r.vector {
		for d := range digits {
			ends[d][f.Index>>(8*d)%base]++
		}
	}
	r.room = slices.Grow(r.room[:0], len(r.vector))
	for d := range digits {
		end := int32(0)
		for i, n := range ends[d] {
			ends[d][i], end = end, end+n // where those with the digit begin
		}
		out := r.room[:len(r.vector)]
		for _, f := range r.vector {
			at := &ends[d][f.Index>>(8*d)%base]
			out[*at] = f
			*at++
		}
		r.vector, r.room = out, r.vector
	}
}

// ReadVectors reads either format: Vowpal Wabbit's has a | in its first line.
func ReadVectors(r io.Reader, name string) ([]model.Lesson, error) {
	start, rest, err := firstLine(r)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if strings.Contains(start, "|") {
		return ReadVW(rest, name)
	}
	return ReadSVMLight(rest, name)
}
