// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Incoming is an account on its way into a file: from a partition that was taken over, or from
// another store. Not safe for concurrent use.
type Incoming struct {
	// From says where the account comes from.
	From PendingAccount

	file   *file
	puts   []Value
	index  [][]byte // keys of featureindex
	size   int
	staged bool // some of it is in arrivingBucket
}

// errIncoming: what came does not make the account.
var errIncoming = errors.New("what came does not make the account")

// Put adds a value, of which it keeps nothing, and writes what was added if that has become
// much, so that it does not all have to be in memory.
func (in *Incoming) Put(v Value) error {
	all := slices.Concat(v.Bucket, v.Within, v.Key, v.Content)
	cut := func(n int) (part []byte) { part, all = all[:n:n], all[n:]; return part }
	kept := Value{cut(len(v.Bucket)), cut(len(v.Within)), cut(len(v.Key)), all}
	if bytes.Equal(v.Bucket, featuresBucket) {
		if len(v.Content) < frameSize+len(store.MessageKey{}) {
			return fmt.Errorf("%w: a record of features is malformed", errIncoming)
		}
		in.index = append(in.index, indexKey(store.MessageKey(v.Content[frameSize:]), kept.Key))
	}
	in.puts = append(in.puts, kept)
	if in.size += len(v.Bucket) + len(v.Within) + len(v.Key) + len(v.Content); in.size < in.file.o.Hooks.Incoming {
		return nil
	}
	return in.stage()
}

// stage writes what has come in of a large account to arrivingBucket.
func (in *Incoming) stage() error {
	if err := in.file.o.step("stage"); err != nil {
		return err
	}
	name := []byte(in.From.Account)
	err := in.file.update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(arrivingBucket)
		if err != nil {
			return err
		}
		if !in.staged && b.Bucket(name) != nil { // of a try that came to no end
			if err := b.DeleteBucket(name); err != nil {
				return err
			}
		}
		account := b.Bucket(name)
		if account == nil {
			if account, err = createAccount(b, in.From.Account); err != nil {
				return err
			}
		}
		return in.flush(account)
	})
	if err != nil {
		return err
	}
	in.staged = true
	clear(in.puts)
	in.puts, in.index, in.size = in.puts[:0], nil, 0
	return nil
}

// flush writes what was added into the account's buckets.
func (in *Incoming) flush(account *bolt.Bucket) error {
	var b *bolt.Bucket
	var last Value
	for i, v := range in.puts {
		if i == 0 || !bytes.Equal(v.Bucket, last.Bucket) || !bytes.Equal(v.Within, last.Within) {
			b, last = account, v
			for _, name := range [][]byte{v.Bucket, v.Within} {
				if len(name) == 0 {
					continue
				}
				var err error
				if b, err = b.CreateBucketIfNotExists(name); err != nil {
					return err
				}
				b.FillPercent = 1 // they come in order
			}
		}
		if err := b.Put(v.Key, v.Content); err != nil {
			return err
		}
	}
	index, err := part(account, indexBucket)
	if err != nil {
		return err
	}
	slices.SortFunc(in.index, bytes.Compare)
	for _, key := range in.index {
		if err := index.Put(key, frame(nil, frameIndex, key)); err != nil {
			return err
		}
	}
	return nil
}

// arrive makes the account one of the store's, where there is none of its name.
func (in *Incoming) arrive(tx *bolt.Tx) error {
	accounts, name := tx.Bucket(accountsBucket), []byte(in.From.Account)
	if in.staged {
		if err := tx.MoveBucket(name, tx.Bucket(arrivingBucket), accounts); err != nil {
			return err
		}
	} else {
		account, err := createAccount(accounts, in.From.Account)
		if err != nil {
			return err
		}
		if err := in.flush(account); err != nil {
			return err
		}
	}
	if err := in.check(accounts.Bucket(name)); err != nil {
		return fmt.Errorf("%w: %s", errIncoming, err.Error()) // the content is wrong, not this store
	}
	return nil
}

