// SPDX-License-Identifier: Apache-2.0

// Long: the cluster, a process of it, and what a test asks of both are read side by side.

package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

func testFilter() filter.Options {
	o := filter.DefaultOptions()
	o.Shadow = filter.ShadowOff
	o.Settle = time.Second
	o.EarlyFor = time.Minute
	return o
}

// testPrior is what every account begins with.
func testPrior() store.PackedVector {
	return store.PackVector(model.Vector{
		{Index: model.Affine, Value: -0.25},
		{Index: featurize.IndexOf("addressed:to alone"), Value: 0.5},
	})
}

var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// testFiles are the files of a process, asked as one.
type testFiles struct{ *Files }

func (f testFiles) Load(account string) (*store.State, error) {
	s, err := f.Find(account)
	if err != nil {
		return nil, err
	}
	return s.Load(account)
}

// of is the file of a partition of the input; nil: it has none.
func (f testFiles) of(number int32) *boltfile.Store {
	return f.Of(store.Partition{Topic: testTopics.Input, Number: number})
}

// positions are those of all files, by the number of their partition.
func (f testFiles) positions(t *testing.T) map[int32]store.LogPosition {
	t.Helper()
	out := map[int32]store.LogPosition{}
	for _, s := range f.All() {
		info, err := s.PartitionInfo()
		if errors.Is(err, store.ErrClosed) {
			continue // it is just being replaced
		}
		testkit.OK(t, err)
		out[info.Partition.Number] = info.LogPosition
	}
	return out
}

// process is one engine with files of its own.
type process struct {
	t      *testing.T
	broker *broker
	path   string
	hooks  boltfile.Hooks // of the store
	// how often the store makes checkpoints, and how much it keeps before them; 0: as it does
	checkpointEvery, journalCap int

	store  testFiles
	engine *Engine
	cancel context.CancelFunc
	done   chan struct{}
}

// tune changes the options of an engine.
type tune func(*Options)

func newProcess(t *testing.T, c *cluster) *process {
	p := &process{t: t, broker: &broker{c: c}, path: filepath.Join(t.TempDir(), "s.db")}
	t.Cleanup(p.stop)
	return p
}

// running is a process over a cluster that has begun.
func running(t *testing.T, c *cluster, tunes ...tune) *process {
	t.Helper()
	p := newProcess(t, c)
	p.run(tunes...)
	return p
}

// start opens the files and runs the engine.
func (p *process) start(tunes ...tune) {
	p.t.Helper()
	var err error
	if p.store.Files, err = OpenFiles(p.path, boltfile.Options{
		NoSync: true, LockTimeout: time.Minute, Hooks: p.hooks, CheckpointEvery: p.checkpointEvery, JournalCap: p.journalCap,
	}); err != nil {
		p.t.Fatal(err)
	}
	o := Options{
		Broker: p.broker, Files: p.store.Files, Topics: testTopics, Filter: testFilter(), Prior: testPrior(),
		Owner: func(key string) []string { return []string{key + "@example.org"} },
		Pause: func(int) time.Duration { return time.Millisecond },
	}
	for _, f := range tunes {
		f(&o)
	}
	p.engine, err = New(o)
	testkit.OK(p.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	p.cancel, p.done = cancel, done
	e := p.engine
	go func() {
		defer close(done)
		if err := e.Run(ctx); err != nil {
			p.t.Errorf("the engine ended: %v", err)
		}
	}()
}

// run starts the engine and waits until it has caught up.
func (p *process) run(tunes ...tune) {
	p.t.Helper()
	p.start(tunes...)
	eventually(p.t, func() error { return caughtUp(p.broker.c, p) })
}

// while waits as long as the status is so.
func (p *process) while(so func(s Status) bool) {
	p.t.Helper()
	eventually(p.t, func() error {
		if s := p.engine.Status(); so(s) {
			return fmt.Errorf("it says %+v", s)
		}
		return nil
	})
}

// stop ends the engine and closes its files.
func (p *process) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	<-p.done
	p.cancel = nil
	testkit.OK(p.t, p.store.Close())
}

// positions are those of the files.
func (p *process) positions() map[int32]int64 {
	p.t.Helper()
	out := map[int32]int64{}
	for number, at := range p.store.positions(p.t) {
		out[number] = at.Next
	}
	return out
}

