// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const account = "me"

func open(t *testing.T) (*boltfile.Store, *writer.Writer) {
	t.Helper()
	s := storeAt(t, filepath.Join(t.TempDir(), "s.db"), boltfile.Options{NoSync: true})
	t.Cleanup(func() { testkit.OK(t, s.Close()) })
	w := writerOf(t, s, account)
	return s, w
}

func storeAt(tb testing.TB, path string, o boltfile.Options) *boltfile.Store {
	tb.Helper()
	s, err := boltfile.Open(path, o)
	testkit.OK(tb, err)
	return s
}

func writerOf(tb testing.TB, s *boltfile.Store, name string) *writer.Writer {
	tb.Helper()
	w, err := writer.Open(s, name)
	testkit.OK(tb, err)
	return w
}

func readerOf(tb testing.TB, o featurize.Options) *featurize.Featurizer {
	tb.Helper()
	f, err := featurize.New(o)
	testkit.OK(tb, err)
	return f
}

func apply(t *testing.T, w *writer.Writer, e filter.Event) filter.Result {
	t.Helper()
	r, err := w.Apply(e)
	testkit.OK(t, err)
	return r
}

func arrive(t *testing.T, w *writer.Writer, raw string) store.MessageKey {
	t.Helper()
	reader := readerOf(t, featurize.DefaultOptions())
	m := reader.Read([]byte(raw))
	r := apply(t, w, &filter.Arrived{At: 1, Meta: filter.NewMeta(m), Message: m})
	return r.Decision.Message
}

func TestWhatIsGatheredIsCommittedAndFoundAgain(t *testing.T) {
	s, w := open(t)
	apply(t, w, &filter.Configured{Options: filter.DefaultOptions()})
	first := arrive(t, w, "Subject: one\r\n\r\nfirst words\r\n")
	second := arrive(t, w, "Subject: two\r\n\r\nother words\r\n")
	// The first is not the filter's latest any more: its features come from the
	// batch, which is not committed yet.
	apply(t, w, &filter.Labelled{At: 2, Message: first, Label: model.Important})
	if n := len(w.Lessons()); n != 1 || !w.Dirty() {
		t.Fatalf("got %d lessons, dirty %v; want 1, true", n, w.Dirty())
	}
	if _, err := s.Features(account, first); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("before the commit the store has features: %v", err)
	}
	for range 2 { // the second time as after a commit that failed
		b := w.Batch()
		if len(b.Journal) != 4 || len(b.Features) != 2 || len(b.Lessons) != 1 {
			t.Fatalf("got %d journal entries, %d features, %d lessons; want 4, 2, 1", len(b.Journal), len(b.Features), len(b.Lessons))
		}
	}
	testkit.OK(t, s.Commit(account, w.Filter().State(), w.Batch()))
	w.Committed()
	if w.Dirty() || len(w.Lessons()) != 0 {
		t.Error("after the commit something is left")
	}
	again := writerOf(t, s, account)
	_, want := store.Digest(w.Filter().State())
	if _, got := store.Digest(again.Filter().State()); got != want {
		t.Errorf("loaded again it has digest %s, want %s", got, want)
	}
	for _, k := range []store.MessageKey{first, second} {
		x, err := again.Features(k)
		testkit.OK(t, err)
		if y, err := w.Features(k); err != nil || x.Len() != y.Len() || x.Len() == 0 {
			t.Errorf("got %d features, then %d; error %v", x.Len(), y.Len(), err)
		}
	}
}

func TestAnEventThatTellsNothingNewIsNotGathered(t *testing.T) {
	_, w := open(t)
	apply(t, w, &filter.Configured{Options: filter.DefaultOptions()})
	before := len(w.Batch().Journal)
	if r := apply(t, w, &filter.Labelled{At: 5, Message: store.MessageKey{1}, Label: model.Important}); r.Changed {
		t.Fatal("a label for a message that nobody knows changed something")
	}
	if now := len(w.Batch().Journal); now != before {
		t.Errorf("got %d journal entries, want %d", now, before)
	}
}

