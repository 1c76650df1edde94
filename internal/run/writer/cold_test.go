// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

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
