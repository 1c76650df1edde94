// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// good is a summary of a demo that worked.
func good() *Summary {
	return &Summary{
		Messages: 30, Important: 10, Marked: 9, MarksSet: 9, Corrections: 4, LearntImportant: 5, LearntOrdinary: 3,
		Thirds: [3]Third{{10, 5}, {10, 3}, {10, 1}}, Precision: 0.8, Recall: 0.7,
		Baselines: []Baseline{{"mark nothing", 10, 0, 0}},
	}
}

func TestALoopThatDidNotWorkIsFoundOut(t *testing.T) {
	if err := good().Check(); err != nil {
		t.Errorf("a demo that worked: %v", err)
	}
	for want, spoil := range map[string]func(*Summary){
		"no mark was set":    func(s *Summary) { s.MarksSet = 0 },
		"corrected nothing":  func(s *Summary) { s.Corrections = 0 },
		"nothing was learnt": func(s *Summary) { s.LearntImportant, s.LearntOrdinary = 0, 0 },
		`10 decisions were wrong; "mark nothing" is wrong about 10`: func(s *Summary) { s.Thirds[2].Wrong = 2 },
	} {
		s := good()
		spoil(s)
		if err := s.Check(); !errors.Is(err, ErrLoop) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}

func TestTheSummaryInWords(t *testing.T) {
	var b strings.Builder
	testkit.OK(t, good().Print(&b))
	for _, want := range []string{"5 of the first 10, 3 of the next 10, 1 of the last 10", "0.80 of what was marked", "hinged                                 9"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

func TestTheRunningRate(t *testing.T) {
	var wrong []bool
	for i := range 100 {
		wrong = append(wrong, i < 40 && i%2 == 0)
	}
	ta := tally{wrong: wrong}
	if got := ta.recent(50); got != 0 {
		t.Errorf("the last 50: got %d wrong", got)
	}
	if got := ta.recent(80); got != 10 {
		t.Errorf("the last 80: got %d wrong, want 10", got)
	}
	if got := bars(wrong); got != "██▁▁▁" {
		t.Errorf("bars are %q", got)
	}
}
