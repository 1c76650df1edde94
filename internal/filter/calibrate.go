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
