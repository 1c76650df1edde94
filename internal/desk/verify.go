// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Verify checks the store, then compares every account with a replay of its
// journal. Those that are still to be taken over are not compared.
var Verify = looking("verify", verify)

// Verification is what `hinged verify` found.
type Verification struct {
	Problems []string         `json:"problems"` // Problems are the results of the store's own check, in words.
	Accounts []VerifiedReplay `json:"accounts"` // one result for each account, sorted by name
	OK       bool             `json:"ok"`       // whether nothing is wrong
}

// VerifiedReplay compares one account's state with a replay of its journal.
type VerifiedReplay struct {
	Account  string `json:"account"`           // name of the account
	From     uint64 `json:"journal_from"`      // number of the first entry replayed
	End      uint64 `json:"journal_end"`       // number of the last entry replayed, plus 1
	State    Digest `json:"state"`             // digests of the committed state
	Replayed Digest `json:"replayed"`          // digests of the replayed state
	Equal    bool   `json:"equal"`             // whether the digests are equal
	Problem  string `json:"problem,omitempty"` // why the replay stopped
	// InSnapshot reports whether the account is still in the snapshot from which its partition is
	// taken over. Nothing was compared then, which is not an error.
	InSnapshot bool `json:"in_snapshot,omitempty"`
}

func verify(ctx context.Context, h Host) (v Verification, err error) {
	err = h.Store(false, func(s *boltfile.Store, files *stream.Files) error {
		v, err = verifyAll(ctx, s, files, h)
		return err
	})
	return v, err
}

// verifyAll is Verify for a store and the files of its partitions. h may have accounts in memory;
// nil: nobody has.
func verifyAll(ctx context.Context, own *boltfile.Store, files *stream.Files, h Host) (Verification, error) {
	v := Verification{Problems: []string{}, Accounts: []VerifiedReplay{}, OK: true}
	for _, err := range files.Broken() {
		v.OK, v.Problems = false, append(v.Problems, err.Error())
	}
	slices.Sort(v.Problems)
	for _, s := range files.And(own) {
		if err := v.verify(ctx, s, h); err != nil {
			return v, err
		}
	}
	slices.SortStableFunc(v.Accounts, func(a, b VerifiedReplay) int { return strings.Compare(a.Account, b.Account) })
	return v, nil
}

// verify adds what there is to say of one file.
func (v *Verification) verify(ctx context.Context, s *boltfile.Store, h Host) error {
	report, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	v.OK = v.OK && report.OK()
	for _, p := range report.Problems {
		v.Problems = append(v.Problems, p.Error())
	}
	names, err := s.Accounts()
	if err != nil {
		return err
	}
	for _, name := range names {
		r := VerifiedReplay{Account: name, State: Digest{Account: name}, Replayed: Digest{Account: name}}
		switch now, end, err := committed(ctx, s, h, name); {
		case errors.Is(err, store.ErrPending):
			r.InSnapshot = true
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			// Verify exists to name what is wrong.
			v.OK, v.Problems = false, append(v.Problems, err.Error())
			continue
		default:
			r = replay(ctx, s, name, now, end)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		v.OK = v.OK && (r.Equal || r.InSnapshot)
		v.Accounts = append(v.Accounts, r)
	}
	return nil
}

// committed gives the digest of an account and the number of the journal entry that
// comes next. One that nobody has, but that the store still knows, is read from
// there.
func committed(ctx context.Context, s *boltfile.Store, h Host, name string) (d Digest, end uint64, err error) {
	take := func(f *filter.Filter) { d, end = digestOf(name, f), f.State().JournalNext() }
	err = ErrNoAccount
	if h != nil {
		var a Account
		if a, err = h.Account(ctx, name); err == nil {
			err = a.Look(ctx, func(d *Desk) error { take(d.Filter); return nil })
		}
	}
	if errors.Is(err, ErrNoAccount) || errors.Is(err, stream.ErrElsewhere) {
		var w *writer.Writer
		if w, err = writer.Open(s, name); err == nil {
			take(w.Filter())
		} else {
			err = fmt.Errorf("account %s: %w", name, err)
		}
	}
	return d, end, err
}

// replay compares an account's committed digest with that of a replay of the
// journal entries from the base up to, but not including, end.
func replay(ctx context.Context, s *boltfile.Store, account string, now Digest, end uint64) VerifiedReplay {
	out := VerifiedReplay{Account: account, State: now, End: end}
	fail := func(err error) VerifiedReplay {
		out.Problem = err.Error()
		return out
	}
	base, next, err := s.Base(account)
	if err != nil {
		return fail(err)
	}
	out.From = next
	entries := func(yield func(store.JournalEntry, error) bool) {
		for e, err := range s.Journal(account, next) {
			if err == nil && e.Seq >= end {
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if !yield(e, err) {
				return
			}
		}
	}
	f, _, err := past.Replay(base, entries, writer.NewReplayVectors(s, account))
	if err != nil {
		return fail(err)
	}
	out.Replayed.Account = account
	out.Replayed.Model, out.Replayed.State = store.Digest(f.State())
	out.Equal = out.Replayed == out.State
	return out
}
