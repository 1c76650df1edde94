// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
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
	wantSameDigest(t, "replay", w.f, w.replayed())
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

// sender delivers mail that is important by its words, and says why it is not marked.
type sender struct {
	*world
	n int
}

func newSender(t *testing.T) *sender {
	w := taught(t, testOptions())
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
	w := taught(t, o)
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

const ines = "ines@harbour.example"

// asked is a world with one message in its inbox.
func asked(t *testing.T, subject string) (*world, letter) {
	t.Helper()
	w := newWorld(t, testOptions())
	l, _ := w.deliver("INBOX", mail("q@harbour.example", ines, owner, subject))
	w.now = w.now.Add(time.Hour)
	return w, l
}

func TestWhatTheOwnersMailSaysTeachesAsMuch(t *testing.T) {
	const refers = "In-Reply-To: <q@harbour.example>"
	invitation := func(status string) []byte {
		return fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nSubject: Ja: Boat\r\nMessage-ID: <own>\r\n%s\r\nContent-Type: text/calendar; method=REPLY\r\n\r\n"+
			"BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nATTENDEE;PARTSTAT=%s:mailto:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", owner, ines, refers, status, owner)
	}
	const answered, forwarded = "important by answered", "important by forwarded"
	for _, c := range []struct {
		name             string
		own              []byte
		lesson           string
		written, answers uint32
		active           bool
	}{
		{"an answer", mail("own", owner, ines, "Re: Boat", refers), answered, 1, 1, true},
		{"an answer with References alone", mail("own", owner, ines, "Re: Boat", "References: <other@x> <q@harbour.example>"), answered, 1, 1, true},
		{"an answer by its subject alone", mail("own", owner, "Ines <"+ines+">", "AW: boat"), answered, 1, 1, true},
		{"an answer to somebody else", mail("own", owner, "eve@harbour.example", "AW: boat"), "", 0, 0, true},
		{"a letter about the same", mail("own", owner, ines, "Boat"), "", 1, 0, true},
		{"a forward", mail("own", owner, "eve@harbour.example", "Fwd: Boat", refers), forwarded, 0, 0, true},
		{"an accepted invitation", invitation("ACCEPTED"), answered, 1, 1, true},
		{"a declined invitation", invitation("DECLINED"), "", 0, 0, true},
		{"a wish to be left alone", mail("own", owner, ines, "unsubscribe", refers), "", 0, 0, true},
		{"an answering machine", mail("own", owner, ines, "Re: Boat", refers, "Auto-Submitted: auto-replied"), "", 0, 0, false},
		{"an answering machine that gives its answer's subject alone", mail("own", owner, ines, "Abwesenheitsnotiz: Boat"), "", 0, 0, false},
	} {
		for _, flags := range [][]string{nil, {`\Seen`}} {
			w, l := asked(t, "Boat")
			days, active := w.f.State().Account.ActiveDays, w.f.State().Account.LastActive
			w.arrived("Sent", c.own, filter.Arrived{Backlog: flags != nil}, flags...)
			if is := w.f.State().Account.LastActive != active || w.f.State().Account.ActiveDays != days; is != c.active {
				t.Errorf("%s: shows that the owner is there: %v", c.name, is)
			}
			if th, _ := w.f.State().Threads.Get(filter.IDOf("q@harbour.example").Key()); (th.ByOwner > 0) != (c.lesson != "") {
				t.Errorf("%s: the thread has %d messages of the owner's", c.name, th.ByOwner)
			}
			if got := w.f.People.Correspondence(filter.SenderOf(ines)); got.Written != c.written || got.Answered != c.answers {
				t.Errorf("%s: the history has %+v, want %d written and %d answered", c.name, got, c.written, c.answers)
			}
			w.wait(2 * time.Minute)
			if c.lesson == "" {
				w.wantLessons(c.name)
			} else {
				w.wantLessons(c.name, c.lesson)
			}
			if c.lesson != "" && w.row(l).Source == store.SourceNone {
				t.Errorf("%s: the source is not kept", c.name)
			}
		}
	}
}

func TestAForwardIsLessThanAnAnswerAndMoreThanSilence(t *testing.T) {
	w, l := asked(t, "Boat")
	w.deliver("Sent", mail("f", owner, "eve@x", "Fwd: Boat", "In-Reply-To: <q@harbour.example>"))
	w.wait(2 * time.Minute)
	if got := w.lessons[0].Weight / w.f.Boldness(); math.Abs(got-w.f.Options().ImplicitWeight) > 1e-9 {
		t.Errorf("its weight is %v, want %v", got, w.f.Options().ImplicitWeight)
	}
	if !store.SourceForwarded.Outranks(store.SourceSilence) || store.SourceForwarded.Outranks(store.SourceAnswered) || !store.SourceAnswered.Outranks(store.SourceForwarded) {
		t.Error("its rank is wrong")
	}
	w.deliver("Sent", mail("a", owner, ines, "Re: Boat", "In-Reply-To: <q@harbour.example>"))
	w.wait(2 * time.Minute)
	if got := w.row(l).Source; got != store.SourceAnswered {
		t.Errorf("after the answer the source is %v", got)
	}
	if got := w.f.People.Correspondence(filter.SenderOf(ines)); got.Answered != 1 {
		t.Errorf("the history has %+v", got)
	}
}

// The last way finds the newest message, within a month, that still is where one answers,
// after a restart, too; not one that is forgotten.
func TestAnAnswerBySubjectFindsTheNewestOfAMonth(t *testing.T) {
	w := newWorld(t, testOptions())
	w.restart = true
	old, _ := w.deliver("INBOX", mail("m1@x", ines, owner, "Minutes"))
	w.wait(20 * 24 * time.Hour)
	eve, _ := w.deliver("INBOX", mail("m2@x", "eve@x", owner, "minutes"))
	junk, _ := w.deliver("Junk", mail("m3@x", ines, owner, "Minutes"))
	bob, _ := w.deliver("INBOX", mail("m4@x", "bob@x", owner, "Minutes"))
	w.deliver("Sent", mail("own1", owner, ines+", eve@x", "Re: Minutes"))
	w.wait(2 * time.Minute)
	for _, l := range []letter{old, junk, bob} {
		if m := w.row(l); m.Source == store.SourceAnswered {
			t.Errorf("%x is answered: %+v", l.key, m)
		}
	}
	if m := w.row(eve); m.Source != store.SourceAnswered {
		t.Errorf("the newest is not: %+v", m)
	}
	r := w.rewrite(&past.ForgetRequested{Key: eve.key})
	if _, there := w.f.State().Messages.Get(string(eve.key[:])); there || r.Messages != 1 {
		t.Error("it is not forgotten")
	}
	w.wait(11 * 24 * time.Hour)
	w.lessons = nil
	w.deliver("Sent", mail("own2", owner, ines, "Re: Minutes"))
	w.wait(2 * time.Minute)
	for _, l := range w.lessons {
		if l.Source == store.SourceAnswered {
			t.Errorf("after a month %x is answered", l.Message)
		}
	}
}
