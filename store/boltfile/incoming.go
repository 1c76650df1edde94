// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// Incoming is an account on its way in. Not safe for concurrent use.
type Incoming struct {
	// From says where the account comes from.
	From PendingAccount
	// Missing says which of the logs are to come in, once the state has; else nil.
	Missing *PendingLogs

	file   *file
	puts   []incomingValue
	index  [][]byte // keys of featureindex
	size   int
	staged bool // some of it is in arrivingBucket
}

// incomingValue is one value on its way into a bucket of the account, or, where
// within is set, into a bucket of that bucket.
type incomingValue struct {
	bucket, within []byte
	key, value     []byte
}

func (in *Incoming) add(v incomingValue) {
	in.puts = append(in.puts, v)
	in.size += len(v.key) + len(v.value)
}

// Entry adds an entry of a log, with what AccountView.Entries gave. It reports whether
// that can be one.
func (in *Incoming) Entry(log Log, number, position uint64, payload []byte) bool {
	key := key64(number)
	if log.key == 12 {
		key = append(key, key32(uint32(position))...)
	}
	switch log.kind {
	case frameFeature:
		if len(payload) < len(store.MessageKey{}) {
			return false
		}
		in.index = append(in.index, indexKey(store.MessageKey(payload), key))
	case frameNames:
		if len(payload) < clockSize {
			return false
		}
	}
	in.add(incomingValue{bucket: log.bucket, key: key, value: frame(nil, log.kind, key, payload)})
	return true
}

// Manifest adds the manifest of a saved state, which has the given generation here.
func (in *Incoming) Manifest(generation uint64, payload []byte) {
	in.add(incomingValue{
		bucket: snapshotsBucket, within: key64(generation),
		key: manifestKey, value: frame(nil, frameManifest, manifestName(generation), payload),
	})
}

// Record adds record n, from 0, of a saved state.
func (in *Incoming) Record(generation uint64, n uint32, record []byte) {
	in.add(incomingValue{
		bucket: snapshotsBucket, within: key64(generation),
		key: key32(n), value: frameChunkOf(chunkName(generation, n), record),
	})
}

// Flush writes what was added, if that has become much, so that it does not all
// have to be in memory. It does not count before the rest has come in, too.
func (in *Incoming) Flush() error {
	switch {
	case in.size < in.file.o.Hooks.Incoming:
		return nil
	case in.Missing == nil:
		return in.stage()
	}
	if err := in.file.o.step("logs"); err != nil {
		return err
	}
	err := in.update(func(tx *bolt.Tx) error {
		if err := in.current(tx); err != nil {
			return err
		}
		return in.flush(accountBucket(tx, in.From.Account))
	})
	if err != nil {
		return err
	}
	in.flushed()
	return nil
}

