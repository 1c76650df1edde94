package lab

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// FuzzSVMLight: no text panics, and what is read are vectors.
func FuzzSVMLight(f *testing.F) {
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
	})
}
