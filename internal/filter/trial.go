// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"container/heap"
	"fmt"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Trial is one group of options in a Rerun.
type Trial struct {
	f   *Filter // with weights, windows and counts of its own, and no messages
	rec *Filter
	// primed: the prior is the trial's own.
	primed bool
	begin  store.Account // before the first entry
	judged map[store.MessageKey]verdict

	// deferred are provisional labels that the recorded learner heard and this one does
	// not, until they stand; later has their messages by Seq.
	deferred map[store.MessageKey]store.Lesson
	later    settleQueue
	// heard are messages whose provisional label this learner heard and the recorded one
	// did not. hours and days are as those of a Filter.
	heard       map[store.MessageKey]struct{}
	hours, days settleQueue
}

// TrialDecision is what a trial decides of a message.
type TrialDecision struct {
	Decision
	// Marked: it is important, and the marks of the day are not spent (Threshold.PerDay).
	// A trial marks from the first message on, also what was there before, in shadow, or
	// when it was read already.
	Marked bool
}

// verdict is what a trial keeps of a decision.
type verdict struct {
	score                float64
	outcome              store.Outcome
	above, ruled, marked bool
}

// Learnt is what a trial has learnt since its beginning.
type Learnt struct {
	Lessons   uint64
	Mistakes  uint64
	HingeLoss float64
	// ProvenAt is when ShadowAuto would have ended; 0: it would not have.
	ProvenAt store.Moment
}

// Learnt returns what was learnt up to now.
func (t *Trial) Learnt() Learnt {
	a, b := &t.f.st.Account, &t.begin
	l := Learnt{
		Lessons: a.Important + a.Ordinary - b.Important - b.Ordinary, Mistakes: a.Mistakes - b.Mistakes, HingeLoss: a.HingeLoss - b.HingeLoss,
	}
	if a.Proven {
		l.ProvenAt = a.ProvenAt
	}
	return l
}

// catchUp learns what silence has taught by now, and obeys the recorded rules.
func (t *Trial) catchUp() error {
	if err := t.hearQuiet(); err != nil {
		return err
	}
	if err := t.hearDeferred(); err != nil {
		return err
	}
	return t.heedRules()
}

// heedRules obeys the recorded rules, if they are others than before.
func (t *Trial) heedRules() error {
	if t.rec.rules == t.f.rules {
		return nil
	}
	return t.obey(t.rec.rules)
}

// obey keeps the weights to rules from now on.
func (t *Trial) obey(rules *RuleSet) error {
	f := t.f
	learner, err := NewLearner(f.opts, f.st, rules)
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	// Weights that come from a state obey its rules: bringing them in line once more
	// could change their last bits.
	begun := f.learner != nil
	f.learner, f.rules = learner, rules
	if begun {
		f.project()
	}
	return nil
}

// decide is Filter.decide for a trial.
func (t *Trial) decide(e *Arrived, s *Step) error {
	f, r := t.f, &s.Recorded
	a, k := &f.st.Account, r.Decision.Message
	f.hold(k, r.Features)
	if err := f.replay(f.opts.Dual.Steps); err != nil {
		return err
	}
	j := TrialDecision{Decision: f.judge(k, r.Features, f.pastFrom(r.Features), e.Meta.Vouched)}
	j.Correspondent = r.Decision.Correspondent
	f.noteCall(&j.Decision)
	f.noteScore(j.Score, j.Outcome)
	a.Decided++
	if j.Outcome == store.DecidedUnsure {
		a.Unsure++
	}
	if j.Outcome == store.DecidedImportant {
		if !a.Proven && f.earned() {
			a.Proven, a.ProvenAt = true, a.Clock
		}
		j.Marked = f.spend() == store.ReasonThreshold
	}
	t.judged[k] = verdict{j.Score, j.Outcome, j.Above, j.Rule != nil, j.Marked}
	if t.overhears() {
		if m, ok := t.rec.st.Messages.Get(string(k[:])); ok && m.SilenceFrom > 0 {
			heap.Push(&t.hours, settleEntry{m.Arrived, m.Seq, k})
		}
	}
	s.Judged = append(s.Judged, j)
	return nil
}

