// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// looked gives the digests of what View shows.
func looked(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	names, err := e.Accounts()
	testkit.OK(t, err)
	out := map[string]string{}
	for _, name := range names {
		_, f, err := e.View(t.Context(), name)
		testkit.OK(t, err)
		_, out[name] = store.Digest(f.State())
	}
	return out
}

func TestAViewIsOfWhatIsCommitted(t *testing.T) {
	c := filled(1, 21, 6, 200)
	p := newProcess(t, c)
	var refused, waits atomic.Bool
	p.broker.produce = func(topic string, _ []kafka.Record, _ bool) error {
		if refused.Load() && topic == testTopics.Decisions {
			waits.Store(true)
			return errRefused
		}
		return nil
	}
	few := func(o *Options) { o.BatchRecords, o.CacheAccounts = 10, 2 } // accounts come and go in memory
	p.start(few)
	for caughtUp(c, p) != nil { // while writers work: nothing to compare with, but a race would show
		looked(t, p.engine)
	}
	want := digests(t, p.store)
	sameDigests(t, looked(t, p.engine), want)
	h, err := p.engine.owner("kafka:user0")
	if err != nil || !h.answers(t.Context()) {
		t.Errorf("the writer has not answered: %v", err)
	}

	// What brokers refuse is in the writers' memory and is not committed.
	refused.Store(true)
	fill(c, 22, 6, 30)
	eventually(t, func() error {
		if !waits.Load() {
			return fmt.Errorf("nothing was refused")
		}
		return nil
	})
	if got := looked(t, p.engine); !maps.Equal(got, digests(t, p.store)) {
		t.Error("what is not committed is shown")
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if h.answers(over) {
		t.Error("the writer has answered although its time was over")
	}
	refused.Store(false)
	eventually(t, func() error { return caughtUp(c, p) })
	sameDigests(t, looked(t, p.engine), digests(t, p.store))
}

func rulesRecord(account, value string, at time.Time) kafka.Record {
	r := messageRecord(account, []byte(value), at)
	r.Headers = []kafka.Header{
		{Key: "ce_type", Value: []byte(kafka.TypeRules)}, {Key: "ce_id", Value: []byte(value)},
		{Key: "ce_source", Value: []byte("test")}, {Key: "ce_specversion", Value: []byte("1.0")},
	}
	return r
}

// Rules that come as records decide what comes after them, are replaced by the
// next, and may come before any message.
func TestRulesOfTheTopicDecide(t *testing.T) {
	c := newCluster(1)
	at := epoch
	letter := func(n int) {
		at = at.Add(time.Minute)
		c.put(testTopics.Input, messageRecord("a", fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: boss@example.com\r\nSubject: number %d\r\n\r\ntext\r\n", n, n), at))
	}
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"from:boss@example.com","label":"important"}]}`, at))
	letter(1)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"from:boss@example.com","label":"important"},{"match":"From:Boss@example.com","label":"ordinary"}]}`, at))
	letter(2)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[{"match":"subject:number","label":"ordinary"}]}`, at))
	letter(3)
	c.put(testTopics.Input, rulesRecord("a", `{"rules":[]}`, at))
	letter(4)
	p := running(t, c)
	var got []string
	for _, r := range c.all(testTopics.Decisions) {
		var d kafka.Decision
		testkit.OK(t, json.Unmarshal(r.Value, &d))
		got = append(got, fmt.Sprintf("%s %s %v", d.Decision, d.Reason, d.Mark))
	}
	if len(got) != 4 || got[0] != "important rule true" || got[1] != got[0] || got[2] != "ordinary rule false" || got[3] == got[0] || got[3] == got[2] {
		t.Errorf("decisions are %q", got)
	}
	p.while(func(s Status) bool { return s.DeadLetters[kafka.BadValue] != 1 || len(s.DeadLetters) != 1 })
}

// pin logs what a process comes to, for make pins.
func pin(t *testing.T, p *process, out *cluster) {
	t.Helper()
	all := map[string][2]string{}
	for n := range digests(t, p.store) {
		st, err := p.store.Load(n)
		testkit.OK(t, err)
		model, state := store.Digest(st)
		all[n] = [2]string{model, state}
	}
	var decisions [][]byte
	for _, r := range out.all(testTopics.Decisions) {
		decisions = append(decisions, r.Value)
	}
	testkit.PinAccounts(t, "stream", all, decisions)
}

func TestTopicsAreThereBeforeTheGroupIsJoined(t *testing.T) {
	for _, create := range []bool{true, false} {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1))
		testkit.OK(t, err)
		t.Cleanup(fake.Close)
		c := kafka.New(kafka.Options{Brokers: fake.ListenAddrs(), Topics: testTopics, MetadataAge: time.Minute, MaxWait: 50 * time.Millisecond})
		t.Cleanup(func() { _ = c.Close() })
		b := Ensured(c, kafka.Wanted{Create: create, Partitions: 3, Replication: 1}, nil)
		b.(*ensured).pause = func(int) time.Duration { return 10 * time.Millisecond }
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		var got []int32
		var problems []error
		err = b.Run(ctx, kafka.Member{
			Generation: func(over context.Context, g kafka.Generation) {
				if got = g.Partitions; len(got) > 0 {
					cancel()
				}
				<-over.Done()
			},
			Problem: func(err error) {
				if problems = append(problems, err); !create && len(problems) == 3 {
					cancel()
				}
			},
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
		if create && len(got) != 3 {
			t.Errorf("got partitions %v, want three; problems %v", got, problems)
		}
		if !create && (len(got) > 0 || len(problems) < 3 || !errors.Is(problems[0], kafka.ErrNoTopic)) {
			t.Errorf("got partitions %v and problems %v, want that topics are missing", got, problems)
		}
	}
}

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
	c := filled(partitions, 95, 300, 400)
	p := running(t, c, func(o *Options) { o.Memory = limit })
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
