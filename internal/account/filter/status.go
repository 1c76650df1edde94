// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Status says how an account fares: how good its decisions are, and what its owner should know.
type Status struct{ *parts }

// Counts are numbers that status shows and that are not rows of the state.
type Counts struct {
	Pending   int            // labels that have not yet settled
	Settled   store.Moment   // when the last of them will have, but for those taken back; 0: there is none
	Waiting   int            // messages that wait for a label or for silence
	Unknown   int            // messages about which the final silence said nothing
	Intended  int            // marks not yet confirmed
	Entries   int            // messages of which the ledger has marks
	Places    map[string]int // known copies, by mailbox
	Threshold float64
	Above     float64 // share of the recent messages that scored above it
	Precision float64 // to expect of the messages above it
}

// Counts gathers them.
func (f *Status) Counts() Counts {
	cut, recent := f.line.Cut(), f.line.recent.sorted
	c := Counts{
		Places:    f.ledger.Places.Count(),
		Threshold: cut.Threshold, Precision: f.line.labelled.calibration().precision(f.line.labelled.sorted, cut.Threshold),
		Above: share(len(recent)-firstAbove(recent, cut.Threshold), len(recent)),
	}
	f.st.Messages.Each(func(_ string, m *store.Message) {
		if m.SilenceFrom > 0 {
			c.Waiting++
		}
		if m.Quiet == store.QuietUnknown {
			c.Unknown++
		}
		if m.Pending.Label != 0 {
			c.Pending++
		}
		if m.Pending.Label != 0 && !m.Pending.Back {
			c.Settled = max(c.Settled, m.Pending.Since.Add(f.opts.Settle))
		}
	})
	c.Entries, c.Intended = f.ledger.Entries.Messages()
	return c
}

// Judgement says how good the decisions were: those on all known messages that were decided and
// whose label is known. Unsure is not important. Whatever tells how good an account's decisions are
// takes it from here, or for some days from Judged.
func (f *Status) Judgement() (s Standing) {
	f.st.Messages.Each(func(_ string, m *store.Message) {
		if label := LabelOf(m); label != 0 {
			s.count(&store.Scored{
				Score: RoundedScore(m.Score), Label: label, Above: m.Outcome == store.DecidedImportant, Correspondent: m.Correspondent,
			}, 1)
		}
	})
	return s
}

// LabelOf returns the label that the decision on a message is judged by; 0: it is not. A
// message was not decided while too few labels were known, and mail of the owner never is. A
// mark that was left alone was wrong, although that is no label.
func LabelOf(m *store.Message) model.Label {
	switch {
	case m.Own, m.Outcome == store.Undecided, m.Reason == store.ReasonTooFewLabels:
		return 0
	case m.Label == 0 && m.LeftAlone:
		return model.Ordinary
	}
	return m.Label
}

// missedBeforeWarning is how many important messages, by the share of them among those
// judged lately, must have passed with none called important before status says so.
const missedBeforeWarning = 10

// Passed returns how many messages in a row were decided, up to now, of which none was
// called important. long reports whether that is too many to be chance.
func (f *Status) Passed() (n int, long bool) {
	for _, m := range f.Messages.Newest() {
		if m.Outcome == store.DecidedImportant {
			break
		}
		if m.Outcome != store.Undecided {
			n++
		}
	}
	s := f.line.standing
	return n, f.line.Trained() && n*s.Important >= missedBeforeWarning*s.Labels
}

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
