// SPDX-License-Identifier: Apache-2.0

package filter

import "math"

// place is what a search found: where, and the sums of all scores; of none if a class is missing.
type place struct {
	at  float64
	all soft
}

// search finds the place among sorted labelled scores that t asks for. A score counts as
// marked by a share that rises in a straight line from 0 at blur below the threshold to 1 at
// blur above it. A few scores that happen to lie well then move the threshold less than with a
// plain count. Of several best places it takes the middle of the highest run; 0 when a class
// is missing. blur is nine tenths of the distance between the means of the classes, within
// minBlur and maxBlur: so classes that part are parted also where all scores are small.
//
// The sums of shares are straight lines between the places where a score begins or ends to
// count in part, and what is sought is a quotient of two straight lines, or a line, and has its
// maximum at an end. So trying those places, from the top down, finds it. The lower the place,
// the more is marked: once so much is marked in vain that nothing further down can be better,
// the search ends. O(n).
func (t Threshold) search(sorted []point) place {
	var all, partly, fully soft
	for i := range sorted {
		all.add(&sorted[i], 1)
	}
	ordinary := all.number - all.important
	if all.important == 0 || ordinary == 0 {
		return place{}
	}
	apart := all.importantSum/all.important - (all.sum-all.importantSum)/ordinary
	blur := min(maxBlur, max(minBlur, float64(apart*0.9)))
	total := float64(2 * blur * all.important)
	p := pick{t: t, total: total, best: math.Inf(-1)}
	enter, leave := len(sorted)-1, len(sorted)-1
	for leave >= 0 {
		at := sorted[leave].Score - blur
		if enter >= 0 {
			at = max(at, sorted[enter].Score+blur)
		}
		for ; enter >= 0 && sorted[enter].Score+blur >= at; enter-- {
			partly.add(&sorted[enter], 1)
		}
		for ; leave >= 0 && sorted[leave].Score-blur >= at; leave-- {
			partly.add(&sorted[leave], -1)
			fully.add(&sorted[leave], 1)
		}
		marked, hits := partly.shares(at, blur)
		marked += float64(2 * blur * fully.number)
		hits += float64(2 * blur * fully.important)
		if p.over(marked, hits) {
			break
		}
		p.try(at, marked, hits)
	}
	return place{p.low + float64((p.high-p.low)/2), all}
}

// pick chooses the best of the places that a search comes to. What is marked there, what of it
// is important (hits), and all that is important (total) are in one unit.
type pick struct {
	t               Threshold
	total           float64
	best, high, low float64
	level           bool // the last place was as good as the best
}

// over reports whether no place from here down can be better than the best.
func (p *pick) over(marked, hits float64) bool {
	vain := marked - hits
	switch p.t.Mode {
	case ModeCost:
		return -vain < p.best-slack
	case ModeMissed:
		return p.best > math.Inf(-1) && !p.level
	default:
		return 2*p.total < float64(p.best*(1-slack))*(vain+float64(2*p.total))
	}
}

// try looks at a place.
func (p *pick) try(at, marked, hits float64) {
	v := math.Inf(-1)
	switch missed := p.total - hits; {
	case p.t.Mode == ModeCost:
		v = -(float64(p.t.Cost*missed) + marked - hits)
	case p.t.Mode != ModeMissed:
		v = 2 * hits / (marked + p.total)
	case missed <= float64(p.t.Missed*p.total):
		v = -marked
	}
	switch {
	case v > p.best:
		p.best, p.high, p.low, p.level = v, at, at, true
	case v == p.best && p.level:
		p.low = at
	default:
		p.level = false
	}
}

// slack is far more than rounding adds to the sums of softF1, or takes from them, while
// scores have the size that they have for vectors of norm 1.
const slack = 1e-6

// soft adds up scores that count in part: how many there are and their sum, of
// all and of the important ones.
type soft struct {
	number, sum             float64
	important, importantSum float64
}

// add enters s (by is 1) or takes it out (-1). It has no branch on the label, which
// no processor could predict.
func (a *soft) add(s *point, by float64) {
	important := float64(by * s.important()) // by or 0
	a.number += by
	a.sum += float64(by * s.Score)
	a.important += important
	a.importantSum += float64(important * s.Score)
}

// shares returns the sums of score - at + blur, which is 2·blur for a score that
// counts in full, over all and over the important ones.
func (a *soft) shares(at, blur float64) (number, important float64) {
	if a.number > 0 {
		number = a.sum + float64(a.number*(blur-at))
	}
	if a.important > 0 {
		important = a.importantSum + float64(a.important*(blur-at))
	}
	return number, important
}
