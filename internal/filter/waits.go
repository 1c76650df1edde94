// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"
	"time"

	"github.com/hinged/hinged/store"
)

// quietSince is from when on the owner does nothing with m: since it came, or since they read
// it.
func quietSince(m *store.Message) store.Moment { return max(m.Arrived, m.ReadAt) }

// Waits is what waits for time to pass, and for a message to come. All of it but the row Early of
// the state is derived from the rows of messages.
type Waits struct {
	*parts
	settling queue              // messages with a pending label
	hours    queue              // of store.QuietHours
	days     queue              // of store.QuietDays
	silent   queue              // messages whose final silence is waited for, by SilenceFrom
	backs    []store.MessageKey // see TakenBack
	early    uint64             // no feedback with a number below it waits for its message
}

// queue holds messages that wait for time to pass, in order of (since, seq). An entry whose message
// waits for something else by now, or was forgotten and came again, is void and skipped.
type queue struct {
	entries []entry
	// since returns when m began to wait in this queue; ok is false if it doesn't.
	since func(m *store.Message) (at store.Moment, ok bool)
	// over reports whether m has waited for long enough.
	over func(m *store.Message, now store.Moment) bool
}

type entry struct {
	since store.Moment // in Waits.silent the number of an active day
	seq   uint64
	key   store.MessageKey
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.seq, b.seq))
}

// push enters a message as its row is now. Nearly all come in order.
func (q *queue) push(k store.MessageKey, m *store.Message) {
	since, _ := q.since(m)
	e := entry{since, m.Seq, k}
	if at, there := slices.BinarySearchFunc(q.entries, e, compareEntries); !there {
		q.entries = slices.Insert(q.entries, at, e)
	}
}

// due returns the first message of q, if it has waited for long enough.
func (f *Waits) due(q *queue, now store.Moment) (k store.MessageKey, m store.Message, due bool) {
	for ; len(q.entries) > 0; q.entries = q.entries[1:] {
		e := q.entries[0]
		m, known := f.st.Messages.Get(string(e.key[:]))
		if since, waits := q.since(&m); known && m.Seq == e.seq && waits && since == e.since {
			return e.key, m, q.over(&m, now)
		}
	}
	return k, m, false
}

// quiet returns the queue of what has been left alone for so long.
func (f *Waits) quiet(what store.Quiet, horizon *time.Duration) queue {
	return queue{
		since: func(m *store.Message) (store.Moment, bool) { return quietSince(m), m.Quiet == what },
		over: func(m *store.Message, now store.Moment) bool {
			since := quietSince(m)
			return since.Add(*horizon) <= now && (f.opts.SilenceCalendar || m.ReadAt > 0 || f.st.Account.LastActive > since)
		},
	}
}

// clear empties the queues.
func (f *Waits) clear() {
	f.settling = queue{
		since: func(m *store.Message) (store.Moment, bool) { return m.Pending.Since, m.Pending.Label != 0 },
		over:  func(m *store.Message, now store.Moment) bool { return m.Pending.Since.Add(f.opts.Settle) <= now },
	}
	f.hours, f.days = f.quiet(store.QuietHours, &f.opts.Dual.Horizon), f.quiet(store.QuietDays, &f.opts.Dual.MarkedHorizon)
	f.silent = queue{
		since: func(m *store.Message) (store.Moment, bool) { return store.Moment(m.SilenceFrom), m.SilenceFrom > 0 },
		over: func(m *store.Message, now store.Moment) bool {
			if f.opts.SilenceCalendar {
				return f.opts.SilenceDays > 0 && m.Arrived+store.Moment(f.opts.SilenceDays)*24*60*60*1000 <= now
			}
			return f.opts.SilenceDays > 0 && f.st.Account.ActiveDays >= m.SilenceFrom-1+uint32(f.opts.SilenceDays)
		},
	}
	f.backs = nil
}

// bySeq returns the keys of all messages in order of Seq.
func bySeq(messages *store.Table[store.Message], each func(k store.MessageKey, m *store.Message)) []store.MessageKey {
	type numbered struct {
		seq uint64
		key store.MessageKey
	}
	all := make([]numbered, 0, messages.Len())
	messages.Each(func(key string, m *store.Message) {
		k := store.MessageKey([]byte(key))
		each(k, m)
		all = append(all, numbered{m.Seq, k})
	})
	slices.SortFunc(all, func(a, b numbered) int { return cmp.Compare(a.seq, b.seq) })
	keys := make([]store.MessageKey, len(all), len(all)+1)
	for i := range all {
		keys[i] = all[i].key
	}
	return keys
}

// rebuildQueues derives what is kept of messages.
func (f *Filter) rebuildQueues() {
	w := f.Waits
	w.clear()
	queues := []*queue{&w.settling, &w.hours, &w.days, &w.silent}
	f.People.copies = copyIndex{messages: f.st.Messages}
	f.Messages.oldest = bySeq(f.st.Messages, func(k store.MessageKey, m *store.Message) {
		for _, q := range queues {
			if since, waits := q.since(m); waits {
				q.entries = append(q.entries, entry{since, m.Seq, k})
			}
		}
	})
	for _, q := range queues {
		slices.SortFunc(q.entries, compareEntries)
	}
	w.early = f.st.Account.EarlyNext
	f.st.Early.Each(func(key string, _ *store.Early) { w.early = min(w.early, store.LedgerNumber(key)) })
}

// Due reports whether the passing of time to now would change anything: a
// pending label has settled, a silence has lasted long enough, or early feedback
// has waited long enough. The daemon asks before it journals a tick.
func (f *Waits) Due(now store.Moment) bool {
	if f.st.Account.Paused {
		return false
	}
	now = max(now, f.st.Account.Clock)
	if _, due := f.earlyDue(now); due {
		return true
	}
	for _, q := range []*queue{&f.settling, &f.hours, &f.days, &f.silent} {
		if _, _, due := f.due(q, now); due {
			return true
		}
	}
	return false
}

// TakenBack returns the messages whose lessons the owner has taken back for good, in order, until
// a TakeBackRequested has done that.
func (f *Waits) TakenBack() []store.MessageKey {
	f.backs = slices.DeleteFunc(f.backs, func(k store.MessageKey) bool {
		m, _ := f.st.Messages.Get(string(k[:]))
		return !m.Pending.Back
	})
	return f.backs
}
