// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// learn teaches the model one label and keeps the accounts. m is the row of
// message k; the caller puts it.
func (f *Filter) learn(k store.MessageKey, m *store.Message, label model.Label, source store.Source, r *Result) error {
	x, err := f.vector(k)
	if err != nil {
		return err
	}
	l := f.lessonOf(k, m, label, source)
	l.Weight = float64(f.opts.weightOf(label, source) * f.boldness())
	switch {
	case source == store.SourceProvisional && f.ledger.everMarked(k):
		l.Weight = float64(f.opts.Dual.MarkedWeight * f.boldness())
	case source == store.SourceRead:
		l.Tells = f.readingTells()
		l.Weight = float64(l.Weight * l.Tells)
	}
	f.absorb(&l, x)
	if source > store.SourceSilence {
		f.noteHeard()
	}
	noteLesson(f.st, m.Sender)
	f.countJudged(m, -1)
	m.Label, m.Source, m.Unlearnt, m.Quiet, m.LeftAlone = label, source, 0, store.QuietNothing, false
	f.countJudged(m, 1)
	f.noteLabel(m, label, source)
	m.Lessons++
	if source != store.SourceProvisional {
		f.waitForSilence(m, 0)
	}
	r.Lessons = append(r.Lessons, l)
	return nil
}

// lessonOf is a label of m, whose key is k, that was not learnt yet.
func (f *Filter) lessonOf(k store.MessageKey, m *store.Message, label model.Label, source store.Source) store.Lesson {
	return store.Lesson{
		Message: k, Label: label, Source: source, Sender: m.Sender, At: f.st.Account.Clock,
		Judged: m.Score, Outcome: m.Outcome, Above: m.Above, Correspondent: m.Correspondent,
		Ruled: m.Rule != 0, Before: m.Label, BeforeSource: m.Source, Anew: f.st.Account.Anew,
	}
}

// absorb learns l, notes in it how, and keeps the accounts that are of learning
// alone.
func (f *Filter) absorb(l *store.Lesson, x model.Vector) {
	replays := f.opts.replays()
	if replays {
		l.TookBack = f.takeBack(l.Message, x)
		l.Replayed = f.st.Account.Replayed
	}
	u := f.learner.Learn(l.Message, model.Lesson{Vector: x, Label: l.Label, Weight: l.Weight}, f.slots(l.Message))
	l.Score, l.Step = u.Score, u.Step
	if replays {
		norm := x.SquaredNorm()
		f.keep(l, u, f.opts.Learner.FirstGain(l.Label, l.Weight, norm, u))
		f.recallLater(l.Message, norm)
	}
	f.account(l, x, u)
}

// account enters into the accounts what a lesson did.
func (f *Filter) account(l *store.Lesson, x model.Vector, u model.Update) {
	a := &f.st.Account
	if u.Step != 0 {
		a.Updates++
	}
	if u.Mistake {
		a.Mistakes++
	}
	a.HingeLoss += u.Loss
	a.MaxNorm = max(a.MaxNorm, math.Sqrt(f.learner.Norm(x)))
	if l.Label == model.Important {
		a.Important++
	} else {
		a.Ordinary++
	}
	a.LastLesson = l.At
	f.score(l)
}

// score enters the judgement that a message got at its arrival, with its label,
// into what the threshold and the standing are taken from.
// What a rule decided tells nothing of the threshold.
func (f *Filter) score(l *store.Lesson) {
	if l.Ruled {
		return
	}
	a := &f.st.Account
	read, unknown := l.Source == store.SourceRead, isUnknown(l)
	if slot, ok := f.st.Labelled.Find(l.Message); ok {
		// A label that proved wrong does not stand beside the right one.
		old, now := f.labelled.relabel(slot, l.Label, read, unknown)
		f.standing.count(&old, -1)
		f.standing.count(&now, 1)
	} else {
		scored := store.Scored{
			Score: rounded(l.Judged), Label: l.Label, Above: l.Above, Correspondent: l.Correspondent, Read: read, Unknown: unknown, Message: l.Message,
		}
		if old, full := f.labelled.add(a.Labels, scored); full {
			f.standing.count(&old, -1)
		}
		f.standing.count(&scored, 1)
		a.Labels++
	}
	f.stale = true
}

// isUnknown reports whether l is no label at all, but says that nobody knows what the silence
// about a message said.
func isUnknown(l *store.Lesson) bool { return !l.Learnt() && l.Label == model.Important }
