// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
)

// cut deletes the first records of every partition of the input, up to an offset.
func (w *world) cut(at [partitions]int64) {
	w.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker))
	testkit.OK(w.t, err)
	defer c.Close()
	req := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = "in"
	for i, offset := range at {
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = int32(i), offset
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(w.t.Context(), c)
	testkit.OK(w.t, err)
	for _, p := range res.Topics[0].Partitions {
		if p.ErrorCode != 0 || p.LowWatermark == 0 {
			w.t.Fatalf("partition %d begins at %d, error %d", p.Partition, p.LowWatermark, p.ErrorCode)
		}
	}
}

// halves are in the middle of the partitions of the input.
func (w *world) halves() (at [partitions]int64) {
	w.t.Helper()
	for i, m := range w.marks("in") {
		at[i] = m.End / 2
	}
	return at
}

// snapshots are the positions of the newest snapshots.
func (w *world) snapshots() (at [partitions]int64) {
	w.t.Helper()
	for i, m := range w.marks("snapshots") {
		r := w.client.Read("snapshots", kafka.TopicID{}, int32(i), m.First)
		for next := m.First; next < m.End; {
			b, err := r.Next(w.t.Context(), 1000, 1<<20)
			testkit.OK(w.t, err)
			next = max(next, b.Next)
			for _, record := range b.Records {
				if name, ok := strings.CutPrefix(string(record.Key), "manifest/"); ok && record.Value != nil {
					position, err := strconv.ParseInt(name[strings.IndexByte(name, '/')+1:], 16, 64)
					testkit.OK(w.t, err)
					at[i] = max(at[i], position)
				}
			}
		}
		r.Close()
	}
	return at
}

// snapshotted reports whether this process has made a snapshot of every partition.
func snapshotted(s stream.Status) bool {
	for i := range s.Partitions {
		if s.Partitions[i].Snapshots == 0 {
			return false
		}
	}
	return true
}

func TestAReplayFromSnapshotsGivesTheDigestsOfTheDaemon(t *testing.T) {
	w := newWorld(t)
	w.every = 20
	w.send(200)
	w.live(snapshotted)
	w.cut(w.snapshots())
	w.send(20)
	w.every = 1 << 30
	want := w.live(everything) // which itself begins at the snapshots
	got, err := w.replay(filepath.Join(t.TempDir(), "rebuilt.db"))
	testkit.OK(t, err)
	if !slices.Equal(got.Accounts, want) {
		t.Errorf("got %v\nwant %v", got.Accounts, want)
	}
	for _, p := range got.Partitions {
		if p.From != FromSnapshot || p.Offset == 0 || p.Next <= p.Offset {
			t.Errorf("got %+v, want from a snapshot", p)
		}
	}
}

func TestALogWithoutItsFirstRecordAndWithoutASnapshotIsRefused(t *testing.T) {
	w := newWorld(t)
	w.send(60)
	w.cut(w.halves())
	dir := t.TempDir()
	if _, err := w.replay(filepath.Join(dir, "r.db")); err == nil || errors.Is(err, os.ErrExist) {
		t.Errorf("got %v, want that no state fits the log", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
