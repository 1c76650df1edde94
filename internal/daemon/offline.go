package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
)

// Offline answers from the store itself, which it opens read-only: for the
// verbs when no daemon runs. A verb that writes has the store for itself as long
// as it takes. Not safe for concurrent use.
type Offline struct {
	store   *store.Store
	path    string
	options store.Options
	version string
	filters map[string]*filter.Filter
	readers map[string]*readers
	// Accounts says where the accounts' mail is, for what has to be done there while
	// no daemon runs; nil: nothing can.
	Accounts func() ([]AccountOptions, error)
}

// OpenOffline opens the store at path. It fails with store.ErrRunning while a
// daemon has it.
func OpenOffline(path, version string, o store.Options) (*Offline, error) {
	s, err := store.OpenReadOnly(path, o)
	if err != nil {
		return nil, err
	}
	return &Offline{
		store: s, path: path, options: o, version: version,
		filters: map[string]*filter.Filter{}, readers: map[string]*readers{},
	}, nil
}

// Close implements Backend.
func (o *Offline) Close() error { return o.store.Close() }

func (o *Offline) filter(account string) (*filter.Filter, error) {
	if f, ok := o.filters[account]; ok {
		return f, nil
	}
	st, err := o.store.Load(account)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", account, err)
	}
	f, err := filter.New(st, writer.NewVectors(o.store, account))
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", account, err)
	}
	o.filters[account] = f
	return f, nil
}

// pick resolves an account name.
func pick(names []string, account string) (string, error) {
	switch {
	case account == "" && len(names) == 1:
		return names[0], nil
	case account == "" && len(names) == 0:
		return "", fmt.Errorf("%w: the store is empty; has the daemon run yet?", ErrNoAccount)
	case account == "":
		return "", fmt.Errorf("%w: there are several, name one of %s", ErrNoAccount, strings.Join(names, ", "))
	}
	for _, n := range names {
		if n == account {
			return n, nil
		}
	}
	return "", fmt.Errorf("%w: %s is none of %s", ErrNoAccount, account, strings.Join(names, ", "))
}

func (o *Offline) named(account string) (string, *filter.Filter, error) {
	names, err := o.store.Accounts()
	if err != nil {
		return "", nil, err
	}
	if account, err = pick(names, account); err != nil {
		return "", nil, err
	}
	f, err := o.filter(account)
	return account, f, err
}

// each calls fn for every account, in order of name: with nil for one that was
// taken over and has not come in yet.
func (o *Offline) each(names []string, fn func(name string, f *filter.Filter) error) error {
	for _, n := range names {
		f, err := o.filter(n)
		if err != nil && !errors.Is(err, store.ErrPending) {
			return err
		}
		if stream.IsAccount(n) {
			delete(o.filters, n) // there may be thousands
		}
		if err := fn(n, f); err != nil {
			return err
		}
	}
	return nil
}

// Status implements Backend.
func (o *Offline) Status(context.Context) (Status, error) {
	s := Status{Version: o.version, Accounts: []AccountStatus{}}
	names, err := o.store.Accounts()
	if err != nil {
		return s, err
	}
	if s.Stream, err = storedStream(o.store, names); err != nil {
		return s, err
	}
	if s.Stream != nil && s.Stream.Accounts > showStreamed {
		names = slices.DeleteFunc(names, stream.IsAccount)
	}
	err = o.each(names, func(n string, f *filter.Filter) error {
		if f == nil {
			s.Accounts = append(s.Accounts, AccountStatus{
				Account: n, Doing: StillInSnapshot, InSnapshot: true, Warnings: []string{}, Mailboxes: []MailboxStatus{},
			})
			return nil
		}
		a := summarise(n, f)
		if stream.IsAccount(n) {
			a = summariseStreamed(n, f)
		}
		a.Problem = "the daemon is not running"
		a.Doing = "stopped; before that: " + a.Doing
		s.Accounts = append(s.Accounts, a)
		return nil
	})
	return s, err
}

// Digests implements Backend.
func (o *Offline) Digests(context.Context) ([]Digest, error) {
	digests, _, err := o.digests()
	return digests, err
}

// digests returns the digests of all accounts and, by account, the number of the
// journal entry that comes next.
func (o *Offline) digests() ([]Digest, map[string]uint64, error) {
	out, ends := []Digest{}, map[string]uint64{}
	names, err := o.store.Accounts()
	if err != nil {
		return out, ends, err
	}
	err = o.each(names, func(n string, f *filter.Filter) error {
		d := Digest{Account: n, InSnapshot: f == nil}
		if f == nil {
			out = append(out, d)
			return nil
		}
		d.Model, d.State = store.Digest(f.State())
		out = append(out, d)
		ends[n] = f.State().JournalNext()
		return nil
	})
	return out, ends, err
}

// Verify implements Backend.
func (o *Offline) Verify(context.Context) (Verified, error) {
	digests, ends, err := o.digests()
	if err != nil {
		// Verify exists to name what is wrong; the store's own check may tell
		// more than the account that failed to load.
		report, verr := o.store.Verify()
		return Verified{Problems: append(words(report), err.Error())}, verr
	}
	return verify(o.store, func(account string) (Digest, uint64, error) {
		for _, d := range digests {
			if d.Account == account && !d.InSnapshot {
				return d, ends[account], nil
			}
		}
		return Digest{}, 0, store.ErrPending
	})
}

// verify checks the store, then compares every account with a replay of its
// journal, and says of those that were taken over and are not all here yet that
// they were not compared. at gives
// an account's digest and the number of the journal entry that comes next.
func verify(s *store.Store, at func(account string) (Digest, uint64, error)) (Verified, error) {
	report, err := s.Verify()
	if err != nil {
		return Verified{}, err
	}
	v := Verified{Problems: words(report), Accounts: []VerifiedReplay{}, OK: report.OK()}
	names, err := s.Accounts()
	if err != nil {
		return v, err
	}
	for _, n := range names {
		now, end, err := at(n)
		var r VerifiedReplay
		switch {
		case errors.Is(err, store.ErrPending):
			r = VerifiedReplay{Account: n, State: Digest{Account: n}, Replayed: Digest{Account: n}, InSnapshot: true}
		case err != nil:
			return v, err
		default:
			r = replay(s, n, now, end)
		}
		v.OK = v.OK && (r.Equal || r.InSnapshot)
		v.Accounts = append(v.Accounts, r)
	}
	return v, nil
}

func words(r store.Report) []string {
	out := []string{}
	for _, p := range r.Problems {
		out = append(out, p.Error())
	}
	return out
}
