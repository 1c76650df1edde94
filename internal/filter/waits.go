// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"cmp"
	"container/heap"
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

// earlyIndex finds the feedback that waits for a message. It is derived from the
// table.
type earlyIndex struct {
	byMessage map[store.MessageKey][]uint64
	byID      map[store.ID][]uint64
	first     uint64 // no number below it waits
}

func newEarlyIndex(st *store.State) earlyIndex {
	ix := earlyIndex{map[store.MessageKey][]uint64{}, map[store.ID][]uint64{}, st.Account.EarlyNext}
	for i, key := range st.Early.Keys() {
		n := store.LedgerNumber(key)
		if i == 0 {
			ix.first = n
		}
		row, _ := st.Early.Get(key)
		ix.add(n, row)
	}
	return ix
}

func (ix *earlyIndex) add(n uint64, row store.Early) {
	if row.Message != (store.MessageKey{}) {
		ix.byMessage[row.Message] = append(ix.byMessage[row.Message], n)
	} else {
		ix.byID[row.ID] = append(ix.byID[row.ID], n)
	}
}

func (ix *earlyIndex) remove(n uint64, row store.Early) {
	if row.Message != (store.MessageKey{}) {
		removeFrom(ix.byMessage, row.Message, n)
	} else {
		removeFrom(ix.byID, row.ID, n)
	}
}

func removeFrom[K, V comparable](m map[K][]V, key K, v V) {
	rest := slices.DeleteFunc(m[key], func(other V) bool { return other == v })
	if len(rest) == 0 {
		delete(m, key)
	} else {
		m[key] = rest
	}
}

// dropEarly takes one entry out of the table and the index.
func (f *Waits) dropEarly(n uint64) store.Early {
	key := store.LedgerKey(n)
	row, _ := f.st.Early.Get(key)
	f.st.Early.Delete(key)
	f.early.remove(n, row)
	return row
}

// oldestEarly returns the entry that has waited longest. Numbers ascend with
// Since.
func (f *Waits) oldestEarly() (n uint64, row store.Early, ok bool) {
	for ; f.early.first < f.st.Account.EarlyNext; f.early.first++ {
		if row, ok = f.st.Early.Get(store.LedgerKey(f.early.first)); ok {
			return f.early.first, row, true
		}
	}
	return 0, store.Early{}, false
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
	row := e.early(f.Waits)
	n := f.st.Account.EarlyNext
	f.st.Account.EarlyNext++
	f.st.Early.Put(store.LedgerKey(n), row)
	f.early.add(n, row)
	for f.st.Early.Len() > f.opts.Limits.Early {
		n, _, _ := f.oldestEarly()
		f.expire(n, true, r)
	}
	f.expireEarly(r)
}

func (f *Waits) expire(n uint64, displaced bool, r *Result) {
	r.Expired = append(r.Expired, Expired{Feedback: f.dropEarly(n), Displaced: displaced})
}

// earlyDue reports whether early feedback will have waited long enough by then.
func (f *Waits) earlyDue(now store.Moment) bool {
	_, row, ok := f.oldestEarly()
	return ok && row.Since.Add(f.opts.EarlyFor) <= now
}

// expireEarly gives up the feedback whose time is over.
func (f *Waits) expireEarly(r *Result) {
	for f.earlyDue(f.st.Account.Clock) {
		f.expire(f.early.first, false, r)
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

// Waits is what waits for time to pass, and for a message to come. All of it but the row Early of
// the state is derived from the rows of messages.
type Waits struct {
	*parts
	settling settleQueue
	silences int                // messages whose silence is waited for
	backs    []store.MessageKey // see TakenBack
	waiting  settleQueue        // messages whose silence is waited for, by SilenceFrom
	hours    settleQueue        // of store.QuietHours
	days     settleQueue        // of store.QuietDays
	early    earlyIndex
}

// settleQueue holds messages that wait for time to pass, in order of (since, Seq):
// those whose pending label has not yet stood for the settle window since it was
// given, and those about which the owner has been silent since they arrived, or since the
// active day from which on their silence counts. An entry whose message waits for something
// else by now, or was forgotten and came again, is void and skipped.
type settleQueue []settleEntry

type settleEntry struct {
	since store.Moment // in Filter.waiting the number of an active day
	seq   uint64
	key   store.MessageKey
}

func (q settleQueue) Len() int { return len(q) }

func (q settleQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].since, q[j].since), cmp.Compare(q[i].seq, q[j].seq)) < 0
}

