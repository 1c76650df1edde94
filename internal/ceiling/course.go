// SPDX-License-Identifier: Apache-2.0

package ceiling

import (
	"context"
	"slices"
	"time"

	"github.com/hinged/hinged/store"
)

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
