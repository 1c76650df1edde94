// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
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
		sum := map[model.Index]float64{}
		for _, part := range strings.Split(body, "|") {
			if err := vwNamespace(part, sum); err != nil {
				return err
			}
		}
		for i, v := range sum {
			if v != 0 {
				e.Vector = append(e.Vector, model.Feature{Index: i, Value: v})
			}
		}
		e.Vector.Sort()
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

func vwNamespace(part string, sum map[model.Index]float64) error {
	fields := strings.Fields(part)
	space, scale := "", 1.0
	if len(fields) > 0 && !strings.HasPrefix(part, " ") && !strings.HasPrefix(part, "\t") {
		var text string
		var scaled bool
		if space, text, scaled = strings.Cut(fields[0], ":"); scaled {
			var err error
			if scale, err = parseNumber(text); err != nil {
				return fmt.Errorf("the scale of namespace %q: %w", shorten(space), err)
			}
		}
		fields = fields[1:]
	}
	for _, f := range fields {
		name, text, valued := strings.Cut(f, ":")
		v := 1.0
		if valued {
			var err error
			if v, err = parseNumber(text); err != nil {
				return fmt.Errorf("the value of feature %q: %w", shorten(name), err)
			}
		}
		h := fnv.New64a()
		h.Write([]byte(space + "\x00" + name))
		sum[model.FoldIndex(h.Sum64())] += v * scale
	}
	return nil
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