// A vector or names that can't be decoded are damage to the store: a partition is then taken over
// again, and doesn't stop.
func TestAVectorThatCantBeReadIsDamage(t *testing.T) {
	s, _ := open(t)
	k := store.MessageKey{1, 2, 3}
	err := s.Commit(account, store.NewState(), store.Batch{Features: []store.FeatureRecord{{Key: k, Data: []byte("no vector"), Names: []byte("no names")}}})
	testkit.OK(t, err)
	v := writer.NewVectors(s, account)
	if _, err := v.Vector(store.MessageKey{9}, nil); errors.Is(err, store.ErrDamaged) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Vector of another: %v, want ErrNotFound", err)
	}
	if _, err := v.Vector(k, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Vector: %v, want ErrDamaged", err)
	}
	if _, err := v.Features(k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Features: %v, want ErrDamaged", err)
	}
	if _, err := writer.NewReplayVectors(s, account).Arriving(k); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Arriving: %v, want ErrDamaged", err)
	}
}

// counting counts what a filter asks its Vectors for.
type counting struct {
	*writer.Vectors
	vectors, features int
}

func (c *counting) Features(k store.MessageKey) (*featurize.Features, error) {
	c.features++
	return c.Vectors.Features(k)
}

func (c *counting) Vector(k store.MessageKey, into model.Vector) (model.Vector, error) {
	c.vectors++
	return c.Vectors.Vector(k, into)
}

// An arrival on an account that was just loaded reads the vectors that it replays and
// nothing else of other messages.
func TestAnArrivalOnAColdAccountReadsWhatItReplays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s := storeAt(t, path, boltfile.Options{NoSync: true})
	w := writerOf(t, s, account)
	live(t, s, w, 300)
	testkit.OK(t, s.Close())
	s = storeAt(t, path, boltfile.Options{NoSync: true})
	defer func() { testkit.OK(t, s.Close()) }()
	st, err := s.Load(account)
	testkit.OK(t, err)
	v := &counting{Vectors: writer.NewVectors(s, account)}
	f, err := filter.New(st, v)
	testkit.OK(t, err)
	if vectors, names := s.Reads(); v.vectors+v.features > 0 || vectors+names > 0 {
		t.Errorf("loading reads %d vectors and %d names", vectors, names)
	}
	o := f.Options()
	if o.Dual.Window == 0 || o.Dual.Steps == 0 || st.Window.Len() == 0 {
		t.Fatalf("the account does not replay: %+v, %d lessons", o.Dual, st.Window.Len())
	}
	reader := readerOf(t, o.Featurize)
	before := st.Account.Replayed
	for n := range 20 {
		m := reader.Read([]byte("From: s1@example.org\r\nSubject: one more\r\n\r\nword1 word2 word3\r\n" + string(rune('a'+n)) + "\r\n"))
		if _, err := f.Apply(&filter.Arrived{At: middle(10_000), Meta: filter.NewMeta(m), Message: m}); err != nil {
			t.Fatal(err)
		}
		most := (n + 1) * o.Dual.Steps
		vectors, names := s.Reads()
		if v.vectors > most || v.features > 0 || vectors > uint64(most) || names > 0 {
			t.Fatalf("%d arrivals asked for %d vectors and %d features and read %d vectors and %d names; want at most %d vectors",
				n+1, v.vectors, v.features, vectors, names, most)
		}
	}
	if st.Account.Replayed == before || v.vectors == 0 {
		t.Error("nothing was replayed")
	}
}