// learn takes a lesson of the recorded run.
func (t *Trial) learn(l *store.Lesson) error {
	_, heard := t.heard[l.Message]
	switch {
	case l.Source == store.SourceProvisional && !t.f.opts.provisional():
		t.deferred[l.Message] = *l
		if m, ok := t.rec.st.Messages.Get(string(l.Message[:])); ok {
			heap.Push(&t.later, settleEntry{0, m.Seq, l.Message})
		}
		return nil
	case l.Source == store.SourceSilence && heard && l.Learnt():
		delete(t.heard, l.Message) // it was provisional, and stands
		return nil
	}
	delete(t.deferred, l.Message)
	delete(t.heard, l.Message)
	if !l.Learnt() {
		own := t.own(l)
		t.f.score(&own)
		return nil
	}
	weight := t.f.opts.weightOf(l.Label, l.Source)
	switch {
	case l.Source == store.SourceProvisional && t.rec.ledger.everMarked(l.Message):
		weight = t.f.opts.Dual.MarkedWeight
	case l.Source == store.SourceRead:
		weight = float64(weight * l.Tells)
	}
	return t.teach(l, weight)
}

// own is a lesson as this trial judged its message.
func (t *Trial) own(l *store.Lesson) store.Lesson {
	own := store.Lesson{
		Message: l.Message, Label: l.Label, Source: l.Source, Sender: l.Sender, At: t.f.st.Account.Clock,
		Judged: l.Judged, Outcome: l.Outcome, Above: l.Above, Correspondent: l.Correspondent, Ruled: l.Ruled,
	}
	if v, ok := t.judged[l.Message]; ok {
		own.Judged, own.Outcome, own.Above, own.Ruled = v.score, v.outcome, v.above, v.ruled
	}
	return own
}

// teach is Filter.learn for a trial, with the weight that the label has.
func (t *Trial) teach(l *store.Lesson, weight float64) error {
	x, err := t.f.vector(l.Message)
	if err != nil {
		return err
	}
	own := t.own(l)
	own.Weight = float64(weight * t.f.boldness())
	t.f.absorb(&own, x)
	return nil
}

// overhears reports whether this learner hears provisional labels now and the recorded
// one doesn't.
func (t *Trial) overhears() bool { return t.f.opts.provisional() && !t.rec.opts.provisional() }

// hearQuiet is Filter.hearQuiet for a trial that overhears.
func (t *Trial) hearQuiet() error {
	if !t.overhears() {
		return nil
	}
	now, d := t.f.st.Account.Clock, &t.f.opts.Dual
	for _, q := range []struct {
		queue   *settleQueue
		horizon store.Moment
		marked  bool
	}{{&t.hours, store.Moment(0).Add(d.Horizon), false}, {&t.days, store.Moment(0).Add(d.MarkedHorizon), true}} {
		for len(*q.queue) > 0 {
			e := (*q.queue)[0]
			if e.since+q.horizon > now || !t.f.opts.SilenceCalendar && t.rec.st.Account.LastActive <= e.since {
				break
			}
			heap.Pop(q.queue)
			if err := t.hearQuietOf(e, q.marked); err != nil {
				return err
			}
		}
	}
	return nil
}

// hearQuietOf is Filter.hearQuietOf: for a message that has just waited long enough, as a
// marked one or not.
func (t *Trial) hearQuietOf(e settleEntry, waitedMarked bool) error {
	m, ok := t.rec.st.Messages.Get(string(e.key[:]))
	v := t.judged[e.key]
	switch {
	case !ok, m.Own, m.Label != 0, m.Pending.Label != 0, m.SilenceFrom == 0:
		return nil
	case v.marked && !waitedMarked:
		if t.f.opts.Dual.MarkedHorizon > 0 {
			heap.Push(&t.days, e)
		}
		return nil
	case waitedMarked && m.Copies > 0 && !m.Seen:
		return nil
	}
	if t.rec.quietWord(&m, v.marked, false).label != model.Ordinary {
		return nil
	}
	weight := t.f.opts.weightOf(model.Ordinary, store.SourceProvisional)
	if waitedMarked {
		weight = t.f.opts.Dual.MarkedWeight
	}
	t.heard[e.key] = struct{}{}
	return t.teach(&store.Lesson{
		Message: e.key, Label: model.Ordinary, Source: store.SourceProvisional, Sender: m.Sender, Correspondent: m.Correspondent,
	}, weight)
}

// hearDeferred learns the provisional labels that stand by now, as silence.
func (t *Trial) hearDeferred() error {
	for len(t.later) > 0 {
		k := t.later[0].key
		l, waits := t.deferred[k]
		m, known := t.rec.st.Messages.Get(string(k[:]))
		provisional := known && m.Source == store.SourceProvisional
		if waits && provisional && (m.SilenceFrom > 0 || m.Pending.Label != 0) {
			return nil // silence about those after it can't be final before
		}
		heap.Pop(&t.later)
		delete(t.deferred, k)
		if !waits || !known || provisional || m.Label != model.Ordinary {
			continue // the owner spoke, or it will never be final
		}
		l.Source = store.SourceSilence
		if err := t.teach(&l, t.f.opts.weightOf(l.Label, l.Source)); err != nil {
			return err
		}
	}
	return nil
}
