// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// ErrElsewhere is wrapped when an account belongs to a partition that is not ours.
var ErrElsewhere = errors.New("another process owns the account")

// IsAccount reports whether the name is that of an account of a stream.
func IsAccount(name string) bool { return strings.HasPrefix(name, kafka.AccountPrefix) }

// Accounts returns the names of the accounts of the partitions that are ours, ascending, without
// those of partitions whose file is damaged.
func (e *Engine) Accounts() ([]string, error) {
	e.mu.Lock()
	ours := e.ours
	e.mu.Unlock()
	var names []string
	for _, p := range ours {
		f := p.file()
		if f == nil {
			continue // it is just being begun
		}
		some, err := f.Accounts()
		if p.damaged(err) {
			continue // its status says so
		}
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return names, nil
}

// View returns an account as of its last commit, to look at, and the file that it is in. The
// caller owns it. An account that nobody has heard of is store.ErrNotFound, one that is not ours
// ErrElsewhere.
func (e *Engine) View(ctx context.Context, account string) (*boltfile.Store, *filter.Filter, error) {
	p, err := e.owner(account)
	if err != nil {
		return nil, nil, err
	}
	if err := p.fetch(ctx, account); err != nil {
		return nil, nil, fmt.Errorf("account %s: %w", account, err)
	}
	f := p.file()
	if f == nil {
		return nil, nil, fmt.Errorf("account %s: %w", account, ErrElsewhere)
	}
	w, err := writer.Open(f, account)
	if errors.Is(err, store.ErrClosed) {
		err = ErrElsewhere // the partition begins again just now
	}
	if err != nil {
		return nil, nil, fmt.Errorf("account %s: %w", account, err)
	}
	if len(w.Filter().State().Account.Options) == 0 {
		return nil, nil, fmt.Errorf("account %s: %w", account, store.ErrNotFound)
	}
	return f, w.Filter(), nil
}

// owner returns the partition of ours to which an account belongs.
func (e *Engine) owner(account string) (*partition, error) {
	key, ok := strings.CutPrefix(account, kafka.AccountPrefix)
	if !ok || kafka.ValidKey([]byte(key)) != nil {
		return nil, fmt.Errorf("account %s: %w", account, store.ErrNotFound)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.ours {
		if n := p.partitions(); n > 0 && kafka.Partition([]byte(key), n) == p.id.Number {
			return p, nil
		}
	}
	return nil, fmt.Errorf("account %s: %w, or no process owns it at the moment", account, ErrElsewhere)
}

// lookPatience is how long Look waits for writers in all. They have nothing
// uncommitted several times a second, unless brokers or the disk refuse.
const lookPatience = 500 * time.Millisecond

// look asks a partition's writer to show an account as of its last commit.
type look struct {
	account string
	fn      func(*filter.Filter)
	shown   chan bool // of one: whether fn was called
}

// Look calls fn with each of the accounts as of its last commit, one after
// another; fn must not change or keep it. Where View loads an account, this asks
// its writer, who has it in memory, and loads it only while the writer cannot
// answer. An account that is unknown or belongs to another process is left out, and one that the
// damaged file of a partition does not give any more.
func (e *Engine) Look(ctx context.Context, accounts []string, fn func(account string, f *filter.Filter)) error {
	patience, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	for _, name := range accounts {
		p, err := e.owner(name)
		if err == nil && p.ask(patience, name, func(f *filter.Filter) { fn(name, f) }) {
			continue
		}
		_, f, err := e.View(ctx, name)
		if errors.Is(err, ErrElsewhere) || errors.Is(err, store.ErrNotFound) || p != nil && p.damaged(err) {
			continue
		}
		if err != nil {
			return err
		}
		fn(name, f)
	}
	return nil
}

// ask has the writer call fn, and reports whether it did.
func (p *partition) ask(ctx context.Context, account string, fn func(*filter.Filter)) bool {
	l := look{account, fn, make(chan bool, 1)}
	select {
	case p.looks <- l:
		return <-l.shown // not ctx: fn is at work
	case <-ctx.Done():
		return false
	}
}

// show answers a look. All that is in memory must be committed.
func (p *partition) show(ctx context.Context, l look) {
	if l.account == "" { // a sign of life is all that is wanted
		l.shown <- true
		return
	}
	h := p.cache.byName[l.account]
	if h == nil && !p.pending.has(l.account) {
		// The next look, or the next record of it, finds it here.
		var err error
		if h, err = p.account(ctx, strings.TrimPrefix(l.account, kafka.AccountPrefix)); err != nil {
			h = nil // View says why
		}
		p.cache.trim()
	}
	known := h != nil && len(h.work.Filter().State().Account.Options) > 0
	if known {
		l.fn(h.work.Filter())
	}
	l.shown <- known
}
