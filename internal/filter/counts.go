// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Status says how an account fares: how good its decisions are, and what its owner should know.
type Status struct {
	*parts
	judged Standing // see Judgement
	passed int      // messages decided since the last one that was important
}

// Counts are numbers that status shows and that are not rows of the state.
type Counts struct {
	Pending   int            // labels that have not yet settled
	Settled   store.Moment   // when the last of them will have, but for those taken back; 0: there is none
	Waiting   int            // messages that wait for a label or for silence
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
		Waiting: f.Waits.silences, Places: f.ledger.Places.Count(),
		Threshold: cut.Threshold, Precision: f.line.labelled.calibration().precision(f.line.labelled.sorted, cut.Threshold),
		Above: share(len(recent)-firstAbove(recent, cut.Threshold), len(recent)),
	}
	c.Entries, c.Intended = f.ledger.Entries.Messages()
	c.Pending = len(f.Waits.TakenBack())
	for _, e := range f.Waits.settling {
		if f.Waits.stands(e) {
			c.Pending++
			if m, _ := f.st.Messages.Get(string(e.key[:])); !m.Pending.Back {
				c.Settled = max(c.Settled, e.since.Add(f.opts.Settle))
			}
		}
	}
	return c
}

// Judgement says how good the decisions were: those on all known messages that were decided
// and whose label is known. The decision was wrong if it was important and the label is not, a
// false alarm, or the other way round, a missed one; unsure is not important. Whatever tells
// how good an account's decisions are takes it from here, or for some days from Judged.
func (f *Status) Judgement() Standing { return f.judged }

// countJudged enters m into the Judgement, or with by = -1 takes it out. Whatever changes the
// label, the outcome or the owner of a known message takes it out before and enters it
// afterwards, so that the figures are always those of the known messages as they are.
// A message about which the final silence said nothing is counted as unknown.
func (f *Status) countJudged(m *store.Message, by int) {
	if m.Quiet == store.QuietUnknown {
		f.st.Account.Unknown += uint64(by)
	}
	if label := LabelOf(m); label != 0 {
		f.judged.count(&store.Scored{
			Score: RoundedScore(m.Score), Label: label, Above: m.Outcome == store.DecidedImportant, Correspondent: m.Correspondent,
		}, by)
	}
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

// pass counts a decided message.
func (f *Status) pass(o store.Outcome) {
	switch o {
	case store.Undecided:
	case store.DecidedImportant:
		f.passed = 0
	default:
		f.passed++
	}
}

// missedBeforeWarning is how many important messages, by the share of them among those
// judged lately, must have passed with none called important before status says so.
const missedBeforeWarning = 10

// Passed returns how many messages in a row were decided, up to now, of which none was
// called important. long reports whether that is too many to be chance.
func (f *Status) Passed() (n int, long bool) {
	s := f.line.standing
	return f.passed, f.line.Trained() && f.passed*s.Important >= missedBeforeWarning*s.Labels
}
