// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Errors of Runs.
var (
	// ErrRunning is wrapped when an account has a run already that has not ended.
	ErrRunning = errors.New("a what-if of this account is running")
	// ErrNoRun is wrapped when a run is asked for that is not known, or no longer.
	ErrNoRun = errors.New("no such what-if")
)

// What is kept of runs that have ended: so many of all accounts together, those that
// ended last, and for so long.
const (
	keepRuns = 32
	keepTime = 30 * time.Minute
)

// Runs are the runs of a process. An account has at most one that has not ended, and one
// of all accounts is carried out at a time: each takes a core and the memory of a second
// copy of the account's state. Safe for concurrent use.
type Runs struct {
	ctx    context.Context // of all runs
	cancel context.CancelFunc
	turn   chan struct{} // of one: the right to replay
	wait   sync.WaitGroup

	mu   sync.Mutex
	runs []*run // in the order in which they were started
}

// NewRuns returns runs, of which there are none yet. The caller closes them.
func NewRuns() *Runs {
	ctx, cancel := context.WithCancel(context.Background())
	return &Runs{ctx: ctx, cancel: cancel, turn: make(chan struct{}, 1)}
}

// Close stops all runs and waits for them. The stores that they read may be closed then.
func (r *Runs) Close() {
	r.cancel()
	r.wait.Wait()
}

// Start begins a run over what is kept of an account, and returns at once. Errors wrap
// ErrSettings or ErrRunning.
func (r *Runs) Start(a Account, with Settings) (Run, error) {
	if err := r.ctx.Err(); err != nil {
		return Run{}, fmt.Errorf("starting a what-if: the program is stopping: %w", err)
	}
	n, err := newRun(a, with)
	if err != nil {
		return Run{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.runs {
		if other.account.Name == a.Name && !other.ended() {
			return Run{}, fmt.Errorf("%w (%s); wait for it or stop it", ErrRunning, other.id)
		}
	}
	r.forget(1)
	r.runs = append(r.runs, n)
	ctx, cancel := context.WithCancel(r.ctx)
	n.cancel = cancel
	r.wait.Go(func() {
		defer cancel()
		select {
		case r.turn <- struct{}{}:
			defer func() { <-r.turn }()
			n.end(n.replay(ctx))
		case <-ctx.Done():
			n.end(ctx.Err())
		}
	})
	return n.answer(), nil
}

// newID names a run, so that nobody guesses the name of another's.
func newID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// Get returns how far a run is, or what came of it. id "" is the account's last one.
// account "" is the run's own.
func (r *Runs) Get(account, id string) (Run, error) {
	n, err := r.find(account, id)
	if err != nil {
		return Run{}, err
	}
	return n.answer(), nil
}

// Stop ends a run, named as for Get, and waits for that. One that has ended stays as it is.
func (r *Runs) Stop(ctx context.Context, account, id string) (Run, error) {
	n, err := r.find(account, id)
	if err != nil {
		return Run{}, err
	}
	n.cancel()
	if err := n.wait(ctx); err != nil {
		return Run{}, fmt.Errorf("stopping what-if %s: %w", n.id, err)
	}
	return n.answer(), nil
}

func (r *Runs) find(account, id string) (*run, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(0)
	for _, n := range slices.Backward(r.runs) {
		if (account == "" || n.account.Name == account) && (id == "" || n.id == id) {
			return n, nil
		}
	}
	if id == "" {
		return nil, fmt.Errorf("%w: none was started within the last half an hour", ErrNoRun)
	}
	return nil, fmt.Errorf("%w: %s; they are kept for half an hour", ErrNoRun, id)
}

// forget lets go of runs that ended long ago, and of the oldest where there would be too
// many with more of them.
func (r *Runs) forget(more int) {
	over := len(r.runs) + more - keepRuns
	r.runs = slices.DeleteFunc(r.runs, func(n *run) bool {
		at, ended := n.endedAt()
		if !ended {
			return false
		}
		over--
		return over >= 0 || time.Since(at) >= keepTime
	})
}
