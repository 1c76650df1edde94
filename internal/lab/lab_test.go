// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hinged/hinged/model"
)

func TestSVMLight(t *testing.T) {
	got, err := ReadSVMLight(strings.NewReader("# three points\n+1 3:0.5 1:-2 # a\n-1 qid:4 0:1e3\n\n0.5\n"), "f")
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Lesson{
		{Vector: model.Vector{{Index: 3, Value: -2}, {Index: 5, Value: 0.5}}, Label: model.Important, Weight: 1},
		{Vector: model.Vector{{Index: 2, Value: 1000}}, Label: model.Ordinary, Weight: 1},
		{Vector: nil, Label: model.Important, Weight: 1},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for text, want := range map[string]string{
		"yes 1:2":                      `f, line 1: the label "yes" is not a number`,
		"\n0 1:2":                      "f, line 2: the label 0 says neither yes (above 0) nor no (below 0)",
		"NaN 1:2":                      "says neither",
		"1 2":                          `"2" is not feature:value`,
		"1 -2:1":                       `"-2:1" is not feature:value`,
		"1 2:x":                        `the value of feature 2: "x" is not a finite number`,
		"1 2:inf":                      "not a finite number",
		"1 2:1 2:3":                    "feature 2 stands twice",
		"1 18446744073709551615:1":     "is not feature:value",
		"1 " + strings.Repeat("z", 99): `"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz…" is not`,
	} {
		_, err := ReadSVMLight(strings.NewReader(text), "f")
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestWhatIsWrittenIsReadAgain: to the bit, but for the numbers of the features.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	lessons := []model.Lesson{
		{Vector: model.Vector{{Index: model.Affine, Value: 0.1}, {Index: 99, Value: 1.0 / 3}, {Index: 1 << 60, Value: -5e-324}}, Label: model.Important, Weight: 1},
		{Vector: model.Vector{{Index: 7, Value: 2}, {Index: 99, Value: 1e300}}, Label: model.Ordinary, Weight: 1.0 / 3},
		{Label: model.Ordinary, Weight: 1},
	}
	var b strings.Builder
	w := NewWriter(&b)
	for _, e := range lessons {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSVMLight(strings.NewReader(b.String()), "f")
	if err != nil || len(got) != len(lessons) {
		t.Fatalf("%v, %v", got, err)
	}
	for i, e := range lessons {
		g := got[i]
		values := func(v model.Vector) (out []float64) {
			for _, f := range v {
				out = append(out, f.Value)
			}
			slices.Sort(out)
			return out
		}
		if g.Label != e.Label || g.Weight != e.Weight || !slices.Equal(values(g.Vector), values(e.Vector)) {
			t.Errorf("%v came back as %v", e, g)
		}
		if want := model.Dot(e.Vector, lessons[0].Vector); model.Dot(g.Vector, got[0].Vector) != want {
			t.Errorf("features of lesson %d changed", i)
		}
	}
}

func TestInequalities(t *testing.T) {
	s, err := ReadInequalities(strings.NewReader("2x - 3.5*y_1 >= 1 # one\n\n x + y_1 + 2 < 3 y_1 \n-4 > --2e1 x\nx<=0"), "f")
	if err != nil {
		t.Fatal(err)
	}
	rows := []model.Vector{
		{{Index: 2, Value: 2}, {Index: 3, Value: -3.5}},
		{{Index: 2, Value: -1}, {Index: 3, Value: 2}},
		{{Index: 2, Value: -20}},
		{{Index: 2, Value: -1}},
	}
	if !reflect.DeepEqual(s.Rows, rows) || !slices.Equal(s.At, []float64{1, 2, 4, 0}) || !slices.Equal(s.Names, []string{"x", "y_1"}) {
		t.Errorf("got %+v", s)
	}
	if s.Lines[1] != "x + y_1 + 2 < 3 y_1" {
		t.Errorf("the second row reads %q", s.Lines[1])
	}
	for text, want := range map[string]string{
		"x + 1":           "has none of >=, >, <=, <",
		"x = 1":           "is an equality, which no point satisfies strictly",
		"1 < x < 2":       "has more than one relation",
		"x => 1":          "is an equality",
		"\n >= 1":         "f, line 2: there is nothing on one side",
		"x y >= 1":        `a + or − is missing before "y"`,
		"2 * >= 1":        "there is no name after *",
		"x * 2 >= 1":      `a + or − is missing before "* 2"`,
		"x + & >= 1":      `"&" is neither a number nor a name`,
		"1.2.3 x >= 1":    "not a finite number",
		"1e999 x >= 1":    "not a finite number",
		"1e308x+1e308x>1": "the numbers are too great",
	} {
		_, err := ReadInequalities(strings.NewReader(text), "f")
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzInequalities: no text panics, and what is read is a system or an error.
func FuzzInequalities(f *testing.F) {
	f.Add("2x - 3.5*y >= 1\nx<2")
	f.Add("1e5e5 x > -")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadInequalities(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for i, a := range s.Rows {
			if err := a.Validate(); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		if len(s.Rows) != len(s.At) || len(s.Rows) != len(s.Lines) {
			t.Fatalf("%d rows, %d right sides, %d lines", len(s.Rows), len(s.At), len(s.Lines))
		}
	})
}

// FuzzVectors: no text panics, and what is read are vectors.
func FuzzVectors(f *testing.F) {
	f.Add("1 1:2 3:4\n-1 2:5 # x")
	f.Fuzz(func(t *testing.T, text string) {
		lessons, err := ReadSVMLight(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for i, e := range lessons {
			if err := e.Vector.Validate(); err != nil {
				t.Fatalf("row %d: %v", i, err)
			}
		}
		for i, want := range svmlightTwin(text) {
			got := map[uint64]float64{}
			for _, f := range lessons[i].Vector {
				got[FeatureOf(f.Index)] = f.Value
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("row %d of %q has %v, want %v", i, text, got, want)
			}
		}
	})
}

// svmlightTwin reads the features of text that is known to be good, the plain way.
func svmlightTwin(text string) (rows []map[uint64]float64) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(strings.Split(line, "#")[0])
		if len(fields) == 0 {
			continue
		}
		row := map[uint64]float64{}
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, ":")
			n, err := strconv.ParseUint(name, 10, 64)
			if err != nil {
				continue // qid and cost
			}
			if v, err := strconv.ParseFloat(value, 64); err == nil && v != 0 {
				row[n] = v
			}
		}
		rows = append(rows, row)
	}
	return rows
}
