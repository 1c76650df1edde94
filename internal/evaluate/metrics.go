// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
)

// Judged is one example: the score that it got on arrival, and what it was.
type Judged struct {
	Score float64
	Label model.Label
}

// AveragePrecision returns the mean, over the important examples, of the
// precision at their places in the order of falling scores. Equal scores stand
// in the order of the stream. From 0 to 1, the more the better; 0 when nothing
// is important. O(n log n) time.
func AveragePrecision(examples []Judged) float64 {
	sum, important := 0.0, 0
	for i, e := range falling(examples) {
		if e.Label == model.Important {
			important++
			sum += float64(important) / float64(i+1)
		}
	}
	if important == 0 {
		return 0
	}
	return sum / float64(important)
}

// OneMinusROCAPercent returns the area above the receiver operating
// characteristic in percent: how likely it is that an ordinary example scores
// above an important one, equal scores counting half (Cormack and Lynam 2005).
// From 0 to 100, the less the better; 0 when a class is missing. O(n log n).
func OneMinusROCAPercent(examples []Judged) float64 {
	sorted := falling(examples)
	// Twice the number of pairs in the wrong order, so that halves are whole.
	var wrong, ordinary, important uint64
	for i := 0; i < len(sorted); {
		var tiedOrdinary, tiedImportant uint64
		j := i
		for ; j < len(sorted) && sorted[j].Score == sorted[i].Score; j++ {
			if sorted[j].Label == model.Important {
				tiedImportant++
			} else {
				tiedOrdinary++
			}
		}
		wrong += 2*ordinary*tiedImportant + tiedOrdinary*tiedImportant
		ordinary += tiedOrdinary
		important += tiedImportant
		i = j
	}
	if ordinary == 0 || important == 0 {
		return 0
	}
	return 100 * float64(wrong) / (2 * float64(ordinary) * float64(important))
}

// F1 returns the harmonic mean of precision and recall of tp true positives, fp
// false ones and fn missed ones; 0 when tp is 0.
func F1(tp, fp, fn int) float64 {
	return filter.Tally{Hits: tp, FalseAlarms: fp, Missed: fn}.F1()
}

// BestF1 returns the greatest F1 that one fixed threshold could have had, known
// only in hindsight: examples that score above it count as marked. Equal scores
// fall on the same side. O(n log n) time.
func BestF1(examples []Judged) float64 {
	sorted := falling(examples)
	important := 0
	for _, e := range sorted {
		if e.Label == model.Important {
			important++
		}
	}
	best, tp := 0.0, 0
	for i, e := range sorted {
		if e.Label == model.Important {
			tp++
		}
		if i+1 == len(sorted) || sorted[i+1].Score != e.Score {
			best = max(best, F1(tp, i+1-tp, important-tp))
		}
	}
	return best
}

// falling returns the examples by falling score, ties as they were.
func falling(examples []Judged) []Judged {
	sorted := slices.Clone(examples)
	slices.SortStableFunc(sorted, func(a, b Judged) int { return cmp.Compare(b.Score, a.Score) })
	return sorted
}