// check demands that the account is whole, and the one that was noted.
func (in *Incoming) check(account *bolt.Bucket) error {
	p, err := readProgress(account)
	if err != nil {
		return err
	}
	if p.Commit != in.From.Commit || p.Mark() != in.From.Sum {
		return fmt.Errorf("it is as of commit %d, not %d", p.Commit, in.From.Commit)
	}
	if problems := checkAccount(context.Background(), account, in.From.Account); len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// AddAccount adds an account of another store under the name as, all of it or nothing, in the place
// of the one that there may be. ErrPartition if the file is that of a partition. The account is
// then Restored.
func (s *Store) AddAccount(from *Store, account, as string) (err error) {
	defer func() { err = plain(err); wrap(&err, "importing account %q into store %s", as, s.path) }()
	if err := store.CheckAccountName(as); err != nil {
		return err
	}
	if err := s.demand(false); err != nil {
		return err
	}
	in := &Incoming{From: PendingAccount{Account: as}, file: s.file}
	err = from.viewAccountLong(account, func(b *bolt.Bucket, p Progress) error {
		in.From.Commit, in.From.Sum = p.Commit, p.Mark()
		return (&AccountView{Progress: p, bucket: b}).Each(in.Put)
	})
	if err != nil {
		return err
	}
	if err := in.Put(Value{Key: restoredKey, Content: frame(nil, frameRestored, restoredKey)}); err != nil {
		return err
	}
	if in.staged {
		if err := in.stage(); err != nil {
			return err
		}
	}
	if err := s.o.step("import"); err != nil {
		return err
	}
	s.forget(as)
	return s.file.update(func(tx *bolt.Tx) error {
		accounts := tx.Bucket(accountsBucket)
		if accounts.Bucket([]byte(as)) != nil {
			if err := accounts.DeleteBucket([]byte(as)); err != nil {
				return err
			}
		}
		return in.arrive(tx)
	})
}

// Restored reports whether the account came out of a backup or an export and
// nothing was committed to it since: its mailbox may have moved on without it.
func (s *Store) Restored(account string) (restored bool, err error) {
	defer wrap(&err, "account %q of store %s", account, s.path)
	err = s.viewAccount(account, func(b *bolt.Bucket, _ Progress) (err error) {
		restored, err = isRestored(b)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, store.CheckAccountName(account)
	}
	return restored, err
}

func isRestored(account *bolt.Bucket) (restored bool, err error) {
	value := account.Get(restoredKey)
	if value == nil {
		return false, nil
	}
	if _, err := unframe(frameRestored, restoredKey, value); err != nil {
		return true, damage("mark of a restored account: %w", err)
	}
	return true, nil
}

// setRestored makes Restored true.
func setRestored(account *bolt.Bucket) error {
	return account.Put(restoredKey, frame(nil, frameRestored, restoredKey))
}

// Backup writes a copy of the file to w, as of one commit, while others go on committing, and
// returns the number of bytes written. A slow w makes the file grow, since pages are not reused
// while they are being copied, and keeps Compact and Close waiting.
func (s *Store) Backup(w io.Writer) (n int64, err error) {
	defer wrap(&err, "backing up store %s", s.path)
	err = s.file.copyOut(func(tx *bolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, err
}

// CopyAccount writes a store that holds one account alone to w, as of its last commit, while
// others go on committing. ErrNotFound if there is no such account, ErrPending if it is still to
// be taken over. The copy is first made beside the store, so that a slow w keeps nothing waiting.
func (s *Store) CopyAccount(account string, w io.Writer) (err error) {
	defer wrap(&err, "copying account %q of store %s", account, s.path)
	draft, err := draftName(s.path)
	if err != nil {
		return store.AsNoSpace(err)
	}
	defer func() { err = errors.Join(err, removeIfThere(draft)) }()
	if err := layOut(draft, nil); err != nil {
		return err
	}
	to, err := Open(draft, Options{NoSync: true, Hooks: s.o.Hooks})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := to.AddAccount(s, account, account); err != nil {
		return err
	}
	_, err = to.Backup(w)
	return err
}

// PendingAccount is an account that is still to be taken over.
type PendingAccount struct {
	Account string `cbor:"-"`
	// Commit and Sum tell which of the account's states it is; see Progress.Mark.
	Commit uint64 `cbor:"1,keyasint"`
	Sum    uint64 `cbor:"2,keyasint"`
	// From says where it comes from, in the words of whoever brings it.
	From []byte `cbor:"3,keyasint"`
	// Lessons is how many lessons it had learnt.
	Lessons uint64 `cbor:"4,keyasint,omitempty"`
}

// pendingValue returns the row of a pending account as it is in the file, or nil.
func pendingValue(tx *bolt.Tx, account string) []byte {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	return b.Get([]byte(account))
}

// readPending returns a pending account, and whether it is one.
func readPending(tx *bolt.Tx, account string) (p PendingAccount, ok bool, err error) {
	value := pendingValue(tx, account)
	if value == nil {
		return p, false, nil
	}
	p, err = decodePending(account, value)
	return p, true, err
}

func decodePending(account string, value []byte) (PendingAccount, error) {
	p := PendingAccount{Account: account}
	if err := decodeFramed(framePending, []byte(account), value, &p); err != nil {
		return p, damage("pending account %q: %w", account, err)
	}
	return p, nil
}

// eachPending hands the pending accounts to fn, ascending.
func eachPending(tx *bolt.Tx, fn func(PendingAccount) error) error {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	return b.ForEach(func(name, value []byte) error {
		p, err := decodePending(string(name), value)
		if err != nil {
			return err
		}
		return fn(p)
	})
}

// checkPending checks the rows of pending accounts, of which there are to be so many.
func checkPending(tx *bolt.Tx, waiting uint64, most int) (problems []error) {
	found := func(err error) { problems = append(problems, err) }
	seen := uint64(0)
	if b := tx.Bucket(pendingBucket); b != nil {
		var last []byte
		_ = b.ForEach(func(name, value []byte) error {
			seen++
			if _, err := decodePending(string(name), value); err != nil {
				found(err)
			} else if !inPlace(b, last, name) {
				found(fmt.Errorf("pending account %q is not in its place", name))
			}
			if accountBucket(tx, string(name)) != nil {
				found(fmt.Errorf("account %q is here and still to be taken over", name))
			}
			if last = name; len(problems) >= most {
				return errEnough
			}
			return nil
		})
	}
	if seen != waiting && len(problems) < most {
		found(fmt.Errorf("%d accounts are pending, there should be %d", seen, waiting))
	}
	return problems
}

// notePending notes in an empty store which accounts are to be taken over.
func notePending(ctx context.Context, tx *bolt.Tx, accounts []PendingAccount) error {
	pending, err := tx.CreateBucket(pendingBucket)
	if err != nil {
		return err
	}
	pending.FillPercent = 1 // in order
	for _, a := range accounts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := store.CheckAccountName(a.Account); err != nil {
			return fmt.Errorf("account %q: %w", a.Account, err)
		}
		payload, err := store.EncodeRow(a)
		if err != nil {
			return err
		}
		if err := pending.Put([]byte(a.Account), frame(nil, framePending, []byte(a.Account), payload)); err != nil {
			return err
		}
	}
	return nil
}

// TakeOver brings in an account that BeginTakeOver noted. It does nothing if that has happened
// already. bring adds to its argument what AccountView.Each gave elsewhere. All of it counts at
// once, or nothing does: it may be interrupted at any point and called again, but not twice at a
// time for one account. ErrNotFound if there is no such account, ErrChunk if what was brought
// does not make the account.
func (s *Store) TakeOver(account string, bring func(*Incoming) error) (err error) {
	defer func() {
		if errors.Is(err, errIncoming) {
			err = fmt.Errorf("%w: %w", store.ErrChunk, err)
		}
		wrap(&err, "taking over account %q into store %s", account, s.path)
	}()
	in := &Incoming{file: s.file}
	here := false
	err = s.file.view(func(tx *bolt.Tx) (err error) {
		var pending bool
		if in.From, pending, err = readPending(tx, account); err != nil || pending {
			return err
		}
		if here = accountBucket(tx, account) != nil; !here {
			return store.ErrNotFound
		}
		return nil
	})
	if err != nil || here {
		return err
	}
	if err := bring(in); err != nil {
		return err // what is left goes at the next try, or the next Open
	}
	if in.staged {
		// The bucket is moved in a transaction that does nothing else to it.
		if err := in.stage(); err != nil {
			return err
		}
	}
	if err := s.o.step("arrive"); err != nil {
		return err
	}
	return s.file.updateInGroup(in.size, func(tx *bolt.Tx) error {
		if err := in.arrive(tx); err != nil {
			return err
		}
		if err := tx.Bucket(pendingBucket).Delete([]byte(account)); err != nil {
			return err
		}
		row, err := readPosition(tx)
		if err != nil {
			return err
		}
		row.Waiting--
		return writePosition(tx, row)
	})
}

// Mark is Sum, and another number as long as features are due to go: these may go without a
// commit, after a Rewrite. Two files that have an account with equal Commit and Mark have the
// same of it.
func (p Progress) Mark() uint64 {
	if p.Base.Generation == 0 || p.Swept > p.Base.Commit {
		return p.Sum
	}
	return sumOf(p.Sum, p.Swept)
}
