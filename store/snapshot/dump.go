// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
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
func Dump(s *boltfile.Store, p store.Partition, before *Manifest, put func(ChunkID, []byte) error) (Manifest, error) {
	var m Manifest
	err := s.ReadPartition(p, func(v *boltfile.PartitionView) (err error) {
		m, err = dump(v, p, before, put)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("dumping %v of store %s: %w", p, s.Path(), err)
	}
	return m, nil
}

func dump(v *boltfile.PartitionView, p store.Partition, before *Manifest, put func(ChunkID, []byte) error) (m Manifest, err error) {
	c, err := newChunker(put)
	if err != nil {
		return m, err
	}
	m = Manifest{Partition: p, LogPosition: v.LogPosition, Accounts: make([]AccountChunks, 0, len(v.Accounts))}
	for _, name := range v.Accounts {
		was, _ := before.account(name)
		is, err := dumpAccount(v, name, was, c)
		if err != nil {
			return m, fmt.Errorf("account %q: %w", name, err)
		}
		m.Accounts = append(m.Accounts, is)
		if was.Digest != "" && was.Events == is.Events && is.Events > 0 && was.Digest != is.Digest && before.TopicID == m.TopicID && before.Era == m.Era {
			m.Differs = append(m.Differs, name)
		}
	}
	return m, nil
}

// A digest takes as long as some messages. Where there are more than fewAccounts, one of
// digestShare accounts gets it at a time, by what happened to it, so that two processes choose
// the same.
const (
	fewAccounts = 64
	digestShare = 16
)

func dumpAccount(v *boltfile.PartitionView, name string, was AccountChunks, c *chunker) (is AccountChunks, err error) {
	pending, waits, err := v.Pending(name)
	if err != nil {
		return is, err
	}
	var from AccountChunks
	if waits {
		if from, err = chunksOf(pending); err != nil {
			return is, fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		if !pending.Here {
			return from, nil
		}
	}
	account, err := v.Account(name)
	if err != nil {
		return is, err
	}
	is = AccountChunks{Account: name, Commit: account.Progress.Commit, Sum: dumpSum(account.Progress), Lessons: max(account.Progress.Lesson, 1) - 1}
	for _, known := range []AccountChunks{was, from} {
		if is.same(known) {
			return known, nil
		}
	}
	if len(v.Accounts) <= fewAccounts || (xxhash.Sum64String(name)+account.Progress.Journal)%digestShare == 0 {
		st, err := account.State()
		if err != nil {
			return is, err
		}
		is.Events = st.Account.Entries + st.Account.Rewrites
		_, is.Digest = store.Digest(st)
	}
	clear(c.known)
	for _, ids := range [][]ChunkID{was.State, was.Logs, from.State, from.Logs} {
		for _, id := range ids {
			c.known[id] = struct{}{}
		}
	}
	d := accountDump{account: account, at: account.Progress, chunks: c, saved: map[uint64]savedChunks{}}
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

// accountDump cuts one account into chunks.
type accountDump struct {
	account *boltfile.AccountView
	at      boltfile.Progress
	chunks  *chunker
	saved   map[uint64]savedChunks // the states cut so far, by generation
}

type savedChunks struct {
	name   uint64
	chunks []ChunkID
}

// state cuts the checkpoint, the redo log and, last, the head.
func (d *accountDump) state() (ids []ChunkID, err error) {
	if d.at.Checkpoint.Generation != 0 {
		s, err := d.savedState(d.at.Checkpoint.Generation)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.chunks...)
	}
	first := d.at.Checkpoint.Commit + 1
	rest, err := d.log(cutRedo, first, first, d.at.Commit+1)
	if err != nil {
		return nil, err
	}
	if err := d.items(cutRedo, rest, d.at.Commit+1); err != nil {
		return nil, err
	}
	head, err := d.head()
	if err != nil {
		return nil, err
	}
	payload, err := store.EncodeRow(head)
	if err != nil {
		return nil, err
	}
	if err := d.chunks.item(itemHead, 0, 0, payload); err != nil {
		return nil, err
	}
	err = d.chunks.cut()
	return append(ids, d.chunks.take()...), err
}

// head returns where the account stands, without what is this file's own.
func (d *accountDump) head() (h accountHead, err error) {
	h.Progress = d.at
	for _, of := range h.Progress.Saved() {
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

// nameOf returns what chunks call a saved state, in the file or still to come.
func (d *accountDump) nameOf(generation uint64) (uint64, error) {
	if d.at.Pending != nil {
		for _, s := range d.at.Pending.Saved {
			if s.Generation == generation {
				return s.Name, nil
			}
		}
	}
	name, _, err := d.account.Manifest(generation)
	return name, err
}

// logs cuts the states that a replay begins with and the logs, without what comes
// from elsewhere still.
func (d *accountDump) logs() (ids []ChunkID, err error) {
	for _, of := range d.at.Saved()[1:] {
		if of.Generation == 0 || d.at.Awaits(*of) {
			continue
		}
		s, err := d.savedState(of.Generation)
		if err != nil {
			return nil, err
		}
		ids = append(ids, s.chunks...)
	}
	journal, lessons, features := d.at.Base.Journal, d.at.LessonBase().Lesson, uint64(1)
	if d.at.Pending != nil {
		journal, lessons, features = d.at.Pending.Journal, d.at.Pending.Lesson, d.at.Pending.Commit+1
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

// savedState cuts a saved state into chunks of its own.
func (d *accountDump) savedState(generation uint64) (s savedChunks, err error) {
	if s, ok := d.saved[generation]; ok {
		return s, nil
	}
	name, manifest, err := d.account.Manifest(generation)
	if err != nil {
		return s, err
	}
	if err := d.chunks.item(itemManifest, name, 0, manifest); err != nil {
		return s, err
	}
	n := uint64(0)
	err = d.account.Records(generation, func(record []byte) error {
		n++
		return d.chunks.item(itemRecord, name, n-1, record)
	})
	if err != nil {
		return s, err
	}
	err = d.chunks.cut()
	s = savedChunks{name, d.chunks.take()}
	d.saved[generation] = s
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
	err := d.account.Entries(cut.log, from, to, func(number, position uint64, payload []byte) error {
		return d.chunks.item(cut.item, number, position, payload)
	})
	if err != nil || cut.item != itemRedo {
		return err
	}
	// The other logs come later, but what steps were taken with is needed to take them again.
	return d.account.StepFeatures(from, to, func(number, position uint64, payload []byte) error {
		return d.chunks.item(itemFeatures, number, position, payload)
	})
}
