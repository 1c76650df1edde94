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
)

// ErrElsewhere is wrapped when an account belongs to a partition that is not ours.
var ErrElsewhere = errors.New("another process has the account")

// IsAccount reports whether the name is that of an account of a stream.
func IsAccount(name string) bool { return strings.HasPrefix(name, kafka.AccountPrefix) }

// Accounts returns the names of the accounts of the partitions that are ours,
// ascending.
func (e *Engine) Accounts() ([]string, error) {
	e.mu.Lock()
	ours := e.ours
	e.mu.Unlock()
	var names []string
	for _, p := range ours {
		some, err := e.o.Store.AccountsOf(p.id)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return names, nil
}

// View returns an account as of its last commit, to look at. The caller owns it.
// logs: what is kept of its past is needed too. An account that nobody has heard
// of is store.ErrNotFound, one that is not ours ErrElsewhere.
func (e *Engine) View(ctx context.Context, account string, logs bool) (*filter.Filter, error) {
	p, err := e.owner(account)
	if err != nil {
		return nil, err
	}
	fetch := p.fetchState
	if logs {
		fetch = p.fetchLogs
	}
	if err := fetch(ctx, account); err != nil {
		return nil, fmt.Errorf("account %s: %w", account, err)
	}
	w, err := writer.Open(e.o.Store, account)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", account, err)
	}
	if len(w.Filter().State().Account.Options) == 0 {
		return nil, fmt.Errorf("account %s: %w", account, store.ErrNotFound)
	}
	return w.Filter(), nil
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
	return nil, fmt.Errorf("account %s: %w, or nobody has it just now", account, ErrElsewhere)
}
