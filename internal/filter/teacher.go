// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter/ledger"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// noteUnheard counts the days on which the owner set or removed keywords from which
// nothing can be learnt. Call it after noteActivity. A message that would teach nothing in
// any case does not count.
func (f *Teacher) noteUnheard(m *store.Message, old, now []string) {
	a := &f.st.Account
	if m.Outcome == store.Undecided {
		return
	}
	for _, flag := range slices.Concat(ingest.WithoutFlags(now, old), ingest.WithoutFlags(old, now)) {
		if slices.Contains(ledger.Routine, flag) || ingest.IsCompanion(flag) || f.ledger.IsMark(flag) || meaning(flag, nil).label != 0 {
			continue
		}
		a.UnheardFlag = flag
		if a.UnheardDays == 0 || a.UnheardDay != a.ActiveDays {
			a.UnheardDays, a.UnheardDay = a.UnheardDays+1, a.ActiveDays
		}
	}
}

// noteHeard notes that a word of the owner's was learnt.
func (f *Teacher) noteHeard() {
	a := &f.st.Account
	a.HeardDay, a.HeardSeq = a.ActiveDays, a.Messages
	a.UnheardDays, a.UnheardDay, a.UnheardFlag = 0, 0, ""
}

// await notes since when a lesson is awaited: since the first mail that came while hinged
// was watching.
func (f *Teacher) await(e *Arrived) {
	if a := &f.st.Account; a.Awaited == 0 && !e.Backlog {
		a.Awaited = a.Clock
	}
}

// manner is how a label came beside others.
type manner struct {
	single  bool     // of itself, however many others came with it
	away    bool     // not seen live
	command store.ID // that gave it; 0: not known
	batch   store.ID // the same where that alone tells what came with it
	trust   trust    // in whose word it is
}

// oneByOne is the manner of what was said message by message.
var oneByOne = manner{single: true}

// mannerOf is that of a change at a place, whose number is modseq.
func mannerOf(place Place, away bool, modseq uint64) manner {
	with := manner{away: away, single: away && modseq == 0}
	if modseq != 0 {
		key := binary.BigEndian.AppendUint64([]byte(place.Mailbox+"\x00"), modseq)
		key = binary.BigEndian.AppendUint32(key, place.UIDValidity)
		with.command = store.ID(xxhash.Sum64(key))
	}
	if away {
		with.batch = with.command
	}
	return with
}

// An owner who changes more than Options.Bulk messages in the same way at once tidies
// up, and has no opinion on any one of them. What is at once? Seen live, it is within
// one settle window. Found after an absence, it is what one command did, which the
// server tells by giving one number (MODSEQ) to all of it; what merely was found at
// once may be the corrections of a week.

// dropBulk withdraws the label that e waits for, and all like it that came at once,
// when there are more than Options.Bulk of them, or when they belong to those that were
// withdrawn just before. It reports whether it did.
func (f *Teacher) dropBulk(e entry, r *Result) bool {
	first, _ := f.st.Messages.Get(string(e.key[:]))
	if f.opts.Bulk == 0 || first.Pending.Single {
		return false
	}
	var alike []store.MessageKey
	last := first.Pending.Since
	for _, other := range f.Waits.settling {
		m, ok := f.st.Messages.Get(string(other.key[:]))
		if p := m.Pending; ok && p.Since == other.since && f.Waits.atOnce(first.Pending, p) {
			alike = append(alike, other.key)
			last = max(last, p.Since)
		}
	}
	if len(alike) <= f.opts.Bulk && !f.Waits.continues(first.Pending) {
		return false
	}
	for _, k := range alike {
		mk := string(k[:])
		m, _ := f.st.Messages.Get(mk)
		m.Pending = store.Pending{}
		f.Voice.ground(k, &m, nil)
		f.st.Messages.Put(mk, m)
	}
	a := &f.st.Account
	a.CleanUp = store.CleanUp{Label: first.Pending.Label, Source: first.Pending.Source, Batch: first.Pending.Batch, Last: last}
	a.Bulk += uint64(len(alike))
	r.Withdrawn += len(alike)
	return true
}

// hearEarly hears, in the order in which it came, what was said of a message
// before it came. The caller puts m.
func (f *Teacher) hearEarly(k store.MessageKey, m *store.Message, r *Result) error {
	for _, key := range f.st.Early.Find(func(row store.Early) bool {
		return row.Message == k || row.Message == store.MessageKey{} && row.ID == m.ID && m.ID != 0
	}) {
		row := f.Waits.dropEarly(key)
		if err := f.Voice.hear(k, m, said{label: row.Label, source: row.Source}, oneByOne, r); err != nil {
			return err
		}
	}
	return nil
}

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
		l.Tells = f.People.readingTells()
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
	f.Status.countJudged(m, -1)
	m.Label, m.Source, m.Unlearnt, m.Quiet, m.LeftAlone = label, source, 0, store.QuietNothing, false
	f.Status.countJudged(m, 1)
	f.People.noteLabel(m, label, source)
	m.Lessons++
	if source != store.SourceProvisional {
		f.Waits.waitForSilence(m, 0)
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
		t.Overheard(l)
	}
	r.Lessons = append(r.Lessons, l)
}

// The owner's silence is final after days, and by then the learner has seen hundreds
// of messages without hearing that most of them were ordinary. So silence of some
// hours is learnt already, as a provisional no. Many are wrong, since answers take
// their time: when the answer comes the no is taken back exactly, as if it had never
// been learnt.
//
// While the owner is away silence says nothing. A provisional label needs a sign of
// the owner, about whatever message, after the arrival of the one in question.

// hearQuiet learns the provisional labels that are due at now.
func (f *Teacher) hearQuiet(now store.Moment, r *Result) error {
	for _, q := range []struct {
		queue *queue
		what  store.Quiet
	}{{&f.Waits.hours, store.QuietHours}, {&f.Waits.days, store.QuietDays}} {
		for f.Waits.quiet(q.queue, q.what, now) {
			k := q.queue.pop()
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
			f.Waits.days.push(quietSince(m), m.Seq, k)
		}
		return nil
	case what == store.QuietDays && m.Copies > 0 && !m.Seen:
		return nil
	}
	return f.learn(k, m, word.label, word.source, r)
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
				f.Waits.settling.pop()
				continue
			}
			m.Pending = store.Pending{}
			if err := f.learn(e.key, &m, p.Label, p.Source, r); err != nil {
				return err
			}
			f.st.Messages.Put(mk, m)
		}
		f.Waits.settling.pop()
	}
	if err := f.hearQuiet(now, r); err != nil {
		return err
	}
	for {
		f.Waits.skipAnswered()
		if len(f.Waits.waiting) == 0 || !f.Waits.silent(f.Waits.waiting[0].key, now) {
			return nil
		}
		k := f.Waits.waiting.pop()
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
