// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// LinePoint is a score with what it is called.
type LinePoint struct {
	Score float64
	Label string
}

// Line is one message's score on a line, beside the threshold and beside the scores that
// it would have.
type Line struct {
	Scale   Scale
	Finding string
	Now     LinePoint
	Would   []LinePoint
	Wide    bool // 1000 units instead of 358
}

// Measures of a Line. A character of a label is lineChar units wide, at most.
const (
	lineEdge = 8
	lineRow  = 18
	lineChar = 6.6
)

// Draw draws it. Labels that would touch get rows of their own.
func (l Line) Draw() template.HTML {
	width := 358.0
	if l.Wide {
		width = 1000
	}
	reach := math.Max(l.Scale.Range, 1)
	at := func(x float64) float64 {
		return width/2 + math.Max(-1, math.Min(1, x/reach))*(width/2-lineEdge)
	}
	rows := placeLabels(width, at, append([]LinePoint{l.Now}, l.Would...))
	most := slices.Max(rows)
	axis := float64(most+1)*lineRow + 14
	var s svg
	s.begin("plot", width, axis+34, l.Finding)
	s.rect("band", at(l.Scale.UnsureFrom), axis-9, at(l.Scale.Threshold)-at(l.Scale.UnsureFrom), 18)
	s.line("axis", lineEdge, axis, width-lineEdge, axis)
	l.ends(&s, width, reach, axis, at)
	s.line("thr", at(l.Scale.Threshold), axis-12, at(l.Scale.Threshold), axis+12)
	for i, p := range append([]LinePoint{l.Now}, l.Would...) {
		x, y := at(p.Score), float64(most-rows[i])*lineRow+14
		s.line("hair", x, y+5, x, axis)
		class := "lab-a"
		if i > 0 {
			class = ""
		}
		s.label(class, x, y, width, p.Label+" "+Signed(p.Score))
	}
	for _, p := range l.Would {
		s.circle("hollow", at(p.Score), axis, 4)
	}
	s.circle("dot", at(l.Now.Score), axis, 5)
	return s.end()
}

// ends writes what stands below the line: the threshold, and the ends and the zero of the
// scale where there is room beside it.
func (l Line) ends(s *svg, width, reach, axis float64, at func(float64) float64) {
	name := "threshold " + Signed(l.Scale.Threshold)
	left, right := span(at(l.Scale.Threshold), width, name)
	s.label("", at(l.Scale.Threshold), axis+30, width, name)
	for _, x := range []float64{-reach, 0, reach} {
		s.line("axis", at(x), axis-4, at(x), axis+4)
		text := "0"
		if x != 0 {
			text = "+" + strconv.FormatFloat(reach, 'f', -1, 64)
		}
		if x < 0 {
			text = "−" + text[1:]
		}
		if a, b := span(at(x), width, text); b+8 < left || a-8 > right {
			s.label("", at(x), axis+30, width, text)
		}
	}
}

// placeLabels gives each label a row, 0 the lowest, so that none touches another.
func placeLabels(width float64, at func(float64) float64, points []LinePoint) []int {
	type taken struct{ left, right float64 }
	var rows [][]taken
	out := make([]int, len(points))
	for i, p := range points {
		left, right := span(at(p.Score), width, p.Label+" "+Signed(p.Score))
		row := slices.IndexFunc(rows, func(r []taken) bool {
			return !slices.ContainsFunc(r, func(t taken) bool { return left-10 < t.right && right+10 > t.left })
		})
		if row < 0 {
			row, rows = len(rows), append(rows, nil)
		}
		rows[row] = append(rows[row], taken{left, right})
		out[i] = row
	}
	return out
}

// span is from where to where a label reaches that is centred at x, or set at the edge of
// the picture where it would reach beyond.
func span(x, width float64, text string) (left, right float64) {
	wide := lineChar * float64(utf8.RuneCountInString(text))
	switch {
	case x-wide/2 < lineEdge:
		return lineEdge, lineEdge + wide
	case x+wide/2 > width-lineEdge:
		return width - lineEdge - wide, width - lineEdge
	}
	return x - wide/2, x + wide/2
}

// label writes a label at x, within the picture.
func (s *svg) label(class string, x, y, width float64, text string) {
	left, right := span(x, width, text)
	switch {
	case left == lineEdge:
		s.text(class, lineEdge, y, text)
	case right == width-lineEdge:
		s.text(class+" e", width-lineEdge, y, text)
	default:
		s.text(class+" m", x, y, text)
	}
}

func (s *svg) circle(class string, x, y, r float64) {
	s.WriteString(`<circle class="` + class + `" cx="` + num(x) + `" cy="` + num(y) + `" r="` + num(r) + `"/>`)
}
