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
	return f.learning.learner.norm(x.Vector())
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

// forgetEvery is how many arrivals pass between two looks at what is older than
// Limits.Keep. Looking costs a walk over the history.
const forgetEvery = 32

// capMessages forgets messages: those that Limits.Keep says are too old and, once there are more
// than Limits.Messages, the oldest tenth. What was learnt of them, their places, marks and refusals
// stay. So do the messages of lessons that are replayed: an undo must find them. Where these are
// most of the limit, there are as many more that a quarter of it is left for the newest.
func (f *Messages) capMessages() {
	if f.opts.Limits.Keep > 0 && f.st.Account.Messages%forgetEvery == 0 {
		f.forgetOld()
	}
	most := f.opts.Limits.Messages
	limit := max(most, f.st.Window.Len()+most/4)
	if f.st.Messages.Len() <= limit {
		return
	}
	var stay []store.MessageKey
	lessons := f.learning.lessons.all()
	for f.st.Messages.Len() > limit-most/10 && len(f.oldest) > 0 {
		k := f.oldest[0]
		if m, ok := f.st.Messages.Get(string(k[:])); ok {
			if _, in := lessons[k]; in {
				stay = append(stay, k)
			} else {
				f.lose(k, &m)
			}
		}
		f.oldest = f.oldest[1:]
	}
	if len(stay) > 0 {
		f.oldest = slices.Concat(stay, f.oldest)
	}
}

// lose forgets a message. The caller takes it out of the queue of all messages.
func (f *Messages) lose(k store.MessageKey, m *store.Message) {
	f.People.copies.drop(m.ID, k)
	f.line.labelled.disown(k)
	f.st.Messages.Delete(string(k[:]))
	for _, t := range f.followers {
		t.Forgotten(k)
	}
}

// forgetOld forgets what is older, by the account's clock, than Limits.Keep: messages, and what is
// remembered of Message-IDs, threads, and senders to whom the owner never wrote. Messages of lessons
// that are replayed and all since the oldest of them stay (docs/results.md, "What an account keeps"),
// as do messages with a label that has not settled, and all marks on a server.
func (f *Messages) forgetOld() {
	end := f.st.Account.Clock.Add(-f.opts.Limits.Keep)
	// Messages arrived in the order of their numbers and of the clock.
	var stay []store.MessageKey
	replayed, lessons := f.replayedSince(), f.learning.lessons.all()
	first, n := f.st.Account.Messages+1, 0
	for ; n < len(f.oldest); n++ {
		k := f.oldest[n]
		m, ok := f.st.Messages.Get(string(k[:]))
		if !ok {
			continue
		}
		if m.Arrived >= end || m.Seq >= replayed {
			first = m.Seq
			break
		}
		if _, in := lessons[k]; in || m.Pending.Label != 0 {
			stay = append(stay, k)
			continue
		}
		f.lose(k, &m)
	}
	f.oldest = slices.Concat(stay, f.oldest[n:])
	outdated(f.st.IDs, func(k store.KnownID) bool { return k.Seq < first })
	outdated(f.st.Threads, func(t store.Thread) bool { return t.Seq < first })
	f.People.forgetSenders(first)
	f.ledger.Entries.ForgetUnplaced(end)
}

// replayedSince is the number of the message of the oldest lesson that is replayed;
// above all of them if there is none.
func (f *Messages) replayedSince() uint64 {
	if row, ok := f.st.Window.Get(store.WindowKey(f.learning.lessons.first)); ok {
		if m, ok := f.st.Messages.Get(string(row.Message[:])); ok {
			return m.Seq
		}
	}
	return f.st.Account.Messages + 1
}

// outdated deletes the rows of which old says so.
func outdated[V any](t *store.Table[V], old func(V) bool) {
	for _, key := range t.Keys() {
		if row, _ := t.Get(key); old(row) {
			t.Delete(key)
		}
	}
}
