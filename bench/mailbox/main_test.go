// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const me = "me@example.org"

// letterTo makes the text of a message.
func letterTo(to, from, id string, at time.Time, header string) []byte {
	return []byte(fmt.Sprintf("From: %s\r\nTo: %s\r\nSubject: About %s\r\nMessage-ID: <%s@example.org>\r\nDate: %s\r\n%s\r\nWords of %s.\r\n",
		from, to, id, id, at.Format(time.RFC1123Z), header, id))
}

// small is a life of few messages, an hour from each other.
func small(mail ...persons.Mail) *persons.Life {
	l := &persons.Life{Person: "small", Owner: []string{me}, TakesOff: 1, TrashKept: 48 * time.Hour, Mail: mail}
	for i := range l.Mail {
		m := &l.Mail[i]
		m.At = time.Date(2026, 3, 2, 9+i, 0, 0, 0, time.UTC)
		from, to, header := "ann@harbour.example", me, ""
		if m.Folder == persons.Sent {
			from, to, header = me, from, fmt.Sprintf("In-Reply-To: <m%d@example.org>\r\n", i-1)
		}
		m.Raw = letterTo(to, from, fmt.Sprintf("m%d", i), m.At, header)
		for n := range m.Acts {
			m.Acts[n].At = m.At.Add(time.Duration(n+1) * time.Minute)
		}
	}
	return l
}

// playSmall plays a small life, of which so many messages are live.
func playSmall(t *testing.T, l *persons.Life, past, live int, settings ...string) *played {
	t.Helper()
	h, err := settled(append(settings, "prior=none")...)
	testkit.OK(t, err)
	h.live = live
	h.options.Rules = []filter.Rule{{Match: "from:ann@harbour.example", Label: model.Important}}
	o, err := h.open(l)
	testkit.OK(t, err)
	p, err := h.play(o, past)
	testkit.OK(t, err)
	return p
}

func TestOneRightAndOneWrongMarkAreHalfAPrecision(t *testing.T) {
	l := small(
		persons.Mail{Folder: persons.Inbox, Wanted: true, Kind: "bill"},
		persons.Mail{Folder: persons.Inbox, Kind: "phishing", Acts: []persons.Act{{Do: persons.Read}}},
	)
	p := playSmall(t, l, 0, 2, "shadow=off")
	o := ours(p)
	if o.marks() != 2 || o.tally.Precision() != 0.5 || o.tally.Recall() != 1 || o.firstMark != 0 {
		t.Errorf("%d marks, precision %v, recall %v, first on day %d; want 2, 0.5, 1 and 0", o.marks(), o.tally.Precision(), o.tally.Recall(), o.firstMark)
	}
	if bill := o.kinds["bill"]; bill.Hits != 1 || o.dangerous != 1 || o.kinds["phishing"].FalseAlarms != 1 {
		t.Errorf("the kinds have %+v and %+v", bill, o.kinds["phishing"])
	}
	if o.takenOff != 1 {
		t.Errorf("%d marks were taken off, want the wrong one", o.takenOff)
	}
}

func TestNothingIsMarkedInShadow(t *testing.T) {
	l := small(persons.Mail{Folder: persons.Inbox, Wanted: true}, persons.Mail{Folder: persons.Inbox})
	o := ours(playSmall(t, l, 0, 2, "shadow=on"))
	if o.marks() != 0 || o.firstMark != -1 || o.tally.Recall() != 0 {
		t.Errorf("%d marks, the first on day %d, recall %v", o.marks(), o.firstMark, o.tally.Recall())
	}
}

func TestThePastLiesWhereItsOwnerPutIt(t *testing.T) {
	did := func(do ...persons.Do) (acts []persons.Act) {
		for _, d := range do {
			acts = append(acts, persons.Act{Do: d})
		}
		return acts
	}
	l := small(
		persons.Mail{Folder: persons.Inbox, Acts: did(persons.Read, persons.Delete)}, // and gone for good before the live part
		persons.Mail{Folder: persons.Inbox, Acts: did(persons.Delete)},
		persons.Mail{Folder: persons.Inbox, Acts: did(persons.Read, persons.Answer)},
		persons.Mail{Folder: persons.Sent},
		persons.Mail{Folder: persons.Junk, Acts: did(persons.Rescue)},
		persons.Mail{Folder: persons.Inbox, Acts: did(persons.ToArchive)},
		persons.Mail{Folder: persons.Inbox, Wanted: true},
	)
	l.TrashKept = 5*time.Hour + 30*time.Minute
	p := playSmall(t, l, 5, 1, "shadow=off")
	h, err := settled()
	testkit.OK(t, err)
	o, err := h.open(l)
	testkit.OK(t, err)
	got := map[string]string{} // what the folder of each message is for
	for i := range l.Mail {
		m, known := p.filter.State().Messages.Get(string(o.read[i].Key[:]))
		got[fmt.Sprintf("m%d", i)] = "unknown"
		if known {
			got[fmt.Sprintf("m%d", i)] = ingest.Role(m.Role).String()
		}
	}
	want := map[string]string{"m0": "unknown", "m1": "trash", "m2": "inbox", "m3": "sent", "m4": "inbox", "m5": "archive", "m6": "inbox"}
	for m, role := range want {
		if got[m] != role {
			t.Errorf("%s lies in %s, want %s", m, got[m], role)
		}
	}
	answered := false

	for _, k := range p.filter.State().Messages.Keys() {
		m, _ := p.filter.State().Messages.Get(k)
		answered = answered || m.Source == store.SourceAnswered
	}
	if !answered {
		t.Error("the answer taught nothing")
	}
}

