// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
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

// BenchmarkScale prints what docs/scale.md reckons with, as a table: of HINGED_BENCH_ACCOUNTS
// accounts of a partition (10 without it) that got perDay messages a day for a year, and of
// HINGED_BENCH_SMALL accounts (2,000) that got one message. Processor time is that of the
// process, in all its threads, without waiting for the disk.
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		s := newScale(b, testkit.FromEnv("HINGED_BENCH_ACCOUNTS", 10))
		s.play(b, 30)
		day30 := s.print(b, 30)
		s.play(b, 335)
		s.row("store, for each account, after 30 days", "%d KB", day30>>10)
		file, st := s.print(b, 365), s.writers[0].Filter().State()
		s.row("store, for each account, after 365 days", "%d KB", file>>10)
		s.row("weights, and messages known, of an account then", "%d, %d", st.Weights.Len(), st.Messages.Len())
		s.row("a message, raw", "%d bytes", s.rawBytes/s.n)
		s.snapshots(b)
		s.processor(b)
		s.memory(b)
		s.takeOver(b)
		s.opening(b)
		s.small(b, testkit.FromEnv("HINGED_BENCH_SMALL", 2000))
		fmt.Print(s.table)
	}
}

// scale is a growth that is measured.
type scale struct {
	*growth
	options  filter.Options
	reader   *featurize.Featurizer
	all      [][]byte
	n        int // messages that each account got
	rawBytes int
	table    string
	manifest snapshot.Manifest
	chunks   map[snapshot.ChunkID][]byte
}

func newScale(b *testing.B, accounts int) *scale {
	b.Helper()
	s := &scale{options: streamOptions(), chunks: map[snapshot.ChunkID][]byte{}}
	owner := eachMail(b, func(raw []byte, _ time.Time) bool {
		s.all = append(s.all, raw)
		return len(s.all) < 380*perDay
	})
	s.options.Featurize.Owner = []string{owner}
	reader := readerOf(b, s.options.Featurize)
	s.reader, s.growth = reader, newGrowth(b, accounts, s.options, boltfile.Options{NoSync: true})
	s.table = fmt.Sprintf("\n| of %d accounts | |\n|---|---|\n", accounts)
	return s
}

func (s *scale) row(what, format string, figure ...any) {
	s.table += "| " + what + " | " + fmt.Sprintf(format, figure...) + " |\n"
}

// message brings the next message to each account.
func (s *scale) message(b *testing.B) {
	b.Helper()
	raw := s.all[s.n]
	at := store.MomentOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(s.n) * 24 * time.Hour / perDay))
	s.n++
	s.rawBytes += len(raw)
	s.arrive(b, at, s.reader, raw)
}

func (s *scale) play(b *testing.B, days int) {
	b.Helper()
	for range perDay * days {
		s.message(b)
	}
}

// processorTime is what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	testkit.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// load reads all accounts from the store anew.
func (s *scale) load(b *testing.B) {
	b.Helper()
	for i, name := range s.names {
		w := writerOf(b, s.store, name)
		s.writers[i] = w
	}
}

