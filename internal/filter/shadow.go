// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Tally counts how often a way to decide was right and wrong.
type Tally struct {
	Hits        int // important, and called so
	FalseAlarms int // ordinary, and called important
	Missed      int // important, and not called so
}

// Precision is the share of what was called important that was; 0 when nothing
// was called important.
func (t Tally) Precision() float64 { return share(t.Hits, t.Hits+t.FalseAlarms) }

// Recall is the share of what was important that was called so; 0 when nothing
// was important.
func (t Tally) Recall() float64 { return share(t.Hits, t.Hits+t.Missed) }

// F1 is the harmonic mean of precision and recall; 0 when nothing was hit.
func (t Tally) F1() float64 { return share(2*t.Hits, 2*t.Hits+t.FalseAlarms+t.Missed) }

func share(part, whole int) float64 {
	if part == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Count enters, n times, a message that was called important or not and was
// labelled so or not.
func (t *Tally) Count(called, important bool, n int) {
	switch {
	case called && important:
		t.Hits += n
	case called:
		t.FalseAlarms += n
	case important:
		t.Missed += n
	}
}

// Standing compares the decisions with the better of two baselines over the last labels, at most
// 2,000: each message as it was judged when it arrived, against the label that was learnt of it
// later; also while too few labels were learnt to decide. A share or a cost that the owner chose is
// no matter of quality, so decisions are compared at the threshold of the best F1, or the fixed one.
type Standing struct {
	Labels    int // in the window
	Important int // of those
	// Mistakes are labels that the score at arrival was wrong about; 0 is wrong.
	Mistakes  int
	Decisions Tally
	// Correspondents calls important what comes from an address that the owner
	// had written to before. The other baseline calls nothing important; its F1
	// is 0.
	Correspondents Tally
}

func (s *Standing) count(e *store.Scored, n int) {
	if e.Unknown {
		return
	}
	important := e.Label == model.Important
	s.Labels += n
	if important {
		s.Important += n
	}
	if model.ZeroUnsure.Mistake(e.Label, float64(e.Score)) {
		s.Mistakes += n
	}
	s.Decisions.Count(e.Above, important, n)
	s.Correspondents.Count(e.Correspondent, important, n)
}

// Baseline is a simple rule, and how it would have decided.
type Baseline struct {
	Name string // what it calls important, in words
	Tally
}

// Baselines are the simple rules that the decisions are compared with.
func (s Standing) Baselines() []Baseline {
	return []Baseline{
		{"mail from people you write to", s.Correspondents},
		{"all mail", Tally{Hits: s.Important, FalseAlarms: s.Labels - s.Important}},
		{"no mail", Tally{Missed: s.Important}},
	}
}

// BetterBy is by how much an F1 or a precision must be greater than that of a simple rule to be
// called better: less is chance, and no use to anybody.
const BetterBy = 0.05

// Better reports whether the decisions are better than each of the baselines.
func (s Standing) Better() bool {
	return !slices.ContainsFunc(s.Baselines(), func(b Baseline) bool { return s.Decisions.F1() < b.F1()+BetterBy })
}

// InShadow reports whether decisions are recorded and nothing is marked.
//
// ShadowAuto ends by itself once FirstLabels important labels are known and the promise of precision
// can be kept. Then a few messages a day are marked; from JudgedLabels on, as many as the threshold
// calls important, and the account has Proven itself: it goes on marking also when the window holds
// fewer. The owner brings the shadow back with ShadowOn; after that ShadowAuto begins anew.
func (f *Line) InShadow() bool {
	switch f.opts.Shadow {
	case ShadowOff:
		return false
	case ShadowOn:
		return true
	default:
		return !f.ready()
	}
}

// The first days. With 3 labels, not 4, a reader who answers three questions a day gets the first
// mark a day earlier, F1 of who answers is .02 higher without a past and .01 after 30 messages, and
// marks are right as often; 8 or 16, not 12, give less on one of two generators (bench/mailbox).
const (
	// FirstLabels is after how many important labels the first marks are set.
	FirstLabels = 3
	// FirstMarks is how many messages of a day are marked until the promise can be judged.
	FirstMarks = 3
	// JudgedLabels is from how many important labels on it can.
	JudgedLabels = 12
)

// judgeable reports whether enough labels are known to tell how often marks are right.
func (f *Line) judgeable() bool { return f.standing.Important >= JudgedLabels }

// FewADay reports whether only the surest few messages of a day are marked.
func (f *Line) FewADay() bool {
	return f.opts.Shadow == ShadowAuto && !f.st.Account.Proven && !f.judgeable()
}

// amongSurest reports whether fewer than FirstMarks messages of the last 24 hours scored more
// than m. A rule needs no score. With it precision in the first days is .01 to .02 higher.
func (f *Messages) amongSurest(m *store.Message) bool {
	since, above := f.st.Account.Clock.Add(-24*time.Hour), 0
	for _, other := range f.Newest() {
		if other.Arrived < since {
			break
		}
		if other.Outcome != store.Undecided && other.Score > m.Score {
			above++
		}
	}
	return above < FirstMarks || m.Rule != 0
}

// ready reports whether ShadowAuto marks: a few important labels are known, and the promise can
// be kept, as far as one can tell.
func (f *Line) ready() bool {
	few := !f.Trained() || f.standing.Important < FirstLabels
	return f.Cut().Kept && (f.st.Account.Proven || !few)
}

// earned reports whether marks are set without the limit of the first days.
func (f *Line) earned() bool { return f.judgeable() && f.ready() }

// WouldMark returns the messages, newest first and n at most, that hinged would have marked if
// marks were set without limit: of the last wouldMarkWithin messages.
func (f *Messages) WouldMark(n int) []store.MessageKey {
	var out []store.MessageKey
	for _, k := range slices.Backward(f.oldest[max(0, len(f.oldest)-wouldMarkWithin):]) {
		m, known := f.st.Messages.Get(string(k[:]))
		if len(out) < n && known && m.Outcome == store.DecidedImportant && m.Reason == store.ReasonShadow {
			out = append(out, k)
		}
	}
	return out
}

// wouldMarkWithin bounds the time that WouldMark takes.
const wouldMarkWithin = 1000