func (q settleQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *settleQueue) Push(x any) { *q = append(*q, x.(settleEntry)) }

func (q *settleQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// messageQueue is a first-in-first-out queue of messages in order of Seq.
type messageQueue struct {
	keys []store.MessageKey
	head int
}

func (q *messageQueue) push(k store.MessageKey) { q.keys = append(q.keys, k) }

func (q *messageQueue) empty() bool { return q.head == len(q.keys) }

func (q *messageQueue) front() store.MessageKey { return q.keys[q.head] }

func (q *messageQueue) pop() {
	q.head++
	if q.head > 1024 && q.head > len(q.keys)/2 {
		q.keys = slices.Clone(q.keys[q.head:])
		q.head = 0
	}
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
	f.Waits.settling, f.Waits.waiting, f.Waits.hours, f.Waits.days, f.Waits.backs = nil, nil, nil, nil, nil
	f.Waits.silences, f.Status.judged, f.People.copies = 0, Standing{}, copyIndex{messages: f.st.Messages}
	f.st.Account.Unknown = 0
	important := uint64(0) // Seq of the last that was
	f.Messages.oldest = messageQueue{keys: bySeq(f.st.Messages, func(k store.MessageKey, m *store.Message) {
		f.Status.countJudged(m, 1)
		if m.Outcome == store.DecidedImportant {
			important = max(important, m.Seq)
		}
		if m.SilenceFrom > 0 {
			f.Waits.waiting = append(f.Waits.waiting, silenceOf(m.SilenceFrom, m.Seq, k))
			f.Waits.silences++
		}
		switch m.Quiet {
		case store.QuietHours:
			f.Waits.hours = append(f.Waits.hours, settleEntry{quietSince(m), m.Seq, k})
		case store.QuietDays:
			f.Waits.days = append(f.Waits.days, settleEntry{quietSince(m), m.Seq, k})
		}
		if m.Pending.Label != 0 {
			f.Waits.settling = append(f.Waits.settling, settleEntry{m.Pending.Since, m.Seq, k})
		}
	})}
	f.Status.passed = 0
	f.st.Messages.Each(func(_ string, m *store.Message) {
		if m.Outcome != store.Undecided && m.Seq > important {
			f.Status.passed++
		}
	})
	for _, q := range []*settleQueue{&f.Waits.settling, &f.Waits.waiting, &f.Waits.hours, &f.Waits.days} {
		heap.Init(q)
	}
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
		heap.Pop(&f.settling)
	}
	if len(f.settling) > 0 && f.settling[0].since.Add(f.opts.Settle) <= now {
		return true
	}
	if f.earlyDue(now) {
		return true
	}
	f.skipAnswered()
	now = max(now, f.st.Account.Clock)
	return f.quietDue(now) || len(f.waiting) > 0 && f.silent(f.waiting[0].key, now)
}

// stands reports whether a queue entry is still what its message waits for.
func (f *Waits) stands(e settleEntry) bool {
	m, ok := f.st.Messages.Get(string(e.key[:]))
	return ok && m.Seq == e.seq && m.Pending.Label != 0 && m.Pending.Since == e.since
}

// skipAnswered drops from the front of the silence queue what no longer waits.
func (f *Waits) skipAnswered() {
	for ; len(f.waiting) > 0; heap.Pop(&f.waiting) {
		e := f.waiting[0]
		m, ok := f.st.Messages.Get(string(e.key[:]))
		if ok && m.Seq == e.seq && m.SilenceFrom > 0 && store.Moment(m.SilenceFrom) == e.since {
			return
		}
	}
}

// silenceOf is the entry of a message in the queue of silences. A message that is decided
// long after it arrived comes after those decided before it.
func silenceOf(from uint32, seq uint64, k store.MessageKey) settleEntry {
	return settleEntry{store.Moment(from), seq, k}
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
