package daemon

import (
	"fmt"

	"github.com/hinged/hinged/internal/filter"
)

// StandingStatus compares the decisions with the baselines over the last labels,
// each message as it was judged when it arrived.
type StandingStatus struct {
	Labels    int     `json:"labels"`    // labels compared, at most 2,000
	Important int     `json:"important"` // of those, the important
	F1        float64 `json:"f1"`        // of the decisions; of those that would have been taken while too little was learnt
	Precision float64 `json:"precision"` // of the decisions
	Recall    float64 `json:"recall"`    // of the decisions
	// KnownCorrespondentsF1 is the F1 of calling important what comes from an
	// address that the owner had written to before. Never important has 0.
	KnownCorrespondentsF1 float64 `json:"known_correspondents_f1"`
	Beats                 bool    `json:"beats_baselines"` // whether F1 is better than both; a tie is not
}

func standingOf(s filter.Standing) StandingStatus {
	return StandingStatus{
		Labels: s.Labels, Important: s.Important, F1: s.Decisions.F1(), Precision: s.Decisions.Precision(),
		Recall: s.Decisions.Recall(), KnownCorrespondentsF1: s.Correspondents.F1(), Beats: s.Beats(),
	}
}

// doing says in one sentence what an account is at, from its numbers.
func doing(s *AccountStatus, f *filter.Filter) string {
	switch {
	case f.State().Account.Paused:
		return "paused: it looks at nothing and marks nothing until you resume it"
	case s.Decided == 0 && s.Messages == 0:
		return "beginning: it has seen no mail yet"
	case s.InShadow:
		return "in shadow: it decides and learns, and marks nothing"
	case !f.Trained():
		return "learning: too little is learnt to decide, so nothing is marked"
	case len(f.Options().Marks) == 0:
		return "deciding and learning; no mark is configured"
	}
	if n, long := f.Passed(); long {
		return fmt.Sprintf("marking and learning, but none of the last %d messages was important to it", n)
	}
	return "marking what is important, and learning"
}

// connection adds to the sentence, and to the warnings, how the connection is.
func (s *AccountStatus) connection() {
	if s.Remaining > 0 {
		s.Doing += fmt.Sprintf("; %d messages that were there before are still to be read", s.Remaining)
	}
	if !s.Connected && !s.Paused {
		why := ""
		if s.Problem != "" {
			why = ": " + s.Problem
		}
		s.Warnings = append([]string{"not connected to the mail server" + why}, s.Warnings...)
	}
}
