// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
