// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// sender delivers mail that is important by its words, and says why it is not marked.
type sender struct {
	*world
	n int
}

func newSender(t *testing.T) *sender {
	w := newWorld(t, testOptions())
	w.teach()
	return &sender{world: w}
}

func (s *sender) send(from string, headers ...string) (letter, store.Reason) {
	s.t.Helper()
	s.n++
	l, r := s.deliver("INBOX", mail(fmt.Sprintf("g%d@x", s.n), from, owner, fmt.Sprintf("urgent matter %d", s.n), headers...))
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant {
		s.t.Fatalf("%s: decided %+v", from, r.Decision)
	}
	if marked := len(r.Marks) > 0; marked != (r.Decision.Reason == store.ReasonThreshold) {
		s.t.Fatalf("%s: marked is %v for the reason %q", from, marked, r.Decision.Reason)
	}
	return l, r.Decision.Reason
}

// want is send for one whose reason is known.
func (s *sender) want(what string, reason store.Reason, from string, headers ...string) letter {
	s.t.Helper()
	l, why := s.send(from, headers...)
	if why != reason {
		s.t.Errorf("%s: the reason is %q, want %q", what, why, reason)
	}
	return l
}

// TestALookAlikeIsNotMarked: it is decided like any other message, and bears no mark until the
// owner says that they know the sender.
func TestALookAlikeIsNotMarked(t *testing.T) {
	w := newSender(t)
	const bank = "Nordbank <service@nordbank.org>"
	w.want("the first to use a name", store.ReasonThreshold, bank)
	lookalike := w.want("a look-alike", store.ReasonLookalike, "Nordbank <service@n0rdbank-online.org>")
	w.want("forged mail", store.ReasonLookalike, bank, "Authentication-Results: mx.example.org; dmarc=fail header.from=nordbank.org")
	for _, from := range []string{bank, "Nordbank <service@nordbank.co.uk>", "Südbank <service@suedbank.org>"} {
		w.want(from+" is taken for another", store.ReasonThreshold, from)
	}
	if again, err := filter.New(w.f.State(), w.features); err != nil || !again.Lookalike(&filter.Meta{Guise: w.reader.Read(mail("", "Nordbank <a@n0rdbank-online.org>", owner, "")).Guise}) {
		t.Errorf("forgotten over a restart: %v", err)
	}
	w.apply(&filter.Labelled{At: w.moment(), Message: lookalike.key, Label: model.Important})
	w.want("whom the owner calls important", store.ReasonThreshold, "Nordbank <service@n0rdbank-online.org>")
}

// TestANameBelongsToWhomTheOwnerTrusts, not to a stranger who used it first, nor to the next one
// who is trusted.
func TestANameBelongsToWhomTheOwnerTrusts(t *testing.T) {
	const first, bearer, second = "Nordbank <a@nordbank-login.com>", "Nordbank <service@nordbank.org>", "Nordbank <card@nordbank-card.org>"
	word := func(s *sender, l letter) {
		s.apply(&filter.Labelled{At: s.moment(), Message: l.key, Label: model.Important})
	}
	kept := func(read, left uint32) func(*sender, letter) {
		return func(s *sender, _ letter) {
			filter.ChangeSender(s.f.State(), filter.SenderOf("service@nordbank.org"), func(row *store.Sender) { row.Read, row.Unread = read, left })
		}
	}
	for how, trust := range map[string]func(*sender, letter){
		"a word":          word,
		"an answer":       func(s *sender, l letter) { s.deliver("Sent", mail("own@x", owner, "service@nordbank.org", "thanks")) },
		"mail that stays": kept(filter.TrustKept, 1),
	} {
		w := newSender(t)
		w.want(how+": the first", store.ReasonThreshold, first)
		l := w.want(how+": an unknown bearer", store.ReasonLookalike, bearer)
		kept(filter.TrustKept, filter.TrustKept)(w, l)
		w.want(how+": a bearer who is ignored as often", store.ReasonLookalike, bearer)
		trust(w, l)
		w.want(how+": the bearer", store.ReasonThreshold, bearer)
		w.want(how+": another address of the bearer's", store.ReasonThreshold, "Nordbank <news@nordbank.org>")
		w.want(how+": the first once more", store.ReasonLookalike, first)
		word(w, w.want(how+": a second one", store.ReasonLookalike, second))
		w.want(how+": a second one that is trusted", store.ReasonThreshold, second)
		w.want(how+": another address of the bearer's, again", store.ReasonThreshold, "Nordbank <help@nordbank.org>")
	}
}

