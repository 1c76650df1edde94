// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"
	"sort"
)

// calibration says how probable it is that a message with some score is important: the
// isotonic regression of the labelled scores of a window on their labels, by pooling adjacent
// violators (Ayer et al. 1955). It never falls as the score rises.
type calibration []block

// block is a run of neighbouring scores for which one probability holds.
type block struct {
	begin, end  int // its place among the sorted scores
	least       float64
	important   float64 // how many of them are
	probability float64 // 0 to 1
}

func (b *block) number() float64 { return float64(b.end - b.begin) }

const (
	// calibrationGroups is from how many groups of neighbours a calibration is made, at most.
	calibrationGroups = 100
	// fewLabels is how many labels of the base rate stand beside those of a block, so that a
	// few right ones are no proof.
	fewLabels = 2
	// A precision is told over at least fewMarks of the labelled messages, and as many as
	// leastRecall of the important ones; where fewer are important, over so many. Fewer prove
	// nothing: on linux-mips ten marks of which three were right passed for .45, within chance.
	fewMarks    = 10
	leastRecall = 0.2
)

// calibrate makes a calibration from sorted labelled scores. into is reused. O(n).
func calibrate(sorted []point, into calibration) calibration {
	n, c, all := len(sorted), into[:0], 0.0
	size := (n + calibrationGroups - 1) / calibrationGroups
	for begin := 0; begin < n; begin += size {
		b := block{begin: begin, end: min(n, begin+size), least: sorted[begin].Score}
		for i := begin; i < b.end; i++ {
			b.important += sorted[i].important()
		}
		all += b.important
		for last := len(c) - 1; last >= 0 && float64(c[last].important*b.number()) >= float64(b.important*c[last].number()); last-- {
			b.begin, b.least, b.important = c[last].begin, c[last].least, c[last].important+b.important
			c = c[:last]
		}
		c = append(c, b)
	}
	base, most := all/float64(max(n, 1)), 0.0
	for i := range c {
		most = max(most, (c[i].important+float64(fewLabels*base))/(c[i].number()+fewLabels))
		c[i].probability = most
	}
	return c
}

// at returns the probability that a message with a score is important; 0 if nothing is known.
func (c calibration) at(score float64) float64 {
	if len(c) == 0 {
		return 0
	}
	above := sort.Search(len(c), func(i int) bool { return c[i].least > score })
	return c[max(above-1, 0)].probability
}

// precision is what to expect of the messages above a threshold; 0 where none is.
func (c calibration) precision(sorted []point, threshold float64) float64 {
	hits := 0.0
	from := firstAbove(sorted, threshold)
	for i, b := from, 0; i < len(sorted); i++ {
		for c[b].end <= i {
			b++
		}
		hits += c[b].probability
	}
	return hits / max(1, float64(len(sorted)-from))
}

// leastMarks is over how many messages a precision is told at least, where so many are important.
func leastMarks(important float64) float64 {
	return min(important, max(fewMarks, float64(leastRecall*important)))
}

// under returns the threshold with the best F1 among those from low up that keep a promise of
// precision, and the precision to expect there; where none does, the one with the greatest. A
// shortfall of a standard error is no breach: chance explains it. O(scores above low).
func (c calibration) under(sorted []point, low, promised float64) Cut {
	var marked, hits, total float64
	for i := range c {
		total += c[i].important
	}
	least, best := leastMarks(total), 0.0
	variance := float64(promised * (1 - promised))
	kept, surest := Cut{}, Cut{Threshold: low}
	b := len(c) - 1
	for i := len(sorted) - 1; i >= 0 && (sorted[i].Score > low || marked < least); i-- {
		if c[b].begin > i {
			b--
		}
		marked++
		hits += c[b].probability
		if marked < least || i > 0 && sorted[i-1].Score == sorted[i].Score {
			continue
		}
		now := Cut{Threshold: low, Precision: hits / marked}
		if i > 0 && sorted[i-1].Score > low {
			now.Threshold = sorted[i-1].Score // what scores like it is not above
		}
		if now.Precision > surest.Precision {
			surest = now
		}
		if now.Precision+math.Sqrt(variance/marked) < promised {
			continue
		}
		if f1 := 2 * hits / (marked + total); f1 > best || now.Threshold == low {
			best, kept = f1, now
			kept.Kept = true
		}
	}
	if kept.Kept {
		return kept
	}
	return surest
}

// place is what a search found: where, and the sums of all scores; of none if a class is missing.
type place struct {
	at  float64
	all soft
}

// search finds the place among sorted labelled scores that t asks for. A score counts as marked by
// a share that rises in a straight line from 0 at blur below the threshold to 1 at blur above it, so
// that a few scores that happen to lie well move the threshold less. Of several best places it takes
// the middle of the highest run. blur is nine tenths of the distance between the means of the
// classes, within minBlur and maxBlur.
//
// The sums of shares are straight lines between the places where a score begins or ends to count
// in part, so what is sought, a line or a quotient of two, has its maximum at such a place. It tries
// them from the top down, until nothing further down can be better. O(n).
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
