package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Dump writes everything of the accounts of p as chunks, and returns the
// manifest that names them, as of one commit of p, while others go on
// committing. put gets each chunk that before, which may be nil, does not name
// for the account already; it must not keep the bytes. An account that is in
// before as it stands is not even read. Equal accounts give equal chunks.
//
// A log that has grown since before keeps the chunks that it had, but for some
// small ones at its end. An account that was taken over and has not all come in
// yet keeps the chunks that it comes from.
//
// Dump holds one chunk in memory at a time. It is one long read: a slow put
// makes the file grow, as Backup does, and keeps Compact and Close waiting. An
// error of put ends it. ErrNotFound if the store does not know p.
func (s *Store) Dump(p Partition, before *Manifest, put func(ChunkID, []byte) error) (Manifest, error) {
	var m Manifest
	err := s.copyOut(func(tx *bolt.Tx) (err error) {
		m, err = dump(tx, p, before, put)
		release(tx)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("dumping %v of store %s: %w", p, s.path, plain(err))
	}
	return m, nil
}

func dump(tx *bolt.Tx, p Partition, before *Manifest, put func(ChunkID, []byte) error) (m Manifest, err error) {
	b := partitionBucket(tx, p)
	if b == nil {
		return m, ErrNotFound
	}
	row, err := readPosition(b)
	if err != nil {
		return m, err
	}
	names, err := membersOf(b)
	if err != nil {
		return m, err
	}
	c, err := newChunker(put)
	if err != nil {
		return m, err
	}
	m = Manifest{Partition: p, Next: row.Next, Partitions: row.Partitions, Accounts: make([]AccountChunks, 0, len(names))}
	for _, name := range names {
		was, _ := before.account(name)
		is, err := dumpAccount(tx, name, was, c)
		if err != nil {
			return m, fmt.Errorf("account %q: %w", name, err)
		}
		m.Accounts = append(m.Accounts, is)
	}
	return m, nil
}

func dumpAccount(tx *bolt.Tx, name string, was AccountChunks, c *chunker) (is AccountChunks, err error) {
	row, pending, err := readPending(tx, name)
	if err != nil {
		return is, err
	}
	var from PendingAccount
	if pending {
		if from, err = row.pending(name); err != nil {
			return is, damage("%w", err)
		}
		if !row.Here {
			return from.AccountChunks, nil
		}
	}
	account := accountBucket(tx, name)
	if account == nil {
		return is, damage("it is missing")
	}
	at, err := readProgress(account)
	if err != nil {
		return is, err
	}
	is = AccountChunks{Account: name, Commit: at.Commit, Sum: at.dumpSum()}
	for _, known := range []AccountChunks{was, from.AccountChunks} {
		if is.same(known) {
			return known, nil
		}
	}
	clear(c.known)
	for _, ids := range [][]ChunkID{was.State, was.Logs, from.State, from.Logs} {
		for _, id := range ids {
			c.known[id] = struct{}{}
		}
	}
	d := accountDump{account: account, at: at, chunks: c, read: meter{tx: tx}, snapshots: map[uint64]dumpedSnapshot{}}
	if is.State, err = d.state(); err != nil {
		return is, err
	}
	logs, err := d.logs()
	is.Logs = slices.Clone(from.Logs)
	for _, id := range logs {
		if !slices.Contains(from.Logs, id) {
			is.Logs = append(is.Logs, id)
		}
	}
	return is, err
}

// dumpSum is Sum, and another one as long as features are due to go: they may go
// without a commit, after a Rewrite, and must not be carried over then.
func (p progress) dumpSum() uint64 {
	if p.Base.Generation == 0 || p.Swept > p.Base.Commit {
		return p.Sum
	}
	h := fnv.New64a()
	h.Write(key64(p.Sum))
	h.Write(key64(p.Swept))
	return h.Sum64()
}

// accountDump cuts one account into chunks.
type accountDump struct {
	account   *bolt.Bucket
	at        progress
	chunks    *chunker
	read      meter
	snapshots map[uint64]dumpedSnapshot // those cut so far, by generation
}

type dumpedSnapshot struct {
	name   uint64
	chunks []ChunkID
}

// accountHead is what the chunks of a state end with. Its snapshots are numbered
// anew, from 1 in the order of names.
type accountHead struct {
	Progress progress `cbor:"1,keyasint"`
	Names    []uint64 `cbor:"2,keyasint,omitempty"` // that chunks have for the snapshots
}

// state cuts the checkpoint, the redo log and, last, the head.
func (d *accountDump) state() (ids []ChunkID, err error) {
	if d.at.Checkpoint.Generation != 0 {
		s, err := d.snapshot(d.at.Checkpoint.Generation)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.chunks...)
	}
	first := d.at.Checkpoint.Commit + 1
	rest, err := d.log(cutRedo, first, first, d.at.Commit+1)
	if err == nil {
		err = d.items(cutRedo, rest, d.at.Commit+1)
	}
	if err != nil {
		return nil, err
	}
	head, err := d.head()
	if err != nil {
		return nil, err
	}
	payload, err := rowEncoding.Marshal(head)
	if err == nil {
		err = d.chunks.item(itemHead, 0, 0, payload)
	}
	if err == nil {
		err = d.chunks.cut()
	}
	return append(ids, d.chunks.take()...), err
}

