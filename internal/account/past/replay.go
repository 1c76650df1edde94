// SPDX-License-Identifier: Apache-2.0

package past

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// Vectors give back features as they were in the live run.
type Vectors interface {
	// Features of filter.Vectors are those that a message had at that moment of the
	// replay: frozen before the base, or by an arrival replayed since.
	filter.Vectors
	// Arriving returns the features frozen when the message arrived after the
	// base; an error that wraps store.ErrNotFound when none were.
	Arriving(key store.MessageKey) (*featurize.Features, error)
}

// Replay applies journal entries, in order, to a state, and returns the filter at their end and
// how many lessons it learnt. The features of arrivals are taken from v, as they were frozen; so
// the result must have the digest of the state that the live run committed.
//
// entries yields an error when the journal itself cannot be read.
func Replay(base *store.State, entries iter.Seq2[store.JournalEntry, error], v Vectors) (f *filter.Filter, lessons int, err error) {
	if f, err = filter.New(base, v); err != nil {
		return nil, 0, err
	}
	for entry, err := range entries {
		if err != nil {
			return nil, 0, fmt.Errorf("reading the journal: %w", err)
		}
		r, err := apply(f, entry, v)
		if err != nil {
			return nil, 0, err
		}
		lessons += len(r.Lessons)
	}
	return f, lessons, nil
}

// apply applies an entry of the journal. A message that it brought gets the features that were
// frozen then.
func apply(f *filter.Filter, entry store.JournalEntry, v Vectors) (r filter.Result, err error) {
	e, err := filter.Decode(entry.Data)
	if err == nil {
		if a := filter.Brought(e); a != nil {
			// None were of another copy, of the owner's own and in an excluded folder.
			if a.Features, err = v.Arriving(a.Meta.Key); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		}
	}
	if err == nil {
		r, err = f.Apply(e)
	}
	if err != nil {
		return r, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
	}
	return r, nil
}

// Rerun replays what was recorded of an account, from a base on, and lets trials go along, which
// decide the same arrivals and learn the same labels with other options. A trial with the options
// that were in force all along decides as it was decided live, bit for bit.
//
// What a trial can't know is what the owner would have done with other marks. It takes what the
// owner did with those that there were. In particular a message that was marked and left alone
// teaches only the threshold, as it did live, also where the trial would not have marked it. Which
// messages are marked has no effect on which lessons are learnt.
//
// A learner that may hear no provisional labels leaves them out until they stand.
//
// Not safe for concurrent use.
type Rerun struct {
	rec     *filter.Filter
	vectors Vectors
	trials  []*Trial
	begun   bool
}

// NewRerun returns one that goes on from base, which it owns from then on.
func NewRerun(base *store.State, v Vectors) (*Rerun, error) {
	f, err := filter.New(base, v)
	if err != nil {
		return nil, err
	}
	f.Learning().Vectors().Recall()
	return &Rerun{rec: f, vectors: v}, nil
}

// ErrPriorLate is returned by Try for a prior where something was learnt before the base.
var ErrPriorLate = errors.New("what the account began with can't be changed any more: its first lessons are no longer kept")

