// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Dump writes everything of the accounts in the file of a partition as chunks, and returns the
// manifest that names them, as of one commit, while others go on committing. put gets each chunk
// that before, which may be nil, does not name for the account already; it must not keep the
// bytes. An account that is in before as it stands is not even read, and one that is still to be
// taken over keeps the chunks that it comes from.
//
// Dump holds one chunk in memory at a time. It is one long read: a slow put
// makes the file grow, as Backup does, and keeps Compact and Close waiting. An
// error of put ends it.
func Dump(s *boltfile.Store, before *Manifest, put func(ChunkID, []byte) error) (Manifest, error) {
	var m Manifest
	err := s.ReadPartition(func(v *boltfile.PartitionView) (err error) {
		m, err = dump(v, before, put)
		return err
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("dumping store %s: %w", s.Path(), err)
	}
	return m, nil
}

func dump(v *boltfile.PartitionView, before *Manifest, put func(ChunkID, []byte) error) (m Manifest, err error) {
	c, err := newChunker(put)
	if err != nil {
		return m, err
	}
	m = Manifest{Partition: v.Partition, LogPosition: v.LogPosition, Accounts: make([]AccountChunks, 0, len(v.Accounts))}
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
	if waits {
		is = AccountChunks{Account: name, Commit: pending.Commit, Sum: pending.Sum, Lessons: pending.Lessons}
		if err = is.Chunks.UnmarshalBinary(pending.From); err != nil {
			err = fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		return is, err
	}
	account, err := v.Account(name)
	if err != nil {
		return is, err
	}
	is = AccountChunks{Account: name, Commit: account.Progress.Commit, Sum: account.Progress.Mark(), Lessons: max(account.Progress.Lesson, 1) - 1}
	if is.same(was) {
		return was, nil
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
	for _, id := range was.Chunks {
		c.known[id] = struct{}{}
	}
	err = account.Each(func(v boltfile.Value) error { return c.item(v.Bucket, v.Within, v.Key, v.Content) })
	if err != nil {
		return is, err
	}
	is.Chunks, err = c.end()
	return is, err
}

// Begin makes an empty store the file of the partition of m, as m says, with all of its accounts
// still to be taken over.
func Begin(ctx context.Context, s *boltfile.Store, m *Manifest) error {
	accounts := make([]boltfile.PendingAccount, 0, len(m.Accounts))
	for _, a := range m.Accounts {
		from, err := a.Chunks.MarshalBinary()
		if err != nil {
			return err
		}
		accounts = append(accounts, boltfile.PendingAccount{Account: a.Account, Commit: a.Commit, Sum: a.Sum, Lessons: a.Lessons, From: from})
	}
	return s.BeginTakeOver(ctx, m.Partition, m.LogPosition, accounts)
}

// Restore takes over an account that Begin noted, with get for its chunks. It does nothing if
// that has happened already. It may be interrupted at any point and called again, but not twice
// at a time for one account.
//
// Every chunk is checked against its ID: ErrChunk, with the account and the
// chunk, if one is wrong or they do not make the account. An error of get is
// returned with them too. ErrNotFound if there is no such account.
func Restore(s *boltfile.Store, account string, get func(ChunkID) ([]byte, error)) error {
	return s.TakeOver(account, func(in *boltfile.Incoming) error {
		var ids ChunkIDs
		if err := ids.UnmarshalBinary(in.From.From); err != nil {
			return fmt.Errorf("%w: %w", store.ErrDamaged, err)
		}
		return eachItem(get, ids, 4, func(item [][]byte) error {
			return in.Put(boltfile.Value{Bucket: item[0], Within: item[1], Key: item[2], Content: item[3]})
		})
	})
}
