// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// PartitionFrom is what `hinged import --partition` prints.
type PartitionFrom struct {
	File      string `json:"file"`      // path of the file as it was given; - for standard input
	Store     string `json:"store"`     // path of the store
	Topic     string `json:"topic"`     // the topic of the partition
	Partition int32  `json:"partition"` // number of the partition
	Position  int64  `json:"position"`  // offset before which all records are processed
	Accounts  int    `json:"accounts"`  // number of accounts in the partition
}

// ImportPartition adds the partition in file, or in what stdin gives if that is Standard, to the
// store at storePath: file is a copy of that of a partition of another store, which nobody
// writes to any more. Where there is no store it makes one. ErrUnsound and store.ErrNewer say
// what is wrong with the file, store.ErrExists that the store knows the partition, and
// store.ErrRunning that a process has the store or the file open; then nothing has changed.
func ImportPartition(ctx context.Context, storePath, file string, stdin io.Reader) (out PartitionFrom, err error) {
	defer func() {
		if err != nil {
			out, err = PartitionFrom{}, fmt.Errorf("import of the partition in %s: %w", file, err)
		}
	}()
	out = PartitionFrom{File: file, Store: storePath}
	if file != Standard {
		if err := boltfile.Held(file); err != nil {
			return out, err
		}
	}
	d, _, err := receive(ctx, storePath, file, stdin)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.drop()) }()
	s, err := boltfile.Open(storePath, boltfile.Options{})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := d.Close(); err != nil { // as long as it was open, opening the store left it alone
		return out, err
	}
	p, err := s.AddPartition(ctx, d.Name())
	if errors.Is(err, store.ErrSchema) {
		return out, fmt.Errorf("%w: %w", ErrUnsound, err)
	}
	if err != nil {
		return out, err
	}
	d.kept = true // it is the store's now
	return out, out.read(s, p)
}

// read says what was added.
func (out *PartitionFrom) read(s *boltfile.Store, p store.Partition) error {
	info, _, err := s.PartitionInfo(p)
	if err != nil {
		return err
	}
	names, err := s.AccountsOf(p)
	out.Topic, out.Partition, out.Position, out.Accounts = p.Topic, p.Number, info.Whole(), len(names)
	return err
}
