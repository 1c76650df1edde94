// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// streamOptions are what config.DefaultKafka bounds an account with.
func streamOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Limits.Keep, o.NamesFor = 30*24*time.Hour, 7*24*time.Hour
	o.Dual.Window = 500
	o.Limits.Messages, o.Limits.IDs, o.Limits.Threads, o.Limits.Weights = 20_000, 20_000, 10_000, 1<<14
	return o
}

// BenchmarkGrowth plays 20 messages a day, for 90 days, to each of HINGED_BENCH_ACCOUNTS
// accounts of a partition (20 without it), each message in a commit of its own, and
// prints every ten days what the store has for an account: bytes of the file, bytes of
// the pages that the account's records lie in, by bucket, and bytes of a snapshot.
func BenchmarkGrowth(b *testing.B) {
	const days, perDay = 90, 20
	accounts := testkit.FromEnv("HINGED_BENCH_ACCOUNTS", 20)
	o := streamOptions()
	var all [][]byte
	owner := eachMail(b, func(raw []byte, _ time.Time) bool {
		all = append(all, raw)
		return len(all) < days*perDay
	})
	o.Featurize.Owner = []string{owner}
	reader, err := featurize.New(o.Featurize)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g := newGrowth(b, accounts, o, boltfile.Options{NoSync: true})
		var before int64
		for n, raw := range all {
			at := store.MomentOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * 24 * time.Hour / perDay))
			g.arrive(b, at, reader, raw)
			if day := (n + 1) / perDay; (n+1)%(10*perDay) == 0 {
				file := g.print(b, day)
				if day == days {
					b.ReportMetric(float64(file-before)/30, "B/account/day")
					b.ReportMetric(float64(file), "B/account")
				}
				if day == days-30 {
					before = file
				}
			}
		}
		if err := g.store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// growth is a store with accounts that get the same mail.
type growth struct {
	path    string
	store   *boltfile.Store
	of      store.Partition
	next    int64
	names   []string
	writers []*writer.Writer
}

func newGrowth(b *testing.B, accounts int, o filter.Options, file boltfile.Options) *growth {
	b.Helper()
	g := &growth{path: filepath.Join(b.TempDir(), "s.db"), of: store.Partition{Topic: "in"}}
	s, err := boltfile.Open(g.path, file)
	if err == nil {
		err = s.BeginPartition(g.of, store.LogPosition{Partitions: 1})
	}
	if err != nil {
		b.Fatal(err)
	}
	g.store = s
	for n := range accounts {
		name := fmt.Sprintf("kafka:%d@example.org", n)
		w, err := writer.Open(s, name)
		if err == nil {
			_, err = w.Apply(&filter.Configured{Options: o})
		}
		if err != nil {
			b.Fatal(err)
		}
		g.names, g.writers = append(g.names, name), append(g.writers, w)
	}
	return g
}

// arrive brings one message to each account and commits.
func (g *growth) arrive(b *testing.B, at store.Moment, reader *featurize.Featurizer, raw []byte) {
	b.Helper()
	for _, w := range g.writers {
		message := reader.Read(raw)
		meta := filter.NewMeta(message)
		if message.FromOwner {
			meta = meta.ByOwner()
		}
		if _, err := w.Apply(&filter.Arrived{At: at, Meta: meta, Message: message}); err != nil {
			b.Fatal(err)
		}
	}
	g.commit(b)
}

// commit commits what the accounts were told, together.
func (g *growth) commit(b *testing.B) {
	b.Helper()
	var commits []store.AccountCommit
	for i, w := range g.writers {
		batch, err := w.Batch()
		if err != nil {
			b.Fatal(err)
		}
		commits = append(commits, store.AccountCommit{Account: g.names[i], State: w.Filter().State(), Batch: batch})
	}
	g.next++
	if err := g.store.CommitPartition(g.of, store.LogPosition{Next: g.next}, commits); err != nil {
		b.Fatal(err)
	}
	for _, w := range g.writers {
		w.Committed()
	}
}

// print tells what an account takes, and returns its part of the file in bytes.
func (g *growth) print(b *testing.B, day int) int64 {
	b.Helper()
	accounts := int64(len(g.names))
	dumped := 0
	if _, err := snapshot.Dump(g.store, g.of, nil, func(_ snapshot.ChunkID, data []byte) error {
		dumped += len(data)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	copied := g.path + ".copy"
	out, err := os.Create(copied)
	if err == nil {
		_, err = g.store.Backup(context.Background(), out)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil {
		b.Fatal(err)
	}
	db, err := bolt.Open(copied, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	line := fmt.Sprintf("day %d, KB for each account: file %d, snapshot %d;", day, info.Size()/accounts>>10, dumped/len(g.names)>>10)
	err = db.View(func(tx *bolt.Tx) error {
		total := 0
		sizes := map[string]int{}
		for _, name := range g.names {
			a := tx.Bucket([]byte("accounts")).Bucket([]byte(name))
			err := a.ForEachBucket(func(k []byte) error {
				s := a.Bucket(k).Stats()
				sizes[string(k)] += s.LeafAlloc + s.BranchAlloc
				total += s.LeafAlloc + s.BranchAlloc
				return nil
			})
			if err != nil {
				return err
			}
		}
		line += fmt.Sprintf(" pages %d:", total/len(g.names)>>10)
		for _, k := range []string{"features", "featureindex", "names", "journal", "lessons", "redo", "snapshots"} {
			line += fmt.Sprintf(" %s %d", k, sizes[k]/len(g.names)>>10)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	st := g.writers[0].Filter().State()
	b.Logf("%s; messages %d, weights %d", line, st.Messages.Len(), st.Weights.Len())
	return info.Size() / accounts
}