// caughtUp reports what is still to be done, over several processes.
func caughtUp(c *cluster, all ...*process) error {
	at := map[int32]int64{}
	for _, p := range all {
		if p.cancel == nil {
			continue
		}
		for number, next := range p.positions() {
			at[number] = max(at[number], next)
		}
	}
	for number, w := range c.marks(testTopics.Input) {
		if w.End > w.First && at[int32(number)] < w.End {
			return fmt.Errorf("partition %d stands at %d of %d", number, at[int32(number)], w.End)
		}
	}
	return nil
}

// digests are those of all accounts, out of the store.
func digests(t *testing.T, s interface {
	Accounts() ([]string, error)
	Load(account string) (*store.State, error)
},
) map[string]string {
	t.Helper()
	names, err := s.Accounts()
	testkit.OK(t, err)
	out := map[string]string{}
	for _, n := range names {
		st, err := s.Load(n)
		testkit.OK(t, err)
		_, out[n] = store.Digest(st)
	}
	return out
}

// newest gives, for every partition, the digests of its accounts out of the store
// that has come furthest.
func newest(t *testing.T, all ...*process) map[string]string {
	t.Helper()
	best := map[int32]*process{}
	for _, p := range all {
		for number, at := range p.positions() {
			if b := best[number]; b == nil || at > b.positions()[number] {
				best[number] = p
			}
		}
	}
	out := map[string]string{}
	for number, p := range best {
		names, err := p.store.of(number).Accounts()
		testkit.OK(t, err)
		for _, n := range names {
			out[n] = digestOf(t, p.store, n)
		}
	}
	return out
}

func digestOf(t *testing.T, s testFiles, account string) string {
	t.Helper()
	st, err := s.Load(account)
	testkit.OK(t, err)
	_, d := store.Digest(st)
	return d
}

func sameDigests(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("there is nothing to compare")
	}
	for _, n := range slices.Sorted(maps.Keys(want)) {
		if got[n] != want[n] {
			t.Errorf("account %s has digest %s, want %s", n, got[n], want[n])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d accounts, want %d", len(got), len(want))
	}
}

// mail makes the raw message number n of an account.
func mail(rng *rand.Rand, account string, n int) []byte {
	words := []string{"plan", "invoice", "lunch", "offer", "meeting", "sale", "report", "win", "review", "deadline"}
	var body strings.Builder
	for range 12 {
		body.WriteString(words[rng.IntN(len(words))] + " ")
	}
	from := fmt.Sprintf("sender%d@example.net", rng.IntN(5))
	if rng.IntN(12) == 0 {
		from = account + "@example.org"
	}
	return fmt.Appendf(nil, "Message-ID: <%d.%s@example.net>\r\nFrom: %s\r\nTo: %s@example.org\r\nSubject: %s %s\r\n\r\n%s\r\n",
		n, account, from, account, words[rng.IntN(len(words))], words[rng.IntN(len(words))], body.String())
}

func messageRecord(account string, raw []byte, at time.Time) kafka.Record {
	return kafka.Record{Partition: kafka.ByKey, Key: []byte(account), Value: raw, Time: at}
}

func feedbackRecord(account, messageID, label, source string, at time.Time) kafka.Record {
	value := fmt.Sprintf(`{"message":"<%s>","label":%q,"source":%q}`, messageID, label, source)
	return kafka.Record{
		Partition: kafka.ByKey, Key: []byte(account), Value: []byte(value), Time: at,
		Headers: []kafka.Header{
			{Key: "ce_specversion", Value: []byte("1.0")}, {Key: "ce_id", Value: []byte("f" + messageID)},
			{Key: "ce_source", Value: []byte("test")}, {Key: "ce_type", Value: []byte(kafka.TypeFeedback)},
		},
	}
}

// filled is a cluster whose input is filled.
func filled(partitions int, seed uint64, accounts, messages int) *cluster {
	c := newCluster(partitions)
	fill(c, seed, accounts, messages)
	return c
}

