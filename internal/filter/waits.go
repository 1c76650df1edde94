// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hinged/hinged/store"
)

// atOnce reports whether a pending label, no earlier than the first, is alike and came
// at once with it.
func (f *Waits) atOnce(first, p store.Pending) bool {
	return p.Label == first.Label && p.Source == first.Source && !p.Single && p.Batch == first.Batch &&
		p.Since <= first.Since.Add(f.opts.Settle)
}

// continues reports whether a pending label belongs to the last clean-up: a large one
// takes longer to be seen whole than the settle window lasts.
func (f *Waits) continues(p store.Pending) bool {
	c := f.st.Account.CleanUp
	return p.Label == c.Label && p.Source == c.Source && p.Batch == c.Batch &&
		(p.Batch != 0 || p.Since <= c.Last.Add(f.opts.Settle))
}

// waitForSilence notes in m, whose row the caller puts, since which of the
// account's active days its silence is waited for; 0 ends the wait.
func (f *Waits) waitForSilence(m *store.Message, from uint32) {
	if m.SilenceFrom > 0 {
		f.silences--
	}
	if m.SilenceFrom = from; from > 0 {
		f.silences++
	}
}

// MaxRecord is how many bytes of the record behind an early label are kept.
const MaxRecord = 4096

// Expired is feedback that waited for its message in vain.
type Expired struct {
	Feedback store.Early
	// Displaced: it had to make room for newer feedback. Unsure: it came in time, but
	// several messages have its Message-ID. Otherwise its time was over.
	Displaced, Unsure bool
}

// dropEarly takes one entry out of the table.
func (f *Waits) dropEarly(key string) store.Early {
	row, _ := f.st.Early.Get(key)
	f.st.Early.Delete(key)
	return row
}

// oldestEarly returns the entry that has waited longest. Numbers ascend with Since.
func (f *Waits) oldestEarly() (key string, row store.Early, ok bool) {
	for ; f.early < f.st.Account.EarlyNext; f.early++ {
		key = store.LedgerKey(f.early)
		if row, ok = f.st.Early.Get(key); ok {
			return key, row, true
		}
	}
	return "", store.Early{}, false
}

// early returns e as it is kept.
func (e *Labelled) early(f *Waits) store.Early {
	row := store.Early{
		Message: e.Message, ID: e.ID, Label: e.Label, Source: e.source(), Since: f.st.Account.Clock, Origin: e.Origin,
	}
	if len(row.Origin.Record) > MaxRecord {
		row.Origin.Record, row.Origin.Cut = row.Origin.Record[:MaxRecord], true
	}
	row.Origin.Record = bytes.Clone(row.Origin.Record)
	return row
}

// keepEarly lets feedback wait for its message; what is oldest makes room.
func (f *Waits) keepEarly(e *Labelled, r *Result) {
	f.st.Early.Put(store.LedgerKey(f.st.Account.EarlyNext), e.early(f))
	f.st.Account.EarlyNext++
	for f.st.Early.Len() > f.opts.Limits.Early {
		key, _, _ := f.oldestEarly()
		r.Expired = append(r.Expired, Expired{Feedback: f.dropEarly(key), Displaced: true})
	}
	f.expireEarly(r)
}

// earlyDue returns the early feedback that will have waited long enough by then, the oldest first.
func (f *Waits) earlyDue(now store.Moment) (key string, due bool) {
	key, row, ok := f.oldestEarly()
	return key, ok && row.Since.Add(f.opts.EarlyFor) <= now
}

// expireEarly gives up the feedback whose time is over.
func (f *Waits) expireEarly(r *Result) {
	for key, due := f.earlyDue(f.st.Account.Clock); due; key, due = f.earlyDue(f.st.Account.Clock) {
		r.Expired = append(r.Expired, Expired{Feedback: f.dropEarly(key)})
	}
}

// quietDue reports whether a provisional label is to be learnt at now.
func (f *Waits) quietDue(now store.Moment) bool {
	return f.quiet(&f.hours, store.QuietHours, now) || f.quiet(&f.days, store.QuietDays, now)
}

// quietSince is from when on the owner does nothing with m: since it came, or since they read
// it.
func quietSince(m *store.Message) store.Moment { return max(m.Arrived, m.ReadAt) }

// quiet reports whether the first message of q that still waits for what has been
// left alone for long enough. It drops those before it that wait no more.
func (f *Waits) quiet(q *queue, what store.Quiet, now store.Moment) bool {
	horizon := f.opts.Dual.Horizon
	if what == store.QuietDays {
		horizon = f.opts.Dual.MarkedHorizon
	}
	for ; len(*q) > 0; q.pop() {
		e := (*q)[0]
		if m, ok := f.st.Messages.Get(string(e.key[:])); ok && m.Quiet == what && e.since == quietSince(&m) {
			return e.since.Add(horizon) <= now && (f.opts.SilenceCalendar || m.ReadAt > 0 || f.st.Account.LastActive > e.since)
		}
	}
	return false
}

