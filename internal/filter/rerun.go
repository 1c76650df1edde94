// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/zones"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Rerun replays what was recorded of an account, from a base on, and lets trials go along.
// A trial decides the same arrivals and learns the same labels with other options:
//
//	journal entry ─▶ Filter (as recorded) ─▶ decision, lessons ─▶ each Trial decides, learns
//
// The recorded run is the live one once more: the state at its end has the digest of the
// live state. Trials learn what it learnt, when it did, by the code that learns and decides
// live. So a trial with the options that were in force all along decides as it was decided
// live, bit for bit.
//
// What a trial can't know is what the owner would have done with other marks. It takes
// what the owner did with those that there were. In particular a message that was marked
// and left alone teaches only the threshold, as it did live, also where the trial would not
// have marked it. Which messages are marked has no effect on which lessons are learnt.
//
// A learner that may hear provisional labels (Options.provisional) and one that may not
// hear of silence at different times. Where the trial's is of the other kind than the
// recorded one, the trial goes by its own kind: it leaves provisional labels until they
// stand, or gets them after its own Dual.Horizon.
//
// Not safe for concurrent use.
type Rerun struct {
	rec     *Filter
	vectors *rerunVectors
	trials  []*Trial
	begun   bool
}

// rerunVectors keep vectors that were looked up: the recorded run and all trials replay
// the same lessons many times.
type rerunVectors struct {
	recalled
	replay ReplayVectors
}

// Arriving implements ReplayVectors. From then on the message has these features.
func (v *rerunVectors) Arriving(k store.MessageKey) (*featurize.Features, error) {
	delete(v.by, k)
	return v.replay.Arriving(k)
}

// recallVectors is how many vectors a rerun keeps for a window of lessons: those, and of
// some messages that wait for a label.
func recallVectors(window int) int { return 2*window + 100 }

// NewRerun returns one that goes on from base, which it owns from then on.
func NewRerun(base *store.State, v ReplayVectors) (*Rerun, error) {
	vectors := &rerunVectors{recalled{Vectors: v, by: map[store.MessageKey]model.Vector{}, most: recallVectors(DefaultOptions().Dual.Window)}, v}
	rec, err := New(base, vectors)
	if err != nil {
		return nil, err
	}
	return &Rerun{rec: rec, vectors: vectors}, nil
}

// ErrPriorLate is returned by Try for a prior where something was learnt before the base.
var ErrPriorLate = errors.New("what the account began with can't be changed any more: its first lessons are no longer kept")

// Try adds a trial with options o, before the first Apply. prior are the weights to begin
// with instead of the account's own; nil: those.
func (r *Rerun) Try(o Options, prior *store.PackedVector) (*Trial, error) {
	if r.begun {
		return nil, errors.New("a trial must begin with the rerun")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	zone, err := zones.Load(o.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	st := r.rec.st.Scratch()
	f := &Filter{opts: o, st: st, vectors: r.vectors, rules: r.rec.rules, zone: zone}
	t := &Trial{
		f: f, rec: r.rec, judged: map[store.MessageKey]verdict{}, deferred: map[store.MessageKey]store.Lesson{},
		heard: map[store.MessageKey]struct{}{}, primed: prior != nil,
	}
	if o.another(r.rec.opts) && hasLearnt(st) {
		beginAnew(f.st)
		if err := prime(st, o, priorOf(st)); err != nil {
			return nil, err
		}
	}
	switch {
	case prior == nil:
	case hasLearnt(st):
		return nil, ErrPriorLate
	default:
		if err := prime(st, o, *prior); err != nil {
			return nil, err
		}
	}
	if err := t.obey(r.rec.rules); err != nil {
		return nil, err
	}
	f.lessons, f.messages = newLessonWindow(st), r.rec.st.Messages
	size := 0
	if f.opts.replays() {
		size = f.opts.Dual.Window
	}
	f.lessons.trim(st, size)
	f.readWindows()
	t.begin = st.Account
	r.vectors.most = max(r.vectors.most, recallVectors(o.Dual.Window))
	r.trials = append(r.trials, t)
	return t, nil
}

// Step is what one journal entry led to.
type Step struct {
	Recorded Result
	// Judged is the decision of each trial about the message of Recorded.Decision, in the
	// order of Try; empty where nothing was decided.
	Judged []TrialDecision
	// At is the account's clock after it.
	At store.Moment
}

// Apply replays the next entry of the journal.
func (r *Rerun) Apply(entry store.JournalEntry) (Step, error) {
	s, err := r.apply(entry)
	if err != nil {
		return s, fmt.Errorf("journal entry %d: %w", entry.Seq, err)
	}
	return s, nil
}

func (r *Rerun) apply(entry store.JournalEntry) (s Step, err error) {
	r.begun = true
	e, err := Decode(entry.Data)
	if err != nil {
		return s, err
	}
	if err := thaw(e, r.vectors); err != nil {
		return s, err
	}
	if s.Recorded, err = r.rec.Apply(e); err != nil {
		return s, err
	}
	s.At = r.rec.st.Account.Clock
	// A message that is forgotten at the end of the event was known when it decided.
	gone := r.rec.gone
	for _, k := range gone {
		r.rec.st.Messages.Put(string(k[:]), store.Message{})
	}
	for _, t := range r.trials {
		if err := t.follow(e, &s); err != nil {
			return s, err
		}
	}
	for _, k := range gone {
		r.rec.st.Messages.Delete(string(k[:]))
		for _, t := range r.trials {
			t.f.labelled.disown(k)
		}
	}
	return s, nil
}

// arrival is the message that an event brought, if it brought one.
func arrival(e Event) *Arrived {
	switch e := e.(type) {
	case *Arrived:
		return e
	case *Labelled:
		return e.Handed
	}
	return nil
}

// follow does with other options what e led to.
func (t *Trial) follow(e Event, s *Step) error {
	r, a := &s.Recorded, &t.f.st.Account
	if _, configured := e.(*Configured); configured { // its rules are in force before time goes on
		if err := t.heedRules(); err != nil {
			return err
		}
	}
	if prior := t.rec.Prior(); !t.primed && !hasLearnt(t.f.st) && !bytes.Equal(prior, priorOf(t.f.st)) {
		if err := prime(t.f.st, t.f.opts, prior); err != nil {
			return err
		}
		t.f.project()
	}
	a.Clock = s.At
	// Time goes on before a message is decided, and what it teaches comes after that.
	n := 0
	for ; n < len(r.Lessons) && (r.Decision == nil || r.Lessons[n].Message != r.Decision.Message); n++ {
		if r.Lessons[n].Source == store.SourceSilence {
			if err := t.hearQuiet(); err != nil {
				return err
			}
		}
		if err := t.learn(&r.Lessons[n]); err != nil {
			return err
		}
	}
	if err := t.catchUp(); err != nil {
		return err
	}
	if r.Decision != nil {
		if err := t.decide(arrival(e), s); err != nil {
			return err
		}
	}
	for ; n < len(r.Lessons); n++ {
		if err := t.learn(&r.Lessons[n]); err != nil {
			return err
		}
	}
	return nil
}