// Names are for people: without any, the account decides, learns and takes back as
// it does with them.
func TestAnAccountNeedsNoNames(t *testing.T) {
	testkit.Computes(t)
	var digests []string
	for _, most := range []int{0, 1} {
		s := storeAt(t, filepath.Join(t.TempDir(), "s.db"), boltfile.Options{NoSync: true, NamesCap: most})
		w := writerOf(t, s, account)
		live(t, s, w, 600)
		k := store.MessageKey([]byte(w.Filter().State().Messages.Keys()[0]))
		ex, err := w.Filter().Explainer.Explain(k, nil)
		if err != nil || len(ex.Parts) == 0 {
			t.Fatalf("%d parts, %v", len(ex.Parts), err)
		}
		sum, named := 0.0, 0
		byIndex := map[model.Index]float64{}
		for _, p := range ex.Parts {
			byIndex[p.Index] = p.Amount
			if p.Name != "" && p.Group != featurize.Constant {
				named++
			}
		}
		x, err := w.Features(k)
		testkit.OK(t, err)
		for f := range x.All() {
			sum += byIndex[f.Index]
		}
		if sum != ex.Score {
			t.Errorf("the parts add up to %v, the score is %v", sum, ex.Score)
		}
		if (named == 0) != (most == 1) {
			t.Errorf("with names of %d messages kept, %d parts have a name", most, named)
		}
		if r, _, err := w.Rewrite(context.Background(), &past.UnlearnRequested{Since: middle(600)}, rewritten(s)); err != nil || r.Lessons == 0 {
			t.Fatalf("%d lessons taken back, %v", r.Lessons, err)
		}
		_, state := store.Digest(w.Filter().State())
		digests = append(digests, state)
		if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
			t.Errorf("verify: %v %v", err, report.Problems)
		}
		testkit.OK(t, s.Close())
	}
	if digests[0] != digests[1] {
		t.Errorf("with names the state is %s, without %s", digests[0], digests[1])
	}
}

// The store may keep older lessons than those that an account learns anew: what can be taken back
// begins later once enough lies behind it. What goes is the lesson that the owner took back.
func TestAStarThatIsTakenOffGoesFromAnAccountWithALongPast(t *testing.T) {
	s, w := open(t)
	reader := readerOf(t, featurize.DefaultOptions())
	at := middle(0)
	do := func(e filter.Event) {
		t.Helper()
		if r := apply(t, w, e); !r.Changed {
			t.Fatalf("%T changed nothing", e)
		}
		testkit.OK(t, s.Commit(account, w.Filter().State(), w.Batch()))
		w.Committed()
	}
	place := func(i int) filter.Place { return filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uint32(i + 1)} }
	arrive := func(i int) store.MessageKey {
		at += 60_000
		m := reader.Read(fmt.Appendf(nil, "From: s%d@example.org\r\nMessage-ID: <%d@x>\r\n\r\nthe words of %d\r\n", i%7, i, i))
		do(&filter.Arrived{At: at, Place: place(i), Meta: filter.NewMeta(m), Message: m})
		return store.MessageKey(m.Key)
	}
	o := filter.DefaultOptions()
	o.Settle, o.Limits.Journal = 0, 20
	do(&filter.Configured{Options: o})
	do(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
	for i := range 50 {
		do(&filter.Labelled{At: at, Message: arrive(i), Label: model.Label(1 - 2*(i%2))})
	}
	starred := arrive(50)
	do(&filter.Flagged{At: at, Place: place(50), Flags: []string{`\flagged`}})
	do(&filter.Labelled{At: at, Message: arrive(51), Label: model.Ordinary})
	do(&filter.Flagged{At: at, Place: place(50)})
	at += 60_000
	do(&filter.Ticked{At: at})
	if reach := w.Filter().State().Account.Reach; reach.Entries == 0 {
		t.Fatal("everything can still be taken back")
	}

	r, _, err := w.Rewrite(t.Context(), &past.TakeBackRequested{At: at}, rewritten(s))
	if err != nil || r.Lessons != 1 {
		t.Fatalf("%d lessons were taken back, %v; want 1", r.Lessons, err)
	}
	if m, _ := w.Filter().State().Messages.Get(string(starred[:])); m.Label != 0 || m.Lessons != 0 {
		t.Errorf("the message has the label %v and %d lessons", m.Label, m.Lessons)
	}
	for l, err := range s.Lessons(account, 0) {
		testkit.OK(t, err)
		if l.Message == starred {
			t.Error("its lesson is kept")
		}
	}
}

