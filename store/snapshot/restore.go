// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// BeginRestore forgets all that the store has of p, if anything, and notes in the
// same transaction that p is as m says, with all of its accounts still to come
// in: an account's state by RestoreState, before anything else can be done with
// it, its logs by RestoreLogs. Until then what is not here gives ErrPending.
//
// ErrPartition if an account of m belongs elsewhere. When ctx is done before all was noted, it
// ends with ctx's error, and nothing has changed.
func BeginRestore(ctx context.Context, s *boltfile.Store, p store.Partition, m Manifest) error {
	if m.Partition != p {
		return fmt.Errorf("taking over %v at offset %d into store %s: it is a manifest of %v", p, m.Next, s.Path(), m.Partition)
	}
	accounts := make([]boltfile.PendingAccount, 0, len(m.Accounts))
	for _, a := range m.Accounts {
		accounts = append(accounts, boltfile.PendingAccount{Account: a.Account, Commit: a.Commit, Sum: a.Sum, Lessons: a.Lessons, State: joinIDs(a.State), Logs: joinIDs(a.Logs)})
	}
	return s.BeginTakeOver(ctx, p, m.LogPosition, accounts)
}

// RestoreState brings in the state of an account of p that BeginRestore noted,
// with get for its chunks; the account then is as it was, but for its logs. It
// does nothing if that has happened already. It may be interrupted at any point
// and called again, also by several at once.
//
// Every chunk is checked against its ID: ErrChunk, with the account and the
// chunk, if one is wrong or they do not make the account. An error of get is
// returned with them too. ErrNotFound if p has no such account.
func RestoreState(s *boltfile.Store, p store.Partition, account string, get func(ChunkID) ([]byte, error)) error {
	return s.TakeOverState(p, account, func(in *boltfile.Incoming) (boltfile.Progress, error) { return bringState(in, get) })
}

// RestoreLogs brings in what RestoreState did not: the journal, the lessons, the
// features and the states that a replay begins with, below what was committed
// meanwhile. It calls for the state too, if that is not here. Else it is like
// RestoreState; commits to the account may go on meanwhile.
func RestoreLogs(s *boltfile.Store, p store.Partition, account string, get func(ChunkID) ([]byte, error)) error {
	if err := RestoreState(s, p, account, get); err != nil {
		return err
	}
	return s.TakeOverLogs(p, account, func(in *boltfile.Incoming) error { return bringLogs(in, get) })
}

// bringState adds the chunks of a state.
func bringState(in *boltfile.Incoming, get func(ChunkID) ([]byte, error)) (boltfile.Progress, error) {
	ids, err := splitIDs(in.From.State)
	if err != nil || len(ids) == 0 {
		return boltfile.Progress{}, errors.Join(err, store.ErrChunk)
	}
	outer := &outerChunks{get: get, ids: [2]ChunkID{ids[0], ids[len(ids)-1]}}
	head, err := outer.head()
	if err != nil {
		return boltfile.Progress{}, err
	}
	if err := head.check(in.From); err != nil {
		return boltfile.Progress{}, err
	}
	err = readChunks(outer.read, ids, func(it chunkItem) error { return stateItem(in, it, head) }, in.Flush)
	return head.arrived(), err
}

// readChunks reads chunks in order and hands their items to fn. after is called
// after each chunk.
func readChunks(get func(ChunkID) ([]byte, error), ids []ChunkID, fn func(chunkItem) error, after func() error) error {
	r := chunkReader{get: get}
	for _, id := range ids {
		if err := r.read(id, fn); err != nil {
			return err
		}
		if err := after(); err != nil {
			return err
		}
	}
	return r.end()
}

// stateItem adds an item of the state.
func stateItem(in *boltfile.Incoming, it chunkItem, head accountHead) error {
	checkpoint := head.Progress.Checkpoint
	switch {
	case it.kind == itemHead:
		return nil
	case it.kind == itemRedo && it.a > checkpoint.Commit && it.a <= head.Progress.Commit:
		in.Entry(boltfile.RedoLog, it.a, 0, it.content)
		return nil
	case it.kind == itemFeatures && it.a <= head.Progress.Commit && in.Entry(boltfile.FeatureLog, it.a, it.b, it.content):
		return nil
	case (it.kind == itemManifest || it.kind == itemRecord) && checkpoint.Generation != 0 && it.a == head.Names[checkpoint.Generation-1]:
		savedItem(in, it, checkpoint.Generation)
		return nil
	}
	return misplaced(it)
}

// savedItem adds an item of a saved state that has the given generation here.
func savedItem(in *boltfile.Incoming, it chunkItem, generation uint64) {
	if it.kind == itemManifest {
		in.Manifest(generation, it.content)
		return
	}
	in.Record(generation, uint32(it.b), it.content)
}

func misplaced(it chunkItem) error {
	return fmt.Errorf("%w: it holds item %q %d %d, which has no place in it", store.ErrChunk, it.kind, it.a, it.b)
}

// bringLogs adds the chunks of the logs.
func bringLogs(in *boltfile.Incoming, get func(ChunkID) ([]byte, error)) error {
	ids, err := splitIDs(in.From.Logs)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrChunk, err)
	}
	here, err := splitIDs(in.From.State)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrChunk, err)
	}
	// A saved state that came in as the checkpoint is here already.
	ids = slices.DeleteFunc(ids, func(id ChunkID) bool { return slices.Contains(here, id) })
	return readChunks(get, ids, func(it chunkItem) error { return logItem(in, it) }, in.Flush)
}

// logItem adds an item of the logs.
func logItem(in *boltfile.Incoming, it chunkItem) error {
	missing, ok := in.Missing, false
	switch it.kind {
	case itemJournal:
		ok = it.a < missing.Journal && in.Entry(boltfile.JournalLog, it.a, 0, it.content)
	case itemLesson:
		ok = it.a < missing.Lesson && in.Entry(boltfile.LessonLog, it.a, 0, it.content)
	case itemFeatures:
		ok = it.a <= missing.Commit && in.Entry(boltfile.FeatureLog, it.a, it.b, it.content)
	case itemNames:
		ok = it.a <= missing.Commit && in.Entry(boltfile.NameLog, it.a, it.b, it.content)
	case itemManifest, itemRecord:
		i := slices.IndexFunc(missing.Saved, func(s boltfile.SavedName) bool { return s.Name == it.a })
		if ok = i >= 0; ok {
			savedItem(in, it, missing.Saved[i].Generation)
		}
	}
	if !ok {
		return misplaced(it)
	}
	return nil
}

// outerChunks keeps the first and the last chunk of a state: the last is read
// before the others, and the first fetched before the last, since chunks that were
// put one after another are cheapest to get in that order.
type outerChunks struct {
	get         func(ChunkID) ([]byte, error)
	ids         [2]ChunkID
	first, last []byte
}

// head fetches both and returns the head, which comes last and says what the other
// chunks are.
func (o *outerChunks) head() (head accountHead, err error) {
	if err := o.fetch(); err != nil {
		return head, err
	}
	r := chunkReader{get: o.read, amid: true}
	err = r.read(o.ids[1], func(it chunkItem) (err error) { head, err = headIn(it, head); return err })
	return head, err
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
