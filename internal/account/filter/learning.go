// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"math"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Learning is what an account has learnt, and how it decides by that: the learner, the window of
// lessons that it replays, and the line. It can learn on a state of its own, which is never
// committed: then it goes over the past (package past), or along with a filter as a trial.
type Learning struct {
	opts    *Options
	st      *store.State
	line    *Line
	learner learner
	rules   *RuleSet
	lessons lessonWindow
	// messages are those whose vectors can be read; nil: all that vectors has.
	messages *store.Table[store.Message]
	vectors  *VectorCache
	// spares passes over lessons whose vectors are missing; missed: there were some.
	spares, missed bool
	rehearsed      *Learning // what Classify decides by; nil: not made
}

// NewLearning returns one that learns on st, which it owns from then on and which is never
// committed as such, with the options o and by rules.
func NewLearning(o *Options, st *store.State, rules *RuleSet, v Vectors) (*Learning, error) {
	f := newLearning(o, st, v)
	f.lessons, f.spares = newLessonWindow(st), true
	f.line.gather()
	return f, f.Obey(rules)
}

func newLearning(o *Options, st *store.State, v Vectors) *Learning {
	f := &Learning{opts: o, st: st, line: &Line{opts: o, st: st}}
	f.vectors = &VectorCache{opts: o, stored: v, lessons: &f.lessons}
	return f
}

// Vectors returns where vectors are looked up.
func (f *Learning) Vectors() *VectorCache { return f.vectors }

// Obey keeps the weights to rules from now on. Weights that come from a state obey its rules:
// bringing them in line once more could change their last bits, so the caller does that (Project)
// where the rules are others.
func (f *Learning) Obey(rules *RuleSet) error {
	learner, err := newLearner(*f.opts, f.st, rules)
	if err != nil {
		return err
	}
	f.learner, f.rules = learner, rules
	return nil
}

// Project moves the weights to the nearest that obey the rules.
func (f *Learning) Project() { f.learner.project() }

// Along has it learn along with a filter: of messages that the filter knows, and as many lessons
// back as its own options say.
func (f *Learning) Along(with *Filter) {
	f.messages, f.spares = with.st.Messages, false
	f.trim()
}

// trim lets go of lessons that the options let no step of replay go back to.
func (f *Learning) trim() {
	size := 0
	if f.opts.Replays() {
		size = f.opts.Dual.Window
	}
	f.lessons.trim(f.st, size)
}

// Rules returns the rules in force.
func (f *Learning) Rules() *RuleSet { return f.rules }

// Line returns where the line is drawn.
func (f *Learning) Line() *Line { return f.line }

// State returns the state that is learnt on.
func (f *Learning) State() *store.State { return f.st }

// Decide decides a message, for ever, after the steps of replay that come before it.
func (f *Learning) Decide(k store.MessageKey, x *featurize.Features, vouched bool) (Decision, error) {
	v := f.vectors.hold(k, x.Vector())
	if err := f.replay(f.opts.Dual.Steps); err != nil {
		return Decision{}, err
	}
	d := f.judge(k, x, v, vouched)
	f.line.noteCall(&d)
	f.line.noteScore(d.Score, d.Outcome)
	f.st.Account.Decided++
	if d.Outcome == store.DecidedUnsure {
		f.st.Account.Unsure++
	}
	return d, nil
}

// judge scores a message and decides, changing nothing. v has the vector of x, and vouched is
// that of its Meta.
func (f *Learning) judge(k store.MessageKey, x *featurize.Features, v *past, vouched bool) Decision {
	c := f.line.Cut()
	d := Decision{Message: k, Score: f.learner.scoreAt(v), Threshold: c.Threshold}
	d.Above = f.line.above(c, d.Score)
	d.Probability = f.line.Probability(d.Score)
	if rule, ok := f.rules.Match(x, vouched); ok {
		d.Rule, d.Outcome, d.Reason = &rule, rule.outcome(), store.ReasonRule
		return d
	}
	switch d.Outcome = c.outcome(d.Score); {
	case d.Outcome != store.DecidedImportant && !f.line.Trained():
		d.Outcome, d.Reason = store.DecidedUnsure, store.ReasonTooFewLabels
	case d.Outcome == store.DecidedUnsure:
		d.Reason = store.ReasonBand
	}
	return d
}

