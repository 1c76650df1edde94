// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"errors"
	"fmt"
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
	if problems := checkAccountFrames(account, in.From.Account); len(problems) > 0 {
		return problems[0]
	}
	for _, log := range []struct {
		name       []byte
		first, end uint64
	}{{redoBucket, p.Checkpoint.Commit + 1, p.Commit + 1}, {journalBucket, p.Base.Journal, p.Journal}, {lessonsBucket, p.LessonBase().Lesson, p.Lesson}} {
		if err := verifyNumbers(account, log.name, log.first, log.end); err != nil {
			return err
		}
	}
	return nil
}

// AddAccount adds an account of another store under the name as, all of it or nothing. ErrExists
// if there is such an account, unless it is to be replaced; ErrPartition if the file is that of a
// partition. The account is then Restored.
func (s *Store) AddAccount(from *Store, account, as string, replace bool) (err error) {
	defer func() { err = plain(err); wrap(&err, "importing account %q into store %s", as, s.path) }()
	if err := errors.Join(store.CheckAccountName(as), s.demand(false)); err != nil {
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
			if !replace {
				return store.ErrExists
			}
			if err := accounts.DeleteBucket([]byte(as)); err != nil {
				return err
			}
		}
		return in.arrive(tx)
	})
}
