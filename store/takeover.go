package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// BeginRestore forgets all that the store has of p, if anything, and notes in the
// same transaction that p is as m says, with all of its accounts still to come
// in: an account's state by RestoreState, before anything else can be done with
// it, its logs by RestoreLogs. Until then what is not here gives ErrPending.
//
// ErrPartition if an account of m belongs elsewhere.
func (s *Store) BeginRestore(p Partition, m Manifest) error {
	err := p.check()
	if err == nil && m.Partition != p {
		err = fmt.Errorf("it is a manifest of %v", m.Partition)
	}
	var dropped []string
	if err == nil {
		err = s.o.step("begin restore")
	}
	if err == nil {
		err = s.update(func(tx *bolt.Tx) (err error) {
			if dropped, err = dropPartition(tx, p); err != nil {
				return err
			}
			return beginRestore(tx, m)
		})
	}
	if err != nil {
		return fmt.Errorf("taking over %v at offset %d into store %s: %w", p, m.Next, s.path, err)
	}
	for _, name := range dropped {
		s.forget(name)
	}
	return nil
}

func beginRestore(tx *bolt.Tx, m Manifest) error {
	b, err := createPartition(tx, m.Partition, positionRow{m.Next, m.Partitions})
	if err != nil {
		return err
	}
	members, err := part(b, membersBucket)
	if err != nil {
		return err
	}
	pending, err := tx.CreateBucketIfNotExists(pendingBucket)
	if err != nil {
		return err
	}
	members.FillPercent = 1 // in order
	for _, a := range m.Accounts {
		err := checkAccountName(a.Account)
		if err == nil && (accountBucket(tx, a.Account) != nil || pending.Get([]byte(a.Account)) != nil) {
			err = ErrPartition
		}
		if err == nil {
			err = putMember(members, a.Account)
		}
		if err == nil {
			err = writePending(pending, a.Account, pendingRow{
				Partition: m.Partition.key(), Commit: a.Commit, Sum: a.Sum, State: joinIDs(a.State), Logs: joinIDs(a.Logs),
			})
		}
		if err != nil {
			return fmt.Errorf("account %q: %w", a.Account, err)
		}
	}
	return nil
}

// RestoreState brings in the state of an account of p that BeginRestore noted,
// with get for its chunks; the account then is as it was, but for its logs. It
// does nothing if that has happened already. It may be interrupted at any point
// and called again, also by several at once.
//
// Every chunk is checked against its ID: ErrChunk, with the account and the
// chunk, if one is wrong or they do not make the account. An error of get is
// returned with them too. ErrNotFound if p has no such account.
func (s *Store) RestoreState(p Partition, account string, get func(ChunkID) ([]byte, error)) error {
	return s.restore("state", p, account, func() error { return s.restoreState(p, account, get) })
}

// RestoreLogs brings in what RestoreState did not: the journal, the lessons, the
// features and the states that a replay begins with, below what was committed
// meanwhile. It calls for the state too, if that is not here. Else it is like
// RestoreState; commits to the account may go on meanwhile.
func (s *Store) RestoreLogs(p Partition, account string, get func(ChunkID) ([]byte, error)) error {
	if err := s.RestoreState(p, account, get); err != nil {
		return err
	}
	return s.restore("logs", p, account, func() error { return s.restoreLogs(p, account, get) })
}

// restore runs do unless it is running for the same account; then it waits for
// that.
func (s *Store) restore(what string, p Partition, account string, do func() error) error {
	_, err, _ := s.arriving.Do(what+"\x00"+string(p.key())+"\x00"+account, func() (any, error) { return nil, do() })
	if err != nil {
		return fmt.Errorf("taking over the %s of account %q of %v into store %s: %w", what, account, p, s.path, err)
	}
	return nil
}

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

// pendingAccount returns the row of an account of p that has not all come in; ok
// is false if it has.
func (s *Store) pendingAccount(p Partition, account string) (row pendingRow, ok bool, err error) {
	err = s.view(func(tx *bolt.Tx) (err error) {
		if !isMember(tx, p, account) {
			return ErrNotFound
		}
		row, ok, err = readPending(tx, account)
		return err
	})
	return row, ok, err
}

