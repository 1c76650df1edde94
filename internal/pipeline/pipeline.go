// SPDX-License-Identifier: Apache-2.0

// Package pipeline runs a function over a stream on several goroutines and gives
// the results back in the order of the input: what makes featurising mail on
// all cores and deciding it in one fixed order the same thing to look at.
package pipeline

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Ordered is one such stage. Put and Close belong to one producer, Order to one
// consumer. It has a goroutine for each input that waits or is worked on and none
// for itself: how many run at a time is for the function to bound, so that idle
// stages cost nothing and busy ones can share what bounds them.
type Ordered[In, Out any] struct {
	order chan chan Out
	bytes *semaphore.Weighted
	limit int64
	size  func(In) int64
	work  func(In) Out
	wg    sync.WaitGroup
}

// Options bound what a stage holds.
type Options[In any] struct {
	Depth int            // inputs taken and not yet given back; at least 1
	Bytes int64          // summed Size of inputs that wait for or are in work
	Size  func(In) int64 // of one input
}

// New returns a stage that applies work, which is called on many goroutines.
func New[In, Out any](o Options[In], work func(In) Out) *Ordered[In, Out] {
	return &Ordered[In, Out]{
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
	s.wg.Go(func() {
		out <- s.work(in)
		s.bytes.Release(size)
	})
	return nil
}

// Close says that no more input comes. Results still due are given back.
func (s *Ordered[In, Out]) Close() {
	close(s.order)
	s.wg.Wait()
}

// Order returns the channel of results to come, in order of input, each a
// channel that gives one result. It is closed after the last one.
func (s *Ordered[In, Out]) Order() <-chan chan Out { return s.order }
