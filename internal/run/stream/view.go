// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
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

// sendSource is the ce_source of what we put into the input topic ourselves.
const sendSource = "hinged"

// Send puts events about an account into the input topic, in order, and waits
// until the brokers have them. Whoever owns the account will do what they say, be
// it another process. After an error some of them may be there all the same.
func (e *Engine) Send(ctx context.Context, account string, events ...kafka.Event) error {
	key, ok := strings.CutPrefix(account, kafka.AccountPrefix)
	if !ok || kafka.ValidKey([]byte(key)) != nil {
		return fmt.Errorf("account %s does not belong to a stream", account)
	}
	records := make([]kafka.Record, 0, len(events))
	for _, event := range events {
		records = append(records, kafka.Encode(event, key, rand.Text(), sendSource, e.o.Now()))
	}
	e.mu.Lock()
	broker := e.o.Broker
	e.mu.Unlock()
	_, err := broker.Produce(ctx, e.o.Topics.Input, records)
	return err
}

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
