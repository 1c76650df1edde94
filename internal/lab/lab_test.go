// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/model/theory"
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

func generate(t *testing.T, what string, examples, dimensions int, seed uint64) []model.Lesson {
	t.Helper()
	lessons, err := Generator{What: what, Examples: examples, Dimensions: dimensions, Seed: seed}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return lessons
}

// TestGeneratorsMakeWhatTheySay: unit vectors, the margin or the share of wrong labels
// that was asked for, both labels, and the same again from the same seed alone.
func TestGeneratorsMakeWhatTheySay(t *testing.T) {
	for _, margin := range []float64{0.02, 0.3} {
		lessons := generate(t, fmt.Sprintf("separable:%g", margin), 400, 5, 3)
		widest := theory.FindWidest(lessons, 3000)
		if widest.Margin < margin*0.9 || widest.AtMost < margin || widest.AtMost > margin*1.5 {
			t.Errorf("separable:%g has a margin from %v to %v", margin, widest.Margin, widest.AtMost)
		}
		important := 0
		for _, e := range lessons {
			if math.Abs(e.Vector.SquaredNorm()-1) > 1e-12 || e.Vector.Validate() != nil || len(e.Vector) != 5 {
				t.Fatalf("%v is no unit vector in 5 dimensions", e.Vector)
			}
			if e.Label == model.Important {
				important++
			}
		}
		if important < 150 || important > 250 {
			t.Errorf("%d of 400 are important", important)
		}
	}
	clean, noisy := generate(t, "noisy:0", 2000, 8, 4), generate(t, "noisy:0.2", 2000, 8, 4)
	wrong := 0
	for i := range clean {
		if !reflect.DeepEqual(clean[i].Vector, noisy[i].Vector) {
			t.Fatal("noise changed a vector")
		}
		if clean[i].Label != noisy[i].Label {
			wrong++
		}
	}
	if wrong < 320 || wrong > 480 {
		t.Errorf("noisy:0.2 has %d of 2000 labels wrong", wrong)
	}
	// After half a turn every label is what it was not.
	still, turned := generate(t, "drifting:0", 1000, 6, 5), generate(t, "drifting:180", 1000, 6, 5)
	if theory.FindWidest(still, 2000).Margin < 0.08 || theory.FindWidest(turned, 2000).Margin > 0 {
		t.Error("a hyperplane that stands still separates its examples, one that turns does not")
	}
	if again := generate(t, "drifting:180", 1000, 6, 5); !reflect.DeepEqual(again, turned) {
		t.Error("the same seed gave other examples")
	}
	if other := generate(t, "drifting:180", 1000, 6, 6); reflect.DeepEqual(other, turned) {
		t.Error("another seed gave the same examples")
	}
	if len(generate(t, "vempala:4", 0, 0, 0)) != 4 || len(generate(t, "blum:7.5", 0, 0, 0)) != 4 {
		t.Error("the hard instances have four examples each")
	}
	for what, want := range map[string]string{
		"vempala:x": "want a number of dimensions", "blum:0.5": "want a number K", "separable:1": "want a margin", "separable:": "want a margin",
		"noisy:2": "want a share", "drifting:-1": "want an angle", "random:1": "the generators are vempala:N",
	} {
		if _, err := (Generator{What: what, Examples: 5, Dimensions: 3}).Generate(); !errors.Is(err, ErrExperiment) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, g := range []Generator{{"noisy:0", 0, 5, 1}, {"noisy:0", 5, 1, 1}} {
		if _, err := g.Generate(); !errors.Is(err, ErrExperiment) {
			t.Errorf("%+v: %v", g, err)
		}
	}
}

// everyone names the whole family for a test.
func everyone(t *testing.T, passes int) []Experiment {
	t.Helper()
	x := Experiment{
		Learner: model.DefaultSpec(), Passes: passes, Budget: 20,
		Modified: &theory.ModifiedOptions{Sigma: 0.2, Delta: 0.1, Seed: 1},
	}
	all, err := x.Named([]string{"all"})
	if err != nil || len(all) != len(Names()) {
		t.Fatalf("%d of %d learners: %v", len(all), len(Names()), err)
	}
	return all
}

// TestNoLearnerOfTheFamilyPassesItsCeiling: on every kind of stream, in one pass or
// many, and with descent at any rate, whose ceiling is that of another learner.
func TestNoLearnerOfTheFamilyPassesItsCeiling(t *testing.T) {
	experiments := everyone(t, 40)
	for _, rate := range []float64{0.01, 1, 3, 100} {
		for _, loss := range []theory.Loss{theory.LossHinge, theory.LossPerceptron} {
			experiments = append(experiments, Experiment{Descent: &Descent{loss, rate}, Learner: model.DefaultSpec(), Passes: 3})
		}
	}
	experiments = append(experiments, everyone(t, 1)...)
	for _, what := range []string{"separable:0.1", "noisy:0.2", "drifting:90", "vempala:6", "blum:20"} {
		lessons := generate(t, what, 60, 4, 9)
		for _, x := range experiments {
			r, err := x.Run(lessons)
			if err != nil {
				t.Fatal(err)
			}
			if r.Mistakes == 0 || r.Ceiling == nil && r.NoCeiling == "" || r.Ceiling != nil && *r.Ceiling < uint64(r.Mistakes) {
				t.Errorf("%s, %s: %d mistakes in %d passes; %+v", what, x.String(), r.Mistakes, r.Passes, r)
			}
		}
	}
}

// TestTheFamilyOnHardInstances: lifting and normalising collapse Vempala's instance, a
// map and kernels more so; the modified perceptron is right wherever |cos| ≥ σ.
func TestTheFamilyOnHardInstances(t *testing.T) {
	names := []string{"perceptron", "lifted", "lifted-normalised", "quadratic", "polynomial-2", "modified"}
	x := Experiment{Learner: model.DefaultSpec(), Passes: 10_000}
	experiments, err := x.Named(names)
	if err != nil {
		t.Fatal(err)
	}
	lessons := generate(t, "vempala:8", 0, 0, 0)
	c, err := Compare(lessons, experiments)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*Report{}
	for i, r := range c.Learners {
		if r.Name != names[i] {
			t.Fatalf("learner %d is %s", i, r.Name)
		}
		got[r.Name] = r
	}
	if n := got["perceptron"].Mistakes; n < 1<<7 {
		t.Errorf("the perceptron made %d mistakes", n)
	}
	for _, name := range names[1:] {
		if r := got[name]; r.Mistakes > got["perceptron"].Mistakes/50 || name != "modified" && !r.Separated {
			t.Errorf("%s: %+v", name, r)
		}
	}
	var table strings.Builder
	if err := c.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lifted-normalised  --learner perceptron --lift 1 --normalise\n", "learner "} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, table.String())
		}
	}
}

