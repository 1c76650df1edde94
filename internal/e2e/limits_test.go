// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// provider starts a server with the past of an owner who stars what the boss writes, in
// one mailbox, and keeps limits.
func provider(t *testing.T, n int, l *testkit.Limits) (*testkit.Fake, *site) {
	t.Helper()
	f := testkit.StartFake(t, nil)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		from, words, flags := news, "weekly newsletter", ""
		if rng.IntN(4) == 0 {
			from, words, flags = boss, "urgent matter", `\Seen \Flagged`
		}
		f.Add(string(letter(i, from, "owner@example.org", words)), flags)
		f.Lock()
		f.Messages[i].Date = time.Now().Add(time.Duration(i-n) * 3 * time.Hour).Format("02-Jan-2006 15:04:05 -0700")
		f.Unlock()
	}
	f.Limited(l)
	login := testkit.Login{Addr: f.Addr, User: "owner@example.org", Password: "secret"}
	return f, siteFor(t, login, t.TempDir(), "debug", "mark = [\"$Important\"]\n"+quick, "tls = \"none\"\npoll_interval = \"1s\"\n")
}

// modelOf returns the digest of the weights.
func (s *site) modelOf() string {
	var all []desk.Digest
	if err := json.Unmarshal([]byte(s.digests()), &all); err != nil || len(all) != 1 {
		s.t.Fatalf("digests: %v, %d accounts", err, len(all))
	}
	return all[0].Model
}

// TestBootstrapOverLimitsLearnsTheSame: whatever the server answers one command for,
// bootstrap reads all 500 messages, judges them alike and ends with the same weights as on a
// server without limits. Of what the server never shows it names the number.
func TestBootstrapOverLimitsLearnsTheSame(t *testing.T) {
	t.Parallel()
	_, free := provider(t, 500, &testkit.Limits{})
	want := free.bootstrap()
	if want.Read != 500 || want.Important < 80 || len(want.Hidden) > 0 {
		t.Fatalf("without limits: read %d, %d of them important, hidden %v", want.Read, want.Important, want.Hidden)
	}
	for name, l := range map[string]*testkit.Limits{
		"announced":          {PerCommand: 100, Announce: true},
		"refused":            {PerCommand: 100, Announce: true, Refuse: true},
		"silent, the newest": {PerCommand: 100},
		"silent, the oldest": {PerCommand: 100, Oldest: true},
		"UIDONLY":            {PerCommand: 100, Announce: true, Window: 100, UIDOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := provider(t, 500, l)
			r := s.bootstrap()
			if r.Read != want.Read || r.Important != want.Important || r.Judgement.F1 != want.Judgement.F1 || len(r.Hidden) > 0 {
				t.Errorf("read %d, %d of them important, F1 %v, hidden %v; want %d, %d and %v", r.Read, r.Important, r.Judgement.F1, r.Hidden, want.Read, want.Important, want.Judgement.F1)
			}
			if got := s.modelOf(); got != free.modelOf() {
				t.Errorf("the weights are %s, without limits %s", got, free.modelOf())
			}
		})
	}
	for name, c := range map[string]struct {
		limits testkit.Limits
		shown  int
	}{
		"hidden":              {testkit.Limits{PerCommand: 100, Hidden: 200}, 300},
		"an announced window": {testkit.Limits{PerCommand: 100, Announce: true, Window: 100}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := provider(t, 500, &c.limits)
			words := fmt.Sprintf("the mail server shows %d of 500 messages in INBOX", c.shown)
			out, err := s.hinged("check", "--config", s.config)
			if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), words) {
				t.Errorf("check: %v\n%s", err, out)
			}
			if r := s.bootstrap(); r.Read != c.shown || len(r.Hidden) != 1 || !strings.HasPrefix(r.Hidden[0], words) {
				t.Errorf("read %d, hidden %q", r.Read, r.Hidden)
			}
			out, err = s.hinged("bootstrap", "--config", s.config)
			if err != nil || !strings.Contains(strings.Join(strings.Fields(out), " "), "WARNING: "+words) {
				t.Errorf("bootstrap: %v\n%s", err, out)
			}
		})
	}
}

