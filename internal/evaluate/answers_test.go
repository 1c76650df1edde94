// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
)

// TestAnswersAreThoseOfOneAfterTheOther has lists end within the stream and at its end.
func TestAnswersAreThoseOfOneAfterTheOther(t *testing.T) {
	for _, n := range []int{1, headersMessages - 1, headersMessages, 5*headersMessages + 7} {
		mbox, _ := testkit.Answered(n, 12)
		path := save(t, t.TempDir(), "m", mbox)
		open := func() *stream {
			s, err := openStream([]source{{path, 0}}, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.close() })
			return s
		}
		for _, h := range []heard{0, 0.5} {
			f, err := featurize.New(testOptions().Featurize)
			if err != nil {
				t.Fatal(err)
			}
			want, wantOwn, wantTotal := answers{}, 0, 0
			err = open().each(func(m mail) error {
				wantTotal++
				if a := f.ReadHeader(m.Raw); a.FromOwner {
					wantOwn++
					want.add(a, wantTotal, h)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got, own, total, err := findAnswers(t.Context(), open(), testOptions().Featurize, h, 2)
			if err != nil || own != wantOwn || total != wantTotal || !maps.Equal(got, want) {
				t.Errorf("%d messages: %d answers, %d own of %d, %v; want %d, %d of %d", n, len(got), own, total, err, len(want), wantOwn, wantTotal)
			}
		}
	}
}

func TestTheSearchForAnswersEndsWithItsContext(t *testing.T) {
	mbox, _ := testkit.Answered(3*headersMessages, 13)
	s, err := openStream([]source{{save(t, t.TempDir(), "m", mbox), 0}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := findAnswers(ctx, s, testOptions().Featurize, 0, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
