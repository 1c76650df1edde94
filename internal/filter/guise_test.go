// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// TestALookAlikeIsNotMarked: it is decided like any other message, and bears no mark until the
// owner says that they know the sender.
func TestALookAlikeIsNotMarked(t *testing.T) {
	w := newWorld(t, testOptions())
	w.teach()
	n := 0
	send := func(from string, headers ...string) (letter, store.Reason) {
		t.Helper()
		n++
		l, r := w.deliver("INBOX", mail(fmt.Sprintf("g%d@x", n), from, owner, fmt.Sprintf("urgent matter %d", n), headers...))
		if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant {
			t.Fatalf("%s: decided %+v", from, r.Decision)
		}
		if marked := len(r.Marks) > 0; marked != (r.Decision.Reason == store.ReasonThreshold) {
			t.Fatalf("%s: marked is %v for the reason %q", from, marked, r.Decision.Reason)
		}
		return l, r.Decision.Reason
	}
	const bank = "Nordbank <service@nordbank.org>"
	if _, why := send(bank); why != store.ReasonThreshold {
		t.Fatalf("the first to use a name is not marked: %q", why)
	}
	lookalike, why := send("Nordbank <service@n0rdbank-online.org>")
	if why != store.ReasonLookalike {
		t.Errorf("a look-alike: %q", why)
	}
	if _, why := send(bank, "Authentication-Results: mx.example.org; dmarc=fail header.from=nordbank.org"); why != store.ReasonLookalike {
		t.Errorf("forged mail: %q", why)
	}
	for _, from := range []string{bank, "Nordbank <service@nordbank.co.uk>", "Südbank <service@suedbank.org>"} {
		if _, why := send(from); why != store.ReasonThreshold {
			t.Errorf("%s is taken for another: %q", from, why)
		}
	}
	if again, err := New(w.f.State(), w.features); err != nil || !again.lookalike(&Meta{Guise: w.reader.Read(mail("", "Nordbank <a@n0rdbank-online.org>", owner, "")).Guise}) {
		t.Errorf("forgotten over a restart: %v", err)
	}
	w.apply(&Labelled{At: w.moment(), Message: lookalike.key, Label: model.Important})
	if _, why := send("Nordbank <service@n0rdbank-online.org>"); why != store.ReasonThreshold {
		t.Errorf("whom the owner calls important is a look-alike: %q", why)
	}
}

// TestWhatNobodyKnowsMovesTheThresholdAlone: silence about mail that was sent to the owner, and
// was read, teaches the learner nothing and counts in no judgement.
func TestWhatNobodyKnowsMovesTheThresholdAlone(t *testing.T) {
	o := testOptions()
	o.SilenceDays, o.SilenceCalendar, o.Shadow = 1, true, ShadowOn
	w := newWorld(t, o)
	w.teach()
	before, judged, standing := w.f.State().Account, w.f.Judgement(), w.f.Standing()
	w.personal = true
	l, _ := w.deliver("INBOX", mail("known@x", "ann@example.com", owner, "lunch"))
	w.flag(l, `\Seen`)
	w.wait(48 * time.Hour)
	after := w.f.State().Account
	if after.Important != before.Important || after.Ordinary != before.Ordinary || w.f.Judgement() != judged || w.f.Standing() != standing {
		t.Errorf("it counts as learnt: %+v, %+v", after, w.f.Standing())
	}
	slot, ok := w.f.State().Labelled.Find(l.key)
	s, _ := w.f.State().Labelled.Get(slot)
	if p := pointOf(slot, &s); !ok || !s.Unknown || p.important() <= 0 || p.important() >= 1 {
		t.Errorf("the threshold has %+v of it: %v", s, ok)
	}
	w.apply(&Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	if s, _ = w.f.State().Labelled.Get(slot); s.Unknown || s.Label != model.Ordinary {
		t.Errorf("the owner's word did not replace it: %+v", s)
	}
}
