// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// labels are the texts of a picture.
var labels = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// Whatever the scores are, labels stay in the picture and touch no other.
func TestLabelsOfALineTouchNoOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 500 {
		score := func() float64 { return math.Round(4000*(r.Float64()-0.5)) / 1000 }
		l := Line{Finding: "f", Now: LinePoint{score(), "now"}, Wide: n%2 == 0}
		for _, label := range []string{"if you call it important", "if you call it ordinary"}[:n%3] {
			l.Would = append(l.Would, LinePoint{score(), label})
		}
		l.Scale = Scale{Threshold: score() / 2, Range: RangeOf(l.Now.Score)}
		picture := l.Draw()
		elements, _ := parse(t, picture)
		width := 358.0
		if l.Wide {
			width = 1000
		}
		type box struct{ left, right, y float64 }
		var boxes []box
		texts := labels.FindAllStringSubmatch(string(picture), -1)
		i := 0
		for _, e := range elements {
			if e.name != "text" {
				continue
			}
			wide := lineChar * float64(utf8.RuneCountInString(texts[i][1]))
			x, class := number(t, e, "x"), " "+e.attrs["class"]+" "
			i++
			b := box{x, x + wide, number(t, e, "y")}
			if strings.Contains(class, " m ") {
				b.left, b.right = x-wide/2, x+wide/2
			} else if strings.Contains(class, " e ") {
				b.left, b.right = x-wide, x
			}
			if b.left < 0 || b.right > width {
				t.Fatalf("%q reaches from %.0f to %.0f of %.0f: %s", texts[i-1][1], b.left, b.right, width, picture)
			}
			for _, other := range boxes {
				if math.Abs(other.y-b.y) < 12 && other.left < b.right && b.left < other.right {
					t.Fatalf("%q touches another: %s", texts[i-1][1], picture)
				}
			}
			boxes = append(boxes, b)
		}
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
