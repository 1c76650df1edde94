package filter

import (
	"fmt"
	"math"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// learn teaches the model one label and keeps the accounts. m is the row of
// message k; the caller puts it.
func (f *Filter) learn(k store.MessageKey, m *store.Message, label model.Label, source store.Source, r *Result) error {
	features := f.latest.features
	if features == nil || f.latest.key != k {
		var err error
		if features, err = f.vectors.Features(k); err != nil {
			return fmt.Errorf("looking up the vector of message %x: %w", k[:4], err)
		}
	}
	x := features.Vector()
	weight := 1.0
	if source < store.SourceJunk {
		weight = f.opts.ImplicitWeight
	}
	l := f.lessonOf(k, m, label, source)
	l.Weight = weight
	f.absorb(&l, x)
	if a := &f.st.Account; source > store.SourceSilence {
		a.HeardDay, a.HeardSeq = a.ActiveDays, a.Messages
	}
	if s, ok := f.st.Senders.Get(m.Sender.Key()); ok && m.Sender != 0 {
		s.Lessons++
		f.st.Senders.Put(m.Sender.Key(), s)
	}
	m.Label, m.Source, m.Unlearnt = label, source, 0
	m.Lessons++
	f.waitForSilence(m, 0)
	r.Lessons = append(r.Lessons, l)
	return nil
}

// lessonOf is a label of m, whose key is k, that was not learnt yet.
func (f *Filter) lessonOf(k store.MessageKey, m *store.Message, label model.Label, source store.Source) store.Lesson {
	return store.Lesson{
		Message: k, Label: label, Source: source, Sender: m.Sender, At: f.st.Account.Clock,
		Judged: m.Score, Outcome: m.Outcome, Above: m.Above, Correspondent: m.Correspondent,
		Ruled: m.Rule != 0,
	}
}

// absorb learns l, notes in it how, and keeps the accounts that are of learning
// alone.
func (f *Filter) absorb(l *store.Lesson, x model.Vector) {
	u := f.learner.Learn(model.Lesson{Vector: x, Label: l.Label, Weight: l.Weight})
	l.Score, l.Step = u.Score, u.Step
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
		if l.Outcome != store.DecidedImportant {
			a.Missed++
		}
	} else {
		a.Ordinary++
		if l.Outcome == store.DecidedImportant {
			a.FalseAlarms++
		}
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
	scored := store.Scored{Score: l.Judged, Label: l.Label, Above: l.Above, Correspondent: l.Correspondent}
	if old, full := f.labelled.add(a.Labels, scored); full {
		f.standing.count(old, -1)
	}
	f.standing.count(scored, 1)
	a.Labels++
	f.keepAhead(l.Label)
	f.stale = true
}
