// Package pipeline runs a function over a stream on several goroutines and gives
// the results back in the order of the input: what makes featurising mail on
// all cores and deciding it in one fixed order the same thing to look at.
package pipeline

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Ordered is one such stage. Put and Close belong to one producer, Next to one
// consumer.
type Ordered[In, Out any] struct {
	jobs  chan job[In, Out]
	order chan chan Out
	bytes *semaphore.Weighted
	limit int64
	size  func(In) int64
	wg    sync.WaitGroup
}

type job[In, Out any] struct {
	in   In
	size int64
	out  chan Out
}

// Options bound what a stage holds.
type Options[In any] struct {
	Workers int            // goroutines; at least 1
	Depth   int            // inputs taken and not yet given back; at least 1
	Bytes   int64          // summed Size of inputs that wait for or are in a worker
	Size    func(In) int64 // of one input
}

// New starts the workers. newWorker is called once for each of them and gives
// the function that it applies, so that a worker can own scratch space.
func New[In, Out any](o Options[In], newWorker func() func(In) Out) *Ordered[In, Out] {
	o.Workers, o.Depth = max(o.Workers, 1), max(o.Depth, 1)
	s := &Ordered[In, Out]{
		jobs:  make(chan job[In, Out], o.Depth),
		order: make(chan chan Out, o.Depth),
		bytes: semaphore.NewWeighted(max(o.Bytes, 1)),
		limit: max(o.Bytes, 1),
		size:  o.Size,
	}
	for range o.Workers {
		work := newWorker()
		s.wg.Go(func() {
			for j := range s.jobs {
				j.out <- work(j.in)
				s.bytes.Release(j.size)
			}
		})
	}
	return s
}

// Put hands one input in. It blocks while the stage is full and fails only when
// ctx is done; then the input was not taken.
func (s *Ordered[In, Out]) Put(ctx context.Context, in In) error {
	// One input larger than the whole budget must still pass, alone.
	size := min(max(s.size(in), 0), s.limit)
	if err := s.bytes.Acquire(ctx, size); err != nil {
		return err
	}
	j := job[In, Out]{in: in, size: size, out: make(chan Out, 1)}
	select {
	case s.order <- j.out:
	case <-ctx.Done():
		s.bytes.Release(size)
		return ctx.Err()
	}
	s.jobs <- j // the workers always drain it
	return nil
}

// Close says that no more input comes. Results still due are given back.
func (s *Ordered[In, Out]) Close() {
	close(s.jobs)
	close(s.order)
	s.wg.Wait()
}

// Order returns the channel of results to come, in order of input, each a
// channel that gives one result. It is closed after the last one.
func (s *Ordered[In, Out]) Order() <-chan chan Out { return s.order }
