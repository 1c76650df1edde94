// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

func TestAPoolReadsAsAFeaturizerOfTheSameOptionsDoes(t *testing.T) {
	mails := []string{
		"From: a@example.org\nTo: me@example.org\nSubject: one\n\nfirst words here\n",
		"From: me@example.org\nTo: a@example.org\nSubject: =?utf-8?q?gr=C3=BCn?=\n\nown words\n",
		"",
		"\x00\xff no mail at all",
	}
	short := featurize.DefaultOptions()
	short.MaxBytes = 40
	var options []featurize.Options
	for _, o := range []featurize.Options{featurize.DefaultOptions(), short} {
		for _, owner := range []string{"ME@example.org", "a@example.org"} {
			o.Owner = []string{owner}
			options = append(options, o)
		}
	}
	pool := NewPool(2)
	var all sync.WaitGroup
	defer all.Wait()
	for _, o := range options {
		reader, err := pool.Reader(o)
		testkit.OK(t, err)
		all.Go(func() {
			for range 50 {
				for _, raw := range mails {
					twin, err := featurize.New(o)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := reader.Read(t.Context(), reader.Cut([]byte(raw)))
					if err != nil {
						t.Error(err)
						return
					}
					want := twin.Read([]byte(raw)[:min(len(raw), o.MaxBytes)])
					if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
						t.Errorf("for %v, %q reads as\n%.500s, not as\n%.500s", o.Owner, raw, a, b)
						return
					}
				}
			}
		})
	}
}

func TestAnotherOwnersReaderDiffersInTheOwnerOnly(t *testing.T) {
	reader, err := NewPool(1).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	raw := []byte("From: a@example.org\nSubject: s\n\nb\n")
	for _, tt := range []struct {
		reader *Reader
		own    bool
	}{{reader, false}, {reader.Owned([]string{"A@example.org "}), true}, {reader, false}} {
		m, err := tt.reader.Read(t.Context(), raw)
		testkit.OK(t, err)
		if m.FromOwner != tt.own {
			t.Errorf("own is %v, want %v", m.FromOwner, tt.own)
		}
	}
}

func TestAPoolRefusesOptionsThatCannotBe(t *testing.T) {
	o := featurize.DefaultOptions()
	o.MaxBytes = 0
	if _, err := NewPool(1).Reader(o); err == nil {
		t.Error("a limit of 0 bytes was taken")
	}
}

func TestReadingWaitsForAFeaturizerNoLongerThanItsContext(t *testing.T) {
	pool := NewPool(1)
	reader, err := pool.Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	taken := <-pool.idle
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := reader.Read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	pool.idle <- taken
	if _, err := reader.Read(t.Context(), nil); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestALongLineKeepsNoOtherWaiting: of one line, whoever owns its mail, as many messages
// wait for a featurizer as there are. The others of it don't, so another line goes ahead.
func TestALongLineKeepsNoOtherWaiting(t *testing.T) {
	const places = 3
	hot, err := NewPool(places).Reader(featurize.DefaultOptions())
	testkit.OK(t, err)
	owned := hot.Owned([]string{"a@example.org"})
	for range places {
		hot.turns <- struct{}{} // as one that waits
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []*Reader{hot, owned} {
		if _, err := r.Read(gone, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("one more of the line: %v", err)
		}
	}
	for _, r := range []*Reader{hot.Line(), owned.Line()} {
		if _, err := r.Read(t.Context(), nil); err != nil {
			t.Errorf("another line: %v", err)
		}
	}
	for range places {
		<-hot.turns
	}
	for range 2 * places {
		if _, err := owned.Read(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if n := len(hot.turns); n != 0 {
		t.Errorf("%d places in the line are taken by nobody", n)
	}
}