// TestANewSenderForWhomNobodyVouchesIsNotMarked where a server is believed, with a link or without.
func TestANewSenderForWhomNobodyVouchesIsNotMarked(t *testing.T) {
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	w := &sender{world: newWorld(t, o)}
	w.teach()
	w.want("nobody vouches", store.ReasonStranger, "a@d1.example")
	w.want("the server vouches", store.ReasonThreshold, "a@d2.example", "Authentication-Results: mx.example.org; dmarc=pass header.from=d2.example")
}

// TestALinkFromANewSenderIsNotMarked until a day later, unless it answers the owner or the owner
// trusts its sender.
func TestALinkFromANewSenderIsNotMarked(t *testing.T) {
	w := newSender(t)
	const link = "Content-Type: text/plain\r\n\r\nhttps://go.example/"
	w.want("no link", store.ReasonThreshold, "a@d1.example")
	w.want("a domain known for a moment", store.ReasonStranger, "a@d1.example", link)
	w.want("a new domain", store.ReasonStranger, "a@d2.example", link)
	w.deliver("Sent", mail("mine@x", owner, "b@d3.example", "hello"))
	w.want("to whom the owner wrote", store.ReasonThreshold, "b@d3.example", link)
	w.want("an answer to the owner", store.ReasonThreshold, "c@d4.example", "In-Reply-To: <mine@x>", link)
	w.want("an answer to nobody", store.ReasonStranger, "c@d5.example", "In-Reply-To: <theirs@x>", link)
	w.want("from a list", store.ReasonThreshold, "c@d6.example", "List-Post: <mailto:l@d6.example>", link)
	w.deliver("Junk", mail("junk@x", "c@d7.example", owner, "junk"))
	w.wait(filter.NewDomain)
	w.want("a day later", store.ReasonThreshold, "b@d2.example", link)
	w.want("below a known domain", store.ReasonThreshold, "b@mail.d2.example", link)
	w.want("beside a known domain", store.ReasonStranger, "b@d9.example", link)
	w.want("known from junk alone", store.ReasonStranger, "c@d7.example", link)
}

// TestMailThatLacksThePassOfItsDomainIsNotMarked, however well its sender is known, while most
// of the domain's mail has one.
func TestMailThatLacksThePassOfItsDomainIsNotMarked(t *testing.T) {
	w := newSender(t)
	const bank, pass = "Nordbank <service@nordbank.org>", "Authentication-Results: mx.example.org; dkim=pass; dmarc=pass header.from=nordbank.org"
	w.want("nothing is known", store.ReasonThreshold, bank)
	for range 4 {
		w.want("a pass", store.ReasonThreshold, bank, pass)
	}
	w.deliver("Sent", mail("own@x", owner, "service@nordbank.org", "thanks"))
	w.want("no pass", store.ReasonLookalike, bank)
	w.want("no pass, again", store.ReasonLookalike, bank)
	for range 2 {
		w.flag(w.want("no pass, and the owner reads it", store.ReasonLookalike, bank), `\Seen`)
	}
	w.want("no pass: that is usual now", store.ReasonThreshold, bank)
	w.want("another domain", store.ReasonThreshold, "b@suedbank.org")
}

// TestWhatNobodyKnowsMovesTheThresholdAlone: silence about mail that was sent to the owner, and
// was read, teaches the learner nothing and counts in no judgement.
func TestWhatNobodyKnowsMovesTheThresholdAlone(t *testing.T) {
	o := testOptions()
	o.SilenceDays, o.SilenceCalendar, o.Shadow = 1, true, filter.ShadowOn
	w := newWorld(t, o)
	w.teach()
	before, judged, standing := w.f.State().Account, w.f.Status.Judgement(), w.f.Line().Standing()
	w.personal = true
	l, _ := w.deliver("INBOX", mail("known@x", "ann@example.com", owner, "lunch"))
	w.flag(l, `\Seen`)
	w.wait(48 * time.Hour)
	after := w.f.State().Account
	if after.Important != before.Important || after.Ordinary != before.Ordinary || w.f.Status.Judgement() != judged || w.f.Line().Standing() != standing {
		t.Errorf("it counts as learnt: %+v, %+v", after, w.f.Line().Standing())
	}
	slot, ok := w.f.State().Labelled.Find(l.key)
	s, _ := w.f.State().Labelled.Get(slot)
	if p := filter.PointOf(slot, &s); !ok || !s.Unknown || p.ImportantPart() <= 0 || p.ImportantPart() >= 1 {
		t.Errorf("the threshold has %+v of it: %v", s, ok)
	}
	w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Ordinary})
	if s, _ = w.f.State().Labelled.Get(slot); s.Unknown || s.Label != model.Ordinary {
		t.Errorf("the owner's word did not replace it: %+v", s)
	}
}
