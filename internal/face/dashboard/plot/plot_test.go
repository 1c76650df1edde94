// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"encoding/xml"
	"errors"
	"html/template"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// element is one of a picture.
type element struct {
	name  string
	attrs map[string]string
}

// parse reads a picture as XML and fails the test where it is none, or where it has a
// style of its own or a number that is none.
func parse(t *testing.T, picture template.HTML) (elements []element, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(picture)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, text
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{token.Name.Local, map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("an attribute %s in %s", a.Name.Local, picture)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s=%q in %s", a.Name.Local, a.Value, picture)
				}
			}
			elements = append(elements, e)
		case xml.CharData:
			text += string(token) + "\n"
		}
	}
}

// fills returns the rectangles of a class.
func fills(elements []element, class string) (out []element) {
	for _, e := range elements {
		if e.name == "rect" && e.attrs["class"] == class {
			out = append(out, e)
		}
	}
	return out
}

func number(t *testing.T, e element, name string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(e.attrs[name], 64)
	if err != nil {
		t.Fatalf("%s of %v: %v", name, e, err)
	}
	return x
}

func TestScoreBarsGoFromZeroToTheScore(t *testing.T) {
	sc := Scale{Threshold: 0.2, UnsureFrom: 0.1, Range: 1}
	for score, want := range map[float64][2]float64{0.5: {66, 99}, -0.5: {33, 66}, 1: {66, 132}, 0: {66, 66.5}} {
		elements, _ := parse(t, Score(sc, "important", score))
		bar := fills(elements, "fill")
		if len(bar) != 1 {
			t.Fatalf("score %v: %d bars", score, len(bar))
		}
		from := number(t, bar[0], "x")
		to := from + number(t, bar[0], "width")
		if math.Abs(from-want[0]) > 0.11 || math.Abs(to-want[1]) > 0.11 {
			t.Errorf("score %v: a bar from %v to %v, want %v", score, from, to, want)
		}
	}
	// Past the range the bar ends in a point, at the edge.
	beyond := string(Score(sc, "important", 1.01))
	if !strings.Contains(beyond, "L132 7L") {
		t.Errorf("a score beyond the range has no point: %s", beyond)
	}
	if at := string(Score(sc, "important", 1)); strings.Contains(at, "L132 7L") {
		t.Errorf("a score at the end of the range has a point: %s", at)
	}
	for outcome, class := range map[string]string{"important": "fill", "unsure": "hollow", "ordinary": "fill-q", "undecided": "fill-q"} {
		if elements, _ := parse(t, Score(sc, outcome, 0.4)); len(fills(elements, class)) != 1 {
			t.Errorf("%s: no bar of class %s", outcome, class)
		}
	}
}

func TestScalesAreRoundAndHighEnough(t *testing.T) {
	round := regexp.MustCompile(`^(1|2|2\.5|3|4|5)(e[+-]\d+)?$`)
	for range 10_000 {
		top := math.Exp(rand.Float64()*30 - 10)
		step, n := steps(top)
		if n < 1 || n > 4 || step*float64(n) < top*(1-1e-6) {
			t.Fatalf("steps(%v) is %d times %v", top, n, step)
		}
		if s := strconv.FormatFloat(step/math.Pow(10, math.Floor(math.Log10(step)+1e-9)), 'g', 3, 64); !round.MatchString(s) {
			t.Fatalf("steps(%v) goes by %v", top, step)
		}
	}
	for _, top := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if step, n := steps(top); step != 1 || n != 1 {
			t.Errorf("steps(%v) is %d times %v", top, n, step)
		}
	}
}

func TestPicturesSayWhatTheyAreTold(t *testing.T) {
	c := Curves{
		Finding: `Mistakes rise to 5 <&"`, From: 0, To: 10, Event: "begins <b>", EventAt: 5,
		Curves: []Curve{
			{Points: []Point{{0, 0}, {10, 9}}, Class: "ceil", Label: "9", Name: "ceiling"},
			{Points: []Point{{0, 0}, {3, 2}, {10, 5}}, Class: "ln", Steps: true, Label: "5", Name: "mistakes"},
		},
		Ticks: []Tick{{0, "1 Jan"}, {10, "today"}},
	}
	elements, text := parse(t, c.Draw())
	if got := elements[0].attrs["aria-label"]; got != c.Finding {
		t.Errorf("its finding is %q", got)
	}
	for _, want := range []string{"begins <b>", "ceiling", "mistakes", "1 Jan", "today", "9", "5"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %q: %s", want, text)
		}
	}
	for name, c := range map[string]Curves{
		"nothing": {}, "one point": {Curves: []Curve{{Points: []Point{{1, 1}}, Class: "ln"}}},
		"no width":     {From: 3, To: 3, Curves: []Curve{{Points: []Point{{3, 1}, {3, 2}}, Class: "ln"}}},
		"not a number": {To: 1, Curves: []Curve{{Points: []Point{{0, math.NaN()}, {1, math.Inf(1)}}, Class: "ln"}}},
	} {
		if _, text := parse(t, c.Draw()); !strings.Contains(text, "0") {
			t.Errorf("%s: no axis", name)
		}
	}
}

