// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// What an account counts for is about what it takes in memory or more, but not many times as
// much, whether it has just been loaded or its mail came to it there.
func TestAnAccountCountsForWhatItTakes(t *testing.T) {
	testkit.Computes(t) // which the race detector would count as well
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "s.db"), boltfile.Options{NoSync: true, CheckpointEvery: 1})
	testkit.OK(t, err)
	defer func() { _ = s.Close() }()
	const accounts = 4
	compare := func(what string, open func(name string) *writer.Writer) {
		t.Helper()
		all := make([]*writer.Writer, 0, accounts)
		before, counted := heapInUse(), 0
		for i := range accounts {
			all = append(all, open(fmt.Sprint("account", i)))
		}
		took := (heapInUse() - before) / accounts
		for _, w := range all {
			counted += stateSize(w.Filter().State()) * rowBytes / accounts
		}
		t.Logf("%s takes %d KB and counts for %d KB", what, took>>10, counted>>10)
		if 5*counted < 4*took || counted > 3*took { // a fifth is for what other tests leave and drop
			t.Errorf("%s takes %d bytes and counts for %d, want at least about as many, and at most three times", what, took, counted)
		}
		runtime.KeepAlive(all)
	}
	open := func(name string) *writer.Writer {
		w, err := writer.Open(s, name)
		testkit.OK(t, err)
		return w
	}
	compare("an account that got its mail", func(name string) *writer.Writer {
		w := open(name)
		receive(t, s, w, name, 600)
		return w
	})
	compare("an account that was loaded", open)
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// receive brings n messages to an account, each with a label, in commits of a hundred.
func receive(t *testing.T, s *boltfile.Store, w *writer.Writer, name string, n int) {
	t.Helper()
	reader, err := featurize.New(featurize.DefaultOptions())
	testkit.OK(t, err)
	apply := func(e filter.Event) {
		if _, err := w.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	apply(&filter.Configured{Options: filter.DefaultOptions()})
	random := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		var words strings.Builder
		for range 60 {
			fmt.Fprintf(&words, "word%d ", int(random.ExpFloat64()*400))
		}
		m := reader.Read(fmt.Appendf(nil, "From: s%d@example.org\r\nMessage-ID: <%d@x>\r\nSubject: subject %d\r\n\r\n%s\r\n", random.IntN(200), i, i, words.String()))
		at := store.MomentOf(time.Unix(int64(1e9+3600*i), 0))
		apply(&filter.Arrived{At: at, Meta: filter.NewMeta(m), Message: m})
		apply(&filter.Labelled{At: at, Message: store.MessageKey(m.Key), Label: model.Label(1 - 2*random.IntN(2))})
		if i%100 == 99 {
			commit(t, s, name, w)
		}
	}
}

// However many partitions there are, they share what a memory limit leaves for mail and accounts.
func TestManyPartitionsKeepToTheMemoryLimit(t *testing.T) {
	const limit, partitions = 160 << 20, 128
	c := newCluster(partitions)
	fill(c, 95, 300, 400)
	p := newProcess(t, c)
	p.run(func(o *Options) { o.Memory = limit })
	mail, rows := int64(0), 0
	eventually(t, func() error {
		p.engine.mu.Lock()
		ours := p.engine.ours
		p.engine.mu.Unlock()
		mail, rows = 0, 0
		for _, one := range ours {
			one.state.mu.Lock()
			in := one.state.intake
			one.state.mu.Unlock()
			if in == nil {
				return fmt.Errorf("partition %d has not begun", one.id.Number)
			}
			mail += in.limit
			rows += one.cache.rows
		}
		if len(ours) != partitions {
			return fmt.Errorf("%d of %d partitions are here", len(ours), partitions)
		}
		return nil
	})
	if mail > limit/8 || rows*rowBytes > limit/4 {
		t.Errorf("the partitions may hold %d MiB of mail and %d MiB of accounts, of %d MiB", mail>>20, rows*rowBytes>>20, limit>>20)
	}
}
