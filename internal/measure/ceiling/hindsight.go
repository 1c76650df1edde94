// SPDX-License-Identifier: Apache-2.0

package ceiling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// past is where an account's lessons are.
type past struct {
	store   *boltfile.Store
	account string
}

// hindsight has an account's lessons, to search for a ceiling. It works from what is
// committed, off the writer goroutine.
type hindsight struct {
	spec     model.KernelSpec
	rewrites int
	first    uint64 // lesson
	next     uint64
	lessons  *evaluate.Hindsight
	// again learns the lessons once more, from the base: a score that comes out
	// otherwise than it was logged would make a ceiling of these lessons one of
	// another learner's. nil once weights of a linear learner were displaced, which the
	// lesson log does not tell the place of.
	again    *filter.Learning
	linear   bool
	start    moves // at the base
	moved    moves // since then
	rules    *model.Rules
	since    uint64
	obeyed   bool // the rules were those of now from the base on
	count    int  // lessons
	mistakes uint64
	loss     float64
	course   course
	// found is the bound that was found last, with what it depends on beside the lessons.
	found     Bound
	foundWith depends
}

// depends is what a bound depends on beside the lessons: replays and what else moves the
// weights.
type depends struct {
	moves
	dual  model.DualTally
	reach float64
	next  uint64
}

func dependsOn(now *State) depends {
	return depends{now.moves, now.account.Dual, now.account.Kernel.Reach, now.next}
}

// State is what a search needs of an account's committed state.
type State struct {
	opts     filter.Options
	next     uint64 // number that the next lesson gets
	account  store.Account
	rewrites int // of the lessons in this run
	moves
	prior   store.PackedVector
	ruleSet *filter.RuleSet
	rules   *model.Rules
	since   uint64 // lessons, after which the rules were what they are now
}

// moves are how far the weights were moved by what is no lesson's step.
type moves struct {
	displaced float64
	projected float64 // onto rules
}

func movesOf(a *store.Account) moves { return moves{a.Displaced, a.Projected} }

// StateOf takes it from an account's filter. rewrites counts how often its lessons got
// other numbers while a Kept knows it.
func StateOf(f *filter.Filter, rewrites int) State {
	st := f.State()
	rules, since := f.Explainer.Constraints()
	return State{
		opts: f.Options(), next: st.LessonNext(), moves: movesOf(&st.Account), account: st.Account, prior: f.Prior(),
		ruleSet: f.Learning().Rules(), rules: rules, since: since, rewrites: rewrites,
	}
}

// bound reads what is new in the lesson log and searches on.
func (h *hindsight) bound(ctx context.Context, p past, now State) (Bound, error) {
	err := errStale
	if h.lessons != nil && h.spec == now.opts.KernelSpec() && h.rewrites == now.rewrites && h.since == now.since && h.rules.Equal(now.rules) {
		err = h.read(ctx, p, now)
	}
	if errors.Is(err, errStale) || errors.Is(err, store.ErrTrimmed) {
		if err = h.begin(p, now); err == nil {
			err = h.read(ctx, p, now)
		}
	}
	if err != nil {
		return Bound{}, fmt.Errorf("reading the lessons of account %s: %w", p.account, err)
	}
	with := dependsOn(&now)
	if h.found.Account == p.account && h.foundWith == with {
		return h.found, nil // asked for again: the same answer
	}
	b := Bound{
		Account: p.account, Learner: string(h.spec.Spec.Kind), KernelDegree: int(now.opts.Kernel.Degree),
		FirstLesson: h.first, LastLesson: h.next - 1, Lessons: h.count,
		Mistakes: h.mistakes, HingeLoss: h.loss,
	}
	var c model.Ceiling
	b.Ceiling, c = evaluate.FindCeiling(h.lessons.Hindsight)
	b.Radius, b.Distance, b.Loss, b.Displaced = c.Radius, c.Distance, c.Loss, c.Displaced
	h.found, h.foundWith = b, with
	return b, nil
}

// errStale is returned when what was kept does not lead to what is asked for.
var errStale = errors.New("kept lessons are of no use")

// begin starts over from the base.
func (h *hindsight) begin(p past, now State) error {
	base, err := p.store.LessonBase(p.account)
	if err != nil {
		return err
	}
	if err := filter.BeginWith(base, now.opts, now.prior); err != nil {
		return err
	}
	first := base.LessonNext()
	h.spec, h.rewrites, h.first, h.next = now.opts.KernelSpec(), now.rewrites, first, first
	h.start, h.moved, h.count, h.mistakes, h.loss = movesOf(&base.Account), moves{}, 0, 0, 0
	h.rules, h.since = now.rules, now.since
	h.course, h.found = newCourse(), Bound{}
	h.obeyed = base.Account.Important+base.Account.Ordinary >= now.since
	vectors, rules := writer.NewVectors(p.store, p.account), now.rules
	if !h.obeyed {
		rules = nil
	}
	if h.lessons, err = evaluate.NewHindsight(now.opts, base, rules, vectors); err != nil {
		return err
	}
	h.linear, h.again = now.opts.Kernel == filter.Kernel{}, nil
	if h.obeyed { // else which rules the lessons before then obeyed is not known any more
		if h.again, err = filter.NewLearning(&now.opts, base, now.ruleSet, vectors); err != nil {
			return err
		}
		h.again.Vectors().Recall()
		h.again.Project()
	}
	if base.Account.Anew != now.account.Anew {
		h.lessons.Refuse("learning began anew with another kernel within these lessons")
	}
	return nil
}

