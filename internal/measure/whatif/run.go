// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Account is what a run needs to know of an account, and where its past is.
type Account struct {
	Store *boltfile.Store
	Name  string
	opts  filter.Options
	prior store.PackedVector
	zone  *time.Location
}

// Of takes it from an account's filter, whose state is committed.
func Of(s *boltfile.Store, name string, f *filter.Filter) Account {
	return Account{s, name, f.Options(), f.Prior(), f.Zone()}
}

// priorName is how the configuration calls the weights that the account began with.
func (a *Account) priorName() string {
	switch string(a.prior) {
	case "":
		return prior.NameZero
	case string(prior.None().Pack()):
		return prior.NameNone
	case string(prior.Default().Pack()):
		return prior.NameDefault
	default:
		return "a file"
	}
}

// run is one run. What is above mu doesn't change once it is started.
type run struct {
	id      string
	account Account
	plan    plan
	prior   *store.PackedVector // that the other settings begin with; nil: today's
	cancel  context.CancelFunc
	gone    chan struct{} // closed at the end

	mu      sync.Mutex
	state   State
	started time.Time // when its turn came
	stopped time.Time // the end; zero until then
	problem error
	*course     // nil until the turn came, and after the end
	last    Run // what came of it, at the end
}

// newRun finds out whether settings can be replayed.
func newRun(a Account, with Settings) (*run, error) {
	n := &run{id: newID(), account: a, state: Waiting, gone: make(chan struct{})}
	var err error
	if n.plan, err = with.plan(a.opts, a.priorName()); err != nil {
		return nil, err
	}
	if with.Prior != "" && with.Prior != a.priorName() {
		p, err := prior.Named(with.Prior)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSettings, err)
		}
		packed := p.Pack()
		n.prior = &packed
	}
	return n, nil
}

// attempts is how often a run begins once more because the store let go of what it was
// about to read.
const attempts = 3

// replay carries the run out.
func (n *run) replay(ctx context.Context) error {
	n.mu.Lock()
	n.state, n.started = Running, time.Now()
	n.mu.Unlock()
	for try := 1; ; try++ {
		err := n.once(ctx)
		if try == attempts || !errors.Is(err, store.ErrTrimmed) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

// once replays from the base to what is committed now. What a commit, a trim or a rewrite
// does in between doesn't reach it, or takes something away that it needs: an error.
func (n *run) once(ctx context.Context) error {
	a := &n.account
	p, err := a.today()
	if err != nil {
		return err
	}
	base, next, err := a.Store.Base(a.Name)
	if err != nil {
		return err
	}
	if p.begin(base, next); p.total == 0 && !p.fromStart {
		return fmt.Errorf("nothing can be replayed yet: what is kept of your mail begins on %s, since forgetting mail or taking lessons back drops the record of what came before, and no message was decided since then",
			base.Account.Clock.Time().In(p.zone).Format("2 January 2006 15:04"))
	}
	r, err := past.NewRerun(base, writer.NewReplayVectors(a.Store, a.Name))
	if err != nil {
		return err
	}
	today, err := r.Try(a.opts, nil)
	if err != nil {
		return err
	}
	other, err := r.Try(n.plan.options, n.prior)
	if errors.Is(err, past.ErrPriorLate) {
		return fmt.Errorf("%w: %w", ErrSettings, err)
	}
	if err != nil {
		return err
	}
	p.trials = [2]*past.Trial{today, other}
	n.mu.Lock()
	n.course = p
	n.mu.Unlock()
	for entry, err := range a.Store.Journal(a.Name, next) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if entry.Seq >= p.end {
			break
		}
		s, err := r.Apply(entry)
		if err != nil {
			return err
		}
		n.mu.Lock()
		p.take(&s)
		p.next = entry.Seq + 1
		n.mu.Unlock()
	}
	return nil
}

// today is a replay that has not begun, with what is known today. The state that it is
// read from is let go of, before others come.
func (a *Account) today() (*course, error) {
	now, err := a.Store.Load(a.Name)
	if err != nil {
		return nil, err
	}
	return &course{known: knownOf(now), zone: a.zone, end: now.JournalNext(), decided: now.Account.Decided, at: map[store.MessageKey]int{}}, nil
}

// end notes how it ended.
func (n *run) end(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = time.Now()
	switch {
	case err == nil:
		n.state = Done
	case errors.Is(err, context.Canceled):
		n.state = Stopped
	default:
		n.state, n.problem = Failed, err
	}
	n.last = n.tell()
	n.course = nil
	close(n.gone)
}

func (n *run) ended() bool { _, ended := n.endedAt(); return ended }

func (n *run) endedAt() (time.Time, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stopped, !n.stopped.IsZero()
}

// wait waits for the end.
func (n *run) wait(ctx context.Context) error {
	select {
	case <-n.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer says how far it is.
func (n *run) answer() Run {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.stopped.IsZero() {
		return n.last
	}
	return n.tell()
}

// tell is answer with mu held.
func (n *run) tell() Run {
	out := Run{
		ID: n.id, Account: n.account.Name, State: n.state, Changes: n.plan.changes, Config: n.plan.config, Command: n.plan.command,
		Points: []Point{}, Weeks: []Week{}, Differences: []Difference{}, Verdict: Same, FoundChance: 1, FalseChance: 1,
	}
	if n.problem != nil {
		out.Problem = n.problem.Error()
	}
	if !n.started.IsZero() {
		until := n.stopped
		if until.IsZero() {
			until = time.Now()
		}
		out.Seconds = until.Sub(n.started).Seconds()
	}
	if n.course != nil {
		n.summarise(&out)
	}
	if n.state == Running && out.Progress > 0 {
		out.Left = out.Seconds * (1 - out.Progress) / out.Progress
	}
	if n.state == Done {
		out.Progress = 1
	}
	return out
}
