// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

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

// corresponds reports whether the owner has written to the sender of a message.
func (f *People) corresponds(from store.ID) bool {
	s, ok := f.st.Senders.Get(from.Key())
	return ok && from != 0 && s.Written > 0
}
