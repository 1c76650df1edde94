// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// BenchmarkStreamTakeOver measures how long a process with an empty state
// directory takes to decide in the place of another that is gone: of 1,000
// accounts (HINGED_TAKEOVER_ACCOUNTS) with 50,000 weights each
// (HINGED_TAKEOVER_WEIGHTS) over 8 partitions, whose snapshots a process like it
// has left on a real Apache Kafka. One message waits when it starts; when that is
// decided, each account gets one.
func BenchmarkStreamTakeOver(b *testing.B) {
	const partitions = 8
	accounts, weights := testkit.FromEnv("HINGED_TAKEOVER_ACCOUNTS", 1000), testkit.FromEnv("HINGED_TAKEOVER_WEIGHTS", 50_000)
	broker := testkit.StartKafka(b, testkit.KafkaOptions{})
	in := newTopic(b, broker, "in", partitions)
	mail := testkit.NewMail(6)
	var keys []string
	for i := range accounts {
		keys = append(keys, fmt.Sprintf("owner%04d@example.org", i))
	}
	message := func(key string) kafka.Record {
		return kafka.Encode(kafka.Message{Raw: mail.Next().Raw}, key, "m", "bench", time.Now())
	}

	before := in.process("takeover", `snapshot_interval = "1s"`)
	learntStore(b, filepath.Join(before.dir, "state"), keys, weights, partitions)
	// A snapshot is made where something changed.
	first := slices.Clone(keys)
	slices.SortStableFunc(first, func(x, y string) int {
		return int(kafka.Partition([]byte(x), partitions) - kafka.Partition([]byte(y), partitions))
	})
	first = slices.CompactFunc(first, func(x, y string) bool {
		return kafka.Partition([]byte(x), partitions) == kafka.Partition([]byte(y), partitions)
	})
	for _, key := range first {
		in.produce([]kafka.Record{message(key)})
	}
	before.start()
	began := time.Now()
	wait(b, 10*time.Minute, "snapshots", func() bool {
		st, _ := before.stream()
		made := 0
		for _, p := range st.Partitions {
			made += min(p.Snapshots, 1)
		}
		return made == len(first)
	})
	b.Logf("%d partitions snapshot in %.1f s", len(first), time.Since(began).Seconds())
	before.end()
	if err := os.RemoveAll(filepath.Join(before.dir, "state")); err != nil {
		b.Fatal(err)
	}

	out := in.of("takeover")
	decided := func(from []int64) (n int64) {
		for i, end := range out.ends("takeover.decisions") {
			n += end - from[i]
		}
		return n
	}
	var starts, deals, alls []float64
	var resident uint64
	b.ResetTimer()
	for range b.N {
		from := out.ends("takeover.decisions")
		in.produce([]kafka.Record{message(keys[len(keys)/2])})
		began := time.Now()
		s := in.process("takeover", `snapshot_interval = "1h"`)
		s.start()
		var dealt time.Time
		wait(b, 2*time.Minute, "the first decision", func() bool {
			if st, up := s.stream(); dealt.IsZero() && up && st.Connected {
				dealt = time.Now()
			}
			return decided(from) > 0
		})
		starts = append(starts, time.Since(began).Seconds())
		deals = append(deals, time.Since(dealt).Seconds())
		var each []kafka.Record
		for _, key := range keys {
			each = append(each, message(key))
		}
		began = time.Now()
		in.produce(each)
		wait(b, 10*time.Minute, "a decision of each account", func() bool { return decided(from) > int64(accounts) })
		alls = append(alls, time.Since(began).Seconds())
		resident = max(resident, peakResident(b, s.cmd.Process.Pid))
		s.end()
		if err := os.RemoveAll(filepath.Join(s.dir, "state")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(median(starts), "s-start-to-first")
	b.ReportMetric(median(deals), "s-dealt-to-first")
	b.ReportMetric(median(alls), "s-all-accounts")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-peak")
}

// learntStore makes a store of accounts that have learnt enough to decide, each in
// its partition, of which nothing was read yet.
func learntStore(b *testing.B, dir string, keys []string, weights int, partitions int32) {
	b.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	files, err := stream.OpenFiles(filepath.Join(dir, "hinged.db"), boltfile.Options{NoSync: true, CheckpointEvery: 1})
	if err != nil {
		b.Fatal(err)
	}
	for n := range partitions {
		p := store.Partition{Topic: "in", Number: n}
		begin := func(f *boltfile.Store) error {
			return f.BeginPartition(p, store.LogPosition{Next: 0, Partitions: partitions})
		}
		if err := files.Begin(p, begin); err != nil {
			b.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(6, 6))
	for _, key := range keys {
		st := store.NewState()
		st.Account.Messages, st.Account.Important, st.Account.Ordinary = 1000, 100, 900
		st.Weights = model.NewWeights(weights)
		for st.Weights.Len() < weights {
			st.Weights.Set(model.FoldIndex(r.Uint64()), r.NormFloat64())
		}
		at := store.Partition{Topic: "in", Number: kafka.Partition([]byte(key), partitions)}
		for range 2 { // the second one makes a checkpoint of it
			err := files.Of(at).CommitPartition(store.LogPosition{Next: 0}, []store.AccountCommit{{Account: kafka.AccountPrefix + key, State: st}})
			if err != nil {
				b.Fatal(err)
			}
			st.Account.Messages++
		}
	}
	if err := files.Close(); err != nil {
		b.Fatal(err)
	}
}

// wait waits until something is so.
func wait(b *testing.B, within time.Duration, what string, so func() bool) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), within)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			b.Fatalf("no %s within %v", strings.TrimSpace(what), within)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