// TestNothingIsLearntWhenLimitsBegin: while the daemon watches, the server begins to show a
// part of the mailbox only. No label is learnt from that, no mark counts as lost, and status
// says what part it sees.
func TestNothingIsLearntWhenLimitsBegin(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]testkit.Limits{
		"silent": {PerCommand: 100},
		"hidden": {PerCommand: 100, Hidden: 300},
		"window": {Window: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &testkit.Limits{}
			f, s := provider(t, 500, l)
			s.bootstrap()
			s.start()
			was := s.until("the mailbox open", func(a desk.AccountStatus) bool { return a.Connected && a.Pending == 0 })
			f.Add(string(letter(900, boss, "owner@example.org", "urgent matter")), "")
			f.Tell("* 501 EXISTS")
			s.until("the mark", func(a desk.AccountStatus) bool { return a.MarksConfirmed > was.MarksConfirmed })
			was, _ = s.status()
			f.Lock()
			l.PerCommand, l.Hidden, l.Window = begin.PerCommand, begin.Hidden, begin.Window
			f.Unlock()
			f.Bye("see you")
			testkit.Until(t, func() bool { return f.Connections() > 3 }, "the daemon does not come back")
			f.Add(string(letter(901, "aunt@example.net", "owner@example.org", "the garden")), "")
			f.Tell("* 502 EXISTS")
			now := s.until("the next message", func(a desk.AccountStatus) bool { return a.Messages == was.Messages+1 })
			if now.Important != was.Important || now.Ordinary != was.Ordinary || now.MarksRefused != was.MarksRefused || now.Waiting < was.Waiting || now.Pending != was.Pending {
				t.Errorf("it learnt %d important and %d ordinary, and %d marks were refused; before %d, %d and %d",
					now.Important, now.Ordinary, now.MarksRefused, was.Important, was.Ordinary, was.MarksRefused)
			}
			if begin.Hidden+begin.Window > 0 {
				s.until("the warning", func(a desk.AccountStatus) bool {
					return strings.Contains(strings.Join(a.Warnings, "\n"), "the mail server shows ")
				})
			}
			s.end()
		})
	}
}

// TestTakeoutTeachesAsGmailDoes: an archive with Google's labels, and a mailbox at Gmail with
// the same messages, come to the same labels.
func TestTakeoutTeachesAsGmailDoes(t *testing.T) {
	t.Parallel()
	p := testkit.StartGmail(t)
	connection := "tls = \"none\"\nauth = \"xoauth2\"\n"
	gmail := siteFor(t, p.Login, t.TempDir(), "debug", quick, connection)
	var mbox strings.Builder
	rng := rand.New(rand.NewPCG(7, 8))
	date := time.Now().Add(-100 * 24 * time.Hour)
	for i := range 200 {
		date = date.Add(8 * time.Hour)
		raw := letter(i, news, p.User, "weekly newsletter")
		labels, folder, flags := "Inbox,Unread", "INBOX", ""
		switch rng.IntN(6) {
		case 0:
			raw = letter(i, boss, p.User, "urgent matter")
			labels, flags = "Inbox,Starred,Opened", `\Seen \Flagged`
		case 1:
			raw = letter(i, boss, p.User, "urgent matter")
			labels, flags = "Posteingang,Wichtig,Geöffnet", `\Seen`
		case 2:
			raw = letter(i, p.User, boss, "an answer", fmt.Sprintf("In-Reply-To: <l%d@example.com>", i-1))
			labels, folder, flags = "Sent,Opened", "[Gmail]/Sent Mail", `\Seen`
		case 3:
			labels, folder = "Spam,Unread", "[Gmail]/Spam"
		case 4:
			labels, folder = "Papierkorb,Ungelesen", "[Gmail]/Trash"
		}
		id := p.Deliver(raw, date, flags, folder)
		if strings.Contains(labels, "Wichtig") {
			p.Label(id, "[Gmail]/Important")
		}
		fmt.Fprintf(&mbox, "From 1@xxx %s\nX-Gmail-Labels: %s\n%s\n", date.UTC().Format("Mon Jan 02 15:04:05 -0700 2006"), labels, strings.ReplaceAll(string(raw), "\r\n", "\n"))
	}
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "takeout.mbox"), mbox.String())
	want := gmail.bootstrap()
	taken := siteFor(t, p.Login, dir, "debug", quick, connection)
	got := taken.bootstrap("--archive", filepath.Join(dir, "takeout.mbox"))
	if want.Important < 20 || want.Own < 20 || want.Labelled-want.Important < 40 {
		t.Fatalf("too little to compare: %+v", want)
	}
	if got.Messages != 200 || got.Own != want.Own || got.Labelled != want.Labelled || got.Important != want.Important || !got.SentFolder {
		t.Errorf("of the archive it knows %d messages, %d its owner's, %d labelled, %d important; of the mailbox %d, %d, %d, %d",
			got.Messages, got.Own, got.Labelled, got.Important, want.Messages, want.Own, want.Labelled, want.Important)
	}
	// The mailbox itself, afterwards, teaches nothing twice.
	if again := taken.bootstrap(); again.Messages != 200 || again.Labelled != got.Labelled || again.Important != got.Important {
		t.Errorf("after the mailbox it knows %d messages, %d labelled, %d important", again.Messages, again.Labelled, again.Important)
	}
	out, err := gmail.hinged("eval", "--labels", "from-flags", filepath.Join(dir, "takeout.mbox"))
	if err != nil || !strings.Contains(out, fmt.Sprintf("200, %d of them the owner's own", want.Own)) {
		t.Errorf("eval: %v\n%s", err, out)
	}
}
