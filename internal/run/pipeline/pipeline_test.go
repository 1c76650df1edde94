// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

func TestResultsComeInTheOrderOfTheInput(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	delays := make([]time.Duration, 300)
	for i := range delays {
		delays[i] = time.Duration(rng.IntN(300)) * time.Microsecond
	}
	for _, workers := range []int{0, 1, 3} {
		inOrder(t, delays, workers)
	}
}

// inOrder has so many workers, no more, give results after delays.
func inOrder(t *testing.T, delays []time.Duration, workers int) {
	t.Helper()
	var working atomic.Int32
	s := New(Options[int]{Depth: 8, Bytes: 100, Size: func(i int) int64 { return int64(i % 40) }, Workers: workers}, func(i int) int {
		if n := working.Add(1); workers > 0 && int(n) > workers {
			t.Errorf("%d work at a time, want at most %d", n, workers)
		}
		time.Sleep(delays[i])
		working.Add(-1)
		return 3 * i
	})
	go func() {
		for i := range delays {
			if err := s.Put(context.Background(), i); err != nil {
				t.Error(err)
			}
		}
		s.Close()
	}()
	n := 0
	for out := range s.Order() {
		if got := <-out; got != 3*n {
			t.Fatalf("result %d is %d, want %d", n, got, 3*n)
		}
		n++
	}
	if n != len(delays) {
		t.Fatalf("%d results, want %d", n, len(delays))
	}
}

func TestAnInputAboveTheByteBudgetPassesAlone(t *testing.T) {
	s := New(Options[int]{Depth: 4, Bytes: 10, Size: func(i int) int64 { return int64(i) }},
		func(i int) int { return i })
	go func() {
		defer s.Close()
		for _, size := range []int{1000, 1, 1000} {
			if err := s.Put(context.Background(), size); err != nil {
				t.Error(err)
			}
		}
	}()
	n := 0
	for out := range s.Order() {
		<-out
		n++
	}
	if n != 3 {
		t.Fatalf("%d results, want 3", n)
	}
}

func TestPutEndsWithItsContextWhenTheStageIsFull(t *testing.T) {
	s := New(Options[int]{Depth: 1, Bytes: 10, Size: func(int) int64 { return 1 }},
		func(i int) int { return i })
	testkit.OK(t, s.Put(context.Background(), 1))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := s.Put(ctx, 2); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Put into a full stage gave %v, want the context's error", err)
	}
	s.Close()
}
