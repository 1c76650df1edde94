// SPDX-License-Identifier: Apache-2.0

// Package pipeline runs a function over a stream on several goroutines and gives
// the results back in the order of the input: what makes featurising mail on
// all cores and deciding it in one fixed order the same thing to look at.
package pipeline

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Ordered is one such stage. Put and Close belong to one producer, Order to one
// consumer. It has up to Options.Workers goroutines while there are inputs, and none
// for itself: idle stages cost nothing, and the function may bound further how many of
// it run at a time, so that busy stages can share what bounds them.
type Ordered[In, Out any] struct {
	order chan chan Out
	bytes *semaphore.Weighted
	limit int64
	size  func(In) int64
	work  func(In) Out
	wg    sync.WaitGroup

	mu      sync.Mutex
	waiting []job[In, Out]
	idle    int // workers that may be started
}

// job is one input, with where its result goes.
type job[In, Out any] struct {
	in   In
	out  chan<- Out
	size int64
}

// Options bound what a stage holds.
type Options[In any] struct {
	Depth int            // inputs taken and not yet given back; at least 1
	Bytes int64          // summed Size of inputs that wait for or are in work
	Size  func(In) int64 // of one input
	// Workers is how many goroutines work at most; 0: one for each input. A goroutine that
	// goes on to the next input keeps its stack, which a new one has to let grow.
	Workers int
}

// New returns a stage that applies work, which is called on many goroutines.
func New[In, Out any](o Options[In], work func(In) Out) *Ordered[In, Out] {
	workers := o.Workers
	if workers <= 0 {
		workers = math.MaxInt
	}
	return &Ordered[In, Out]{
		idle:  workers,
		order: make(chan chan Out, max(o.Depth, 1)),
		bytes: semaphore.NewWeighted(max(o.Bytes, 1)),
		limit: max(o.Bytes, 1),
		size:  o.Size,
		work:  work,
	}
}

// Put hands one input in. It blocks while the stage is full and fails only when
// ctx is done; then the input was not taken.
func (s *Ordered[In, Out]) Put(ctx context.Context, in In) error {
	// One input larger than the whole budget must still pass, alone.
	size := min(max(s.size(in), 0), s.limit)
	if err := s.bytes.Acquire(ctx, size); err != nil {
		return err
	}
	out := make(chan Out, 1)
	select {
	case s.order <- out:
	case <-ctx.Done():
		s.bytes.Release(size)
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, job[In, Out]{in, out, size})
	if s.idle > 0 {
		s.idle--
		s.wg.Go(s.run)
	}
	return nil
}

// run works until no input waits.
func (s *Ordered[In, Out]) run() {
	for {
		j, ok := s.take()
		if !ok {
			return
		}
		j.out <- s.work(j.in)
		s.bytes.Release(j.size)
	}
}

// take returns the input that has waited longest. Without one, the worker that asks is idle.
func (s *Ordered[In, Out]) take() (j job[In, Out], ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.waiting = nil
		s.idle++
		return j, false
	}
	j, s.waiting[0] = s.waiting[0], j
	s.waiting = s.waiting[1:]
	return j, true
}

// Close says that no more input comes. Results still due are given back.
func (s *Ordered[In, Out]) Close() {
	close(s.order)
	s.wg.Wait()
}

// Order returns the channel of results to come, in order of input, each a
// channel that gives one result. It is closed after the last one.
func (s *Ordered[In, Out]) Order() <-chan chan Out { return s.order }
