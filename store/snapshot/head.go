// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// accountHead is what the chunks of a state end with. Its saved states are numbered
// anew, from 1 in the order of names.
type accountHead struct {
	Progress boltfile.Progress `cbor:"1,keyasint"`
	Names    []uint64          `cbor:"2,keyasint,omitempty"` // that chunks have for the saved states
}

// dumpSum is p.Sum, and another one as long as features are due to go: they may go
// without a commit, after a Rewrite, and must not be carried over then.
func dumpSum(p boltfile.Progress) uint64 {
	if p.Base.Generation == 0 || p.Swept > p.Base.Commit {
		return p.Sum
	}
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64(nil, p.Sum))
	h.Write(binary.BigEndian.AppendUint64(nil, p.Swept))
	return h.Sum64()
}

func headIn(it chunkItem, head accountHead) (accountHead, error) {
	if it.kind != itemHead {
		return head, nil
	}
	if err := store.DecodeRow(it.content, &head); err != nil {
		return head, fmt.Errorf("%w: its head: %w", store.ErrChunk, err)
	}
	return head, nil
}

// check demands that a head is that of the account that from notes.
func (h accountHead) check(from boltfile.PendingAccount) error {
	p := h.Progress
	if p.Commit == 0 || p.Commit != from.Commit || dumpSum(p) != from.Sum {
		return fmt.Errorf("%w: the state is of commit %d, not %d", store.ErrChunk, p.Commit, from.Commit)
	}
	for _, of := range p.Saved() {
		if of.Generation > uint64(len(h.Names)) || of.Commit > p.Commit || of.Journal > p.Journal || of.Lesson > p.Lesson {
			return fmt.Errorf("%w: its header is invalid", store.ErrChunk)
		}
	}
	return nil
}

// arrived is where the account stands once its state has come in.
func (h accountHead) arrived() boltfile.Progress {
	p := h.Progress
	p.Pending = &boltfile.PendingLogs{Commit: p.Commit, Journal: p.Journal, Lesson: p.Lesson}
	for i, name := range h.Names {
		if generation := uint64(i) + 1; generation != p.Checkpoint.Generation {
			p.Pending.Saved = append(p.Pending.Saved, boltfile.SavedName{Generation: generation, Name: name})
		}
	}
	return p
}