// Waits is what waits for time to pass, and for a message to come. All of it but the row Early of
// the state is derived from the rows of messages.
type Waits struct {
	*parts
	settling queue
	silences int                // messages whose silence is waited for
	backs    []store.MessageKey // see TakenBack
	waiting  queue              // messages whose silence is waited for, by SilenceFrom
	hours    queue              // of store.QuietHours
	days     queue              // of store.QuietDays
	early    uint64             // no feedback with a number below it waits for its message
}

// queue holds messages that wait for time to pass, in order of (since, seq): those whose pending
// label has not yet stood for the settle window, and those about which the owner has been silent
// since they arrived, or since the active day from which on their silence counts. An entry whose
// message waits for something else by now, or was forgotten and came again, is void and skipped.
type queue []entry

type entry struct {
	since store.Moment // in Waits.waiting the number of an active day
	seq   uint64
	key   store.MessageKey
}

func compareEntries(a, b entry) int {
	return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.seq, b.seq))
}

// push enters a message. Nearly all come in order.
func (q *queue) push(since store.Moment, seq uint64, k store.MessageKey) {
	e := entry{since, seq, k}
	at, _ := slices.BinarySearchFunc(*q, e, compareEntries)
	*q = slices.Insert(*q, at, e)
}

// pop takes the first entry out.
func (q *queue) pop() store.MessageKey {
	first := (*q)[0]
	*q = (*q)[1:]
	return first.key
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
	w.settling, w.waiting, w.hours, w.days, w.backs, w.silences = nil, nil, nil, nil, nil, 0
	f.Status.judged, f.Status.passed, f.People.copies = Standing{}, 0, copyIndex{messages: f.st.Messages}
	f.st.Account.Unknown = 0
	f.Messages.oldest = bySeq(f.st.Messages, func(k store.MessageKey, m *store.Message) {
		f.Status.countJudged(m, 1)
		if m.SilenceFrom > 0 {
			w.waiting = append(w.waiting, entry{store.Moment(m.SilenceFrom), m.Seq, k})
			w.silences++
		}
		switch m.Quiet {
		case store.QuietHours:
			w.hours = append(w.hours, entry{quietSince(m), m.Seq, k})
		case store.QuietDays:
			w.days = append(w.days, entry{quietSince(m), m.Seq, k})
		}
		if m.Pending.Label != 0 {
			w.settling = append(w.settling, entry{m.Pending.Since, m.Seq, k})
		}
	})
	for _, m := range f.Messages.Newest() {
		if m.Outcome == store.DecidedImportant {
			break
		}
		f.Status.pass(m.Outcome)
	}
	for _, q := range []queue{w.settling, w.waiting, w.hours, w.days} {
		slices.SortFunc(q, compareEntries)
	}
	w.early = f.st.Account.EarlyNext
	f.st.Early.Each(func(key string, _ *store.Early) { w.early = min(w.early, store.LedgerNumber(key)) })
}

// Due reports whether the passing of time to now would change anything: a
// pending label has settled, a silence has lasted long enough, or early feedback
// has waited long enough. The daemon
// asks before it journals a tick.
func (f *Waits) Due(now store.Moment) bool {
	if f.st.Account.Paused {
		return false
	}
	for len(f.settling) > 0 && !f.stands(f.settling[0]) {
		f.settling.pop()
	}
	if len(f.settling) > 0 && f.settling[0].since.Add(f.opts.Settle) <= now {
		return true
	}
	if _, due := f.earlyDue(now); due {
		return true
	}
	f.skipAnswered()
	now = max(now, f.st.Account.Clock)
	return f.quietDue(now) || len(f.waiting) > 0 && f.silent(f.waiting[0].key, now)
}

// stands reports whether a queue entry is still what its message waits for.
func (f *Waits) stands(e entry) bool {
	m, ok := f.st.Messages.Get(string(e.key[:]))
	return ok && m.Seq == e.seq && m.Pending.Label != 0 && m.Pending.Since == e.since
}

// skipAnswered drops from the front of the silence queue what no longer waits.
func (f *Waits) skipAnswered() {
	for ; len(f.waiting) > 0; f.waiting.pop() {
		e := f.waiting[0]
		m, ok := f.st.Messages.Get(string(e.key[:]))
		if ok && m.Seq == e.seq && m.SilenceFrom > 0 && store.Moment(m.SilenceFrom) == e.since {
			return
		}
	}
}

// silent reports whether the silence about a message has lasted long enough.
func (f *Waits) silent(k store.MessageKey, now store.Moment) bool {
	if f.opts.SilenceDays == 0 {
		return false
	}
	m, _ := f.st.Messages.Get(string(k[:]))
	if f.opts.SilenceCalendar {
		return m.Arrived+store.Moment(f.opts.SilenceDays)*24*60*60*1000 <= now
	}
	return f.st.Account.ActiveDays >= m.SilenceFrom-1+uint32(f.opts.SilenceDays)
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
