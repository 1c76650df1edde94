// SPDX-License-Identifier: Apache-2.0

package filter

import (
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
		t.Overheard(l)
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