// fill produces mail of some accounts with feedback between it: after its message,
// before it, twice, of messages that never come; and what must be refused.
func fill(c *cluster, seed uint64, accounts, messages int) {
	rng := rand.New(rand.NewPCG(seed, 1))
	at := epoch
	sent := map[string]int{}
	for range messages {
		at = at.Add(time.Duration(rng.IntN(2000)) * time.Millisecond)
		account := fmt.Sprintf("user%d", rng.IntN(accounts))
		n := sent[account]
		sent[account]++
		raw := mail(rng, account, n)
		label := "ordinary"
		if strings.Contains(string(raw), "plan") && rng.IntN(3) > 0 {
			label = "important"
		}
		about := func(n int) string { return fmt.Sprintf("%d.%s@example.net", n, account) }
		say := func(n int) {
			source := []string{"explicit", "mark", "flagged", "answered", "moved", "junk"}[rng.IntN(6)]
			c.put(testTopics.Input, feedbackRecord(account, about(n), label, source, at))
		}
		switch rng.IntN(10) {
		case 0:
			say(n) // before it comes
		case 1:
			say(n + 1_000_000) // in vain
		}
		c.put(testTopics.Input, messageRecord(account, raw, at))
		switch rng.IntN(6) {
		case 0, 1:
			say(n)
		case 2:
			say(rng.IntN(n + 1))
		case 3:
			c.put(testTopics.Input, messageRecord(account, raw, at)) // redelivered
		}
		event := func(e kafka.Event) {
			c.put(testTopics.Input, kafka.Encode(e, account, fmt.Sprint(n), "test", at))
		}
		what := rng.IntN(60)
		if c.frequent {
			what /= 2
		}
		if c.mindful && what >= 4 {
			continue
		}
		switch what {
		case 4:
			event(kafka.Unlearn{Since: at.Add(-time.Duration(rng.IntN(100)) * time.Second)})
		case 5:
			event(kafka.Forget{Ref: kafka.Ref{Message: kafka.MessageID(about(rng.IntN(n + 2)))}})
		case 6:
			event(kafka.Forget{Sender: fmt.Sprintf("sender%d@example.net", rng.IntN(5))})
		case 7:
			event(kafka.Forget{Before: at.Add(-time.Duration(200+rng.IntN(300)) * time.Second)})
		case 8:
			event(kafka.Rules{Rules: []kafka.Rule{{Match: "subject:" + []string{"plan", "lunch"}[n%2], Label: kafka.Label(n%3 > 0)}}})
		case 0:
			r := feedbackRecord(account, about(n), label, "mark", at)
			r.Value = []byte(`{"message":`)
			c.put(testTopics.Input, r)
		case 1:
			r := messageRecord(account, raw, at)
			r.Partition = (kafka.Partition(r.Key, int32(len(c.marks(testTopics.Input)))) + 1) % int32(len(c.marks(testTopics.Input)))
			c.put(testTopics.Input, r)
		case 2:
			c.marker(testTopics.Input, rng.IntN(len(c.marks(testTopics.Input))))
		case 3:
			c.put(testTopics.Input, kafka.Record{Partition: 0, Value: raw, Time: at})
		}
	}
}

// undisturbed returns the digests that one engine comes to which nothing disturbs.
// It reads the cluster's input and writes to one of its own. Another engine that reads
// it in other pieces must agree.
func undisturbed(t *testing.T, c *cluster, tunes ...tune) (map[string]string, *cluster) {
	t.Helper()
	replay := func(more tune) (map[string]string, *cluster) {
		own := c.anew()
		p := newProcess(t, own)
		p.run(append(slices.Clone(tunes), more)...)
		d := digests(t, p.store)
		pin(t, p, own)
		p.stop()
		return d, own
	}
	want, own := replay(func(*Options) {})
	got, again := replay(func(o *Options) { o.BatchRecords, o.CacheAccounts = 7, 2 })
	sameDigests(t, got, want)
	for _, topic := range []string{testTopics.Decisions, testTopics.DeadLetters} {
		if records := own.all(topic); len(records) > 0 {
			sameRecords(t, topic, again.all(topic), records)
		}
	}
	return want, own
}

// sameRecords checks that every record of want is in got under its ce_id, and that
// whatever got has more is a repetition, byte for byte.
func sameRecords(t *testing.T, topic string, got, want []kafka.Record) {
	t.Helper()
	of := func(all []kafka.Record) map[string][]string {
		m := map[string][]string{}
		for _, r := range all {
			id := identity(r)
			m[id] = append(m[id], fmt.Sprintf("%d %s %s %q", r.Partition, r.Key, r.Value, r.Headers))
		}
		return m
	}
	g, w := of(got), of(want)
	if len(w) == 0 {
		t.Fatalf("topic %s: there is nothing to compare", topic)
	}
	for id, all := range w {
		if len(g[id]) == 0 {
			t.Errorf("topic %s: %s is missing", topic, id)
		}
		for _, one := range g[id] {
			if one != all[0] {
				t.Errorf("topic %s: %s is\n%s, want\n%s", topic, id, one, all[0])
			}
		}
	}
	for id := range g {
		if len(w[id]) == 0 {
			t.Errorf("topic %s: %s should not be there", topic, id)
		}
	}
}

