// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
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
