// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// svg gathers a picture. Only numbers, classes of ours and escaped texts get in.
type svg struct{ strings.Builder }

// begin opens the picture. label "" hides it from screen readers. Plots are as wide as
// their place; all else is as big as it is drawn, unless the stylesheet says otherwise.
func (s *svg) begin(class string, width, height float64, label string) {
	fmt.Fprintf(s, `<svg class="%s" viewBox="0 0 %s %s"`, class, num(width), num(height))
	if class != "plot" {
		fmt.Fprintf(s, ` width="%s" height="%s"`, num(width), num(height))
	}
	if label == "" {
		s.WriteString(` aria-hidden="true">`)
		return
	}
	fmt.Fprintf(s, ` role="img" aria-label="%s">`, html.EscapeString(label))
}

func (s *svg) end() template.HTML {
	s.WriteString("</svg>")
	return template.HTML(s.String()) //nolint:gosec // see svg for what may be in it
}

func (s *svg) rect(class string, x, y, width, height float64) {
	if width > 0 && height > 0 {
		fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(x), num(y), num(width), num(height))
	}
}

func (s *svg) path(class, d string) { fmt.Fprintf(s, `<path class="%s" d="%s"/>`, class, d) }

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	s.path(class, "M"+num(x1)+" "+num(y1)+"L"+num(x2)+" "+num(y2))
}

func (s *svg) dot(class string, x, y float64) {
	fmt.Fprintf(s, `<circle class="%s" cx="%s" cy="%s" r="2.5"/>`, class, num(x), num(y))
}

func (s *svg) text(class string, x, y float64, words string) {
	fmt.Fprintf(s, `<text class="%s" x="%s" y="%s">%s</text>`, class, num(x), num(y), html.EscapeString(words))
}

// num is a coordinate, to a tenth of a unit.
func num(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		x = 0
	}
	return strconv.FormatFloat(math.Round(x*10)/10+0, 'f', -1, 64)
}

// steps returns the least round scale from 0 to at least top, in 2 to 4 equal steps.
func steps(top float64) (step float64, n int) {
	if !(top > 0) || math.IsInf(top, 0) {
		return 1, 1
	}
	for size := math.Pow(10, math.Floor(math.Log10(top))-1); ; size *= 10 {
		for _, times := range []float64{1, 2, 2.5, 3, 4, 5} {
			step = size * times
			if n = int(math.Ceil(top/step - 1e-9)); n <= 4 {
				return step, max(n, 1)
			}
		}
	}
}

// Count writes a whole number with commas, as in 11,908.
func Count(n int64) string {
	if n < 0 {
		return "−" + Count(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Signed writes a score with three digits and its sign, a real minus sign below zero.
func Signed(x float64) string { return signed(x, 3) }

func signed(x float64, digits int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', digits, 64)
	switch {
	case math.IsNaN(x):
		return "—"
	case strings.Trim(s, "0.") == "":
		return s
	case x < 0:
		return "−" + s
	}
	return "+" + s
}

// tick writes a value of an axis.
func tick(x, step float64) string {
	if step >= 1 && step == math.Trunc(step) {
		return Count(int64(math.Round(x)))
	}
	return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)
}
