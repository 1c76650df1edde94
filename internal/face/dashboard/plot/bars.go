// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"html/template"
	"math"
)

// Bar is one of a row: of All, Off are drawn in the colour of a warning, on top.
type Bar struct{ All, Off float64 }

// Bars is a picture of a bar for each day.
type Bars struct {
	Finding string
	Bars    []Bar
	Ticks   []Tick  // X is the number of a bar, from 0
	Level   float64 // a dashed line across, as for a budget; 0 or less: none
	Name    string  // of that line
}

// Draw draws it.
func (b Bars) Draw() template.HTML {
	const width, height = 352.0, 208.0
	f := frame{left: 30, right: width - 46, top: 12, bottom: height - 24}
	top := b.Level
	for _, bar := range b.Bars {
		top = math.Max(top, bar.All)
	}
	var s svg
	s.begin("plot", width, height, b.Finding)
	high := f.levels(&s, top)
	pitch := (f.right - f.left) / math.Max(1, float64(len(b.Bars)))
	x := func(i float64) float64 { return f.left + (i+0.5)*pitch }
	tall := func(v float64) float64 { return v / high * (f.bottom - f.top) }
	for i, bar := range b.Bars {
		left, wide := x(float64(i))-0.35*pitch, 0.7*pitch
		s.rect("fill", left, f.bottom-tall(bar.All), wide, tall(bar.All))
		s.rect("fill-w", left, f.bottom-tall(bar.All), wide, tall(bar.Off))
	}
	f.below(&s, b.Ticks, x, height-4)
	if b.Level > 0 {
		y := f.bottom - tall(b.Level)
		s.line("ceil", f.left, y, f.right, y)
		s.text("", f.right+6, y+4, b.Name)
	}
	return s.end()
}

// Spark draws a row of bars without axes, 112 units wide.
func Spark(values []float64) template.HTML {
	const width, height = 112.0, 22.0
	top := 0.0
	for _, v := range values {
		top = math.Max(top, v)
	}
	var s svg
	s.begin("spark", width, height, "")
	pitch := width / math.Max(1, float64(len(values)))
	for i, v := range values {
		if top > 0 {
			s.rect("fill", float64(i)*pitch+0.1*pitch, height-v/top*height, 0.75*pitch, v/top*height)
		}
	}
	s.line("hair", 0, height-0.5, width, height-0.5)
	return s.end()
}
