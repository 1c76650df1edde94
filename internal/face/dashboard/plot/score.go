// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"fmt"
	"html/template"
	"math"
)

// Scale is what all score bars of a page have in common.
type Scale struct {
	Threshold  float64 // a higher score is important
	UnsureFrom float64 // the lower end of the band below Threshold in which a message is unsure
	// Range is the greatest absolute score that has room, at least 1; see RangeOf.
	Range float64
}

// mostRange bounds what RangeOf makes room for: beyond, a bar ends in a point.
const mostRange = 3

// RangeOf returns the range for some scores: 1, or the next half above the greatest of
// them, up to 3.
func RangeOf(scores ...float64) float64 {
	r := 1.0
	for _, x := range scores {
		r = max(r, math.Ceil(2*math.Abs(x))/2)
	}
	return min(r, mostRange)
}

// Score draws a score from zero, with the threshold as a tick and the band of unsure
// behind it. outcome gives the fill: important, unsure or ordinary.
func Score(sc Scale, outcome string, score float64) template.HTML {
	const width, height = 132.0, 14.0
	at := func(x float64) float64 {
		return width/2 + math.Max(-1, math.Min(1, x/math.Max(sc.Range, 1)))*width/2
	}
	var s svg
	s.begin("sb", width, height, "")
	s.line("hair", 0, height/2, width, height/2)
	s.rect("band", at(sc.UnsureFrom), 0, math.Max(at(sc.Threshold)-at(sc.UnsureFrom), 0), height)
	class := map[string]string{"important": "fill", "unsure": "hollow"}[outcome]
	if class == "" {
		class = "fill-q"
	}
	from, to := math.Min(at(0), at(score)), math.Max(at(0), at(score))
	if beyond := math.Abs(score) > math.Max(sc.Range, 1); beyond { // a point, to say that it goes on
		tip, back := to, to-5
		if score < 0 {
			tip, back = from, from+5
		}
		s.rect(class, math.Min(at(0), back), 4, math.Abs(back-at(0)), 6)
		s.path(class, fmt.Sprintf("M%s 2L%s 7L%s 12z", num(back), num(tip), num(back)))
	} else {
		s.rect(class, from, 4, math.Max(to-from, 0.5), 6)
	}
	s.line("axis", at(0), 3, at(0), 11)
	s.line("thr", at(sc.Threshold), 0, at(sc.Threshold), height)
	return s.end()
}

// Glyph is the sign of an outcome: a full diamond, a hollow one, a dot.
func Glyph(outcome string) template.HTML {
	var s svg
	s.begin("glyph", 12, 12, outcome)
	switch outcome {
	case "important":
		s.path("fill", "M6 .5 11.5 6 6 11.5.5 6z")
	case "unsure":
		s.path("hollow", "M6 1.2 10.8 6 6 10.8 1.2 6z")
	case "done":
		s.path("stroke", "M1.5 6.5 4.5 9.5 10.5 2.5")
	case "not yet":
		s.WriteString(`<circle class="hollow" cx="6" cy="6" r="4.6"/>`)
	default:
		s.WriteString(`<circle class="fill-q" cx="6" cy="6" r="2"/>`)
	}
	return s.end()
}

// Meter draws a share from 0 to 1 as a bar, with a tick at another; a tick outside of
// (0, 1] is left out. It is as wide as its place.
func Meter(share, mark float64) template.HTML {
	const width = 200.0
	cut := func(x float64) float64 { return math.Max(0, math.Min(1, x)) }
	var s svg
	s.WriteString(`<svg viewBox="0 0 200 8" preserveAspectRatio="none" aria-hidden="true">`)
	s.rect("fill-s", 0, 2, width, 4)
	s.rect("fill", 0, 2, width*cut(share), 4)
	if mark > 0 && mark <= 1 {
		s.rect("ink", math.Min(width*mark, width-1.4), 0, 1.4, 8)
	}
	return s.end()
}

// Pull draws one part of a sum: a bar from zero, to the right when it is above. most is
// the greatest absolute value among its neighbours.
func Pull(amount, most float64) template.HTML {
	const width, height = 132.0, 14.0
	if !(most > 0) {
		most = 1
	}
	end := width/2 + math.Max(-1, math.Min(1, amount/most))*width/2
	var s svg
	s.begin("sb", width, height, "")
	class := "fill"
	if amount < 0 {
		class = "fill-q"
	}
	s.rect(class, math.Min(width/2, end), 3, math.Max(math.Abs(end-width/2), 0.5), 8)
	s.line("axis", width/2, 0, width/2, height)
	return s.end()
}
