// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/testkit"
)

// killed is what Look panics with, in the place of a kill: nothing after it runs.
type killed struct{}

// shows is a mailbox in which marks are shown: message 1 is unread, 2 and 3 are read, and 3
// has a mark already.
type shows struct {
	*testkit.Dovecot
	t     *testing.T
	owner *testkit.Owner
	c     checked
	ids   []string
}

func newShows(t *testing.T) *shows {
	s := &shows{Dovecot: testkit.StartDovecot(t, testkit.DovecotOptions{}), t: t}
	s.owner = s.Owner(t)
	for i, flags := range [][]string{{}, {`\Seen`, "$own"}, {`\Seen`, `\Flagged`}} {
		s.ids = append(s.ids, fmt.Sprintf("show%d@example.org", i+1))
		s.owner.Append("INBOX", fmt.Appendf(nil, "From: Ann <ann@example.org>\r\nSubject: =?utf-8?q?number_%d?=\r\nMessage-ID: <%s>\r\n\r\nx\r\n", i+1, s.ids[i]), time.Now(), flags...)
	}
	s.c = checked{dir: t.TempDir(), account: `mark = ['$label1', '\Flagged']`, imap: place(s.Addr, "none"), secret: s.Password}
	if err := os.Chmod(s.c.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(s.c.dir, "state"), 0o700); err != nil { // for root, check makes none
		t.Fatal(err)
	}
	return s
}

// check shows the marks on a message, and reports what check says.
func (s *shows) check(show *Show) string {
	s.t.Helper()
	s.c.change = func(c *Checker) { c.Show = show }
	_, got := s.c.run(s.t)
	return got
}

// killedWhileShown leaves a message as a check does that is killed while marks are shown.
func (s *shows) killedWhileShown() {
	s.t.Helper()
	defer func() {
		if r := recover(); r != (killed{}) {
			s.t.Fatalf("it ended with %v", r)
		}
	}()
	s.check(&Show{Agree: agree, Look: func(context.Context) { panic(killed{}) }})
}

func agree(context.Context, imap.Candidate, []string) bool { return true }

