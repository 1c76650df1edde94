// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"container/heap"

	"github.com/hinged/hinged/store"
)

// The owner's silence is final after days, and by then the learner has seen hundreds
// of messages without hearing that most of them were ordinary. So silence of some
// hours is learnt already, as a provisional no. Many are wrong, since answers take
// their time: when the answer comes the no is taken back exactly, as if it had never
// been learnt.
//
// While the owner is away silence says nothing. A provisional label needs a sign of
// the owner, about whatever message, after the arrival of the one in question.

// quietDue reports whether a provisional label is to be learnt at now.
func (f *Waits) quietDue(now store.Moment) bool {
	return f.quiet(&f.hours, store.QuietHours, now) || f.quiet(&f.days, store.QuietDays, now)
}

// quietSince is from when on the owner does nothing with m: since it came, or since they read
// it.
func quietSince(m *store.Message) store.Moment { return max(m.Arrived, m.ReadAt) }

// quiet reports whether the first message of q that still waits for what has been
// left alone for long enough. It drops those before it that wait no more.
func (f *Waits) quiet(q *settleQueue, what store.Quiet, now store.Moment) bool {
	horizon := f.opts.Dual.Horizon
	if what == store.QuietDays {
		horizon = f.opts.Dual.MarkedHorizon
	}
	for ; len(*q) > 0; heap.Pop(q) {
		e := (*q)[0]
		if m, ok := f.st.Messages.Get(string(e.key[:])); ok && m.Quiet == what && e.since == quietSince(&m) {
			return e.since.Add(horizon) <= now && (f.opts.SilenceCalendar || m.ReadAt > 0 || f.st.Account.LastActive > e.since)
		}
	}
	return false
}

// hearQuiet learns the provisional labels that are due at now.
func (f *Teacher) hearQuiet(now store.Moment, r *Result) error {
	for _, q := range []struct {
		queue *settleQueue
		what  store.Quiet
	}{{&f.Waits.hours, store.QuietHours}, {&f.Waits.days, store.QuietDays}} {
		for f.Waits.quiet(q.queue, q.what, now) {
			k := heap.Pop(q.queue).(settleEntry).key
			m, _ := f.st.Messages.Get(string(k[:]))
			if err := f.hearQuietOf(k, &m, q.what, r); err != nil {
				return err
			}
			f.st.Messages.Put(string(k[:]), m)
		}
	}
	return nil
}

// hearQuietOf learns the provisional label of m, whose key is k, or finds that there is
// none. The caller puts the row.
//
// A mark of ours makes the owner look, or is in the way of a message that they would
// have found. So a marked message waits for longer and weighs less, and it must have
// been read; and what it teaches is a no, never that the mark was right.
func (f *Teacher) hearQuietOf(k store.MessageKey, m *store.Message, what store.Quiet, r *Result) error {
	m.Quiet = store.QuietNothing
	f.People.noteKept(m)
	marked := f.ledger.Entries.EverMarked(k)
	word := f.People.quietWord(m, marked, false)
	switch {
	case !f.opts.Provisional(), word.label == 0, m.Label != 0 && (m.Source != store.SourceProvisional || m.Label == word.label), m.Pending.Label != 0:
		return nil
	case what == store.QuietHours && marked:
		if f.opts.Dual.MarkedHorizon > 0 {
			m.Quiet = store.QuietDays
			heap.Push(&f.Waits.days, settleEntry{quietSince(m), m.Seq, k})
		}
		return nil
	case what == store.QuietDays && m.Copies > 0 && !m.Seen:
		return nil
	}
	return f.learn(k, m, word.label, word.source, r)
}
