// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// originKey is the key of the first record of a partition of snapshots whose accounts
// come from another input topic. With it, what stands at offset 0 of the input is not
// nothing: without a snapshot the partition can't be begun.
const originKey = "origin"

// moved is how such accounts were recovered (store.LogPosition): they hold more than the
// records of the input before them said, so that no replay begins without them.
const moved = "moved"

// origin says where the accounts of a snapshots topic come from.
type origin struct {
	Topic      string `json:"topic"`      // the input topic that they were read from
	Partitions int32  `json:"partitions"` // that it has
}

// Move is where Spread puts accounts.
type Move struct {
	Broker     Broker       // of the new topics
	Topics     kafka.Topics // the new ones; Input and Snapshots are used
	Partitions int32        // that they have
	// From are the partitions in the store that the accounts are read from, all of one
	// input topic.
	From []store.Partition
}

// Spread puts all accounts of a store into the snapshots topic of another input topic,
// each into the partition where its key belongs there, as of offset 0: who begins with
// those topics goes on from there. It returns how many accounts each partition got.
//
// First it says in every partition where the accounts come from, and last it writes the
// manifests, so that what was interrupted is no snapshot, and no process begins without
// one. It may be repeated: equal accounts are equal records.
func (o Options) Spread(ctx context.Context, s *boltfile.Store, m Move) ([]int, error) {
	o = o.withDefaults()
	if len(m.From) == 0 {
		return nil, fmt.Errorf("there is nothing in store %s to be moved", s.Path())
	}
	first := m.From[0]
	note, err := json.Marshal(origin{Topic: first.Topic, Partitions: int32(len(m.From))})
	if err != nil {
		return nil, err
	}
	id, err := m.Broker.TopicID(ctx, m.Topics.Input)
	if err != nil {
		return nil, err
	}
	out := outbox{most: 8 * outboxBytes, write: func(records ...kafka.Record) error {
		err := kafka.Insist(ctx, func() error { // what is there twice does no harm
			_, err := m.Broker.Produce(ctx, m.Topics.Snapshots, records)
			return err
		})
		if err != nil {
			return fmt.Errorf("writing snapshots: %w", err)
		}
		return nil
	}}
	manifests := make([]snapshot.Manifest, m.Partitions)
	for n := range m.Partitions {
		manifests[n] = snapshot.Manifest{
			Partition: store.Partition{Topic: m.Topics.Input, Number: n}, Fingerprint: o.fingerprint(),
			LogPosition: store.LogPosition{Partitions: m.Partitions, TopicID: id, Recovered: moved},
		}
		if err := out.put(kafka.Record{Partition: n, Key: []byte(originKey), Value: note}); err != nil {
			return nil, err
		}
	}
	if err := out.flush(); err != nil {
		return nil, err
	}
	home := func(account string) int32 {
		return kafka.Partition([]byte(account[len(kafka.AccountPrefix):]), m.Partitions)
	}
	for _, p := range m.From {
		if err := nobodyBehind(s, p); err != nil {
			return nil, err
		}
		err := snapshot.Split(s, p, func(account string, id snapshot.ChunkID, data []byte) error {
			return out.chunk(home(account), id, data)
		}, func(a snapshot.AccountChunks) error {
			of := &manifests[home(a.Account)]
			of.Accounts = append(of.Accounts, a)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	counts := make([]int, m.Partitions)
	var last []kafka.Record
	for n := range manifests {
		one := &manifests[n]
		slices.SortFunc(one.Accounts, func(a, b snapshot.AccountChunks) int { return strings.Compare(a.Account, b.Account) })
		counts[n] = len(one.Accounts)
		data, err := one.Encode(func(id snapshot.ChunkID, data []byte) error { return out.chunk(int32(n), id, data) })
		if err != nil {
			return nil, err
		}
		last = append(last, kafka.Record{Partition: int32(n), Key: manifestKey(manifestIDOf(one.LogPosition)), Value: data})
	}
	if err := out.flush(); err != nil {
		return nil, err
	}
	for _, r := range last {
		if err := out.put(r); err != nil {
			return nil, err
		}
	}
	return counts, out.flush()
}

// nobodyBehind tests that no account of a partition is behind the others.
func nobodyBehind(s *boltfile.Store, p store.Partition) error {
	info, _, err := s.PartitionInfo(p)
	if n := len(info.Aside); err == nil && n > 0 {
		err = fmt.Errorf("%v: %d accounts are set aside and not read up to the end", p, n)
	}
	return err
}

// dropOrigin forgets what the store has of the topic that the accounts of a snapshot
// came from: they belong here now. Without a note about it, it does nothing.
func (p *partition) dropOrigin(ctx context.Context) error {
	from := p.vault.from()
	if from == nil || from.Topic == p.id.Topic {
		return nil
	}
	all, err := p.e.o.Store.Partitions()
	if err != nil {
		return err
	}
	for _, old := range all {
		if old.Topic != from.Topic {
			continue
		}
		if err := p.e.o.Store.DropPartition(ctx, old); err != nil {
			return err
		}
		p.log.Info("dropped the copy of accounts that were moved to this topic", "topic", old.Topic, "number", old.Number)
	}
	return nil
}