func TestTheSameSeedGivesTheSameTable(t *testing.T) {
	table := func() string {
		c, err := parse([]string{"-persons", "family,phone", "-seeds", "1", "-pasts", "30", "-questions", "2", "-csv"}, io.Discard)
		testkit.OK(t, err)
		var b strings.Builder
		testkit.OK(t, c.run(&b))
		return b.String()
	}
	first := table()
	if second := table(); first != second {
		t.Errorf("first:\n%s\nthen:\n%s", first, second)
	}
	if n := strings.Count(first, "\n"); n != 1+2*2 {
		t.Errorf("%d lines:\n%s", n, first)
	}
}

func TestTheRuleTakesPersonsAlone(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		to, from, header string
		want             bool
	}{
		"a person":            {"Bob <x@y.example>, Me <ME@example.org>", "ann@harbour.example", "", true},
		"a list":              {me, "ann@harbour.example", "List-Unsubscribe: <https://harbour.example>\r\n", false},
		"in bulk":             {me, "ann@harbour.example", "Precedence: bulk\r\n", false},
		"an answering robot":  {me, "ann@harbour.example", "Auto-Submitted: auto-replied\r\n", false},
		"written by hand":     {me, "ann@harbour.example", "Auto-Submitted: no\r\n", true},
		"only Cc":             {"x@y.example", "ann@harbour.example", "Cc: " + me + "\r\n", false},
		"nobody reads there":  {me, "Shop <no-reply@shop.example>", "", false},
		"nor there":           {me, "shop.noreply+12@shop.example", "", false},
		"a program's account": {me, "notifications@site.example", "", false},
		"a person's work":     {me, "service@harbour.example", "", true},
	} {
		if got := rule(letterTo(c.to, c.from, "m", at, c.header), []string{me}); got != c.want {
			t.Errorf("%s: the rule says %v", name, got)
		}
	}
}

// history is a source that reads the mailbox of a player as it is at the start.
type history struct {
	ingest.Source
	p *player
}

func (h *history) Run(ctx context.Context, emit ingest.Emit) error {
	for _, f := range folders {
		if h.p.watches(f) {
			if err := emit(ctx, ingest.MailboxOpened{Mailbox: f, UIDValidity: validity, Role: roles[f]}); err != nil {
				return err
			}
		}
	}
	for _, l := range h.p.there() {
		place := ingest.Place{Mailbox: l.folder, UIDValidity: validity, UID: l.uid}
		a := ingest.Arrival{Place: place, Internal: l.at, Flags: l.flags, Raw: h.p.Mail[l.mail].Raw, Backlog: true, Away: true}
		if err := emit(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// TestThePastIsReadAsTheDaemonReadsIt: the decisions are those that daemon.Rehearse leads to,
// the code of `hinged bootstrap --dry-run`.
func TestThePastIsReadAsTheDaemonReadsIt(t *testing.T) {
	h, err := settled()
	testkit.OK(t, err)
	h.live = 120
	o, err := h.open(persons.Make("office", 3, 500))
	testkit.OK(t, err)
	p := h.player(o, 380)
	p.until(p.start)
	memory := filter.Memory{}
	f, err := filter.New(store.NewState(), memory)
	testkit.OK(t, err)
	for _, e := range []filter.Event{&filter.Configured{Options: o.options}, &filter.Primed{Weights: h.prior}} {
		if _, err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	err = daemon.Rehearse(t.Context(), f, &history{p: p}, func(_ filter.Event, _ *featurize.Message, r filter.Result) error {
		if r.Decision != nil {
			memory.Keep(r.Decision.Message, r.Features, true)
		}
		return nil
	})
	testkit.OK(t, err)
	p.bootstrap()
	if p.err != nil {
		t.Fatal(p.err)
	}
	keys := f.State().Messages.Keys()
	if n := p.filter.State().Messages.Len(); n != len(keys) || n < 380 {
		t.Fatalf("%d messages are known, the daemon knows %d", n, len(keys))
	}
	for _, k := range keys {
		want, _ := f.State().Messages.Get(k)
		got, _ := p.filter.State().Messages.Get(k)
		if got.Score != want.Score || got.Outcome != want.Outcome || got.Reason != want.Reason || got.Role != want.Role {
			t.Errorf("message %d: score %v, %v, want %v, %v", want.Seq, got.Score, got.Outcome, want.Score, want.Outcome)
		}
	}
}

// TestPins logs what made-up mailboxes come to, for make pins.
func TestPins(t *testing.T) {
	if os.Getenv("HINGED_PINS") == "" {
		t.Skip("make pins runs it")
	}
	for _, args := range []string{"-seeds 2", "-seeds 2 -csv", "-seeds 1 -csv -scores -filed -questions 3 -first 5 -pasts 0,130"} {
		c, err := parse(strings.Fields(args), io.Discard)
		testkit.OK(t, err)
		var out strings.Builder
		testkit.OK(t, c.run(&out))
		testkit.Pin(t, "mailbox", "table "+args, out.String())
		if !c.filed {
			continue
		}
		for _, person := range c.persons {
			o, err := c.open(persons.Make(person, 1, longestPast+c.live))
			testkit.OK(t, err)
			p, err := c.play(o, 130)
			testkit.OK(t, err)
			var decided strings.Builder
			for _, v := range p.verdicts {
				fmt.Fprintf(&decided, "%d %v %v %x\n", v.mail, v.decided, v.marked, math.Float64bits(v.score))
			}
			model, state := store.Digest(p.filter.State())
			testkit.Pin(t, "mailbox", person+" decisions", decided.String())
			testkit.Pin(t, "mailbox", person+" model", model)
			testkit.Pin(t, "mailbox", person+" state", state)
		}
	}
}