// sameOutput is sameRecords of decisions and of dead letters.
func sameOutput(t *testing.T, c, twin *cluster) {
	t.Helper()
	for _, topic := range []string{testTopics.Decisions, testTopics.DeadLetters} {
		sameRecords(t, topic, c.all(topic), twin.all(topic))
	}
}

// identity names a decision, or a dead letter by where its record was.
func identity(r kafka.Record) string {
	if id, ok := r.Header("ce_id"); ok {
		if _, dead := r.Header(kafka.HeaderReason); !dead {
			return string(id)
		}
	}
	p, _ := r.Header(kafka.HeaderPartition)
	o, _ := r.Header(kafka.HeaderOffset)
	why, _ := r.Header(kafka.HeaderReason)
	return fmt.Sprintf("%s/%s %s", p, o, why)
}

// commit commits what an account's writer has gathered.
func commit(t *testing.T, s *boltfile.Store, name string, w *writer.Writer) {
	t.Helper()
	testkit.OK(t, s.Commit(name, w.Filter().State(), w.Batch()))
	w.Committed()
}

// plain does what the input says the obvious way, one record after the other with a
// filter and a commit for each, and returns the digests.
func plain(t *testing.T, c *cluster) map[string]string {
	t.Helper()
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "plain.db"), boltfile.Options{NoSync: true})
	testkit.OK(t, err)
	defer func() { testkit.OK(t, s.Close()) }()
	accounts := map[string]*writer.Writer{}
	o := Options{Filter: testFilter(), Owner: func(key string) []string { return []string{key + "@example.org"} }}.withDefaults()
	partitions := int32(len(c.marks(testTopics.Input)))
	for _, r := range c.all(testTopics.Input) {
		event, err := kafka.Parse(r, partitions)
		if err != nil {
			continue
		}
		key := string(r.Key)
		name := kafka.AccountPrefix + key
		w := accounts[key]
		apply := func(e filter.Event) {
			if _, err := w.Apply(e); err != nil {
				t.Fatal(err)
			}
			commit(t, s, name, w)
		}
		rewrite := func(e past.RewriteRequest) {
			var early *past.TooEarlyError
			_, _, err := w.Rewrite(context.Background(), e, func(st *store.State, rw store.Rewrite) error { return s.Rewrite(name, st, rw) })
			if err != nil && !errors.As(err, &early) {
				t.Fatal(err)
			}
		}
		at := store.MomentOf(r.Time)
		if w == nil {
			if rewrites(event) {
				continue
			}
			w, err = writer.Open(s, name)
			testkit.OK(t, err)
			accounts[key] = w
			apply(&filter.Configured{At: at, Options: o.account(key)})
			apply(&filter.Primed{At: at, Weights: testPrior()})
		}
		switch event := event.(type) {
		case kafka.Message:
			reader, err := featurize.New(o.account(key).Featurize)
			testkit.OK(t, err)
			m := reader.Read(event.Raw)
			apply(&filter.Arrived{At: at, Meta: filter.NewMeta(m), Message: m})
		case kafka.Feedback:
			apply(&filter.Labelled{At: at, Waits: true, Label: label(bool(event.Label)), Source: sources[event.Source], ID: filter.IDOf(string(event.Message))})
		case kafka.Rules:
			e, refused := ruled(at, event)
			if refused != nil {
				t.Fatal(refused)
			}
			apply(e)
		case kafka.Unlearn:
			rewrite(&past.UnlearnRequested{At: at, Since: store.MomentOf(event.Since)})
		case kafka.Forget:
			e := &past.ForgetRequested{At: at}
			switch {
			case event.Message != "":
				e.ID = filter.IDOf(string(event.Message))
			case event.Sender != "":
				e.Sender = filter.SenderOf(event.Sender)
			default:
				e.Before = store.MomentOf(event.Before)
			}
			rewrite(e)
		}
	}
	return digests(t, s)
}