// pagesOf returns how far a store's file is in use, free pages included (bbolt makes it longer by
// 16 MiB at a time), and the bytes of the pages that the records of accounts lie in, by bucket
// and of "all". The store is closed.
func pagesOf(tb testing.TB, path string, names ...string) (file int64, sizes map[string]int) {
	tb.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: time.Minute})
	testkit.OK(tb, err)
	defer db.Close()
	sizes = map[string]int{}
	testkit.OK(tb, db.View(func(tx *bolt.Tx) error {
		file = tx.Size()
		for _, name := range names {
			a := tx.Bucket([]byte("accounts")).Bucket([]byte(name))
			err := a.ForEachBucket(func(k []byte) error {
				s := a.Bucket(k).Stats()
				sizes[string(k)] += s.LeafAlloc + s.BranchAlloc
				sizes["all"] += s.LeafAlloc + s.BranchAlloc
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return file, sizes
}

// TestAStreamAccountStopsGrowing: with the bounds of [kafka], 20 messages a day. Two or
// three saved states are kept, by the moment, so that not all days are alike. What is kept
// is whole: the journal from the base gives the state, and taking back reaches back
// for five days.
func TestAStreamAccountStopsGrowing(t *testing.T) {
	testkit.Computes(t)
	const perDay, days, level = 20, 160, 120 // after 115 days the windows of scores are full
	mail := testkit.NewMail(7)
	o := streamOptions()
	o.Featurize.Owner = []string{mail.Owner}
	reader := readerOf(t, o.Featurize)
	path := t.TempDir() + "/s.db"
	open := func() *boltfile.Store {
		s := storeAt(t, path, boltfile.Options{NoSync: true})
		return s
	}
	s := open()
	p := store.Partition{Topic: "in"}
	testkit.OK(t, s.BeginPartition(p, store.LogPosition{Partitions: 1}))
	var levelled, most int
	for day := range days {
		w := writerOf(t, s, account)
		if day == 0 {
			apply(t, w, &filter.Configured{Options: o})
		}
		for n := range perDay {
			at := store.MomentOf(time.Date(2026, 1, 1+day, n, 0, 0, 0, time.UTC))
			m := mail.Next()
			if n == perDay-1 {
				m = mail.Reply(m)
			}
			message := reader.Read(m.Raw)
			meta := filter.NewMeta(message)
			if message.FromOwner {
				meta = meta.ByOwner()
			}
			apply(t, w, &filter.Arrived{At: at, Meta: meta, Message: message})
			testkit.OK(t, s.CommitPartition(store.LogPosition{Next: int64(perDay*day + n + 1)}, []store.AccountCommit{{Account: account, State: w.Filter().State(), Batch: w.Batch()}}))
			w.Committed()
		}
		if day%20 != 19 {
			continue
		}
		checkBase(t, s, w.Filter(), day)
		testkit.OK(t, s.Close())
		_, sizes := pagesOf(t, path, account)
		bytes := sizes["all"]
		t.Logf("after %d days: %d bytes", day+1, bytes)
		if day < level {
			levelled = max(levelled, bytes)
		}
		most = max(most, bytes)
		s = open()
	}
	if report, err := s.Verify(t.Context()); err != nil || !report.OK() {
		t.Errorf("verify: %v %v", err, report.Problems)
	}
	testkit.OK(t, s.Close())
	if most > levelled*6/5 || most > 1_800_000 {
		t.Errorf("after %d days the account took %d bytes at most, later %d; it must stop growing below 1.8 MB", level, levelled, most)
	}
}

// checkBase demands that a replay from the base gives the state, and that the base is
// as old as the days allow.
func checkBase(t *testing.T, s *boltfile.Store, f *filter.Filter, day int) {
	t.Helper()
	base, next, err := s.Base(account)
	testkit.OK(t, err)
	clock := base.Account.Clock
	replayed, _, err := past.Replay(base, s.Journal(account, next), writer.NewReplayVectors(s, account))
	testkit.OK(t, err)
	model, state := store.Digest(f.State())
	if m, d := store.Digest(replayed.State()); m != model || d != state {
		t.Errorf("after %d days a replay from the base gives another state", day+1)
	}
	if age := f.State().Account.Clock.Time().Sub(clock.Time()); age < 5*24*time.Hour || age > 13*24*time.Hour {
		t.Errorf("after %d days the base is %v old, want 5 to 10 days and what a checkpoint waits for", day+1, age)
	}
}