// Try adds a trial with options o, before the first Apply. prior are the weights to begin
// with instead of the account's own; nil: those.
func (r *Rerun) Try(o filter.Options, prior *store.PackedVector) (*Trial, error) {
	if r.begun {
		return nil, errors.New("a trial must begin with the rerun")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	st := r.rec.State().Scratch()
	t := &Trial{opts: o, rec: r.rec, primed: prior != nil, judged: map[store.MessageKey]filter.Decision{}, deferred: map[store.MessageKey]store.Lesson{}}
	begun := filter.HasLearnt(st)
	switch {
	case prior != nil && begun:
		return nil, ErrPriorLate
	case prior != nil:
		if err := filter.Prime(st, o, *prior); err != nil {
			return nil, err
		}
	case o.Another(r.rec.Options()) && begun:
		filter.BeginAnew(st)
		if err := filter.Prime(st, o, r.rec.Prior()); err != nil {
			return nil, err
		}
	}
	var err error
	if t.l, err = filter.NewLearning(&t.opts, st, r.rec.Learning().Rules(), r.vectors); err != nil {
		return nil, err
	}
	t.l.Along(r.rec)
	t.l.Vectors().Recall()
	t.begin = st.Account
	r.trials = append(r.trials, t)
	r.rec.Follow(t)
	return t, nil
}

// Step is what one journal entry led to.
type Step struct {
	Recorded filter.Result
	// Judged is the decision of each trial about the message of Recorded.Decision, in the
	// order of Try; empty where nothing was decided.
	Judged []TrialDecision
	// At is the account's clock after it.
	At store.Moment
}

// Apply replays the next entry of the journal.
func (r *Rerun) Apply(entry store.JournalEntry) (s Step, err error) {
	r.begun = true
	if s.Recorded, err = apply(r.rec, entry, r.vectors); err != nil {
		return s, err
	}
	s.At = r.rec.State().Account.Clock
	for _, t := range r.trials {
		if t.err != nil {
			return s, fmt.Errorf("journal entry %d: %w", entry.Seq, t.err)
		}
		if s.Recorded.Decision != nil {
			s.Judged = append(s.Judged, t.last)
		}
	}
	return s, nil
}

// Trial is one group of options in a Rerun. It implements filter.Follower.
type Trial struct {
	l      *filter.Learning // with weights, windows and counts of its own, and no messages
	opts   filter.Options
	rec    *filter.Filter
	primed bool          // the prior is the trial's own
	begin  store.Account // before the first entry
	judged map[store.MessageKey]filter.Decision
	last   TrialDecision
	// deferred are provisional labels that the recorded learner heard and this one does not,
	// until they stand.
	deferred map[store.MessageKey]store.Lesson
	err      error
}

var _ filter.Follower = (*Trial)(nil)

// TrialDecision is what a trial decides of a message.
type TrialDecision struct {
	filter.Decision
	// Marked: it is important, and the marks of the day are not spent (Threshold.PerDay).
	// A trial marks from the first message on, also what was there before, in shadow, or
	// when it was read already.
	Marked bool
}

// Learnt is what a trial has learnt since its beginning.
type Learnt struct {
	Lessons   uint64
	Mistakes  uint64
	HingeLoss float64
	// ProvenAt is when ShadowAuto would have ended; 0: it would not have.
	ProvenAt store.Moment
}

// Since returns what was learnt up to now.
func (t *Trial) Since() Learnt {
	a, b := &t.l.State().Account, &t.begin
	l := Learnt{
		Lessons: a.Important + a.Ordinary - b.Important - b.Ordinary, Mistakes: a.Mistakes - b.Mistakes, HingeLoss: a.HingeLoss - b.HingeLoss,
	}
	if a.Proven {
		l.ProvenAt = a.ProvenAt
	}
	return l
}

// do has the trial do something at the moment that the recorded run is at, unless it failed.
func (t *Trial) do(what func(a *store.Account) error) {
	a := &t.l.State().Account
	a.Clock = t.rec.State().Account.Clock
	if t.err == nil {
		t.err = what(a)
	}
}

// Decided implements filter.Follower.
func (t *Trial) Decided(recorded *filter.Decision, x *featurize.Features, vouched bool) {
	t.do(func(a *store.Account) error {
		d, err := t.l.Decide(recorded.Message, x, vouched)
		d.Correspondent = recorded.Correspondent
		t.last = TrialDecision{Decision: d}
		if d.Outcome == store.DecidedImportant && err == nil {
			t.l.Line().Prove()
			t.last.Marked = t.l.Line().Spend(t.rec.Teacher.Day(a.Clock)) == store.ReasonThreshold
		}
		t.judged[d.Message] = d
		return err
	})
}

// Learnt implements filter.Follower.
func (t *Trial) Learnt(l store.Lesson, marked bool) {
	t.do(func(*store.Account) error {
		if l.Source == store.SourceProvisional && !t.opts.Provisional() {
			t.deferred[l.Message] = l
			return nil
		}
		delete(t.deferred, l.Message)
		if l.Learnt() {
			return t.teach(l, marked)
		}
		own := t.own(l)
		t.l.Line().Hear(&own)
		return nil
	})
}

// Stood implements filter.Follower.
func (t *Trial) Stood(k store.MessageKey) {
	l, waits := t.deferred[k]
	if !waits {
		return
	}
	delete(t.deferred, k)
	l.Source = store.SourceSilence
	t.do(func(*store.Account) error { return t.teach(l, false) })
}

// own is a lesson as this trial judged its message.
func (t *Trial) own(l store.Lesson) store.Lesson {
	l.At = t.l.State().Account.Clock
	if v, ok := t.judged[l.Message]; ok {
		l.Judged, l.Outcome, l.Above, l.Ruled = v.Score, v.Outcome, v.Above, v.Rule != nil
	}
	return l
}

func (t *Trial) teach(l store.Lesson, marked bool) error {
	own := t.own(l)
	return t.l.Teach(&own, marked)
}

// Ruled implements filter.Follower.
func (t *Trial) Ruled(rules *filter.RuleSet) {
	t.do(func(*store.Account) error {
		err := t.l.Obey(rules)
		if err == nil {
			t.l.Project()
		}
		return err
	})
}

// Primed implements filter.Follower.
func (t *Trial) Primed(prior store.PackedVector) {
	if st := t.l.State(); t.primed || filter.HasLearnt(st) || bytes.Equal(prior, filter.PriorOf(st)) {
		return
	}
	t.do(func(*store.Account) error {
		err := filter.Prime(t.l.State(), t.opts, prior)
		t.l.Project()
		return err
	})
}

// Forgotten implements filter.Follower.
func (t *Trial) Forgotten(k store.MessageKey) { t.l.Line().Disown(k) }

// Learning returns what the trial has learnt, to be looked at.
func (t *Trial) Learning() *filter.Learning { return t.l }