func (s *Store) restoreState(p Partition, account string, get func(ChunkID) ([]byte, error)) (err error) {
	row, ok, err := s.pendingAccount(p, account)
	if err != nil || !ok || row.Here {
		return err
	}
	ids, err := splitIDs(row.State)
	if err != nil || len(ids) == 0 {
		return errors.Join(err, ErrChunk)
	}
	a := &arrival{store: s, account: account, row: row}
	defer func() {
		if err != nil && a.staged { // what is left after all goes at the next Open
			err = errors.Join(err, s.update(func(tx *bolt.Tx) error { return a.unstage(tx) }))
		}
	}()
	// The head comes last, and says what the others are.
	last := &lastChunk{get: get, id: ids[len(ids)-1]}
	var head accountHead
	r := chunkReader{get: last.read, amid: true}
	if err := r.read(last.id, func(it chunkItem) (err error) { head, err = headIn(it, head); return err }); err != nil {
		return err
	}
	if err := head.check(row); err != nil {
		return err
	}
	r = chunkReader{get: last.read}
	for _, id := range ids {
		if err := r.read(id, func(it chunkItem) error { return a.stateItem(it, head) }); err != nil {
			return err
		}
		if a.size >= s.o.arrival {
			if err := a.stage(); err != nil {
				return err
			}
		}
	}
	if err := r.end(); err != nil {
		return err
	}
	if a.staged {
		// The bucket is moved in a transaction that does nothing else to it.
		if err := a.stage(); err != nil {
			return err
		}
	}
	if err := s.o.step("state"); err != nil {
		return err
	}
	s.forget(account)
	return s.update(func(tx *bolt.Tx) error { return a.arrive(tx, head) })
}

// lastChunk keeps the last chunk of a state, which is wanted twice.
type lastChunk struct {
	get    func(ChunkID) ([]byte, error)
	id     ChunkID
	packed []byte
}

func (l *lastChunk) read(id ChunkID) ([]byte, error) {
	if id != l.id {
		return l.get(id)
	}
	if l.packed == nil {
		packed, err := l.get(id)
		if err != nil {
			return nil, err
		}
		l.packed = bytes.Clone(packed)
	}
	return l.packed, nil
}

func headIn(it chunkItem, head accountHead) (accountHead, error) {
	if it.kind != itemHead {
		return head, nil
	}
	if err := rowDecoding.Unmarshal(it.content, &head); err != nil {
		return head, fmt.Errorf("%w: its head: %w", ErrChunk, err)
	}
	return head, nil
}

// check demands that a head is that of the account in row.
func (h accountHead) check(row pendingRow) error {
	p := h.Progress
	if p.Commit == 0 || p.Commit != row.Commit || p.Sum != row.Sum {
		return fmt.Errorf("%w: the state is of commit %d, not %d", ErrChunk, p.Commit, row.Commit)
	}
	for _, of := range p.kept() {
		if of.Generation > uint64(len(h.Names)) || of.Commit > p.Commit || of.Journal > p.Journal || of.Lesson > p.Lesson {
			return fmt.Errorf("%w: its head is senseless", ErrChunk)
		}
	}
	return nil
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
	a.row.Here = true
	return errors.Join(writeProgress(account, p), writePending(tx.Bucket(pendingBucket), a.account, a.row))
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

func (s *Store) restoreLogs(p Partition, account string, get func(ChunkID) ([]byte, error)) error {
	row, ok, err := s.pendingAccount(p, account)
	if err != nil || !ok {
		return err
	}
	ids, err := splitIDs(row.Logs)
	if err != nil {
		return unsound(err)
	}
	here, err := splitIDs(row.State)
	if err != nil {
		return unsound(err)
	}
	var missing pendingLogs
	err = s.viewAccount(account, func(_ *bolt.Bucket, at progress) error {
		if at.Pending == nil {
			return damage("pending, and all there")
		}
		missing = *at.Pending
		return nil
	})
	if err != nil {
		return err
	}
	a := &arrival{store: s, account: account, row: row}
	r := chunkReader{get: get}
	for _, id := range ids {
		if slices.Contains(here, id) {
			continue // a snapshot that came in as the checkpoint
		}
		if err := r.read(id, func(it chunkItem) error { return a.logItem(it, missing) }); err != nil {
			return err
		}
		if a.size < s.o.arrival {
			continue
		}
		if err := s.o.step("logs"); err != nil {
			return err
		}
		err := s.update(func(tx *bolt.Tx) error {
			if err := a.current(tx); err != nil {
				return err
			}
			return a.flush(accountBucket(tx, account))
		})
		if err != nil {
			return err
		}
		a.flushed()
	}
	if err := r.end(); err != nil {
		return err
	}
	if err := s.o.step("complete"); err != nil {
		return err
	}
	return s.update(a.complete)
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