func TestNamesOfTheFamily(t *testing.T) {
	x := Experiment{Learner: model.DefaultSpec(), Lift: 2, Budget: 7}
	got, err := x.Named([]string{"lifted", budgeted, "descent", "margin"})
	if err != nil {
		t.Fatal(err)
	}
	var does []string
	for _, x := range got {
		does = append(does, x.does())
	}
	want := []string{
		"--learner perceptron --lift 2",
		"--learner passive-aggressive --aggressiveness 0.2 --variant 2 --kernel-degree 2 --budget 7 --lift 2",
		"--learner descent --loss hinge --rate 0.1 --lift 2",
		"--learner margin --margin 1 --lift 2",
	}
	if !slices.Equal(does, want) {
		t.Errorf("got %q, want %q", does, want)
	}
	for _, names := range [][]string{{"winnow"}, {"perceptron", ""}} {
		if _, err := x.Named(names); !errors.Is(err, ErrExperiment) {
			t.Errorf("%q: %v", names, err)
		}
	}
	x.Budget = 0
	if _, err := x.Named([]string{budgeted}); !errors.Is(err, ErrExperiment) {
		t.Errorf("a budget of 0: %v", err)
	}
}

// BenchmarkFamily measures a lesson of every learner.
func BenchmarkFamily(b *testing.B) {
	lessons, err := Generator{What: "noisy:0.1", Examples: 1000, Dimensions: 50, Seed: 1}.Generate()
	if err != nil {
		b.Fatal(err)
	}
	x := Experiment{Learner: model.DefaultSpec(), Passes: 1, Budget: 100}
	all, err := x.Named([]string{"all"})
	if err != nil {
		b.Fatal(err)
	}
	for _, x := range all {
		if x.Modified != nil {
			continue // it is taught all lessons at once
		}
		b.Run(x.Name, func(b *testing.B) {
			prepared, err := x.prepare(lessons)
			if err != nil {
				b.Fatal(err)
			}
			l, err := x.pupil()
			if err != nil {
				b.Fatal(err)
			}
			for n := 0; b.Loop(); n++ {
				l.Learn(prepared[n%len(prepared)])
			}
		})
	}
}