func TestBarsAreAsTallAsTheirNumbers(t *testing.T) {
	elements, text := parse(t, Bars{Bars: []Bar{{4, 1}, {0, 0}, {2, 2}}, Level: 3, Name: "budget"}.Draw())
	all, off := fills(elements, "fill"), fills(elements, "fill-w")
	if len(all) != 2 || len(off) != 2 {
		t.Fatalf("%d and %d bars", len(all), len(off))
	}
	if a, b := number(t, all[0], "height"), number(t, all[1], "height"); math.Abs(a-2*b) > 0.2 {
		t.Errorf("4 is %v tall, 2 is %v", a, b)
	}
	if a, b := number(t, all[0], "height"), number(t, off[0], "height"); math.Abs(a-4*b) > 0.3 {
		t.Errorf("4 is %v tall, 1 of them %v", a, b)
	}
	if !strings.Contains(text, "budget") {
		t.Error("the level has no name")
	}
	parse(t, Bars{}.Draw())
	parse(t, Spark(nil))
	parse(t, Spark([]float64{1, 0, 3}))
	parse(t, Meter(2, 0.5))
	parse(t, Pull(-3, 0))
	parse(t, Glyph("<script>"))
}

func TestNumbersAreWrittenAsPeopleReadThem(t *testing.T) {
	for want, got := range map[string]string{
		"11,908": Count(11908), "999": Count(999), "1,000,000": Count(1e6), "−1,234": Count(-1234),
		"+0.812": Signed(0.8124), "−0.471": Signed(-0.471), "0.000": Signed(-0.0004), "—": Signed(math.NaN()),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestThinKeepsTheEnds(t *testing.T) {
	var points []Point
	for i := range 1000 {
		points = append(points, Point{X: float64(i)})
	}
	thin := Thin(points, 160)
	if len(thin) != 160 || thin[0] != points[0] || thin[159] != points[999] {
		t.Errorf("%d points from %v to %v", len(thin), thin[0], thin[len(thin)-1])
	}
	if got := Thin(points[:160], 160); len(got) != 160 {
		t.Errorf("%d points at the limit", len(got))
	}
}

// Each step begins where the one before it ended, from zero to the sum.
func TestAFallGoesFromZeroToItsSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		steps := make([]float64, 1+r.IntN(9))
		sum := 0.0
		for i := range steps {
			steps[i] = r.Float64() - 0.5
			sum += steps[i]
		}
		f := NewFall(steps, r.Float64()-0.5)
		bar := func(elements []element) (left, right float64) {
			for _, e := range elements {
				if c := e.attrs["class"]; e.name == "rect" && (c == "fill" || c == "fill-q" || c == "ink") {
					left = number(t, e, "x")
					return left, left + number(t, e, "width")
				}
			}
			t.Fatal("no bar")
			return 0, 0
		}
		rows := func(from, to float64) (float64, float64) {
			elements, _ := parse(t, "<g>"+f.Step(from, to)+"</g>")
			return bar(elements)
		}
		at := 0.0
		last := math.NaN()
		for _, step := range steps {
			left, right := rows(at, at+step)
			if left < 0 || right > 400.1 {
				t.Fatalf("a step reaches from %.1f to %.1f", left, right)
			}
			begins, ends := left, right
			if step < 0 {
				begins, ends = right, left
			}
			if !math.IsNaN(last) && math.Abs(begins-last) > 1 {
				t.Fatalf("a step begins at %.1f, the one before it ended at %.1f", begins, last)
			}
			last = ends
			at += step
		}
		elements, _ := parse(t, "<g>"+f.Sum(sum)+"</g>")
		left, right := bar(elements)
		if math.Abs(left-last) > 1 && math.Abs(right-last) > 1 {
			t.Fatalf("the sum reaches from %.1f to %.1f, the last step ended at %.1f", left, right, last)
		}
	}
}
