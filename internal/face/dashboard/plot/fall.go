// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"html/template"
	"math"
)

// Fall is a sum taken apart, drawn row by row: each step begins where the one before ended.
type Fall struct {
	low, high float64 // of what is drawn
	threshold float64
}

// NewFall makes room for steps from zero, in their order, and for a threshold.
func NewFall(steps []float64, threshold float64) Fall {
	f := Fall{low: math.Min(0, threshold), high: math.Max(0, threshold), threshold: threshold}
	sum := 0.0
	for _, step := range steps {
		sum += step
		f.low, f.high = math.Min(f.low, sum), math.Max(f.high, sum)
	}
	if f.high-f.low < 1e-9 {
		f.high = f.low + 1
	}
	return f
}

// Step draws the row of a step, as wide as its place: from where the sum stands to where
// it goes. What goes on to the rows beside it is as high as its place.
func (f Fall) Step(from, to float64) template.HTML {
	class := "fill"
	if to < from {
		class = "fill-q"
	}
	return f.row(class, from, to, from, to)
}

// Sum draws the row of the sum, the last one.
func (f Fall) Sum(sum float64) template.HTML { return f.row("ink", 0, sum, sum, math.NaN()) }

// row draws a bar, and joints to the rows above and below.
func (f Fall) row(class string, from, to, above, below float64) template.HTML {
	const width, height, edge = 400.0, 32.0, 4.0
	at := func(x float64) float64 { return edge + (x-f.low)/(f.high-f.low)*(width-2*edge) }
	var s svg
	begin := func(name string) {
		s.WriteString(`<svg class="` + name + `" viewBox="0 0 400 32" preserveAspectRatio="none" aria-hidden="true">`)
	}
	begin("rules")
	s.rect("axisr", at(0)-0.5, 0, 1, height)
	s.rect("thr-r", at(f.threshold)-0.6, 0, 1.2, height)
	s.rect("joint", at(above)-0.5, 0, 1, height/2)
	if !math.IsNaN(below) {
		s.rect("joint", at(below)-0.5, height/2, 1, height/2)
	}
	s.WriteString("</svg>")
	begin("bars")
	s.rect(class, math.Min(at(from), at(to)), 0, math.Max(math.Abs(at(to)-at(from)), 0.8), height)
	return s.end()
}
