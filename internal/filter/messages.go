// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"iter"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/store"
)

// Messages are the messages that an account remembers.
type Messages struct {
	*parts
	oldest []store.MessageKey // all of them, by Seq
}

// Newest yields the known messages with their rows, the one that arrived last first.
func (f *Messages) Newest() iter.Seq2[store.MessageKey, store.Message] {
	return func(yield func(store.MessageKey, store.Message) bool) {
		for _, k := range slices.Backward(f.oldest) {
			if m, ok := f.st.Messages.Get(string(k[:])); ok && !yield(k, m) {
				return
			}
		}
	}
}

// Judged reports whether a message was decided and is not the owner's own. wrong: its
// label, if it has one, differs from the decision; see Judgement.
func Judged(m *store.Message) (judged, wrong bool) {
	label := LabelOf(m)
	return !m.Own && m.Outcome != store.Undecided, label != 0 && (m.Outcome == store.DecidedImportant) != (label > 0)
}

// RuleOf returns the rule that decided a message, as far as it is still in force; nil
// if none did.
func (f *Explainer) RuleOf(m *store.Message) *Rule {
	if m.Rule == 0 {
		return nil
	}
	return f.learning.rules.byIndex(m.Rule)
}

// Zone returns the time zone in which the account's days begin.
func (f *Filter) Zone() *time.Location { return f.zone }

// SquaredNorm returns ‖φ(x)‖², φ the map of the kernel: a lesson on x moves the score of
// x by its step times this.
func (f *Explainer) SquaredNorm(x *featurize.Features) float64 {
	return f.learning.learner.Norm(x.Vector())
}

// Oldest returns when the oldest known message arrived.
func (f *Messages) Oldest() (at store.Moment, ok bool) {
	for _, k := range f.oldest {
		if m, ok := f.st.Messages.Get(string(k[:])); ok {
			return m.Arrived, true
		}
	}
	return 0, false
}
