// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"slices"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Day returns the number of the day, in the account's time zone, in which m
// lies.
func (f *Teacher) Day(m store.Moment) int32 {
	t := m.Time().In(f.zone)
	return int32(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// noteActivity counts the current day as one on which the owner was active.
func (f *Teacher) noteActivity() {
	a := &f.st.Account
	a.LastActive = a.Clock
	if d := f.Day(a.Clock); d > a.ClockDay {
		a.ClockDay = d
		a.ActiveDays++
	}
}

// Teacher moves the account's clock, and learns what has settled by then.
type Teacher struct{ *parts }

// learn teaches the model one label and keeps the accounts. m is the row of message k; the
// caller puts it.
func (f *Teacher) learn(k store.MessageKey, m *store.Message, label model.Label, source store.Source, r *Result) error {
	l, marked := f.lessonOf(k, m, label, source), f.ledger.Entries.EverMarked(k)
	if source == store.SourceRead {
		l.Tells = f.People.ReadingTells()
	}
	if err := f.learning.Teach(&l, marked); err != nil {
		return err
	}
	for _, t := range f.followers {
		t.Learnt(l, marked)
	}
	if source > store.SourceSilence {
		f.noteHeard()
	}
	NoteLesson(f.st, m.Sender)
	m.Label, m.Source, m.Unlearnt, m.Quiet, m.LeftAlone = label, source, 0, store.QuietNothing, false
	f.People.noteLabel(m, label, source)
	m.Lessons++
	if source != store.SourceProvisional {
		m.SilenceFrom = 0
	}
	r.Lessons = append(r.Lessons, l)
	return nil
}

// lessonOf is a label of m, whose key is k, that was not learnt yet.
func (f *Teacher) lessonOf(k store.MessageKey, m *store.Message, label model.Label, source store.Source) store.Lesson {
	return store.Lesson{
		Message: k, Label: label, Source: source, Sender: m.Sender, At: f.st.Account.Clock,
		Judged: m.Score, Outcome: m.Outcome, Above: m.Above, Correspondent: m.Correspondent,
		Ruled: m.Rule != 0, Before: m.Label, BeforeSource: m.Source, Anew: f.st.Account.Anew,
	}
}

// tellLine has the threshold, and nothing else, hear what the silence about m said.
func (f *Teacher) tellLine(k store.MessageKey, m *store.Message, label model.Label, r *Result) {
	l := f.lessonOf(k, m, label, store.SourceSilence)
	f.line.Hear(&l)
	for _, t := range f.followers {
		t.Learnt(l, false)
	}
	r.Lessons = append(r.Lessons, l)
}

// The owner's silence is final after days. Until then the learner would not hear that most mail was
// ordinary, so silence of some hours is learnt already, as a provisional no. When an answer comes,
// it is taken back exactly. While the owner is away silence says nothing: a provisional label needs
// a sign of the owner, about whatever message, after the arrival of the one in question.

// hearQuiet learns the provisional labels that are due at now.
func (f *Teacher) hearQuiet(now store.Moment, r *Result) error {
	for _, q := range []*queue{&f.Waits.hours, &f.Waits.days} {
		for {
			k, m, due := f.Waits.due(q, now)
			if !due {
				break
			}
			if err := f.hearQuietOf(k, &m, r); err != nil {
				return err
			}
			f.st.Messages.Put(string(k[:]), m)
		}
	}
	return nil
}

// hearQuietOf learns the provisional label of m, whose key is k, or finds that there is none. The
// caller puts the row. Our mark makes the owner look, or is in the way of it. So a marked message
// waits for longer, weighs less, must have been read, and teaches a no, never a yes.
func (f *Teacher) hearQuietOf(k store.MessageKey, m *store.Message, r *Result) error {
	what := m.Quiet
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
			f.Waits.days.push(k, m)
		}
		return nil
	case what == store.QuietDays && m.Copies > 0 && !m.Seen:
		return nil
	}
	return f.learn(k, m, word.label, word.source, r)
}

// advance moves the account's clock to at, never back, and learns what has settled by then: pending
// labels by (since, Seq), then provisional ones by Seq, then silences by (SilenceFrom, Seq); of a
// paused account, only the clock.
func (f *Teacher) advance(at store.Moment, r *Result) error {
	r.Changed = true
	f.st.Account.Clock = max(f.st.Account.Clock, at)
	if f.st.Account.Paused {
		return nil
	}
	now := f.st.Account.Clock
	f.Waits.expireEarly(r)
	for {
		k, m, due := f.Waits.due(&f.Waits.settling, now)
		if !due {
			break
		}
		switch p := m.Pending; {
		case f.dropBulk(&m, r):
		case p.Back:
			f.Waits.backs = append(f.Waits.backs, k)
			f.Waits.settling.entries = f.Waits.settling.entries[1:]
		default:
			m.Pending = store.Pending{}
			if err := f.learn(k, &m, p.Label, p.Source, r); err != nil {
				return err
			}
			f.st.Messages.Put(string(k[:]), m)
		}
	}
	if err := f.hearQuiet(now, r); err != nil {
		return err
	}
	for {
		k, m, due := f.Waits.due(&f.Waits.silent, now)
		if !due {
			return nil
		}
		m.SilenceFrom = 0
		if m.Pending.Label == 0 { // else the owner has just spoken; that label will settle by itself
			if err := f.hearSilence(k, &m, r); err != nil {
				return err
			}
		}
		f.st.Messages.Put(string(k[:]), m)
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
		m.Quiet = store.QuietUnknown
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
		m.LeftAlone = true
		return nil
	default:
		return f.learn(k, m, what.label, what.source, r)
	}
}

// Restand brings the row of message k, so many of whose lessons were taken back, in order: it has
// the label that stands. What waited for silence waits again, from today on, and what else the
// owner has said is heard. The caller puts m, and has the filter Resume.
func (f *Teacher) Restand(k store.MessageKey, m *store.Message, gone uint32) {
	a := &f.st.Account
	m.Lessons -= min(m.Lessons, gone)
	f.People.handle(m, store.HandledNothing)
	heard := a.Clock >= quietSince(m).Add(f.opts.Dual.Horizon)
	if f.People.noteLabel(m, m.Label, m.Source); heard {
		f.People.noteKept(m)
	}
	if m.Label == 0 && f.waits(m) {
		m.SilenceFrom = a.ActiveDays + 1
		if f.opts.Provisional() && !heard {
			m.Quiet = store.QuietHours
		}
	}
	if m.Source == store.SourceProvisional {
		m.SilenceFrom = a.ActiveDays + 1
	}
	if what := f.Voice.besides(k, m, nil); what.label != 0 && what.label != m.Label {
		m.Pending = store.Pending{Label: what.label, Source: what.source, Since: a.Clock, Single: true}
	}
}

// waits reports whether silence about a decided message says that it is ordinary: that is less
// than what a rule says that calls it important.
func (f *Teacher) waits(m *store.Message) bool {
	return f.opts.SilenceDays > 0 && !m.Claimed && (m.Rule == 0 || m.Outcome == store.DecidedOrdinary)
}

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
