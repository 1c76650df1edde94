// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"math"
	"testing"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
)

func TestBaselinesAreJudgedOnTheSameStream(t *testing.T) {
	const y, n = model.Important, model.Ordinary
	var s Stream
	for _, e := range []struct {
		score          float64
		called, friend bool
		label          model.Label
	}{
		{3, true, true, y},
		{2, true, false, y},
		{1, true, false, n},
		{0, false, true, n},
		{-1, false, true, n},
		{-2, false, true, y},
	} {
		s.Add(e.score, e.called, e.friend, e.label)
	}
	own, b := s.Compare()
	want := Figures{Precision: 2.0 / 3, Recall: 2.0 / 3, F1: 2.0 / 3, AveragePrecision: (1 + 1 + 3.0/6) / 3, FalseAlarms: 1, Missed: 1}
	if own != want {
		t.Errorf("the decisions have %+v, want %+v", own, want)
	}
	want = Figures{Precision: 0.5, Recall: 2.0 / 3, F1: 4.0 / 7, AveragePrecision: 0.7, FalseAlarms: 2, Missed: 1}
	got := b.KnownCorrespondents
	got.AveragePrecision = math.Round(got.AveragePrecision*1e12) / 1e12
	if got != want {
		t.Errorf("known correspondents have %+v, want %+v", got, want)
	}
	want = Figures{AveragePrecision: (1 + 1 + 3.0/6) / 3, Missed: 3}
	if b.NeverImportant != want {
		t.Errorf("never important has %+v, want %+v", b.NeverImportant, want)
	}
	want = Figures{Precision: 0.5, Recall: 1, F1: 2.0 / 3, AveragePrecision: want.AveragePrecision, FalseAlarms: 3}
	if b.AlwaysImportant != want {
		t.Errorf("always important has %+v, want %+v", b.AlwaysImportant, want)
	}
	if best := b.AlwaysImportant.F1; !b.Beaten(best+filter.BetterBy) || b.Beaten(best+filter.BetterBy-0.001) || b.Beaten(own.F1) || (Baselines{}).Beaten(0) {
		t.Error("an F1 that is better by so much does not win, or one that is not does")
	}
}
