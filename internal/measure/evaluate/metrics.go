// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"slices"

	"github.com/hinged/hinged/internal/account/filter"
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

// Figures say how well one way of deciding did on a stream. Each message was judged
// before its label was learnt.
type Figures struct {
	Precision        float64 `json:"precision"`         // share of the messages called important that were important
	Recall           float64 `json:"recall"`            // share of the important messages that were called important
	F1               float64 `json:"f1"`                // harmonic mean of precision and recall
	AveragePrecision float64 `json:"average_precision"` // average precision of the ranking by score
	FalseAlarms      int     `json:"false_alarms"`      // ordinary messages called important
	Missed           int     `json:"missed"`            // important messages not called important
}

// Baselines are three ways to decide without a learner. A learner that does not beat all
// is of no use.
type Baselines struct {
	// KnownCorrespondents calls a message important if the owner had written to its
	// sender before.
	KnownCorrespondents Figures `json:"known_correspondents"`
	// NeverImportant calls nothing important.
	NeverImportant Figures `json:"never_important"`
	// AlwaysImportant calls everything important.
	AlwaysImportant Figures `json:"always_important"`
}

// Beaten reports whether an F1 is better than that of each, by filter.BetterBy.
func (b Baselines) Beaten(f1 float64) bool {
	return f1 >= max(b.KnownCorrespondents.F1, b.NeverImportant.F1, b.AlwaysImportant.F1)+filter.BetterBy
}

// Stream adds up how messages were judged, in order of the stream.
type Stream struct {
	decisions, correspondents, never, always filter.Tally

	scores, known []Judged
}

// Add enters a message: its score, whether it was called important, whether it
// came from a known correspondent, and its label.
func (s *Stream) Add(score float64, called, correspondent bool, label model.Label) {
	important := label == model.Important
	s.decisions.Count(called, important, 1)
	s.correspondents.Count(correspondent, important, 1)
	s.never.Count(false, important, 1)
	s.always.Count(true, important, 1)
	s.scores = append(s.scores, Judged{score, label})
	rank := 0.0
	if correspondent {
		rank = 1
	}
	s.known = append(s.known, Judged{rank, label})
}

// Compare returns the figures of the decisions and of the baselines.
func (s *Stream) Compare() (decisions Figures, b Baselines) {
	b.KnownCorrespondents = figures(s.correspondents, s.known)
	same := make([]Judged, len(s.scores))
	for i, e := range s.scores {
		same[i].Label = e.Label
	}
	b.NeverImportant = figures(s.never, same)
	b.AlwaysImportant = figures(s.always, same)
	return figures(s.decisions, s.scores), b
}

func figures(t filter.Tally, ranked []Judged) Figures {
	return Figures{
		Precision: t.Precision(), Recall: t.Recall(), F1: t.F1(),
		AveragePrecision: AveragePrecision(ranked), FalseAlarms: t.FalseAlarms, Missed: t.Missed,
	}
}
