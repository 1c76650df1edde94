// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Verify checks the store, then compares every account with a replay of its journal.
// Those that are still to be taken over are not compared.
var Verify = offer(Verb[VerifyRequest, Verification]{
	Name: "verify", Slow: true,
	Help: &Help{
		Group: ToKeep, All: true,
		Use:   "verify [FILE]",
		Short: "Check that the store or a backup is sound, and print its digests",
		Long: `Check every page and checksum of the store. Then replay the journal of each
account and compare the result with its state. The daemon may run. With FILE,
check a backup in the same way.

The two digests of an account are of its model (the weights) and of its whole
state (also positions, ledger and pending labels, but no clocks). The same events
in the same order give the same digests on any machine.

With --compact, a store that is sound is then written anew, without its free space,
one file after another. The daemon may run: it keeps reading, and what it has to
write to a file waits until the new one is ready, some seconds for a large one.
hinged reuses free space anyway, so this is for a store that has become much larger
than it needs to be. It needs as much free disk space as the largest new file
takes. If anything fails, the old file stays in use. Without --compact, nothing is
changed.

The exit code is 0 if everything is sound, 1 if anything is wrong, and 65 if the
file is too damaged to open.`,
		Example: `  $ hinged verify
  me: 1204 journal entries replayed, state as committed
  me: model 5d1f0c… state 90ab4e…
  ok
  $ hinged verify /backup/hinged-monday.db
  me: 1187 journal entries replayed, state as committed
  me: model 77c02b… state 0e91d2…
  ok`,
	},
	Text: printVerified,
	Problem: func(v Verification) error {
		if v.OK {
			return nil
		}
		return ErrSaid
	},
	do: verify,
})

// ErrSaid is the problem with an answer that says so itself.
var ErrSaid = errors.New("the answer says what is wrong")

// VerifyRequest says what is to be done beside the check.
type VerifyRequest struct {
	File    string `json:"-" arg:"FILE"` // read by who asks, without a host; see VerifyFile
	Compact bool   `json:"compact,omitempty" flag:"compact" usage:"then rewrite the store's files without their free space"`
}

// Wrong returns a mistake in the request.
func (q VerifyRequest) Wrong() error {
	if q.File != "" && q.Compact {
		return errors.New("--compact is for the store; name no file")
	}
	return nil
}

// Verification is what `hinged verify` found.
type Verification struct {
	Problems  []string         `json:"problems"`            // Problems are the results of the store's own check, in words.
	Accounts  []VerifiedReplay `json:"accounts"`            // one result for each account, sorted by name
	OK        bool             `json:"ok"`                  // whether nothing is wrong
	Compacted *Compaction      `json:"compacted,omitempty"` // Compacted says how large the store was and is; absent if it was not compacted.
}

// Digests are those of the accounts as they were committed.
func (v Verification) Digests() []Digest {
	out := []Digest{}
	for _, a := range v.Accounts {
		a.State.InSnapshot = a.InSnapshot
		out = append(out, a.State)
	}
	return out
}

// Digest has the digests of one account.
type Digest struct {
	Account string `json:"account"` // name of the account
	Model   string `json:"model"`   // digest of the weights, in hexadecimal
	State   string `json:"state"`   // digest of the whole state, in hexadecimal
	// InSnapshot reports whether the account's state is still in the snapshot from which
	// its partition was taken over. The digests are empty then.
	InSnapshot bool `json:"in_snapshot,omitempty"`
}

// StillInSnapshot says what that means and what ends it.
const StillInSnapshot = "still in the snapshot from which its partition was taken over; `hinged run` loads it"

// GetDigests gives the digests of all accounts and checks nothing. Twins are compared by
// them, also while a file of one is damaged on purpose, which verify would notice.
var GetDigests = offer(Verb[None, []Digest]{Name: "digests", Slow: true, do: func(ctx context.Context, h Host, _ string, _ None) ([]Digest, error) {
	out := []Digest{}
	err := h.Each(ctx, func(d *Desk) error {
		out = append(out, digestOf(d.Account, d.Filter))
		return nil
	})
	return out, err
}})