func (s *shows) note() string {
	data, err := os.ReadFile(notePath(filepath.Join(s.c.dir, "state"), "me"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func TestMarksAreShownAndTakenOffAgain(t *testing.T) {
	s := newShows(t)
	before := allFlags(t, s.owner, "INBOX")
	var on imap.Candidate
	var flags []string
	var two []string
	during, note := "", ""
	got := s.check(&Show{
		Agree: func(_ context.Context, c imap.Candidate, f []string) bool { on, flags = c, f; return true },
		Look: func(context.Context) {
			note = s.note()
			two, _ = s.owner.Flags("INBOX", 2)
		},
	})
	wants(t, got, `OK me: shown: $label1, \Flagged, $Hinged was on UID 2 in INBOX and is off again`)
	if on.Subject != "number 2" || on.From != "Ann <ann@example.org>" || strings.Join(flags, " ") != `$label1 \Flagged $Hinged` {
		t.Errorf("asked about %+v and %q", on, flags)
	}
	for _, want := range []string{"$label1", `\Flagged`, "$Hinged", "$own", `\Seen`} {
		if !ingest.HasFlag(ingest.CanonicalFlags(two), want) {
			t.Errorf("%s was not on message 2: %q", want, two)
		}
	}
	if note == "" || s.note() != "" {
		t.Errorf("the note was %q, and is %q", note, s.note())
	}
	if after := allFlags(t, s.owner, "INBOX"); after != before {
		t.Errorf("the flags were %s and are %s", before, after)
	}
	// The one that is named, until Ctrl-C.
	stop := make(chan struct{})
	s.c.stop = stop
	got = s.check(&Show{Message: s.ids[0], Agree: agree, Look: func(ctx context.Context) {
		during = allFlags(t, s.owner, "INBOX")
		close(stop)
		<-ctx.Done()
	}})
	wants(t, got, `OK me: shown: |on UID 1 in INBOX and is off again`)
	if after := allFlags(t, s.owner, "INBOX"); after != before || during == before || s.note() != "" {
		t.Errorf("the flags were %s, then %s, and are %s; note %q", before, during, after, s.note())
	}
}

func TestMarksAreNotShownWithoutConsentOrAFreeMessage(t *testing.T) {
	s := newShows(t)
	never := func(context.Context) { t.Error("something was shown") }
	before := allFlags(t, s.owner, "INBOX")
	wants(t, s.check(&Show{Agree: func(context.Context, imap.Candidate, []string) bool { return false }, Look: never}), "OK me: shown: not shown: you did not want it")
	wants(t, s.check(&Show{Message: s.ids[2], Agree: agree, Look: never}), "WARN me: shown: not shown: the message has such a mark already")
	wants(t, s.check(&Show{Message: "nowhere@example.org", Agree: agree, Look: never}), "WARN me: shown: not shown: there is no such message in INBOX")
	if after := allFlags(t, s.owner, "INBOX"); after != before {
		t.Errorf("the flags were %s and are %s", before, after)
	}
	// The owner stars it while the question stands: the star is theirs and stays.
	got := s.check(&Show{Look: never, Agree: func(context.Context, imap.Candidate, []string) bool {
		s.owner.Set("INBOX", 2, `\Flagged`)
		return true
	}})
	wants(t, got, "FAIL me: shown: not shown: the message changed meanwhile")
	if flags, _ := s.owner.Flags("INBOX", 2); !ingest.HasFlag(ingest.CanonicalFlags(flags), `\Flagged`) || s.note() != "" {
		t.Errorf("it has %q; note %q", flags, s.note())
	}
	wants(t, s.check(&Show{Agree: agree, Look: never}), "WARN me: shown: not shown: INBOX has no message that was read and has no mark")
}

func TestWhatAKilledCheckLeftIsTakenOff(t *testing.T) {
	s := newShows(t)
	before := allFlags(t, s.owner, "INBOX")
	left := func() {
		t.Helper()
		s.killedWhileShown()
		if allFlags(t, s.owner, "INBOX") == before || s.note() == "" {
			t.Fatalf("nothing was left behind; note %q", s.note())
		}
	}
	gone := func(how string) {
		t.Helper()
		if after := allFlags(t, s.owner, "INBOX"); after != before || s.note() != "" {
			t.Errorf("%s: the flags were %s and are %s; note %q", how, before, after, s.note())
		}
	}
	t.Run("by the next check", func(t *testing.T) {
		left()
		s.c.change = func(c *Checker) { c.NoWrite = true }
		_, got := s.c.run(t)
		wants(t, got, "WARN me: shown: a mark that was shown is still on a message")
		wants(t, s.check(nil), "OK me: shown: a mark that an earlier check left on a message is off")
		gone("check")
	})
	o := imap.Options{Address: s.Addr, TLS: imap.TLSNone, Auth: imap.AuthPlain, Username: s.User, Password: func(context.Context) (string, error) { return s.Password, nil }}
	dir := filepath.Join(s.c.dir, "state")
	t.Run("before the account is watched", func(t *testing.T) {
		left()
		inner := &noted{run: func() { gone("start") }}
		if err := Tidied(inner, dir, "me", o).Run(t.Context(), nil); err != nil || inner.runs != 1 {
			t.Errorf("it ran %d times: %v", inner.runs, err)
		}
	})
	t.Run("not before the server is there", func(t *testing.T) {
		left()
		ctx, cancel := context.WithCancel(t.Context())
		away := o
		away.Address = "127.0.0.1:1"
		inner := &noted{run: func() { t.Error("it watches before the mark is off") }}
		source := Tidied(inner, dir, "me", away)
		done := make(chan error, 1)
		go func() { done <- source.Run(ctx, nil) }()
		for source.Status().Problem == "" {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-done; err != nil || s.note() == "" {
			t.Errorf("got %v, note %q", err, s.note())
		}
		if taken, err := TakeOffShown(t.Context(), dir, "me", o); !taken || err != nil {
			t.Errorf("got %v, %v", taken, err)
		}
		gone("bootstrap")
	})
}

// noted is a source that tells when it runs.
type noted struct {
	ingest.Source
	run  func()
	runs int
}

func (n *noted) Run(context.Context, ingest.Emit) error {
	n.runs++
	n.run()
	return nil
}

func (*noted) Status() ingest.Status { return ingest.Status{Connected: true} }
