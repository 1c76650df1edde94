// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
		if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrClosed) {
			continue // its status says so, or it is just being begun
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
	s, f, err := p.view(ctx, account)
	if errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrPending) {
		err = ErrElsewhere // the partition begins again just now
	}
	if err != nil {
		return nil, nil, fmt.Errorf("account %s: %w", account, err)
	}
	return s, f, nil
}

// view is View. ErrClosed or ErrPending if the partition is just being begun.
func (p *partition) view(ctx context.Context, account string) (*boltfile.Store, *filter.Filter, error) {
	if err := p.fetch(ctx, account); err != nil {
		return nil, nil, err
	}
	s := p.file()
	if s == nil {
		return nil, nil, store.ErrClosed
	}
	w, err := writer.Open(s, account)
	if err != nil {
		return nil, nil, err
	}
	if w.Filter().State().Settings.Len() == 0 {
		return nil, nil, store.ErrNotFound
	}
	return s, w.Filter(), nil
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
