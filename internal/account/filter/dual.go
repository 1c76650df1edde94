// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
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

// Replays reports whether the learner is one that keeps a window.
func (o *Options) Replays() bool {
	return o.Learner.Kind == model.KindDual && o.Kernel.Linear() && o.Dual.Window > 0
}

// retunes reports whether a dual learner's ceiling cannot go on from p to o: steps of
// replay would maximise another objective, or be taken on other lessons.
func (o *Options) retunes(p *Options) bool {
	return (o.Replays() || p.Replays()) && (o.Learner != p.Learner || o.Dual.Window != p.Dual.Window)
}

// Provisional reports whether silence teaches before it is final. Only a learner
// that can take a label back may hear one that is likely to be wrong.
func (o *Options) Provisional() bool {
	return o.Replays() && o.Dual.Horizon > 0 && o.SilenceDays > 0
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

// boldness is the factor by which a dual learner's lessons weigh more while little is learnt, or its
// scores are rarely wrong. Where the classes part, long steps find the line sooner; where they
// overlap, each wrong label would throw the weights about. The learner's record over the last labels
// tells the two apart; without one it presumes the former.
func (f *Learning) boldness() float64 {
	if !f.opts.Replays() {
		return 1
	}
	s := &f.line.standing
	rarer := min(s.Important, s.Labels-s.Important)
	times := float64(boldFrom*float64(rarer+presumed)) / float64(max(1, s.Mistakes))
	return max(1, min(f.opts.Dual.Bold, float64(times*times)))
}

// find returns the lesson on a message, if it is in the window.
func (f *Learning) find(k store.MessageKey) (n uint64, row store.Windowed, ok bool) {
	if n, ok = f.lessons.all()[k]; ok {
		row, ok = f.st.Window.Get(store.WindowKey(n))
	}
	return n, row, ok
}

// replay takes the next steps of replay, n of them: on earlier lessons, each towards
// the label that its message has now. Lessons on messages that are forgotten since
// are passed over, as their vectors may be gone.
func (f *Learning) replay(n int) error {
	if !f.opts.Replays() {
		return nil
	}
	return f.ReplayTo(f.st.Account.Replayed + uint64(n))
}

// ReplayTo replays until so many steps were taken in all. Where there is nothing to
// replay yet they count all the same, so that their numbers tell of arrivals alone.
func (f *Learning) ReplayTo(replayed uint64) error {
	a := &f.st.Account
	for size := int(a.WindowNext - f.lessons.first); size > 0 && a.Replayed < replayed && f.opts.Replays(); {
		number := a.Replayed
		a.Replayed++
		if err := f.step(number, size); err != nil {
			return err
		}
	}
	a.Replayed = max(a.Replayed, replayed)
	return nil
}

// step takes the step of replay with that number over so many lessons, unless it is none.
func (f *Learning) step(number uint64, size int) error {
	key := store.WindowKey(f.lessons.first + uint64(model.ReplayPlace(number, size)))
	row, due := f.st.Window.Get(key)
	if !due || model.Rests(row.Weight, number, size) {
		return nil
	}
	if f.messages != nil { // the vector of one that is forgotten may be gone
		if _, known := f.messages.Get(string(row.Message[:])); !known {
			return nil
		}
	}
	x, err := f.vectors.find(row.Message)
	if f.spares && errors.Is(err, store.ErrNotFound) {
		f.missed = true
		return nil
	}
	if err != nil {
		return err
	}
	s := f.opts.Learner.DualStep(row.Label, row.Weight, f.learner.scoreAt(x), x.norm, row.Alpha)
	f.learner.step(row.Message, x, s.Step)
	if s.Step == 0 {
		return nil
	}
	row.Alpha = s.Alpha
	f.st.Window.Put(key, row)
	f.st.Account.Dual.Replayed(s.Gain)
	return nil
}

// takeBack takes what is learnt of a message, whose vector is x, out of the weights,
// if its lesson is in the window still; otherwise what it did stays. It reports
// whether it did.
func (f *Learning) takeBack(k store.MessageKey, x *past) bool {
	n, row, ok := f.find(k)
	if !ok {
		return false
	}
	step, lost := f.opts.Learner.TakeBack(row.Label, row.Weight, f.learner.scoreAt(x), x.norm, row.Alpha)
	if step != 0 {
		f.learner.step(k, x, step)
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

// lessonWindow finds the lessons of a dual learner's window by their messages: the number of a row of
// State.Window, which follows from its key. A message has one row at most. It is derived from the
// table, and must hear of what changes there.
type lessonWindow struct {
	rows  *store.Table[store.Windowed]
	first uint64                      // number of the oldest lesson kept
	index map[store.MessageKey]uint64 // nil: not made yet
}

func newLessonWindow(st *store.State) lessonWindow {
	w := lessonWindow{rows: st.Window, first: st.Account.WindowNext}
	if keys := w.rows.Keys(); len(keys) > 0 {
		w.first = windowNumber(keys[0])
	}
	return w
}

// windowNumber is the reverse of store.WindowKey.
func windowNumber(key string) uint64 { return binary.BigEndian.Uint64([]byte(key)) }

// all returns the numbers of all rows by message. The caller must not change it.
func (w *lessonWindow) all() map[store.MessageKey]uint64 {
	if w.index == nil {
		w.index = make(map[store.MessageKey]uint64, w.rows.Len())
		w.rows.Each(func(key string, row *store.Windowed) {
			w.index[row.Message] = max(w.index[row.Message], windowNumber(key))
		})
	}
	return w.index
}

// put notes that the row of a message has that number now.
func (w *lessonWindow) put(k store.MessageKey, n uint64) { w.all()[k] = n }

// trim lets the oldest lessons go beyond the first size. What they did to the weights
// stays.
func (w *lessonWindow) trim(st *store.State, size int) {
	for st.Account.WindowNext-w.first > uint64(size) {
		key := store.WindowKey(w.first)
		row, _ := w.rows.Get(key)
		w.rows.Delete(key)
		if w.all()[row.Message] == w.first {
			delete(w.index, row.Message)
		}
		w.first++
	}
}

// Memory keeps frozen features as a store does, in memory and by the message they are of.
// It is for filters without a store.
type Memory map[store.MessageKey]store.FeatureRecord

// Keep keeps features, with their names if they have any and those are wanted, for which they
// take twice the room.
func (m Memory) Keep(k store.MessageKey, x *featurize.Features, names bool) {
	r := store.FeatureRecord{Key: k, Data: x.Pack()}
	if names {
		r.Names = x.PackNames()
	}
	m[k] = r
}

// Features implements Vectors. The error is store.ErrNotFound when there are none.
func (m Memory) Features(k store.MessageKey) (*featurize.Features, error) {
	r, ok := m[k]
	if !ok {
		return nil, store.ErrNotFound
	}
	x, err := featurize.UnpackFeatures(r.Data)
	if err == nil && r.Names != nil {
		err = x.UnpackNames(r.Names)
	}
	return x, err
}

// Vector implements Vectors. The error is store.ErrNotFound when there is none.
func (m Memory) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	r, ok := m[k]
	if !ok {
		return into, store.ErrNotFound
	}
	return featurize.UnpackVector(into, r.Data)
}

// past is the vector of a message, with what a step of learning needs of it.
type past struct {
	vector model.Vector
	norm   float64 // ‖vector‖²
	at     model.Slots
}

// VectorCache looks up frozen vectors, and keeps those at hand that are likely to be asked for
// again: that of the last decided arrival, as a label may come with it, and, after Recall, those of
// the window.
type VectorCache struct {
	opts    *Options
	stored  Vectors
	lessons *lessonWindow
	held    map[store.MessageKey]*past
	recalls bool
	scratch past // of what is not held
}

// hold keeps the vector of an arrival at hand, and drops what has left the window.
func (c *VectorCache) hold(k store.MessageKey, x model.Vector) *past {
	most := c.opts.Dual.Window
	switch {
	case c.held == nil:
		c.held = map[store.MessageKey]*past{}
	case !c.recalls:
		clear(c.held)
	case len(c.held) > most+most/10:
		lessons := c.lessons.all()
		maps.DeleteFunc(c.held, func(k store.MessageKey, _ *past) bool {
			_, in := lessons[k]
			return !in
		})
	}
	p := &past{vector: x, norm: x.SquaredNorm()}
	c.held[k] = p
	return p
}

// find returns the frozen vector of a message. It holds until the next call.
func (c *VectorCache) find(k store.MessageKey) (*past, error) {
	if p := c.held[k]; p != nil {
		return p, nil
	}
	x, err := c.stored.Vector(k, c.scratch.vector[:0])
	if err != nil {
		return nil, fmt.Errorf("looking up the vector of message %x: %w", k[:4], err)
	}
	if c.recalls {
		p := &past{vector: slices.Clone(x), norm: x.SquaredNorm()}
		c.held[k] = p
		return p, nil
	}
	c.scratch.vector, c.scratch.norm = x, x.SquaredNorm()
	c.scratch.at.Forget()
	return &c.scratch, nil
}

// Vector returns the frozen vector of a message. It holds until the next call, and nobody
// may change it.
func (c *VectorCache) Vector(k store.MessageKey) (model.Vector, error) {
	p, err := c.find(k)
	if err != nil {
		return nil, err
	}
	return p.vector, nil
}

// Recall keeps the vectors of the window unpacked, with their places in the table of weights. That
// halves the time of replay (docs/results.md) and takes 8 MB for an account of ordinary mail: it is
// for a process that plays one account in which no vector is given up before its message is
// forgotten. It changes no result.
func (c *VectorCache) Recall() { c.held, c.recalls = map[store.MessageKey]*past{}, true }
