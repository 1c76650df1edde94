// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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
func (q *settleQueue) Push(x any)   { *q = append(*q, x.(settleEntry)) }
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
func (q *messageQueue) empty() bool             { return q.head == len(q.keys) }
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

// advance moves the account's clock to at, never back, and learns what has
// settled by then: first pending labels in order of (since, Seq), then provisional
// labels in order of Seq, then silences in order of (SilenceFrom, Seq); of a paused
// account, only the clock.
func (f *Teacher) advance(at store.Moment, r *Result) error {
	r.Changed = true
	f.st.Account.Clock = max(f.st.Account.Clock, at)
	if f.st.Account.Paused {
		return nil
	}
	now := f.st.Account.Clock
	f.Waits.expireEarly(r)
	for len(f.Waits.settling) > 0 {
		e := f.Waits.settling[0]
		if f.Waits.stands(e) {
			if e.since.Add(f.opts.Settle) > now {
				break
			}
			if f.dropBulk(e, r) {
				continue
			}
			mk := string(e.key[:])
			m, _ := f.st.Messages.Get(mk)
			p := m.Pending
			if p.Back {
				f.Waits.backs = append(f.Waits.backs, e.key)
				heap.Pop(&f.Waits.settling)
				continue
			}
			m.Pending = store.Pending{}
			if err := f.learn(e.key, &m, p.Label, p.Source, r); err != nil {
				return err
			}
			f.st.Messages.Put(mk, m)
		}
		heap.Pop(&f.Waits.settling)
	}
	if err := f.hearQuiet(now, r); err != nil {
		return err
	}
	for {
		f.Waits.skipAnswered()
		if len(f.Waits.waiting) == 0 || !f.Waits.silent(f.Waits.waiting[0].key, now) {
			return nil
		}
		k := heap.Pop(&f.Waits.waiting).(settleEntry).key
		mk := string(k[:])
		m, _ := f.st.Messages.Get(mk)
		if m.Pending.Label != 0 {
			// The owner has just spoken; that label will settle by itself.
			f.Waits.waitForSilence(&m, 0)
			f.st.Messages.Put(mk, m)
			continue
		}
		f.Waits.waitForSilence(&m, 0)
		if err := f.hearSilence(k, &m, r); err != nil {
			return err
		}
		f.st.Messages.Put(mk, m)
	}
}

// hearSilence learns what the silence about m, whose key is k, says now that it is final. The
// caller puts the row.
func (f *Teacher) hearSilence(k store.MessageKey, m *store.Message, r *Result) error {
	f.People.noteKept(m)
	marked := f.ledger.Entries.EverMarked(k)
	switch what := f.People.quietWord(m, marked, true); {
	case m.Label != 0 && (m.Source != store.SourceProvisional || what.label != model.Important):
		if m.Source == store.SourceProvisional {
			f.Voice.stood(k, m, store.SourceSilence)
		}
		return nil
	case what.label == 0 && m.Personal:
		f.Status.countJudged(m, -1)
		m.Quiet = store.QuietUnknown
		f.Status.countJudged(m, 1)
		// The learner hears nothing. The threshold must: where what was read and kept counted
		// for nothing, it would lie above all that nobody answers.
		f.tellLine(k, m, model.Important, r)
		return nil
	case marked, what.label == 0:
		// What was sent to many, read and kept, is rarely wanted, and no good lesson.
		// Our own mark must not echo: a marked message that was left alone
		// teaches the model nothing. The threshold must hear of it, though. What
		// was left alone in shadow counted against marking the like of it; if it
		// counted no longer once it is marked, no mark would ever look wrong, and
		// ever more would be set.
		f.tellLine(k, m, model.Ordinary, r)
		f.Status.countJudged(m, -1)
		m.LeftAlone = true
		f.Status.countJudged(m, 1)
		return nil
	default:
		return f.learn(k, m, what.label, what.source, r)
	}
}

// stood notes that the label of m is as it was said, by a stronger source. A provisional one is
// none any more.
func (f *Voice) stood(k store.MessageKey, m *store.Message, source store.Source) {
	for _, t := range f.followers {
		t.Stood(k)
	}
	m.Source = source
}

// accept reports whether a label for m is news: not what was learnt already,
// and not weaker than what was. A repeated label only strengthens the source that
// stands behind it and withdraws a contrary pending one.
//
// A provisional label is no word of the owner's, and reading hardly one. The first that is
// gets learnt in its place, also when it says the same.
func (f *Voice) accept(k store.MessageKey, m store.Message, what said) (store.Message, bool) {
	light := m.Source == store.SourceProvisional || m.Source == store.SourceRead || m.Source == store.SourceFound
	if m.Label == what.label && (!light || f.opts.weightOf(what.label, what.source) <= f.opts.ImplicitWeight) {
		if !m.Pending.Source.Outranks(what.strength()) {
			if m.Pending.Label != 0 && !f.Holds(k, &m, nil) { // this gives the label from now on
				m.Source = what.source
			}
			m.Pending = store.Pending{}
		}
		if what.source.Outranks(m.Source) {
			f.stood(k, &m, what.source)
		}
		return m, false
	}
	if m.Label != 0 && !m.Pending.Back && m.Source.Outranks(what.strength()) {
		return m, false
	}
	if m.Pending.Label != 0 && !m.Pending.Back && m.Pending.Source.Outranks(what.strength()) {
		return m, false
	}
	return m, true
}

// label gives m, whose key is k, a label that counts once it has stood for the
// settle window; with no window, at once. The caller puts the row.
func (f *Voice) label(k store.MessageKey, m *store.Message, what said, with manner, r *Result) error {
	if m.Outcome == store.Undecided {
		return nil // own mail and excluded folders teach nothing
	}
	row, fresh := f.accept(k, *m, what)
	*m = row
	if !fresh {
		return nil
	}
	if f.opts.Settle == 0 && what.after == 0 {
		m.Pending = store.Pending{}
		return f.Teacher.learn(k, m, what.label, what.source, r)
	}
	since := f.st.Account.Clock.Add(what.after)
	queued := m.Pending.Label != 0 && m.Pending.Since == since
	m.Pending = store.Pending{Label: what.label, Source: what.source, Since: since, Single: with.single, Batch: with.batch}
	if !queued {
		heap.Push(&f.Waits.settling, settleEntry{since, m.Seq, k})
	}
	return nil
}