// read adds the lessons from next up to now.
func (h *hindsight) read(ctx context.Context, p past, now State) error {
	since := moves{now.displaced - h.start.displaced, now.projected - h.start.projected}
	if since.displaced < h.moved.displaced || since.projected < h.moved.projected {
		return errStale
	}
	if h.linear && since.displaced != h.moved.displaced {
		h.again = nil
	}
	h.moved = since
	h.lessons.Reached(&now.account) // which may refuse before any lesson does
	if now.next > h.next {
		if err := h.readLessons(ctx, p, now); err != nil {
			return err
		}
	}
	h.lessons.Reached(&now.account)
	return nil
}

// readLessons adds those of the log from next up to now.
func (h *hindsight) readLessons(ctx context.Context, p past, now State) error {
	vectors := writer.NewVectors(p.store, p.account)
	for l, err := range p.store.Lessons(p.account, h.next) {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case l.Order >= now.next:
			return nil
		}
		if !l.Learnt() {
			h.next = l.Order + 1
			continue
		}
		h.count++
		x, err := vectors.Vector(l.Message, nil)
		switch {
		case errors.Is(err, store.ErrNotFound):
			h.lessons.Refuse(fmt.Sprintf("the features of lesson %d are no longer kept", l.Order))
		case err != nil:
			return err
		default:
			if err := h.add(l, x); err != nil {
				return err
			}
		}
		if h.spec.Spec.Zero.Mistake(l.Label, l.Score) {
			h.mistakes++
		}
		h.loss += model.HingeLoss(l.Label, l.Score)
		h.next = l.Order + 1
		h.note(l, h.next < now.next)
	}
	if h.next != now.next {
		return errStale
	}
	return nil
}

// add adds one lesson, and sees that this learner was its learner.
func (h *hindsight) add(l store.Lesson, x model.Vector) error {
	if h.lessons.Step(l, x) != l.Step {
		h.lessons.Refuse(fmt.Sprintf("lesson %d was learnt with other settings than those of now", l.Order))
	}
	if h.again != nil {
		if err := h.again.ReplayTo(l.Replayed); err != nil {
			return err
		}
		again := l
		if err := h.again.Learn(&again); err != nil {
			return err
		}
		if again.Score != l.Score || again.TookBack != l.TookBack {
			h.lessons.Refuse(fmt.Sprintf("lesson %d had another score than the lessons before it lead to", l.Order))
			h.again = nil
		}
	}
	h.lessons.Learnt(l, x)
	return nil
}

// Course is how an account's mistakes and their ceiling grew, lesson by lesson.
type Course struct {
	Bound           // of all lessons
	Since time.Time // of the first lesson; zero if there is none
	// Points are in the order of the lessons. The last one is about all of them.
	Points []Point
}

// Point is about the first lessons of a Course.
type Point struct {
	At       time.Time // of the last of them
	Lessons  int
	Mistakes uint64
	// Ceiling on Mistakes, certified like that of all lessons, which no later one is
	// below; -1: no theorem covers the lessons.
	Ceiling   int64
	HingeLoss float64 // summed
}

const (
	// mostPoints is how many points a Course has at most, the first and the last aside.
	mostPoints = 256
	// searchFrom is after how many lessons a ceiling is searched for while more are still
	// to be read, and then after twice as many, and so on: what does best on all lessons
	// says little of the first few.
	searchFrom = 64
)

// course gathers the points as lessons are read.
type course struct {
	points []Point // after the first lesson and every stride lessons
	last   Point
	stride int
	search int // lessons after which the next search is due
}

func newCourse() course { return course{stride: 1, search: searchFrom} }

// note takes notice of a lesson that was counted; more: others are still to be read.
func (h *hindsight) note(l store.Lesson, more bool) {
	c := &h.course
	c.last = Point{At: l.At.Time(), Lessons: h.count, Mistakes: h.mistakes, Ceiling: -1, HingeLoss: h.loss}
	if h.count > 1 && h.count%c.stride != 0 {
		return
	}
	c.points = append(c.points, c.last)
	if h.again != nil {
		h.lessons.Stage(&h.again.State().Account)
	} else {
		h.lessons.Stage(nil)
	}
	if more && h.linear && h.again != nil && h.count >= c.search {
		h.lessons.Ceiling()
		c.search = 2 * h.count
	}
	if len(c.points) > mostPoints {
		h.thin()
	}
}

// thin drops every other point.
func (h *hindsight) thin() {
	c := &h.course
	c.stride *= 2
	drop := func(lessons int) bool { return lessons > 1 && lessons%c.stride != 0 }
	c.points = slices.DeleteFunc(c.points, func(p Point) bool { return drop(p.Lessons) })
	h.lessons.DropStages(drop)
}

// searched is bound with the way there.
func (h *hindsight) searched(ctx context.Context, p past, now State) (out Course, err error) {
	if out.Bound, err = h.bound(ctx, p, now); err != nil || h.count == 0 {
		return out, err
	}
	c := &h.course
	out.Points = slices.Clone(c.points)
	if out.Points[len(out.Points)-1].Lessons < h.count {
		out.Points = append(out.Points, c.last)
	}
	out.Since = out.Points[0].At
	if out.Ceiling.Ceiling == nil {
		return out, nil
	}
	stages := h.lessons.Stages()
	for i := range stages {
		out.Points[i].Ceiling = int64(stages[i].Mistakes)
	}
	out.Points[len(out.Points)-1].Ceiling = int64(*out.Ceiling.Ceiling)
	return out, nil
}