// Teach learns a label of which marked says that a mark of ours is on its message, or was. It
// notes in l with what weight, and how.
func (f *Learning) Teach(l *store.Lesson, marked bool) error {
	weight := f.opts.weightOf(l.Label, l.Source)
	if l.Source == store.SourceProvisional && marked {
		weight = f.opts.Dual.MarkedWeight
	}
	l.Weight = float64(weight * f.boldness())
	if l.Source == store.SourceRead {
		l.Weight = float64(l.Weight * l.Tells)
	}
	return f.Learn(l)
}

// Learn learns l, notes in it how, and keeps the accounts that are of learning
// alone.
func (f *Learning) Learn(l *store.Lesson) error {
	x, err := f.vectors.find(l.Message)
	if err != nil {
		return err
	}
	if f.opts.Replays() {
		l.TookBack = f.takeBack(l.Message, x)
		l.Replayed = f.st.Account.Replayed
	}
	u := f.learner.learn(l.Message, x, l.Label, l.Weight)
	l.Score, l.Step = u.Score, u.Step
	f.enter(l, x, u)
	return nil
}

// Repeat learns a lesson once more with the step that was taken then.
func (f *Learning) Repeat(l *store.Lesson) error {
	x, err := f.vectors.find(l.Message)
	if err != nil {
		return err
	}
	if f.opts.Replays() {
		f.takeBack(l.Message, x)
	}
	if l.Step != 0 {
		f.learner.step(l.Message, x, l.Step)
	}
	f.enter(l, x, model.Update{
		Score: l.Score, Step: l.Step,
		Mistake: f.opts.Learner.Zero.Mistake(l.Label, l.Score), Loss: model.HingeLoss(l.Label, l.Score),
	})
	return nil
}

// enter enters a lesson into the window, and into the accounts what it did.
func (f *Learning) enter(l *store.Lesson, x *past, u model.Update) {
	if f.opts.Replays() {
		f.keep(l, u, f.opts.Learner.FirstGain(l.Label, l.Weight, x.norm, u))
	}
	a := &f.st.Account
	if u.Step != 0 {
		a.Updates++
	}
	if u.Mistake {
		a.Mistakes++
	}
	a.HingeLoss += u.Loss
	a.MaxNorm = max(a.MaxNorm, math.Sqrt(f.learner.norm(x.vector)))
	if l.Label == model.Important {
		a.Important++
	} else {
		a.Ordinary++
	}
	a.LastLesson = l.At
	f.line.Hear(l)
}

// Score scores a vector with the weights as they are now.
func (f *Learning) Score(x model.Vector) float64 { return f.learner.Score(x) }

// Classify decides a message as if it had just arrived, which includes the steps of replay
// that come before every arrival, and has see look at the decision and its features. As long
// as see runs, what it asks about the score of these features agrees with the decision. see
// must change nothing and keep nothing, and afterwards nothing has changed.
//
// It leaves out the steps on lessons whose vectors were given up since the state was read.
func (f *Filter) Classify(m *featurize.Message, see func(Decision, *featurize.Features)) error {
	meta := NewMeta(m)
	x := &f.passing.features
	f.freezer.FreezeInto(x, m, facts(f.st, meta))
	now := f.learning.learner
	defer func() { f.learning.learner = now }()
	f.passing.vector = x.AppendVector(f.passing.vector[:0])
	if err := f.learning.rehearse(); err != nil {
		return err
	}
	d := f.learning.judge(meta.Key, x, &past{vector: f.passing.vector}, meta.Vouched)
	d.Correspondent = f.People.corresponds(meta.From)
	if f.line.InShadow() && d.Outcome == store.DecidedImportant {
		d.Reason = store.ReasonShadow
	}
	see(d, x)
	return nil
}

// rehearse puts a learner in the place of f's that has taken the next steps of replay, on a copy
// of what is learnt. The steps are the same for all messages until the next event, so it is kept
// until then, unless vectors were missing: these may come back without an event.
func (f *Learning) rehearse() error {
	if !f.opts.Replays() {
		return nil
	}
	t := f.rehearsed
	if t == nil {
		var err error
		if t, err = NewLearning(f.opts, f.st.Scratch(), f.rules, f.vectors.stored); err != nil {
			return err
		}
		t.messages = f.messages
		if err := t.replay(f.opts.Dual.Steps); err != nil {
			return err
		}
		if f.rehearsed = t; t.missed {
			f.rehearsed = nil
		}
	}
	f.learner = t.learner
	return nil
}