// head returns where the account stands, without what is this file's own.
func (d *accountDump) head() (h accountHead, err error) {
	h.Progress = d.at
	for _, of := range h.Progress.kept() {
		if of.Generation == 0 {
			continue
		}
		name, err := d.nameOf(of.Generation)
		if err != nil {
			return h, err
		}
		i := slices.Index(h.Names, name)
		if i < 0 {
			i = len(h.Names)
			h.Names = append(h.Names, name)
		}
		of.Generation = uint64(i) + 1
	}
	h.Progress.Generation = uint64(len(h.Names))
	h.Progress.Partition, h.Progress.Pending = nil, nil
	return h, nil
}

// nameOf returns what chunks call a snapshot, in the file or still to come.
func (d *accountDump) nameOf(generation uint64) (uint64, error) {
	if d.at.Pending != nil {
		for _, s := range d.at.Pending.Snapshots {
			if s.Generation == generation {
				return s.Name, nil
			}
		}
	}
	m, _, err := readManifest(d.account, generation)
	return m.name(), err
}

// name is what chunks call a snapshot: it follows from the content, whatever the
// snapshot's number, so that what was a checkpoint yesterday is in the same
// chunks today as a base.
func (m manifest) name() uint64 {
	rows := uint64(0)
	for _, n := range m.Rows {
		rows += n
	}
	return uint64(m.CRC)<<32 | rows&0xffffffff
}

// logs cuts the snapshots that a replay begins with and the logs, without what
// comes from elsewhere still.
func (d *accountDump) logs() (ids []ChunkID, err error) {
	journal, lessons, features := d.at.Base.Journal, d.at.lessonBase().Lesson, uint64(1)
	if d.at.Pending != nil {
		journal, lessons, features = d.at.Pending.Journal, d.at.Pending.Lesson, d.at.Pending.Commit+1
	}
	for _, of := range d.at.kept()[1:] {
		if of.Generation == 0 || d.at.awaits(*of) {
			continue
		}
		s, err := d.snapshot(of.Generation)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.chunks...)
	}
	rests := []struct {
		cut        logCut
		first, end uint64
		rest       uint64
	}{
		{cutJournal, journal, d.at.Journal, 0},
		{cutLessons, lessons, d.at.Lesson, 0},
		{cutFeatures, features, d.at.Commit + 1, 0},
		{cutNames, features, d.at.Commit + 1, 0},
	}
	for i := range rests {
		r := &rests[i]
		if r.rest, err = d.log(r.cut, 1, r.first, r.end); err != nil {
			return nil, err
		}
	}
	// What is left of them shares a chunk.
	for _, r := range rests {
		if err := d.items(r.cut, r.rest, r.end); err != nil {
			return nil, err
		}
	}
	err = d.chunks.cut()
	return append(ids, d.chunks.take()...), err
}

// snapshot cuts a snapshot into chunks of its own.
func (d *accountDump) snapshot(generation uint64) (s dumpedSnapshot, err error) {
	if s, ok := d.snapshots[generation]; ok {
		return s, nil
	}
	m, payload, err := readManifest(d.account, generation)
	if err != nil {
		return s, err
	}
	s.name = m.name()
	if err := d.chunks.item(itemManifest, s.name, 0, payload); err != nil {
		return s, err
	}
	n := uint64(0)
	_, err = readSnapshot(d.account, generation, func(record []byte) error {
		n++
		return d.chunks.item(itemRecord, s.name, n-1, record)
	})
	if err == nil {
		err = d.chunks.cut()
	}
	s.chunks = d.chunks.take()
	d.snapshots[generation] = s
	return s, err
}

// log cuts the blocks of a log into chunks and returns where the rest begins.
func (d *accountDump) log(cut logCut, origin, first, end uint64) (rest uint64, err error) {
	return cut.blocks(origin, first, end, func(from, to uint64) error {
		if err := d.items(cut, from, to); err != nil {
			return err
		}
		return d.chunks.cut()
	})
}

// items appends the entries with numbers from from to to, to excluded.
func (d *accountDump) items(cut logCut, from, to uint64) error {
	if bytes.Equal(cut.bucket, namesBucket) && d.account.Bucket(namesBucket) == nil {
		return nil
	}
	b, err := part(d.account, cut.bucket)
	if err != nil {
		return err
	}
	c := b.Cursor()
	for key, value := c.Seek(key64(from)); key != nil; key, value = c.Next() {
		number := binary.BigEndian.Uint64(key)
		if number >= to {
			return nil
		}
		payload, err := unframe(cut.frame, key, value)
		if err != nil {
			return damage("bucket %s: value at %x: %w", cut.bucket, key, err)
		}
		position := uint64(0)
		if len(key) == 12 {
			position = uint64(binary.BigEndian.Uint32(key[8:]))
		}
		if err := d.chunks.item(cut.item, number, position, payload); err != nil {
			return err
		}
		d.read.add(len(value))
	}
	return nil
}
