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
	outer := &outerChunks{get: get, ids: [2]ChunkID{ids[0], ids[len(ids)-1]}}
	if err := outer.fetch(); err != nil {
		return err
	}
	var head accountHead
	r := chunkReader{get: outer.read, amid: true}
	if err := r.read(ids[len(ids)-1], func(it chunkItem) (err error) { head, err = headIn(it, head); return err }); err != nil {
		return err
	}
	if err := head.check(row); err != nil {
		return err
	}
	r = chunkReader{get: outer.read}
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
	return s.updateTogether(a.size, func(tx *bolt.Tx) error { return a.arrive(tx, head) })
}

// outerChunks keeps the first and the last chunk of a state: the last is read
// before the others, and the first fetched before the last, since chunks that were
// put one after another are cheapest to get in that order.
type outerChunks struct {
	get         func(ChunkID) ([]byte, error)
	ids         [2]ChunkID
	first, last []byte
}

func (o *outerChunks) fetch() error {
	for i, packed := range []*[]byte{&o.first, &o.last} {
		got, err := o.get(o.ids[i])
		if err != nil {
			return fmt.Errorf("chunk %v: %w", o.ids[i], err)
		}
		*packed = bytes.Clone(got)
		if o.ids[0] == o.ids[1] {
			o.last = o.first
			break
		}
	}
	return nil
}

func (o *outerChunks) read(id ChunkID) ([]byte, error) {
	switch id {
	case o.ids[0]:
		return o.first, nil
	case o.ids[1]:
		return o.last, nil
	}
	return o.get(id)
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
	if p.Commit == 0 || p.Commit != row.Commit || p.dumpSum() != row.Sum {
		return fmt.Errorf("%w: the state is of commit %d, not %d", ErrChunk, p.Commit, row.Commit)
	}
	for _, of := range p.kept() {
		if of.Generation > uint64(len(h.Names)) || of.Commit > p.Commit || of.Journal > p.Journal || of.Lesson > p.Lesson {
			return fmt.Errorf("%w: its header is invalid", ErrChunk)
		}
	}
	return nil
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
	return s.updateTogether(a.size, a.complete)
}
