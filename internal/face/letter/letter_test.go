// SPDX-License-Identifier: Apache-2.0

package letter

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	message "github.com/emersion/go-message/mail"

	"github.com/hinged/hinged/ingest"
	source "github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// patience is how long a test waits for what must come, on the slowest machine.
const patience = time.Minute

// home is a mailbox on a real server, and the daemon that watches it.
type home struct {
	t     *testing.T
	dir   string
	addr  string
	imap  *testkit.Dovecot
	owner *testkit.Owner
	d     *daemon.Daemon
	stop  func()
}

// start runs the daemon until stop is called. Nothing is told to it before it ends.
func (h *home) start() {
	h.t.Helper()
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{h.imap.User}
	o.Settle, o.Shadow = 0, filter.ShadowOff
	o.Threshold = filter.Threshold{Mode: filter.ModeFixed}
	d, err := daemon.New(daemon.Options{
		StorePath: filepath.Join(h.dir, "store.db"), Store: boltfile.Options{NoSync: true},
		Accounts: []daemon.AccountOptions{{Name: "me", Filter: o, NewSource: func(known []ingest.Known) (ingest.Source, error) {
			return source.New(source.Options{
				Address: h.addr, TLS: source.TLSNone, Username: h.imap.User, LoginEvery: time.Millisecond, PollInterval: 200 * time.Millisecond,
				Password: func(context.Context) (string, error) { return h.imap.Password, nil },
			}, known)
		}}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	stopped := false
	h.d, h.stop = d, func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("Run: %v", err)
		}
		if err := d.Close(); err != nil {
			h.t.Errorf("Close: %v", err)
		}
	}
	h.t.Cleanup(h.stop)
	h.until("connected", func(a desk.AccountStatus) bool { return a.Connected })
}

func (h *home) until(what string, ok func(desk.AccountStatus) bool) desk.AccountStatus {
	h.t.Helper()
	for began := time.Now(); ; testkit.Pause(began) {
		s, err := h.d.Status(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		if ok(s.Accounts[0]) {
			return s.Accounts[0]
		}
		if time.Since(began) > patience {
			h.t.Fatalf("never saw %s; the status is %+v", what, s.Accounts[0])
		}
	}
}

func (h *home) add(n int, from, words string) uint32 {
	return h.owner.Append("INBOX", fmt.Appendf(nil, "From: %s\r\nTo: %s\r\nSubject: %s\r\nMessage-ID: <m%d@example.com>\r\n\r\nAbout %s, number %d.\r\n", from, h.imap.User, words, n, words, n), time.Now())
}

// letters returns the letters in INBOX, raw, with their flags.
func (h *home) letters() (raw [][]byte, uids []uint32) {
	h.t.Helper()
	h.owner.Select("INBOX")
	section := &imap.FetchItemBodySection{Peek: true}
	all, err := h.owner.Client().Fetch(imap.UIDSet{{Start: 1, Stop: 0}}, &imap.FetchOptions{UID: true, Flags: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range all {
		if text := m.FindBodySection(section); bytes.Contains(text, []byte("@hinged.invalid>")) {
			raw, uids = append(raw, text), append(uids, uint32(m.UID))
		}
	}
	return raw, uids
}

func (h *home) ledger() (states []string) {
	h.t.Helper()
	l, err := desk.GetLedger.Do(h.t.Context(), h.d, "me", desk.LedgerRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range l.Entries {
		if e.Keyword == "digest mail" {
			states = append(states, e.State)
		}
	}
	return states
}

func (h *home) lessons() (important, ordinary uint64) {
	s := h.until("a status", func(desk.AccountStatus) bool { return true })
	return s.Important, s.Ordinary
}

// TestOneLetterADayOnDovecot writes a letter over a server that does not answer, with the
// process gone in the middle, and reads what the owner finds.
func TestOneLetterADayOnDovecot(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	h := &home{t: t, dir: t.TempDir(), addr: p.Addr, imap: d, owner: d.Owner(t)}
	h.start()
	lessons := func(n uint64) {
		t.Helper()
		h.until("the lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == n && a.Pending == 0 })
	}
	wanted, unwanted := h.add(1, "Boss <boss@example.com>", "urgent matter"), h.add(2, "news@example.net", "weekly newsletter")
	h.until("two messages", func(a desk.AccountStatus) bool { return a.Messages == 2 })
	h.owner.Set("INBOX", wanted, `\Flagged`)
	lessons(1)
	h.owner.Set("INBOX", unwanted, "$Junk")
	lessons(2)
	marked := h.add(3, "Boss <boss@example.com>", "=?utf-8?q?urgent_Gr=C3=BC=C3=9Fe?=")
	h.until("the mark", func(a desk.AccountStatus) bool { return a.MarksConfirmed == 1 && a.MarksIntended == 0 })
	h.add(4, "news@example.net", "weekly newsletter again")
	h.until("all mail", func(a desk.AccountStatus) bool { return a.Messages == 4 })

	// The letter is due in an hour, and it is two hours later.
	now := time.Now().UTC()
	at := now.Add(time.Hour).Truncate(time.Minute)
	day := Account{Name: "me", To: d.User, Mailbox: "Nowhere", Zone: time.UTC, At: time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute}
	writer := func(mailbox string) *writing {
		a := day
		a.Mailbox = mailbox
		return New(Options{Host: h.d, Accounts: []Account{a}, Now: func() time.Time { return now.Add(2 * time.Hour) }}).desks[0]
	}
	if w := writer("Nowhere"); !w.last(w.o.Now()).Equal(at) {
		t.Fatalf("the letter is due at %v, want %v", w.last(w.o.Now()), at)
	}
	// Into a mailbox that is not there; the owner corrects the configuration.
	w := writer("Nowhere")
	if again := w.step(t.Context()); again.Sub(w.o.Now()) > 2*retryFirst {
		t.Errorf("without the mailbox it looks again in %v", again.Sub(w.o.Now()))
	}
	if got := h.ledger(); len(got) != 1 || got[0] != "sending" {
		t.Errorf("the ledger has %q", got)
	}
	// The server has it, its answer is lost, and the process ends.
	p.FreezeAfter("APPEND", 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan time.Time, 1)
	go func() { done <- writer("INBOX").step(ctx) }()
	testkit.Until(t, func() bool { return p.Frozen() }, "no APPEND came")
	cancel()
	<-done
	if got := h.ledger(); len(got) != 1 || got[0] != "sending" {
		t.Errorf("in the middle, the ledger has %q", got)
	}
	h.stop()
	p.Thaw()
	h.start()
	for deadline := time.Now().Add(patience); len(h.ledger()) == 0 || h.ledger()[0] != "sent"; time.Sleep(20 * time.Millisecond) {
		writer("INBOX").step(t.Context())
		if time.Now().After(deadline) {
			t.Fatalf("the ledger has %q", h.ledger())
		}
	}
	w = writer("INBOX")
	if again := w.step(t.Context()); !again.Equal(at.AddDate(0, 0, 1)) {
		t.Errorf("then it looks again at %v, want the same time tomorrow", again)
	}
	letters, uids := h.letters()
	if len(letters) != 1 || len(h.ledger()) != 1 {
		t.Fatalf("%d letters in INBOX, and the ledger has %q", len(letters), h.ledger())
	}
	h.read(letters[0])

	// Whatever the owner does with it, it is nothing to hinged.
	important, ordinary := h.lessons()
	h.owner.Set("INBOX", uids[0], `\Flagged`, `\Seen`, "$Important")
	h.owner.Set("INBOX", marked, `\Flagged`) // which is heard after the letter's flags
	lessons(important + ordinary + 1)
	h.owner.Move("INBOX", uids[0], "Junk")
	h.owner.Append("INBOX", []byte("From: Boss <boss@example.com>\r\nMessage-ID: <last@example.com>\r\n\r\nx\r\n"), time.Now())
	s := h.until("what came last", func(a desk.AccountStatus) bool { return a.Messages == 5 && a.Pending == 0 })
	if s.Important != important+1 || s.Ordinary != ordinary || s.MarksConfirmed > 2 {
		t.Errorf("the letter taught: %d important and %d ordinary, before it was %d and %d", s.Important, s.Ordinary, important, ordinary)
	}

	// A process that was off for long writes none, and gives up what it began.
	late := writer("INBOX")
	late.o.Now = func() time.Time { return at.Add(lateBy + time.Minute) }
	late.step(t.Context())
	if after, _ := h.letters(); len(after) != 0 || len(h.ledger()) != 1 {
		t.Errorf("later there are %d letters in INBOX, and the ledger has %q", len(after), h.ledger())
	}
	if v, err := desk.Verify.Do(t.Context(), h.d, "me", desk.VerifyRequest{}); err != nil || !v.OK {
		t.Errorf("the state is not that of a replay of the journal: %+v, %v", v, err)
	}
}

const lateBy = late

// read reads the letter as the owner's mail program does.
func (h *home) read(raw []byte) {
	t := h.t
	t.Helper()
	plain, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.Header.Get("Auto-Submitted"); got != "auto-generated" || plain.Header.Get("Message-Id") == "" || plain.Header.Get("Date") == "" {
		t.Errorf("the header is %v", plain.Header)
	}
	r, err := message.CreateReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := r.Header.Subject()
	if err != nil || !strings.HasPrefix(subject, "hinged: 1 important message, until ") {
		t.Errorf("the subject is %q (%v)", subject, err)
	}
	part, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(part.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	for _, want := range []string{
		"MARKED AS IMPORTANT: 1\n\n* Boss: urgent Grüße\n  mid:m3@example.com\n  because: ",
		"* news@example.net: weekly newsletter again\n  mid:m4@example.com\n  hinged called it ordinary",
		"LEARNT FROM WHAT YOU DID: 2\n\n* news@example.net: weekly newsletter\n  mid:m2@example.com\n  ordinary: you called it junk\n* Boss: urgent matter\n  mid:m1@example.com\n  important: you starred it\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
