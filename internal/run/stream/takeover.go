// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// pending are the accounts of a partition that are still to be taken over. Safe for concurrent
// use.
type pending struct {
	mu    sync.Mutex
	in    *boltfile.Store // that is to take them over
	names map[string]struct{}
	busy  map[string]chan struct{} // accounts that are being fetched; closed when that has ended
}

// claim waits until nobody else fetches an account, and keeps others from it until
// release is called.
func (p *pending) claim(ctx context.Context, account string) (release func(), err error) {
	for {
		p.mu.Lock()
		other := p.busy[account]
		if other == nil {
			done := make(chan struct{})
			if p.busy == nil {
				p.busy = map[string]chan struct{}{}
			}
			p.busy[account] = done
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				delete(p.busy, account)
				close(done)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *pending) set(in *boltfile.Store, names []string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = in
	p.names = make(map[string]struct{}, len(names))
	for _, name := range names {
		p.names[name] = struct{}{}
	}
	return len(p.names)
}

// take notes the same accounts as b does, which nobody adds to any more.
func (p *pending) take(b *pending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.in, p.names = b.in, maps.Clone(b.names)
}

// has reports whether an account is still to be taken over.
func (p *pending) has(account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waits := p.names[account]
	return waits
}

// arrived notes that an account has come into a file, and returns how many are left. It means
// nothing if the partition has begun anew meanwhile, with another file.
func (p *pending) arrived(in *boltfile.Store, account string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in == p.in {
		delete(p.names, account)
	}
	return len(p.names)
}

// left returns those that are left, ascending: as they lie in the topic.
func (p *pending) left() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.names))
}

// newestSnapshot looks for the newest whole snapshot.
func (p *partition) newestSnapshot(ctx context.Context, s *situation) error {
	if err := p.vault.scan(ctx, p.e.o.Now()); err != nil {
		return err
	}
	s.era = p.vault.lastEra(s.topic)
	m, err := p.vault.newest(ctx, s.topic, s.log)
	if err != nil || m == nil {
		return err
	}
	p.from = m
	s.snapshot = &m.LogPosition
	return nil
}

// restore notes in the store that the partition is as the snapshot found says. Its
// accounts come in when they are needed, and one by one.
func (p *partition) restore(ctx context.Context, s *situation) (int64, error) {
	m := p.from
	switch {
	case s.local != nil && !s.ours(s.local):
		p.log.Warn("what this store has of the partition is of the topic before it was created again; it gives way to the snapshot",
			"offset", s.local.Next, "id", kafka.TopicID(s.local.TopicID), "recovered", m.Recovered)
	case m.Recovered != "" && (s.local == nil || s.local.Era < m.Era):
		p.log.Warn("the partition was recovered", "from", m.Recovered, "offset", m.Next)
	}
	from := *m
	if s.ours(s.local) && s.local.Era == m.Era && s.local.Next > s.log.End {
		from.LogPosition = m.Lose(s.log.End) // what this store stands at is of the records that were lost
	}
	if err := p.e.o.Files.Begin(p.id, func(f *boltfile.Store) error { return snapshot.Begin(ctx, f, &from) }); err != nil {
		return 0, err
	}
	p.log.Info("the partition is taken over from a snapshot", "offset", m.Next, "accounts", len(m.Accounts))
	if now := p.e.fingerprint; m.Fingerprint != "" && m.Fingerprint != now {
		p.log.Warn("the hinged that made the snapshot reads mail in another way, or has other settings or time zones; decisions from here on may differ from those that it would have made")
	}
	return m.Next, nil
}

// fetch takes over an account, if that has not happened yet. It tries until it succeeds or ctx is
// done; ErrGone, store.ErrChunk or store.ErrDamaged if it never can, store.ErrClosed if the
// partition is just being begun.
func (p *partition) fetch(ctx context.Context, account string) error {
	if !p.pending.has(account) {
		return nil
	}
	// The writer, who needs an account now, and the one who brings in all of them may come upon it
	// together.
	release, err := p.pending.claim(ctx, account)
	if err != nil {
		return err
	}
	defer release()
	if !p.pending.has(account) {
		return nil
	}
	for n := 1; ; n++ {
		f := p.file()
		if f == nil {
			return store.ErrClosed // it is just being begun
		}
		err := snapshot.Restore(f, account, func(id snapshot.ChunkID) ([]byte, error) { return p.vault.get(ctx, id) })
		switch {
		case err == nil:
			left := p.pending.arrived(f, account)
			p.state.restoring(left)
			if left == 0 {
				p.vault.letGo()
			}
			return nil
		case broken(err), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrClosed):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		p.log.Warn("can't load an account from the snapshot; trying again", "account", account, "error", err)
		if err := p.pause(ctx, n); err != nil {
			return err
		}
	}
}

// lost reports whether the snapshot can no longer supply this account.
func lost(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, store.ErrChunk) }

// broken reports whether trying the same again would not help, because the snapshot or a file of
// the store is not what it was.
func broken(err error) bool { return lost(err) || errors.Is(err, store.ErrDamaged) }

// wantedAhead is how many accounts may wait to be brought in before the writer
// comes to them. What is more is left to the writer.
const wantedAhead = 1024

// want notes that a record of an account was read, which may have to come in.
func (p *partition) want(wanted chan<- string, key []byte) {
	account := kafka.AccountPrefix + string(key)
	if !p.pending.has(account) {
		return
	}
	select {
	case wanted <- account:
	default:
	}
}

// ahead brings in accounts whose records were read, while the writer
// is at those before them. Several do so at once, and share the store's
// transactions.
func (p *partition) ahead(ctx context.Context, wanted <-chan string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case account := <-wanted:
			if err := p.fetch(ctx, account); err != nil {
				if broken(err) {
					return err
				}
				return nil // ctx is done, or the partition is another's
			}
		}
	}
}

// fill brings in one account after the other, while the partition is worked on.
func (p *partition) fill(ctx context.Context, wanted <-chan string) error {
	for _, account := range p.pending.left() {
		for len(wanted) > 0 { // what records wait for goes before
			if err := wait(ctx, fillPause); err != nil {
				return nil //nolint:nilerr // nothing is wrong with it
			}
		}
		began := time.Now()
		if err := p.fetch(ctx, account); err != nil {
			if broken(err) {
				return err
			}
			return nil // ctx is done, or the partition is another's
		}
		// The writer needs the file and the network too.
		_ = wait(ctx, min(time.Since(began), time.Second)) // the next one finds ctx done
	}
	return nil
}

const fillPause = 50 * time.Millisecond
