// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// streamOptions are what config.DefaultKafka bounds an account with.
func streamOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Limits.Keep, o.NamesFor = 20*24*time.Hour, 3*24*time.Hour
	o.Dual.Window = 400
	o.Limits.Messages, o.Limits.IDs, o.Limits.Threads, o.Limits.Weights = 20_000, 20_000, 10_000, 1<<17
	return o
}

// perDay is how many messages an account gets: what the owners of linux-mtd, linux-mips and a
// desk get.
const perDay = 13

// BenchmarkGrowth plays a year to each of HINGED_BENCH_ACCOUNTS accounts of a partition (5 without
// it) and prints every 30 days what the store has for an account: bytes of the file as far as it
// is in use, bytes of the pages that the account's records lie in, by bucket, and bytes of
// a snapshot. Before each look the store is closed and opened again.
func BenchmarkGrowth(b *testing.B) {
	for b.Loop() {
		s := newScale(b, testkit.FromEnv("HINGED_BENCH_ACCOUNTS", 5))
		var before, file int64
		for day := 30; day <= 360; day += 30 {
			s.play(b, 30)
			before, file = file, s.print(b, day)
		}
		b.ReportMetric(float64(file-before)/30, "B/account/day")
		b.ReportMetric(float64(file), "B/account")
		testkit.OK(b, s.store.Close())
	}
}

// growth is a store with accounts that get the same mail.
type growth struct {
	path    string
	options boltfile.Options
	store   *boltfile.Store
	of      store.Partition
	next    int64
	names   []string
	writers []*writer.Writer
}

func newGrowth(b *testing.B, accounts int, o filter.Options, file boltfile.Options) *growth {
	b.Helper()
	g := &growth{path: filepath.Join(b.TempDir(), "s.db"), options: file, of: store.Partition{Topic: "in"}}
	for n := range accounts {
		g.names = append(g.names, fmt.Sprintf("kafka:%d@example.org", n))
	}
	g.open(b)
	testkit.OK(b, g.store.BeginPartition(g.of, store.LogPosition{Partitions: 1}))
	for _, w := range g.writers {
		if _, err := w.Apply(&filter.Configured{Options: o}); err != nil {
			b.Fatal(err)
		}
	}
	return g
}

// open opens the store, and its accounts as of their last commit.
func (g *growth) open(b *testing.B) {
	b.Helper()
	s := storeAt(b, g.path, g.options)
	g.store, g.writers = s, nil
	for _, name := range g.names {
		w := writerOf(b, s, name)
		g.writers = append(g.writers, w)
	}
}

// arrive brings a message to each account and commits.
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

// commit commits what accounts were told, together.
func (g *growth) commit(b *testing.B) {
	b.Helper()
	var commits []store.AccountCommit
	for i, w := range g.writers {
		if !w.Dirty() {
			continue
		}
		commits = append(commits, store.AccountCommit{Account: g.names[i], State: w.Filter().State(), Batch: w.Batch()})
	}
	g.next++
	testkit.OK(b, g.store.CommitPartition(store.LogPosition{Next: g.next}, commits))
	for _, w := range g.writers {
		w.Committed()
	}
}

// print tells what an account takes, and returns its part of the file in bytes.
func (g *growth) print(b *testing.B, day int) int64 {
	b.Helper()
	accounts := int64(len(g.names))
	dumped := 0
	if _, err := snapshot.Dump(g.store, nil, func(_ snapshot.ChunkID, data []byte) error {
		dumped += len(data)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	// The file itself is looked at, as it is on the disk: a copy would have no free pages.
	testkit.OK(b, g.store.Close())
	file, sizes := pagesOf(b, g.path, g.names...)
	g.open(b)
	line := fmt.Sprintf("day %d, KB for each account: file %d, snapshot %d; pages %d:", day, file/accounts>>10, dumped/len(g.names)>>10, sizes["all"]/len(g.names)>>10)
	for _, k := range []string{"features", "featureindex", "names", "namegroups", "journal", "lessons", "redo", "snapshots"} {
		line += fmt.Sprintf(" %s %d", k, sizes[k]/len(g.names)>>10)
	}
	st := g.writers[0].Filter().State()
	b.Logf("%s; messages %d, weights %d", line, st.Messages.Len(), st.Weights.Len())
	return file / accounts
}
