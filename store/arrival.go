package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// arrival is an account on its way in.
type arrival struct {
	store   *Store
	account string
	row     pendingRow
	puts    []arrived
	index   [][]byte // keys of featureindex
	size    int
	staged  bool // some of it is in arrivingBucket
}

// arrived is one value on its way into a bucket of the account, or, where within
// is set, into a bucket of that bucket.
type arrived struct {
	bucket, within []byte
	key, value     []byte
}

func (a *arrival) add(v arrived) {
	a.puts = append(a.puts, v)
	a.size += len(v.key) + len(v.value)
}

// flush writes what was added into the account's buckets.
func (a *arrival) flush(account *bolt.Bucket) error {
	var b *bolt.Bucket
	var last arrived
	for _, v := range a.puts {
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
	slices.SortFunc(a.index, bytes.Compare)
	for _, key := range a.index {
		if err := index.Put(key, frame(nil, frameIndex, key)); err != nil {
			return err
		}
	}
	return nil
}

// flushed forgets what a transaction has brought in.
func (a *arrival) flushed() {
	clear(a.puts)
	a.puts, a.index, a.size = a.puts[:0], nil, 0
}

// current demands that the account is still the one that began to come in.
func (a *arrival) current(tx *bolt.Tx) error {
	row, ok, err := readPending(tx, a.account)
	if err != nil {
		return err
	}
	if !ok || !bytes.Equal(row.Partition, a.row.Partition) || row.Here != a.row.Here || row.Commit != a.row.Commit || row.Sum != a.row.Sum ||
		!bytes.Equal(row.State, a.row.State) || !bytes.Equal(row.Logs, a.row.Logs) {
		return fmt.Errorf("%w: the partition was dropped or taken over anew meanwhile", ErrStale)
	}
	return nil
}

// snapshotItem adds an item of a snapshot that has the given generation here.
func (a *arrival) snapshotItem(it chunkItem, generation uint64) {
	v := arrived{bucket: snapshotsBucket, within: key64(generation)}
	if it.kind == itemManifest {
		v.key, v.value = manifestKey, frame(nil, frameManifest, manifestName(generation), it.content)
	} else {
		n := uint32(it.b)
		v.key, v.value = key32(n), frame(nil, frameChunk, chunkName(generation, n), it.content)
	}
	a.add(v)
}

// stateItem adds an item of the state.
func (a *arrival) stateItem(it chunkItem, head accountHead) error {
	checkpoint := head.Progress.Checkpoint
	switch {
	case it.kind == itemHead:
		return nil
	case it.kind == itemRedo && it.a > checkpoint.Commit && it.a <= head.Progress.Commit:
		key := key64(it.a)
		a.add(arrived{bucket: redoBucket, key: key, value: frame(nil, frameRedo, key, it.content)})
		return nil
	case (it.kind == itemManifest || it.kind == itemRecord) && checkpoint.Generation != 0 && it.a == head.Names[checkpoint.Generation-1]:
		a.snapshotItem(it, checkpoint.Generation)
		return nil
	}
	return misplaced(it)
}

func misplaced(it chunkItem) error {
	return fmt.Errorf("%w: it holds item %q %d %d, which has no place in it", ErrChunk, it.kind, it.a, it.b)
}

// stage writes what has come in of a large account to arrivingBucket.
func (a *arrival) stage() error {
	if err := a.store.o.step("stage"); err != nil {
		return err
	}
	err := a.store.update(func(tx *bolt.Tx) error {
		if err := a.current(tx); err != nil {
			return err
		}
		if !a.staged {
			if err := a.unstage(tx); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucketIfNotExists(arrivingBucket)
		if err != nil {
			return err
		}
		account := b.Bucket([]byte(a.account))
		if account == nil {
			if account, err = createAccount(b, a.account); err != nil {
				return err
			}
		}
		a.staged = true
		return a.flush(account)
	})
	if err == nil {
		a.flushed()
	}
	return err
}

// unstage clears away what is in arrivingBucket of the account.
func (a *arrival) unstage(tx *bolt.Tx) error {
	b := tx.Bucket(arrivingBucket)
	if b == nil || b.Bucket([]byte(a.account)) == nil {
		return nil
	}
	return b.DeleteBucket([]byte(a.account))
}

// arrive makes the account one of the store's.
func (a *arrival) arrive(tx *bolt.Tx, head accountHead) error {
	if err := a.current(tx); err != nil {
		return err
	}
	accounts := tx.Bucket(accountsBucket)
	if a.staged {
		if err := tx.MoveBucket([]byte(a.account), tx.Bucket(arrivingBucket), accounts); err != nil {
			return err
		}
	} else {
		account, err := createAccount(accounts, a.account)
		if err == nil {
			err = a.flush(account)
		}
		if err != nil {
			return err
		}
	}
	account := accounts.Bucket([]byte(a.account))
	p := head.Progress
	p.Partition = a.row.Partition
	p.Pending = &pendingLogs{Commit: p.Commit, Journal: p.Journal, Lesson: p.Lesson}
	for i, name := range head.Names {
		if generation := uint64(i) + 1; generation != p.Checkpoint.Generation {
			p.Pending.Snapshots = append(p.Pending.Snapshots, snapshotName{generation, name})
		}
	}
	if err := checkArrived(account, p); err != nil {
		return err
	}
	row := a.row // a keeps its own: this may be called again
	row.Here = true
	return errors.Join(writeProgress(account, p), writePending(tx.Bucket(pendingBucket), a.account, row))
}

// checkArrived demands that the state is whole, as Load will.
func checkArrived(account *bolt.Bucket, p progress) error {
	err := verifyNumbers(account, redoBucket, p.Checkpoint.Commit+1, p.Commit+1)
	if err == nil && p.Checkpoint.Generation != 0 {
		_, err = readSnapshot(account, p.Checkpoint.Generation, func([]byte) error { return nil })
	}
	return unsound(err)
}

// unsound says of what came in whole, but does not fit together, that the chunks
// are wrong and not this store.
func unsound(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrChunk, err.Error()) // it may be ErrDamaged, which the store is not
}

// logItem adds an item of the logs.
func (a *arrival) logItem(it chunkItem, missing pendingLogs) error {
	key := key64(it.a)
	switch {
	case it.kind == itemJournal && it.a < missing.Journal:
		a.add(arrived{bucket: journalBucket, key: key, value: frame(nil, frameJournal, key, it.content)})
		return nil
	case it.kind == itemLesson && it.a < missing.Lesson:
		a.add(arrived{bucket: lessonsBucket, key: key, value: frame(nil, frameLesson, key, it.content)})
		return nil
	case it.kind == itemFeatures && it.a <= missing.Commit && len(it.content) >= len(MessageKey{}):
		key = append(key, key32(uint32(it.b))...)
		a.add(arrived{bucket: featuresBucket, key: key, value: frame(nil, frameFeature, key, it.content)})
		a.index = append(a.index, indexKey(MessageKey(it.content), key))
		return nil
	case it.kind == itemNames && it.a <= missing.Commit && len(it.content) >= clockSize:
		key = append(key, key32(uint32(it.b))...)
		a.add(arrived{bucket: namesBucket, key: key, value: frame(nil, frameNames, key, it.content)})
		return nil
	case it.kind == itemManifest || it.kind == itemRecord:
		for _, s := range missing.Snapshots {
			if s.Name == it.a {
				a.snapshotItem(it, s.Generation)
				return nil
			}
		}
	}
	return misplaced(it)
}

// complete brings in what is left and ends the account's being pending.
func (a *arrival) complete(tx *bolt.Tx) error {
	if err := a.current(tx); err != nil {
		return err
	}
	account := accountBucket(tx, a.account)
	if err := a.flush(account); err != nil {
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
	for _, of := range p.kept() {
		if of.Generation != 0 && err == nil {
			_, err = readSnapshot(account, of.Generation, func([]byte) error { return nil })
		}
	}
	if err == nil {
		err = verifyNumbers(account, journalBucket, p.Base.Journal, p.Journal)
	}
	if err == nil {
		err = verifyNumbers(account, lessonsBucket, p.lessonBase().Lesson, p.Lesson)
	}
	if err != nil {
		return unsound(err)
	}
	return errors.Join(writeProgress(account, p), tx.Bucket(pendingBucket).Delete([]byte(a.account)))
}
