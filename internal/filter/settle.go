// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"container/heap"
	"iter"
	"math"
	"slices"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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

// queued is what queues are built from of a message.
type queued struct {
	key   store.MessageKey
	seq   uint64
	id    store.ID
	quiet store.Quiet
	out   store.Outcome
	from  uint32       // its SilenceFrom
	at    store.Moment // its quietSince
	// pending: it has a label that waits since then.
	pending bool
	since   store.Moment
}

func queuedOf(key store.MessageKey, m *store.Message) queued {
	return queued{
		key: key, seq: m.Seq, id: m.ID, quiet: m.Quiet, out: m.Outcome,
		from: m.SilenceFrom, at: quietSince(m), pending: m.Pending.Label != 0, since: m.Pending.Since,
	}
}

// bySeq yields what queues are built from of all messages in order of Seq, after it has
// called each with them in any order, which must not keep them.
func bySeq(messages *store.Table[store.Message], each func(*store.Message)) iter.Seq[*queued] {
	all := make([]queued, 0, messages.Len())
	least, most := uint64(math.MaxUint64), uint64(0)
	messages.Each(func(key []byte, m *store.Message) {
		each(m)
		least, most = min(least, m.Seq), max(most, m.Seq)
		all = append(all, queuedOf(store.MessageKey(key), m))
	})
	return func(yield func(*queued) bool) {
		for _, i := range inOrder(all, least, most) {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// inOrder returns the indices of all in order of Seq, of which least and most are the least and
// the greatest.
func inOrder(all []queued, least, most uint64) []int32 {
	order := make([]int32, 0, len(all))
	// Their numbers have few gaps, so that most can be put where they belong.
	if span := most - least; len(all) > 0 && span < 4*uint64(len(all)) {
		places := make([]int32, span+1)
		for i := range all {
			places[all[i].seq-least] = int32(i) + 1
		}
		for _, i := range places {
			if i > 0 {
				order = append(order, i-1)
			}
		}
		if len(order) == len(all) { // no two have one number
			return order
		}
	}
	order = order[:0]
	for i := range all {
		order = append(order, int32(i))
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(all[a].seq, all[b].seq) })
	return order
}

// rebuildQueues derives what is kept of messages in order of Seq, with s if that is not nil.
func (f *Filter) rebuildQueues(s *summary) {
	f.settling, f.waiting, f.oldest, f.silences, f.backs = nil, nil, messageQueue{}, 0, nil
	f.judged, f.passed = Standing{}, 0
	f.hours, f.days, f.copies = nil, nil, copyIndex{messages: f.st.Messages}
	var all iter.Seq[*queued]
	if s != nil {
		unknown := f.st.Account.Unknown // which counts all of them already
		f.judged = s.judged
		all = s.bySeq(f.st.Messages, f.countJudged)
		f.st.Account.Unknown = unknown
	} else {
		f.st.Account.Unknown = 0
		all = bySeq(f.st.Messages, func(m *store.Message) { f.countJudged(m, 1) })
	}
	f.oldest.keys = make([]store.MessageKey, 0, f.st.Messages.Len()+1)
	for it := range all {
		f.oldest.push(it.key)
		f.pass(it.out)
		if it.from > 0 {
			f.waiting = append(f.waiting, silenceOf(it.from, it.seq, it.key))
			f.silences++
		}
		switch it.quiet {
		case store.QuietHours:
			f.hours = append(f.hours, settleEntry{it.at, it.seq, it.key})
		case store.QuietDays:
			f.days = append(f.days, settleEntry{it.at, it.seq, it.key})
		}
		if it.pending {
			f.settling = append(f.settling, settleEntry{it.since, it.seq, it.key})
		}
	}
	heap.Init(&f.settling)
	heap.Init(&f.waiting)
	heap.Init(&f.hours)
	heap.Init(&f.days)
}

// Due reports whether the passing of time to now would change anything: a
// pending label has settled, a silence has lasted long enough, or early feedback
// has waited long enough. The daemon
// asks before it journals a tick.
func (f *Filter) Due(now store.Moment) bool {
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
func (f *Filter) stands(e settleEntry) bool {
	m, ok := f.st.Messages.Get(string(e.key[:]))
	return ok && m.Seq == e.seq && m.Pending.Label != 0 && m.Pending.Since == e.since
}

// skipAnswered drops from the front of the silence queue what no longer waits.
func (f *Filter) skipAnswered() {
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
func (f *Filter) silent(k store.MessageKey, now store.Moment) bool {
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
func (f *Filter) advance(at store.Moment, r *Result) error {
	r.Changed = true
	f.st.Account.Clock = max(f.st.Account.Clock, at)
	if f.st.Account.Paused {
		return nil
	}
	now := f.st.Account.Clock
	f.expireEarly(r)
	for len(f.settling) > 0 {
		e := f.settling[0]
		if f.stands(e) {
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
				f.backs = append(f.backs, e.key)
				heap.Pop(&f.settling)
				continue
			}
			m.Pending = store.Pending{}
			if err := f.learn(e.key, &m, p.Label, p.Source, r); err != nil {
				return err
			}
			f.st.Messages.Put(mk, m)
		}
		heap.Pop(&f.settling)
	}
	if err := f.hearQuiet(now, r); err != nil {
		return err
	}
	for {
		f.skipAnswered()
		if len(f.waiting) == 0 || !f.silent(f.waiting[0].key, now) {
			return nil
		}
		k := heap.Pop(&f.waiting).(settleEntry).key
		mk := string(k[:])
		m, _ := f.st.Messages.Get(mk)
		if m.Pending.Label != 0 {
			// The owner has just spoken; that label will settle by itself.
			f.waitForSilence(&m, 0)
			f.st.Messages.Put(mk, m)
			continue
		}
		f.waitForSilence(&m, 0)
		if err := f.hearSilence(k, &m, r); err != nil {
			return err
		}
		f.st.Messages.Put(mk, m)
	}
}

// hearSilence learns what the silence about m, whose key is k, says now that it is final. The
// caller puts the row.
func (f *Filter) hearSilence(k store.MessageKey, m *store.Message, r *Result) error {
	f.noteKept(m)
	marked := f.ledger.Entries.EverMarked(k)
	switch what := f.quietWord(m, marked, true); {
	case m.Label != 0 && (m.Source != store.SourceProvisional || what.label != model.Important):
		if m.Source == store.SourceProvisional {
			m.Source = store.SourceSilence // it stands
		}
		return nil
	case what.label == 0 && m.Personal:
		f.countJudged(m, -1)
		m.Quiet = store.QuietUnknown
		f.countJudged(m, 1)
		// The learner hears nothing. The threshold must: where what was read and kept counted
		// for nothing, it would lie above all that nobody answers.
		l := f.lessonOf(k, m, model.Important, store.SourceSilence)
		f.score(&l)
		r.Lessons = append(r.Lessons, l)
		return nil
	case marked, what.label == 0:
		// What was sent to many, read and kept, is rarely wanted, and no good lesson.
		// Our own mark must not echo: a marked message that was left alone
		// teaches the model nothing. The threshold must hear of it, though. What
		// was left alone in shadow counted against marking the like of it; if it
		// counted no longer once it is marked, no mark would ever look wrong, and
		// ever more would be set.
		l := f.lessonOf(k, m, model.Ordinary, store.SourceSilence)
		f.score(&l)
		f.countJudged(m, -1)
		m.LeftAlone = true
		f.countJudged(m, 1)
		r.Lessons = append(r.Lessons, l)
		return nil
	default:
		return f.learn(k, m, what.label, what.source, r)
	}
}

// accept reports whether a label for m is news: not what was learnt already,
// and not weaker than what was. A repeated label only strengthens the source that
// stands behind it and withdraws a contrary pending one.
//
// A provisional label is no word of the owner's, and reading hardly one. The first that is
// gets learnt in its place, also when it says the same.
func (f *Filter) accept(k store.MessageKey, m store.Message, what said) (store.Message, bool) {
	light := m.Source == store.SourceProvisional || m.Source == store.SourceRead || m.Source == store.SourceFound
	if m.Label == what.label && (!light || f.opts.weightOf(what.label, what.source) <= f.opts.ImplicitWeight) {
		if !m.Pending.Source.Outranks(what.strength()) {
			if m.Pending.Label != 0 && !f.holds(k, &m, nil) { // this gives the label from now on
				m.Source = what.source
			}
			m.Pending = store.Pending{}
		}
		if what.source.Outranks(m.Source) {
			m.Source = what.source
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
func (f *Filter) label(k store.MessageKey, m *store.Message, what said, with manner, r *Result) error {
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
		return f.learn(k, m, what.label, what.source, r)
	}
	since := f.st.Account.Clock.Add(what.after)
	queued := m.Pending.Label != 0 && m.Pending.Since == since
	m.Pending = store.Pending{Label: what.label, Source: what.source, Since: since, Single: with.single, Batch: with.batch}
	if !queued {
		heap.Push(&f.settling, settleEntry{since, m.Seq, k})
	}
	return nil
}
