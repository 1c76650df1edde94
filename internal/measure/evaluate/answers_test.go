// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/internal/testkit"
)

// TestAnswersAreThoseOfOneAfterTheOther has lists end within the stream and at its end.
func TestAnswersAreThoseOfOneAfterTheOther(t *testing.T) {
	for _, n := range []int{1, headersMessages - 1, headersMessages, 5*headersMessages + 7} {
		mbox, _ := testkit.Answered(n, 12)
		path := save(t, t.TempDir(), "m", mbox)
		open := func() *stream {
			s := streamOf(t, []source{{path, 0}}, 1<<20)
			t.Cleanup(func() { s.close() })
			return s
		}
		for _, h := range []heard{0, 0.5} {
			f := readerOf(t, testOptions().Featurize)
			want, wantOwn, wantTotal := answers{}, 0, 0
			err := open().each(func(m mail) error {
				wantTotal++
				if a := f.ReadHeader(m.Raw); a.FromOwner {
					wantOwn++
					want.add(a, wantTotal, h)
				}
				return nil
			})
			testkit.OK(t, err)
			got, own, total, err := findAnswers(t.Context(), open(), testOptions().Featurize, h, 2)
			if err != nil || own != wantOwn || total != wantTotal || !maps.Equal(got, want) {
				t.Errorf("%d messages: %d answers, %d own of %d, %v; want %d, %d of %d", n, len(got), own, total, err, len(want), wantOwn, wantTotal)
			}
		}
	}
}

func TestTheSearchForAnswersEndsWithItsContext(t *testing.T) {
	mbox, _ := testkit.Answered(3*headersMessages, 13)
	s := streamOf(t, []source{{save(t, t.TempDir(), "m", mbox), 0}}, 1<<20)
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, err := findAnswers(ctx, s, testOptions().Featurize, 0, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// kinds are ways in which the owner's mail may refer to a message: header lines with its number.
var kinds = []string{
	"Subject: Re: boat %[1]d\nIn-Reply-To: <q%[1]d@x>", "Subject: boat\nReferences: <a@x> <q%[1]d@x>", "Subject: SV: Boat  %[1]d",
	"Subject: Re: boat %[1]d\nIn-Reply-To: <q%[1]d@x>\nAuto-Submitted: auto-replied", "Subject: Fwd: boat %[1]d\nIn-Reply-To: <q%[1]d@x>",
	"Subject: unsubscribe\nIn-Reply-To: <q%[1]d@x>", "Subject: boat %[1]d",
	"Subject: Ja: boat %[1]d\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REPLY\nBEGIN:VEVENT\nATTENDEE;PARTSTAT=ACCEPTED:me\n",
	"Subject: Ja: boat %[1]d\nIn-Reply-To: <q%[1]d@x>\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nMETHOD:REPLY\nBEGIN:VEVENT\nATTENDEE;PARTSTAT=DECLINED:me\n",
}

// TestWhatIsAnsweredIsWhatTheFilterLearns plays every kind of owner's mail, after a day and
// after 40 days, and other mail with the same subject; the first three kinds and an accepted
// invitation are answers.
func TestWhatIsAnsweredIsWhatTheFilterLearns(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []string
	put := func(days float64, from, to, id, header string) {
		when := at.Add(time.Duration(days * 24 * float64(time.Hour)))
		all = append(all, when.Format(time.RFC3339)+"\x00"+fmt.Sprintf("From x %s\nDate: %s\nFrom: %s\nTo: %s\nMessage-ID: <%s>\n%s\n\ntext\n\n",
			when.Format(time.ANSIC), when.Format(time.RFC1123Z), from, to, id, header))
	}
	want := map[uint64]bool{}
	for i, kind := range append(slices.Clone(kinds), kinds...) {
		wait := 1.5
		if i >= len(kinds) {
			wait = 40
		}
		from := fmt.Sprintf("p%d@x", i)
		put(float64(i), from, owner, fmt.Sprintf("old%d@x", i), fmt.Sprintf("Subject: Re: Boat %d", i))
		put(float64(i)+0.1, from, owner, fmt.Sprintf("q%d@x", i), fmt.Sprintf("Subject: Boat %d", i))
		put(float64(i)+0.2, "eve@x", owner, fmt.Sprintf("e%d@x", i), fmt.Sprintf("Subject: Boat %d", i))
		put(float64(i)+wait, owner, from, fmt.Sprintf("own%d@example.org", i), fmt.Sprintf(kind, i))
		if k := i % len(kinds); k < 2 || i < len(kinds) && (k == 2 || k == 7) {
			want[xxhash.Sum64String(fmt.Sprintf("q%d@x", i))] = true
		}
	}
	slices.Sort(all)
	var mbox []byte
	for _, m := range all {
		_, m, _ = strings.Cut(m, "\x00")
		mbox = append(mbox, m...)
	}
	path := save(t, t.TempDir(), "m", mbox)
	s := streamOf(t, []source{{path, 0}}, 1<<20)
	defer s.close()
	o := testOptions()
	found, own, total, err := findAnswers(t.Context(), s, o.Featurize, 0, 2)
	if err != nil || own != 2*len(kinds) || total != len(all) {
		t.Fatalf("%d own of %d, %v", own, total, err)
	}
	got, learnt := map[uint64]bool{}, map[uint64]bool{}
	for id := range found {
		got[id] = true
	}
	st := plain(t, path, o)
	for _, k := range st.IDs.Keys() {
		if known, _ := st.IDs.Get(k); known.Answered {
			m, _ := st.Messages.Get(string(known.Message[:]))
			learnt[uint64(m.ID)] = true
		}
	}
	if !maps.Equal(got, want) || !maps.Equal(learnt, want) {
		t.Errorf("%d are answered and %d learnt, want %d:\n%v\n%v\n%v", len(got), len(learnt), len(want), got, learnt, want)
	}
}
