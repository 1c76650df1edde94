// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
)

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
