// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// later begins a Past that reaches back to now.
func (w *world) later() *based {
	b := &based{world: &world{features: w.features, journal: slices.Clone(w.journal)}}
	w.past = nil
	w.now = w.now.Add(time.Minute)
	return b
}

// wantTooEarly has a request refused.
func (w *world) wantTooEarly(e past.RewriteRequest, b *based) {
	w.t.Helper()
	b.lessons = w.past
	var early *past.TooEarlyError
	if r, err := past.Rewrite(w.f, e, b); !errors.As(err, &early) {
		w.t.Errorf("%+v was not refused: %+v, error %v", e, r, err)
	}
}

// TestASenderIsNotForgottenWhileOlderLessonsStay: whatever is known of the sender besides.
func TestASenderIsNotForgottenWhileOlderLessonsStay(t *testing.T) {
	vouched := []byte("Authentication-Results: mx.example.org; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\r\n")
	for name, headers := range map[string][]byte{"doubtful": nil, "vouched for since": vouched} {
		t.Run(name, func(t *testing.T) {
			o := labelledAtOnce()
			o.Featurize.AuthServID = "mx.example.org"
			w := newWorld(t, o)
			l, _ := w.deliver("INBOX", mail("d@x", "ann@example.com", owner, "first words"))
			w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
			b := w.later()
			w.deliver("INBOX", append(slices.Clone(headers), mail("v@x", "ann@example.com", owner, "second words")...))
			w.wantTooEarly(&past.ForgetRequested{At: w.moment(), Sender: filter.SenderOf("ann@example.com")}, b)
		})
	}
	t.Run("came again after all else was forgotten", func(t *testing.T) {
		o := labelledAtOnce()
		o.Limits.Keep, o.Dual.Window = 20*keepDay, 20
		w := newWorld(t, o)
		news := filter.SenderOf("news@example.net")
		l, _ := w.deliver("INBOX", mail("d@x", "news@example.net", owner, "first words"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
		w.giveSlowly(0, 200)
		if s, known := w.f.State().Senders.Get(news.Key()); !known || s.Received != 0 || s.Lessons != 1 {
			t.Errorf("of the sender is known %+v (%v); want one lesson and nothing else", s, known)
		}
		b := w.later()
		l, _ = w.deliver("INBOX", mail("e@x", "news@example.net", owner, "second words"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
		w.wantTooEarly(&past.ForgetRequested{At: w.moment(), Sender: news}, b)
	})
	t.Run("beyond the limit of senders", func(t *testing.T) {
		o := labelledAtOnce()
		o.Limits.Senders = 100
		w := newWorld(t, o)
		news := filter.SenderOf("news@example.net")
		l, _ := w.deliver("INBOX", mail("d@x", "news@example.net", owner, "first words"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
		for i := range 110 {
			w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), fmt.Sprintf("s%d@example.com", i), owner, "some words"))
		}
		if _, known := w.f.State().Senders.Get(news.Key()); known {
			t.Fatal("the sender is known; it must be beyond the limit for this test to mean anything")
		}
		b := w.later()
		w.wantTooEarly(&past.ForgetRequested{At: w.moment(), Sender: news}, b)
		w.deliver("INBOX", mail("e@x", "news@example.net", owner, "second words"))
		w.wantTooEarly(&past.ForgetRequested{At: w.moment(), Sender: news}, b)
		// Once all lessons from before are forgotten there is no doubt any more.
		w.rewrite(&past.ForgetRequested{At: w.moment(), Before: w.moment() - 1})
		if s, _ := w.f.State().Senders.Get(news.Key()); s.Uncounted || w.f.State().Account.Uncounted {
			t.Errorf("lessons from nothing are in doubt: %+v", s)
		}
	})
}

// TestFewSendersAreKeptForTheirLessonsAlone: an account whose mail is forgotten by age does not
// grow with each sender that there ever was.
func TestFewSendersAreKeptForTheirLessonsAlone(t *testing.T) {
	o := labelledAtOnce()
	o.Limits.Keep, o.Dual.Window = keepDay, 20
	w := newWorld(t, o)
	for i := range filter.MaxBareSenders + 400 {
		w.now = w.now.Add(time.Hour)
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), fmt.Sprintf("s%d@example.com", i), owner, "some words"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	}
	st := w.f.State()
	if n := st.Senders.Len(); n > filter.MaxBareSenders+100 || !st.Account.Uncounted {
		t.Errorf("%d senders are known, some dropped: %v; want at most some %d, and true", n, st.Account.Uncounted, filter.MaxBareSenders)
	}
	again, _, err := past.Replay(store.NewState(), w.entries(), w.features)
	if err != nil {
		t.Fatal(err)
	}
	wantSameDigest(t, "replay", w.f, again)
}

// TestForgettingAllBeforeKeepsTheCountOfLaterLessons: a later message, for which nobody vouches,
// gave a lesson that stays.
func TestForgettingAllBeforeKeepsTheCountOfLaterLessons(t *testing.T) {
	vouched := []byte("Authentication-Results: mx.example.org; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\r\n")
	o := labelledAtOnce()
	o.Featurize.AuthServID = "mx.example.org"
	w := newWorld(t, o)
	ann := filter.SenderOf("ann@example.com")
	w.deliver("INBOX", append(slices.Clone(vouched), mail("v@x", "ann@example.com", owner, "second words")...))
	w.wait(time.Hour)
	cut := w.moment()
	w.wait(time.Hour)
	l, _ := w.deliver("INBOX", mail("d@x", "ann@example.com", owner, "first words"))
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
	w.rewrite(&past.ForgetRequested{At: w.moment(), Before: cut})
	s, ok := w.f.State().Senders.Get(ann.Key())
	if !ok || s.Lessons != 1 {
		t.Errorf("after forget --before the sender has %+v %v, one lesson on d@x is kept", s, ok)
	}
}
