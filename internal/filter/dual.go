// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Dual are the settings of a dual learner (model.Dual). They mean nothing to any
// other learner, nor to one with a kernel, whose supports are kept anyway: those
// learn from silence once it is final, and from no provisional label.
type Dual struct {
	// Window is how many of the last lessons are replayed; 0: none, which leaves PA-II.
	Window int `cbor:"1,keyasint,omitempty"`
	// Steps is how many steps of replay come before each arrival is scored.
	Steps int `cbor:"2,keyasint,omitempty"`
	// Horizon is how long the owner must have done nothing with a message for it to
	// teach a provisional no, which is taken back when they do; 0: never.
	Horizon time.Duration `cbor:"3,keyasint,omitempty"`
	// MarkedHorizon is that of a message with a mark of ours which the owner has read,
	// and MarkedWeight the weight of that lesson; 0: it teaches nothing.
	MarkedHorizon time.Duration `cbor:"4,keyasint,omitempty"`
	MarkedWeight  float64       `cbor:"5,keyasint,omitempty"`
	// Bold is how many times more lessons may weigh while little is learnt or the scores
	// are rarely wrong; 1 or less: never more.
	Bold float64 `cbor:"6,keyasint,omitempty"`
}

// replays reports whether the learner is one that keeps a window.
func (o *Options) replays() bool {
	return o.Learner.Kind == model.KindDual && o.Kernel.linear() && o.Dual.Window > 0
}

// retunes reports whether a dual learner's ceiling cannot go on from p to o: steps of
// replay would maximise another objective, or be taken on other lessons.
func (o *Options) retunes(p *Options) bool {
	return (o.replays() || p.replays()) && (o.Learner != p.Learner || o.Dual.Window != p.Dual.Window)
}

// Provisional reports whether silence teaches before it is final. Only a learner
// that can take a label back may hear one that is likely to be wrong.
func (o *Options) Provisional() bool {
	return o.replays() && o.Dual.Horizon > 0 && o.SilenceDays > 0
}

// weightOf is the weight of a label that comes from source. What the owner says as
// such counts whole; an answer says less, and silence or a forward least.
func (o *Options) weightOf(label model.Label, source store.Source) float64 {
	switch {
	case source == store.SourceForwarded, source == store.SourceFound:
		return o.ImplicitWeight
	case source == store.SourceRead:
		return float64(o.ImplicitWeight * readWeight)
	case source >= store.SourceJunk:
		return 1
	case label == model.Important:
		return o.AnswerWeight
	default:
		return o.ImplicitWeight
	}
}

const (
	// boldFrom is the share of mistakes, in parts of those that calling every message
	// alike would make, below which lessons weigh more.
	boldFrom = 0.9
	// presumed is how many labels of the rarer class the learner begins with as if it
	// had been right about them.
	presumed = 20
)

// boldness is the factor by which a dual learner's lessons weigh more while little is
// learnt, or its scores are rarely wrong. Where the classes part, as spam and other mail
// do, long steps find the line sooner; where they overlap, as in what an owner answers,
// each wrong label would throw the weights about. The learner's own record over the last
// labels tells the two apart (docs/results.md). Without a record it presumes the former:
// the first lessons have the most to say. The weight of a label stays what it was when it
// was learnt.
func (f *Learning) boldness() float64 {
	if !f.opts.replays() {
		return 1
	}
	s := &f.line.standing
	rarer := min(s.Important, s.Labels-s.Important)
	times := float64(boldFrom*float64(rarer+presumed)) / float64(max(1, s.Mistakes))
	return max(1, min(f.opts.Dual.Bold, float64(times*times)))
}

// find returns the lesson on a message, if it is in the window.
func (f *Learning) find(k store.MessageKey) (n uint64, row store.Windowed, ok bool) {
	if n, ok = f.lessons.find(k); ok {
		row, ok = f.st.Window.Get(store.WindowKey(n))
	}
	return n, row, ok
}

// replay takes the next steps of replay, n of them: on earlier lessons, each towards
// the label that its message has now. Lessons on messages that are forgotten since
// are passed over, as their vectors may be gone.
func (f *Learning) replay(n int) error {
	if !f.opts.replays() {
		return nil
	}
	return f.ReplayTo(f.st.Account.Replayed + uint64(n))
}

// ReplayTo replays until so many steps were taken in all. Where there is nothing to
// replay yet they count all the same, so that their numbers tell of arrivals alone.
func (f *Learning) ReplayTo(replayed uint64) error {
	a := &f.st.Account
	for size := int(a.WindowNext - f.lessons.first); size > 0 && a.Replayed < replayed && f.opts.replays(); {
		number := a.Replayed
		a.Replayed++
		if err := f.step(number, size); err != nil {
			return err
		}
	}
	a.Replayed = max(a.Replayed, replayed)
	return nil
}

// step takes the step of replay with that number over so many lessons.
func (f *Learning) step(number uint64, size int) error {
	key, row, due := f.turn(number, size)
	if !due {
		return nil
	}
	x, err := f.vectors.recall(row.Message)
	if f.messages == nil && errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s := f.learner.ascend(&replayed{past: x, message: row.Message, label: row.Label, weight: row.Weight}, row.Alpha)
	if s.Step == 0 {
		return nil
	}
	row.Alpha = s.Alpha
	f.st.Window.Put(key, row)
	f.st.Account.Dual.Replayed(s.Gain)
	return nil
}

// turn returns the row, under its key, of the lesson whose turn it is in the step of replay
// with that number over so many lessons; due is false when that step is none.
func (f *Learning) turn(number uint64, size int) (key string, row store.Windowed, due bool) {
	key = store.WindowKey(f.lessons.first + uint64(model.ReplayPlace(number, size)))
	row, due = f.st.Window.Get(key)
	due = due && (f.messages == nil || f.knows(row.Message)) && !model.Rests(row.Weight, number, size)
	return key, row, due
}

// knows reports whether the vector of a message is sure to be there.
func (f *Learning) knows(k store.MessageKey) bool {
	_, ok := f.messages.Get(string(k[:]))
	return ok
}

// takeBack takes what is learnt of a message, whose vector is x, out of the weights,
// if its lesson is in the window still; otherwise what it did stays. It reports
// whether it did.
func (f *Learning) takeBack(k store.MessageKey, x model.Vector) bool {
	n, row, ok := f.find(k)
	if !ok {
		return false
	}
	step, lost := f.opts.Learner.TakeBack(row.Label, row.Weight, f.learner.Score(x), x.SquaredNorm(), row.Alpha)
	if step != 0 {
		f.learner.repeat(k, x, step)
	}
	f.st.Account.Dual.TookBack(lost)
	row.Alpha = 0
	f.st.Window.Put(store.WindowKey(n), row)
	return true
}

// keep puts a lesson that was just learnt into the window.
func (f *Learning) keep(l *store.Lesson, u model.Update, gain float64) {
	a := &f.st.Account
	n, _, ok := f.find(l.Message)
	if !ok {
		n = a.WindowNext
		a.WindowNext++
		f.lessons.put(l.Message, n)
	}
	alpha := u.Step
	if l.Label == model.Ordinary {
		alpha = -alpha
	}
	f.st.Window.Put(store.WindowKey(n), store.Windowed{Message: l.Message, Label: l.Label, Weight: l.Weight, Alpha: alpha})
	a.Dual.Learnt(l.Label, u, gain)
	f.lessons.trim(f.st, f.opts.Dual.Window)
}
