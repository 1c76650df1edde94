// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Alive returns nil if the writer of every partition of ours answers before ctx is done;
// else it names those that do not. A writer that has not begun, that has stopped, or that
// waits for brokers or the disk and says so, is not expected to, and none is while
// settings change, which takes no longer than it may. Safe for concurrent use.
func (e *Engine) Alive(ctx context.Context) error {
	e.mu.Lock()
	ours := e.ours
	if e.next != nil {
		ours = nil
	}
	e.mu.Unlock()
	errs := make([]error, len(ours))
	var asked sync.WaitGroup
	for i, p := range ours {
		asked.Go(func() {
			if p.state.waits() || p.answers(ctx) || p.state.waits() || !e.owns(p) {
				return
			}
			if ctx.Err() != nil {
				errs[i] = fmt.Errorf("partition %d does not answer", p.id.Number)
			}
		})
	}
	asked.Wait()
	return errors.Join(errs...)
}

// answers reports whether the writer gives a sign of life before ctx is done.
func (p *partition) answers(ctx context.Context) bool {
	select {
	case p.asked <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// owns reports whether a partition is still ours in this generation.
func (e *Engine) owns(p *partition) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.ours, p)
}

// waits reports whether the writer can't be expected to answer.
func (s *partitionState) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.status.Begun || s.status.Stopped || s.writing != ""
}
