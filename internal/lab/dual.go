// SPDX-License-Identifier: Apache-2.0

package lab

import "github.com/hinged/hinged/model"

// Replay are the settings of the dual learner.
type Replay struct {
	Window int // of the last lessons, which are replayed; 0: none
	Steps  int // of replay before each lesson, where Course does not say
	// Course says what came before each lesson where the lessons are those of an
	// account. It is of the first pass.
	Course []Course
}

// Course is what came before a lesson of an account.
type Course struct {
	Replayed uint64 // steps of replay before it, in all
	Replaces int    // number, from 1, of the lesson on the same message that it takes the place of; 0: none
}

// DefaultReplay are the settings that measured best on mail (docs/results.md).
func DefaultReplay() Replay { return Replay{Window: 1000, Steps: 13} }

// dual is the dual learner, with the replays between its lessons.
type dual struct {
	*model.Dual
	replay  Replay
	numbers []uint64 // by lesson
	next    uint64
}

func (x *Experiment) dual() (*dual, error) {
	l, err := model.NewDual(x.Learner, x.Replay.Window, model.NewWeights(0))
	return &dual{Dual: l, replay: x.Replay}, err
}

// replaced returns the number, from 0, of the lesson whose place the n-th one takes;
// -1: none.
func (r *Replay) replaced(n int) int {
	if n < len(r.Course) {
		return r.Course[n].Replaces - 1
	}
	return -1
}

// Learn implements pupil.
func (d *dual) Learn(e model.Lesson) model.Update {
	n, steps := len(d.numbers), d.replay.Steps
	if n < len(d.replay.Course) {
		steps = int(d.replay.Course[n].Replayed - d.Replayed())
	}
	d.Replay(steps)
	if old := d.replay.replaced(n); old >= 0 {
		if u, ok := d.Relabel(d.numbers[old], e.Label, e.Weight); ok {
			d.numbers = append(d.numbers, d.numbers[old])
			return u
		}
	}
	d.numbers = append(d.numbers, d.next)
	d.next++
	return d.Dual.Learn(e)
}
