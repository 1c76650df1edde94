// SPDX-License-Identifier: Apache-2.0

package weightlist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

// source exports from an open store.
type source struct{ *boltfile.Store }

func (s source) Backup(ctx context.Context, w io.Writer) error {
	_, err := s.Store.Backup(ctx, w)
	return err
}

func (s source) Export(_ context.Context, account string, w io.Writer) error {
	_, err := copies.WriteExport(s.Store, account, w)
	return err
}

// learnt makes st know the words of a message, and one weight of unknown origin.
func learnt(t testing.TB, st *store.State) store.Batch {
	t.Helper()
	f, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	m := f.Read([]byte("From: boss@example.com\r\nSubject: quarterly figures\r\n\r\nThe figures.\r\n"))
	x := f.Freeze(m, featurize.History{})
	data, err := x.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	v := x.Vector()
	st.Weights.Add(0.5, v)
	st.TouchWeights(v)
	st.Weights.Set(4711, -3) // the word behind it is not known
	st.TouchWeights(model.Vector{{Index: 4711, Value: 1}})
	key := store.MessageKey{1}
	return store.Batch{
		Journal: [][]byte{{1}}, Features: []store.FeatureRecord{{Key: key, Data: data, Names: data}},
		Lessons: []store.Lesson{{Message: key, Label: model.Important, Weight: 1}},
	}
}

func newStore(t testing.TB) (path string, s *boltfile.Store, st *store.State) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "hinged.db")
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	st = store.NewState()
	if err := s.Commit("me", st, learnt(t, st)); err != nil {
		t.Fatal(err)
	}
	return path, s, st
}

// torn exports the first bytes only and then returns err.
type torn struct {
	source
	err error
}

func (s torn) Export(ctx context.Context, account string, w io.Writer) error {
	var whole bytes.Buffer
	if err := s.source.Export(ctx, account, &whole); err != nil {
		return err
	}
	if _, err := w.Write(whole.Bytes()[:500]); err != nil {
		return err
	}
	return s.err
}

func TestWeightsOfAnExportThatIsNotWholeAreNotWritten(t *testing.T) {
	path, s, _ := newStore(t)
	broken := errors.New("torn on purpose")
	target := filepath.Join(t.TempDir(), "weights.jsonl")
	for _, sent := range []error{broken, nil} {
		for _, file := range []string{target, copies.Standard} {
			var out bytes.Buffer
			_, err := Write(t.Context(), torn{source{s}, sent}, path, "me", file, true, &out)
			if err == nil || sent != nil && !errors.Is(err, sent) {
				t.Errorf("weights to %s of an export that ends with %v: %v", file, sent, err)
			}
			if out.Len() > 0 {
				t.Errorf("%d bytes reached standard output", out.Len())
			}
		}
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

func TestWeightsComeByMagnitudeWithTheirWords(t *testing.T) {
	path, s, st := newStore(t)
	var out bytes.Buffer
	n, err := Write(t.Context(), source{s}, path, "me", copies.Standard, false, &out)
	if err != nil {
		t.Fatal(err)
	}
	last, lines, words := math.Inf(1), 0, map[string]bool{}
	for line := range bytes.Lines(out.Bytes()) {
		var w Weight
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		if len(w.Index) != 16 || math.Abs(w.Weight) > last {
			t.Errorf("after %v comes %s", last, line)
		}
		last = math.Abs(w.Weight)
		if lines == 0 && (w.Weight != -3 || w.Feature != "" || w.Group != "") {
			t.Errorf("the first line is %s", line)
		}
		if lines > 0 && w.Feature == "" {
			t.Errorf("no word: %s", line)
		}
		words[w.Feature] = true
		lines++
	}
	if lines != n || lines != st.Weights.Len() {
		t.Errorf("%d lines, said to be %d, of %d weights", lines, n, st.Weights.Len())
	}
	if !words["subject:figures"] || !words["from:boss@example.com"] {
		t.Errorf("words: %v", words)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v; want the store alone", entries, err)
	}
}