// processor measures a message of an account that is in memory, and of one that is not, in
// turn, so that what else the machine does slows both.
func (s *scale) processor(b *testing.B) {
	b.Helper()
	const messages = 40
	var hot, cold time.Duration
	runtime.GC()
	message := func(open bool) {
		before, sum := processorTime(b), &hot
		if open {
			sum = &cold
			s.load(b)
		}
		s.message(b)
		*sum += processorTime(b) - before
	}
	for n := range messages {
		// Each kind comes first in every second pair. Otherwise checkpoints, which come about
		// every 13 messages, could come with one kind more often.
		message(n%2 == 1)
		message(n%2 == 0)
	}
	each := func(d time.Duration) float64 {
		return d.Seconds() * 1000 / float64(messages*len(s.names))
	}
	s.row("processor time of a message, account in memory", "%.2f ms", each(hot))
	s.row("processor time of a message, account not in memory", "%.2f ms", each(cold))
	s.row("that, divided by the former", "%.2f", each(cold)/each(hot))
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// memory measures what the accounts take in memory.
func (s *scale) memory(b *testing.B) {
	b.Helper()
	with := heap()
	s.writers = nil
	without := heap()
	s.row("memory of an account that is in memory", "%d KB", (with-without)/int64(len(s.names))>>10)
}

// dump makes a snapshot and returns how many bytes of it are new, and the processor time.
func (s *scale) dump(b *testing.B, before *snapshot.Manifest) (bytes int, took time.Duration) {
	b.Helper()
	began := processorTime(b)
	m, err := snapshot.Dump(s.store, before, func(id snapshot.ChunkID, data []byte) error {
		s.chunks[id] = slices.Clone(data)
		bytes += len(data)
		return nil
	})
	testkit.OK(b, err)
	s.manifest = m
	return bytes, processorTime(b) - began
}

// snapshots measures a snapshot of which nothing was there, and what mail adds.
func (s *scale) snapshots(b *testing.B) {
	b.Helper()
	n := len(s.names)
	whole, _ := s.dump(b, nil)
	const single = 10
	one, took := 0, time.Duration(0)
	for range single {
		s.message(b)
		was := s.manifest
		bytes, d := s.dump(b, &was)
		one, took = one+bytes, took+d
	}
	const days = 7 // a new checkpoint comes about once a day, and makes one day unlike another
	day := 0
	for range days {
		was := s.manifest
		s.play(b, 1)
		bytes, _ := s.dump(b, &was)
		day += bytes
	}
	s.row("snapshot of an account, whole", "%d KB", whole/n>>10)
	s.row("the same, what one message adds", "%d KB", one/single/n>>10)
	s.row("the same, what a day adds", "%d KB", day/days/n>>10)
	s.row("processor time of a snapshot after one message", "%.1f ms", took.Seconds()*1000/float64(single*n))
}

// takeOver measures how long a new owner needs until an account can decide.
func (s *scale) takeOver(b *testing.B) {
	b.Helper()
	s.dump(b, nil)
	there := storeAt(b, filepath.Join(b.TempDir(), "there.db"), boltfile.Options{NoSync: true})
	before := processorTime(b)
	testkit.OK(b, snapshot.Begin(b.Context(), there, &s.manifest))
	read := 0
	get := func(id snapshot.ChunkID) ([]byte, error) {
		read += len(s.chunks[id])
		return s.chunks[id], nil
	}
	for _, name := range s.names {
		err := snapshot.Restore(there, name, get)
		if err == nil {
			_, err = writer.Open(there, name)
		}
		testkit.OK(b, err)
	}
	took := processorTime(b) - before
	n := len(s.names)
	s.row("processor time of a take-over, for each account, until it can decide", "%.1f ms", took.Seconds()*1000/float64(n))
	s.row("bytes read for that from the snapshots topic", "%d KB", read/n>>10)
	testkit.OK(b, there.Close())
}

// opening measures a restart, with the file in the page cache.
func (s *scale) opening(b *testing.B) {
	b.Helper()
	testkit.OK(b, s.store.Close())
	took, size := openFile(b, s.path)
	s.row("opening the store, for each GB", "%.2f s", took.Seconds()*1e9/float64(size))
}

// openFile opens a store and closes it; it returns the processor time of opening and the size.
func openFile(b *testing.B, path string) (time.Duration, int64) {
	b.Helper()
	before := processorTime(b)
	is, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	took := processorTime(b) - before
	if err == nil {
		err = is.Close()
	}
	testkit.OK(b, err)
	info, err := os.Stat(path)
	testkit.OK(b, err)
	return took, info.Size()
}

// small measures many accounts that have got one message each and are not in memory.
func (s *scale) small(b *testing.B, accounts int) {
	b.Helper()
	s.growth, s.chunks = nil, nil
	before := heap()
	g := newGrowth(b, accounts, s.options, boltfile.Options{NoSync: true})
	at := store.MomentOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	g.arrive(b, at, s.reader, s.all[0])
	names := len(g.names)
	all := g.names
	g.writers, g.names = nil, nil
	s.row("memory of an account that is not, its store being open", "%d bytes", max(heap()-before, 0)/int64(names))
	testkit.OK(b, g.store.Close())
	took, size := openFile(b, g.path)
	s.row("store, for each account with one message", "%d KB", size/int64(names)>>10)
	s.row("opening the store, for each such account", "%.0f µs", took.Seconds()*1e6/float64(names))
	g.store = storeAt(b, g.path, boltfile.Options{NoSync: true})
	var cold, hot time.Duration
	for group := range slices.Chunk(all, 500) {
		began := processorTime(b)
		g.names, g.writers = group, nil
		for _, name := range group {
			w := writerOf(b, g.store, name)
			g.writers = append(g.writers, w)
		}
		g.arrive(b, at.Add(time.Hour), s.reader, s.all[1])
		between := processorTime(b)
		g.arrive(b, at.Add(2*time.Hour), s.reader, s.all[2])
		cold, hot = cold+between-began, hot+processorTime(b)-between
	}
	s.row("processor time of its second message, account not in memory", "%.2f ms", cold.Seconds()*1000/float64(names))
	s.row("processor time of its third message, account in memory", "%.2f ms", hot.Seconds()*1000/float64(names))
	testkit.OK(b, g.store.Close())
}

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