func digestOf(account string, f *filter.Filter) Digest {
	d := Digest{Account: account, InSnapshot: f == nil}
	if f != nil {
		d.Model, d.State = store.Digest(f.State())
	}
	return d
}

// Compaction is what --compact did.
type Compaction struct {
	Before int64 `json:"bytes_before"` // size of the store before compacting
	After  int64 `json:"bytes_after"`  // size of the store after compacting
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

func verify(ctx context.Context, h Host, _ string, q VerifyRequest) (v Verification, err error) {
	err = h.Store(false, func(s *boltfile.Store, files *stream.Files) error {
		v, err = verifyAll(ctx, s, files, h)
		return err
	})
	if err == nil && v.OK && q.Compact {
		v.Compacted, err = compact(ctx, h)
	}
	return v, err
}

// compact writes the store's files anew without their free pages, one after another. The
// accounts go on: what they read is there, and their commits wait while it is their file's
// turn.
func compact(ctx context.Context, h Host) (*Compaction, error) {
	c := &Compaction{}
	err := h.Store(true, func(own *boltfile.Store, files *stream.Files) error {
		for _, s := range files.And(own) {
			before, after, err := s.Compact(ctx)
			if err != nil {
				return err
			}
			c.Before, c.After = c.Before+before, c.After+after
		}
		return nil
	})
	return c, err
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
	if errors.Is(err, store.ErrDamaged) {
		v.OK, v.Problems = false, append(v.Problems, err.Error())
		return nil
	}
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

func printVerified(w io.Writer, v Verification) error {
	for _, p := range v.Problems {
		fmt.Fprintf(w, "store: %s\n", p)
	}
	for _, a := range v.Accounts {
		switch {
		case a.InSnapshot:
			fmt.Fprintf(w, "%s: not compared, since it is %s\n", a.Account, StillInSnapshot)
		case a.Problem != "":
			fmt.Fprintf(w, "%s: the replay stopped: %s\n", a.Account, a.Problem)
		case a.Equal:
			fmt.Fprintf(w, "%s: %d journal entries replayed, state as committed\n", a.Account, a.End-a.From)
		default:
			fmt.Fprintf(w, "%s: %d journal entries replayed, state differs: committed %s, replayed %s\n",
				a.Account, a.End-a.From, a.State.State, a.Replayed.State)
		}
	}
	for _, d := range v.Digests() {
		if !d.InSnapshot {
			fmt.Fprintf(w, "%s: model %s state %s\n", d.Account, d.Model, d.State)
		}
	}
	if c := v.Compacted; c != nil {
		fmt.Fprintf(w, "%d bytes before, %d after\n", c.Before, c.After)
	}
	verdict := "ok"
	if !v.OK {
		verdict = "NOT OK. Keep the file; a backup is put back with: hinged restore FILE"
	} else if len(v.Accounts) == 0 {
		verdict = "ok, and no account in it yet"
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

// Alone checks the file, if one is named; nil: none is.
func (q VerifyRequest) Alone(ctx context.Context) (any, error) {
	if q.File == "" {
		return nil, nil
	}
	v, err := VerifyFile(ctx, q.File)
	if errors.Is(err, store.ErrRunning) {
		err = fmt.Errorf("%w; to check the store of the running daemon, name no file", err)
	}
	return v, err
}

// VerifyFile checks a file as `hinged verify` does the daemon's store: a store, a backup
// or an export. A store is checked with the partitions beside it. It changes nothing.
func VerifyFile(ctx context.Context, file string) (v Verification, err error) {
	s, err := boltfile.OpenReadOnly(file, boltfile.Options{})
	if err != nil {
		return v, err
	}
	files, err := stream.ReadFiles(file, boltfile.Options{})
	if err != nil {
		return v, errors.Join(err, s.Close())
	}
	v, err = verifyAll(ctx, s, files, nil)
	return v, errors.Join(err, files.Close(), s.Close())
}