// flush writes what was added into the account's buckets.
func (in *Incoming) flush(account *bolt.Bucket) error {
	var b *bolt.Bucket
	var last incomingValue
	for _, v := range in.puts {
		if b == nil || !bytes.Equal(v.bucket, last.bucket) || !bytes.Equal(v.within, last.within) {
			var err error
			if b, err = part(account, v.bucket); err != nil {
				return err
			}
			if v.within != nil {
				if b, err = b.CreateBucketIfNotExists(v.within); err != nil {
					return err
				}
			}
			b.FillPercent = 1 // they come in order
			last = v
		}
		if err := b.Put(v.key, v.value); err != nil {
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

// update is that of the file, which may have been dropped.
func (in *Incoming) update(fn func(*bolt.Tx) error) error { return in.overtaken(in.file.update(fn)) }

// overtaken is the error of a transaction on the file, which may have been dropped.
func (in *Incoming) overtaken(err error) error {
	if err != nil && in.file.dropped.Load() {
		return fmt.Errorf("%w: the partition was dropped or taken over anew meanwhile", store.ErrStale)
	}
	return err
}

// flushed forgets what a transaction has brought in.
func (in *Incoming) flushed() {
	clear(in.puts)
	in.puts, in.index, in.size = in.puts[:0], nil, 0
}

// current demands that the account is still the one that began to come in.
func (in *Incoming) current(tx *bolt.Tx) error {
	p, ok, err := readPending(tx, in.From.Account)
	if err != nil {
		return err
	}
	if !ok || !p.same(in.From) {
		return fmt.Errorf("%w: the partition was dropped or taken over anew meanwhile", store.ErrStale)
	}
	return nil
}

// stage writes what has come in of a large account to arrivingBucket.
func (in *Incoming) stage() error {
	if err := in.file.o.step("stage"); err != nil {
		return err
	}
	err := in.update(func(tx *bolt.Tx) error {
		if err := in.current(tx); err != nil {
			return err
		}
		if !in.staged {
			if err := in.unstage(tx); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucketIfNotExists(arrivingBucket)
		if err != nil {
			return err
		}
		account := b.Bucket([]byte(in.From.Account))
		if account == nil {
			if account, err = createAccount(b, in.From.Account); err != nil {
				return err
			}
		}
		in.staged = true
		return in.flush(account)
	})
	if err != nil {
		return err
	}
	in.flushed()
	return nil
}

// unstage clears away what is in arrivingBucket of the account.
func (in *Incoming) unstage(tx *bolt.Tx) error {
	b := tx.Bucket(arrivingBucket)
	if b == nil || b.Bucket([]byte(in.From.Account)) == nil {
		return nil
	}
	return b.DeleteBucket([]byte(in.From.Account))
}

// arrive makes the account one of the store's, standing at p.
func (in *Incoming) arrive(tx *bolt.Tx, p Progress) error {
	if err := in.current(tx); err != nil {
		return err
	}
	account, err := in.settle(tx)
	if err != nil {
		return err
	}
	p.Partition = in.From.Partition
	if err := checkArrived(account, p); err != nil {
		return err
	}
	if err := writeProgress(account, p); err != nil {
		return err
	}
	from := in.From // in keeps its own: this may be called again
	from.Here = true
	return writePending(tx.Bucket(pendingBucket), from)
}

// settle brings all that was added to where accounts are, and returns the account.
func (in *Incoming) settle(tx *bolt.Tx) (*bolt.Bucket, error) {
	accounts, name := tx.Bucket(accountsBucket), []byte(in.From.Account)
	if in.staged {
		if err := tx.MoveBucket(name, tx.Bucket(arrivingBucket), accounts); err != nil {
			return nil, err
		}
		return accounts.Bucket(name), nil
	}
	account, err := createAccount(accounts, in.From.Account)
	if err != nil {
		return nil, err
	}
	return account, in.flush(account)
}

// checkArrived demands that the state is whole, as Load will.
func checkArrived(account *bolt.Bucket, p Progress) error {
	if err := verifyNumbers(account, redoBucket, p.Checkpoint.Commit+1, p.Commit+1); err != nil {
		return unsound(err)
	}
	if p.Checkpoint.Generation == 0 {
		return nil
	}
	err := readSaved(account, p.Checkpoint.Generation, func([]byte) error { return nil })
	return unsound(err)
}

// unsound marks an error in content that arrived whole but contradicts itself: the content is
// wrong, not this store.
func unsound(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", store.ErrChunk, err.Error()) // it may be ErrDamaged, which the store is not
}

// complete brings in what is left and ends the account's being pending.
func (in *Incoming) complete(tx *bolt.Tx) error {
	if err := in.current(tx); err != nil {
		return err
	}
	account := accountBucket(tx, in.From.Account)
	if err := in.flush(account); err != nil {
		return err
	}
	p, err := readProgress(account)
	if err != nil {
		return err
	}
	p.Pending = nil
	if p.NextBase.Generation == 0 {
		p.NextBase = p.Checkpoint // of which there may have been the first meanwhile
	}
	if err := checkComplete(account, p); err != nil {
		return unsound(err)
	}
	if err := writeProgress(account, p); err != nil {
		return err
	}
	return tx.Bucket(pendingBucket).Delete([]byte(in.From.Account))
}

// checkComplete demands that all that p names is there.
func checkComplete(account *bolt.Bucket, p Progress) error {
	for _, of := range p.Saved() {
		if of.Generation == 0 {
			continue
		}
		if err := readSaved(account, of.Generation, func([]byte) error { return nil }); err != nil {
			return err
		}
	}
	if err := verifyNumbers(account, journalBucket, p.Base.Journal, p.Journal); err != nil {
		return err
	}
	return verifyNumbers(account, lessonsBucket, p.LessonBase().Lesson, p.Lesson)
}
