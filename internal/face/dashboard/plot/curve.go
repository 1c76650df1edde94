// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Point is one of a curve, in the curve's own units.
type Point struct{ X, Y float64 }

// Curve is one line of a picture.
type Curve struct {
	Points []Point // in ascending order of X
	Class  string  // ln, ln2 or ceil
	Steps  bool    // keeps its height up to the next point
	Label  string  // what stands at its end, in bold
	Name   string  // and below it
	Warn   bool
}

// Tick is a place on the axis below.
type Tick struct {
	X     float64
	Label string
}

// Curves is a picture of curves with one vertical axis from 0.
type Curves struct {
	Finding string // what is to be seen, for those who can't
	Curves  []Curve
	Ticks   []Tick // the first and the last are set at the edges
	// From and To bound the horizontal axis.
	From, To float64
	// Event is a moment with a name; "" if there is none.
	Event   string
	EventAt float64
}

// frame is where a picture's axes lie.
type frame struct{ left, right, top, bottom float64 }

// Draw draws it. Curves without points are left out.
func (c Curves) Draw() template.HTML {
	const width, height = 352.0, 208.0
	f := frame{left: 30, right: width - 58, top: 12, bottom: height - 24}
	top := 0.0
	for _, curve := range c.Curves {
		for _, p := range curve.Points {
			top = math.Max(top, p.Y)
		}
	}
	var s svg
	s.begin("plot", width, height, c.Finding)
	high := f.levels(&s, top)
	x := func(v float64) float64 {
		if c.To <= c.From {
			return f.left
		}
		return f.left + (v-c.From)/(c.To-c.From)*(f.right-f.left)
	}
	y := func(v float64) float64 { return f.bottom - v/high*(f.bottom-f.top) }
	f.below(&s, c.Ticks, x, height-4)
	if c.Event != "" && c.EventAt > c.From && c.EventAt < c.To {
		s.line("event", x(c.EventAt), f.top, x(c.EventAt), f.bottom)
		if x(c.EventAt) > (f.left+f.right)/2 {
			s.text("e", x(c.EventAt)-5, f.top+16, c.Event)
		} else {
			s.text("", x(c.EventAt)+5, f.top+16, c.Event)
		}
	}
	c.ends(&s, f, x, y)
	return s.end()
}

// levels draws the lines of the vertical axis and returns the height of the highest.
func (f frame) levels(s *svg, top float64) (high float64) {
	step, n := steps(top)
	high = step * float64(n)
	for i := 0; i <= n; i++ {
		v := step * float64(i)
		y := f.bottom - v/high*(f.bottom-f.top)
		class := "hair"
		if i == 0 {
			class = "axis"
		}
		s.line(class, f.left, y, f.right, y)
		s.text("e", f.left-7, y+4, tick(v, step))
	}
	return high
}

func (f frame) below(s *svg, ticks []Tick, x func(float64) float64, y float64) {
	for i, t := range ticks {
		class := "m"
		switch {
		case i == 0 && x(t.X) < f.left+24:
			class = ""
		case i == len(ticks)-1 && x(t.X) > f.right-24:
			class = "e"
		}
		s.text(class, x(t.X), y, t.Label)
	}
}

// ends draws the curves and what stands at their ends, none above another.
func (c Curves) ends(s *svg, f frame, x, y func(float64) float64) {
	const apart = 32 // two lines of text
	var taken []float64
	for _, curve := range c.Curves {
		if len(curve.Points) == 0 {
			continue
		}
		s.path(curve.Class, curve.path(x, y))
		last := curve.Points[len(curve.Points)-1]
		lx, ly := x(last.X), y(last.Y)
		lab := "lab"
		switch curve.Class {
		case "ln":
			s.dot("dot", lx, ly)
			lab = "lab-a"
		case "ln2":
			s.dot("dot2", lx, ly)
		}
		at := ly + 4
		for _, other := range taken {
			if math.Abs(other-at) < apart {
				at = other + apart
				if other+apart > f.bottom+4 {
					at = other - apart
				}
			}
		}
		taken = append(taken, at)
		s.text(lab, lx+7, at, curve.Label)
		if curve.Name != "" {
			s.text("", lx+7, at+14, curve.Name)
		}
	}
}

func (c Curve) path(x, y func(float64) float64) string {
	var b strings.Builder
	for i, p := range c.Points {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%s %s", num(x(p.X)), num(y(p.Y)))
		case c.Steps:
			fmt.Fprintf(&b, "H%s", num(x(p.X)))
			if p.Y != c.Points[i-1].Y {
				fmt.Fprintf(&b, "V%s", num(y(p.Y)))
			}
		default:
			fmt.Fprintf(&b, "L%s %s", num(x(p.X)), num(y(p.Y)))
		}
	}
	return b.String()
}

// Thin leaves at most about n points of a curve, its first and last among them.
func Thin(points []Point, n int) []Point {
	if len(points) <= n || n < 2 {
		return points
	}
	out := make([]Point, 0, n)
	for i := range n {
		out = append(out, points[i*(len(points)-1)/(n-1)])
	}
	return out
}
