// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// probe is a probe that is logged in.
func probe(t *testing.T, o Options) *Probe {
	t.Helper()
	p, err := Reach(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Login(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// words are the flags of a message as the server spells them.
func words(t *testing.T, owner *testkit.Owner, mailbox string, uid uint32) []string {
	t.Helper()
	owner.Select(mailbox)
	all, err := owner.Client().Fetch(goimap.UIDSetNum(goimap.UID(uid)), &goimap.FetchOptions{UID: true, Flags: true}).Collect()
	if err != nil || len(all) != 1 {
		t.Fatalf("fetch UID %d: %v, %d messages", uid, err, len(all))
	}
	var out []string
	for _, f := range all[0].Flags {
		if f != `\Recent` {
			out = append(out, string(f))
		}
	}
	slices.Sort(out)
	return out
}

func TestLookingAroundFindsWhatIsThereAndChangesNothing(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := d.Owner(t)
	mail := testkit.NewMail(1)
	now := time.Now()
	put := func(age time.Duration, flags ...string) uint32 {
		return owner.Append("INBOX", mail.Next().Raw, now.Add(-age), flags...)
	}
	const day = 24 * time.Hour
	put(400*day, `\Flagged`, "$label1")
	put(20*day, `\Answered`, `\Seen`)
	put(10*day, "$Label1")
	put(time.Hour, `\Seen`, "$label1", "NonJunk")
	owner.Append("Sent", []byte("Subject: new\r\nMessage-ID: <1@example.org>\r\n\r\nnew\r\n"), now)
	owner.Append("Sent", mail.Reply(mail.Next()).Raw, now)
	before := owner.All("INBOX")

	p := probe(t, dovecotOptions(d))
	if !p.Has("IDLE") || !p.Has("CONDSTORE") || p.Has("X-GM-EXT-1") || p.TLS() != nil {
		t.Errorf("capabilities: IDLE %v, CONDSTORE %v, Gmail's %v; TLS %v", p.Has("IDLE"), p.Has("CONDSTORE"), p.Has("X-GM-EXT-1"), p.TLS())
	}
	boxes, err := p.Mailboxes(t.Context())
	if err != nil || !slices.Contains(boxes, Mailbox{"Sent", ingest.RoleSent, MeansUse}) || !slices.Contains(boxes, Mailbox{"INBOX", ingest.RoleInbox, MeansNone}) {
		t.Errorf("mailboxes are %v, %v", boxes, err)
	}
	opened, err := p.Open("INBOX", false)
	if err != nil || opened.Messages != 4 || !opened.Condstore || !opened.Keywords || !opened.Keeps("$new") || !opened.Keeps(`\Flagged`) || opened.Keeps(`\Important`) {
		t.Errorf("INBOX is %+v, %v", opened, err)
	}
	tally, err := p.Tally(now.AddDate(-1, 0, 0), 1000)
	want := Tally{Messages: 3, Counted: 3, Unread: 1, Answered: 1, Keywords: []KeywordUse{{"$Label1", 2, 1}, {"NonJunk", 1, 0}}}
	if len(tally.Keywords) == 2 {
		want.Keywords[0].Name = tally.Keywords[0].Name // whichever spelling came first
	}
	if err != nil || !slices.Equal(tally.Keywords, want.Keywords) || tally.Messages != 3 || tally.Unread != 1 || tally.Answered != 1 || tally.Starred != 0 {
		t.Errorf("counted %+v, %v, want %+v", tally, err, want)
	}
	if tally, err = p.Tally(now.AddDate(-2, 0, 0), 1); err != nil || tally.Messages != 4 || tally.Counted != 1 || tally.Unread != 0 {
		t.Errorf("of the newest alone: %+v, %v", tally, err)
	}
	if _, err := p.Open("Sent", true); err != nil {
		t.Fatal(err)
	}
	if sent, replies, err := p.CountReplies(now.AddDate(-1, 0, 0)); err != nil || sent != 2 || replies != 1 {
		t.Errorf("counted %d sent, %d replies, %v, want 2 and 1", sent, replies, err)
	}
	after := owner.All("INBOX")
	for i := range before {
		if !slices.Equal(before[i].Flags, after[i].Flags) {
			t.Errorf("UID %d had %q and has %q", before[i].UID, before[i].Flags, after[i].Flags)
		}
	}
}

func TestAKeywordIsTriedAndTakenOffAgain(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]string{
		"a bare message":              nil,
		"one with flags":              {`\Answered`, "$label1"},
		"left over from a cut trial":  {`\Flagged`, ingest.CheckKeyword},
		"left over in other spelling": {"$hingedcheck"},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.StartDovecot(t, testkit.DovecotOptions{})
			owner := d.Owner(t)
			mail := testkit.NewMail(1)
			uid := owner.Append("INBOX", mail.Next().Raw, time.Now(), before...)
			other := owner.Append("INBOX", mail.Next().Raw, time.Now(), `\Seen`)
			want := slices.DeleteFunc(slices.Clone(words(t, owner, "INBOX", uid)), func(w string) bool { return strings.EqualFold(w, ingest.CheckKeyword) })
			r := startSource(t, dovecotOptions(d))
			r.await("INBOX", 0, cursorOf("INBOX", other+1))

			got, err := probe(t, dovecotOptions(d)).Try(t.Context(), "INBOX", ingest.CheckKeyword)
			if err != nil || !got.Kept || !got.Conditional || got.Place.UID != uid || got.Leftover != strings.HasPrefix(name, "left") {
				t.Errorf("got %+v, %v", got, err)
			}
			if now := words(t, owner, "INBOX", uid); !slices.Equal(now, want) {
				t.Errorf("the flags are %q, want %q", now, want)
			}
			if now := words(t, owner, "INBOX", other); !slices.Equal(now, []string{`\Seen`}) {
				t.Errorf("another message has the flags %q", now)
			}
			// The watcher has passed the trial once it sees what came after it.
			owner.Set("INBOX", other, `\Flagged`)
			r.await("the star", 0, flagsOf("INBOX", other, `\Seen`, `\Flagged`))
			for _, e := range r.all() {
				if f, ok := e.(ingest.FlagsChanged); ok && f.UID == uid {
					t.Errorf("the watcher took the trial for a change: %+v", f)
				}
			}
		})
	}
}

// trial runs Try against a fake server with two messages and returns the flags
// that the first has in the end.
func trial(t *testing.T, configure func(*testkit.Fake)) (got Trial, flags string, err error) {
	t.Helper()
	f := testkit.StartFake(t, configure)
	f.Add("Subject: one\r\n\r\none", `\Seen`)
	f.Add("Subject: two\r\n\r\ntwo", "")
	got, err = probe(t, only(f)).Try(t.Context(), "INBOX", ingest.CheckKeyword)
	f.Lock()
	defer f.Unlock()
	return got, f.Messages[0].Flags, err
}

func TestAServerThatDoesNotKeepTheKeywordIsFoundOut(t *testing.T) {
	t.Parallel()
	stores := func(answer func(*testkit.FakeConn, testkit.FakeCommand)) func(*testkit.Fake) {
		return func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name != "UID STORE" {
					return false
				}
				answer(c, cmd)
				return true
			}
		}
	}
	t.Run("it says no", func(t *testing.T) {
		got, flags, err := trial(t, stores(func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s NO [LIMIT] Too many keywords", cmd.Tag)
		}))
		if err != nil || got.Kept || !strings.Contains(got.Words, "Too many keywords") || flags != `\Seen` {
			t.Errorf("got %+v, %v, flags %q", got, err, flags)
		}
	})
	t.Run("it says yes and keeps nothing", func(t *testing.T) {
		got, flags, err := trial(t, stores(func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.OK(cmd) }))
		if err != nil || got.Kept || flags != `\Seen` {
			t.Errorf("got %+v, %v, flags %q", got, err, flags)
		}
	})
	t.Run("it has no CONDSTORE", func(t *testing.T) {
		got, flags, err := trial(t, func(f *testkit.Fake) {
			f.Caps = "IMAP4rev1 AUTH=PLAIN"
			f.Handle = func(_ *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if strings.Contains(cmd.Args, "CONDSTORE") || strings.Contains(cmd.Args, "UNCHANGEDSINCE") || strings.Contains(cmd.Args, "MODSEQ") {
					t.Errorf("asked %s %s of a server without CONDSTORE", cmd.Name, cmd.Args)
				}
				return false
			}
		})
		if err != nil || !got.Kept || got.Conditional || flags != `\Seen` {
			t.Errorf("got %+v, %v, flags %q", got, err, flags)
		}
	})
	t.Run("others change the message all the time", func(t *testing.T) {
		got, flags, err := trial(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name == "UID STORE" && strings.Contains(cmd.Args, "UNCHANGEDSINCE") {
					c.Line("%s OK [MODIFIED 1] too late", cmd.Tag)
					return true
				}
				return false
			}
		})
		if err != nil || got.Kept || !strings.Contains(got.Words, "changed again and again") || flags != `\Seen` {
			t.Errorf("got %+v, %v, flags %q", got, err, flags)
		}
	})
	t.Run("there is no message", func(t *testing.T) {
		f := testkit.StartFake(t, nil)
		if _, err := probe(t, only(f)).Try(t.Context(), "INBOX", ingest.CheckKeyword); !errors.Is(err, ErrEmptyMailbox) {
			t.Errorf("got %v, want that it is empty", err)
		}
	})
	t.Run("no keyword at all", func(t *testing.T) {
		f := testkit.StartFake(t, nil)
		for _, flag := range []string{`\Flagged`, `\Seen`, "two words", ""} {
			if _, err := probe(t, only(f)).Try(t.Context(), "INBOX", flag); err == nil {
				t.Errorf("%q was tried", flag)
			}
		}
	})
}

func TestTheKeywordIsTakenOffWhateverHappens(t *testing.T) {
	t.Parallel()
	t.Run("the connection breaks after the STORE", func(t *testing.T) {
		got, flags, err := trial(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if c.N == 1 && cmd.Name == "UID STORE" {
					c.Answer(cmd)
					c.Close()
					return true
				}
				return false
			}
		})
		if flags != `\Seen` {
			t.Errorf("left %q behind; %+v, %v", flags, got, err)
		}
		var restore *RestoreError
		if err == nil || errors.As(err, &restore) {
			t.Errorf("got %v, want the broken connection alone", err)
		}
	})
	t.Run("the caller goes", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := testkit.StartFake(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name == "UID STORE" && strings.Contains(cmd.Args, "+FLAGS") {
					c.Answer(cmd)
					cancel()
					return true
				}
				return false
			}
		})
		f.Add("Subject: one\r\n\r\none", `\Seen`)
		p, err := Reach(ctx, only(f))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Login(ctx); err != nil {
			t.Fatal(err)
		}
		_, err = p.Try(ctx, "INBOX", ingest.CheckKeyword)
		f.Lock()
		defer f.Unlock()
		var restore *RestoreError
		if f.Messages[0].Flags != `\Seen` || errors.As(err, &restore) {
			t.Errorf("left %q behind: %v", f.Messages[0].Flags, err)
		}
	})
	t.Run("the caller goes and the server is slow", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f := testkit.StartFake(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name == "UID STORE" && strings.Contains(cmd.Args, "+FLAGS") {
					c.Answer(cmd)
					cancel()
					return true
				}
				return c.N > 1 // and says nothing
			}
		})
		f.Add("Subject: one\r\n\r\none", `\Seen`)
		o := only(f)
		o.CommandTimeout, o.stopTimeout = time.Minute, 50*time.Millisecond
		began := time.Now()
		_, err := probe(t, o).Try(ctx, "INBOX", ingest.CheckKeyword)
		var restore *RestoreError
		if took := time.Since(began); !errors.As(err, &restore) || took > stopTimeout {
			t.Errorf("after %v it says %v, want soon where the keyword still is", took, err)
		}
	})
	t.Run("the server refuses", func(t *testing.T) {
		_, flags, err := trial(t, func(f *testkit.Fake) {
			f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name == "UID STORE" && strings.Contains(cmd.Args, "-FLAGS") {
					c.Line("%s NO not today", cmd.Tag)
					return true
				}
				return false
			}
		})
		var restore *RestoreError
		if !errors.As(err, &restore) || restore.Place.UID != 1 || restore.Keyword != ingest.CheckKeyword || !strings.Contains(err.Error(), "UID 1 in INBOX") {
			t.Errorf("got %v, want it to say where the keyword still is (%q)", err, flags)
		}
	})
}

func TestAConnectionThatIsNotMadeSaysAtWhichStage(t *testing.T) {
	t.Parallel()
	secure := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	upgrade := testkit.StartDovecot(t, testkit.DovecotOptions{StartTLS: true})
	plain := testkit.StartDovecot(t, testkit.DovecotOptions{})
	mute := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Greeting = "* OK mute"
		f.Handle = func(c *testkit.FakeConn, _ testkit.FakeCommand) bool { c.Mute(); return true }
	})
	var unknown *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	for _, tt := range []struct {
		name, addr string
		mode       TLSMode
		stage      Stage
		as         any
		is         error
	}{
		{"nobody listens", "127.0.0.1:1", TLSImplicit, StageConnect, nil, nil},
		{"a certificate that nobody vouches for", secure.Addr, TLSImplicit, StageTLS, &unknown, nil},
		{"the same after STARTTLS", upgrade.Addr, TLSStart, StageTLS, &unknown, nil},
		{"TLS where there is none", plain.Addr, TLSImplicit, StageTLS, &record, nil},
		{"STARTTLS where there is none", plain.Addr, TLSStart, StageTLS, nil, nil},
		{"mute instead of a handshake", mute.Addr, TLSStart, StageTLS, nil, ErrMute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(tt.addr, "", "")
			o.TLS, o.Password, o.CommandTimeout = tt.mode, nil, 2*time.Second
			if tt.is == nil {
				o.CommandTimeout = time.Minute
			}
			p, err := Reach(t.Context(), o)
			if err == nil {
				p.Close()
			}
			var stage *StageError
			if !errors.As(err, &stage) || stage.Stage != tt.stage {
				t.Fatalf("got %v, want an error of stage %d", err, tt.stage)
			}
			if tt.as != nil && !errors.As(err, tt.as) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %T %v in it", err, tt.as, tt.is)
			}
		})
	}
	for name, d := range map[string]*testkit.Dovecot{"TLS": secure, "STARTTLS": upgrade} {
		o := options(d.Addr, d.User, d.Password)
		o.TLS, o.TLSConfig = TLSImplicit, d.TLSConfig
		if name == "STARTTLS" {
			o.TLS = TLSStart
		}
		p := probe(t, o)
		if state := p.TLS(); state == nil || len(state.PeerCertificates) == 0 {
			t.Errorf("%s: the certificate is not there to look at", name)
		}
		if m, err := p.Mechanisms(); err != nil || len(m) == 0 {
			t.Errorf("%s: mechanisms %v, %v", name, m, err)
		}
	}
}

func TestAHostileServerGivesAnErrorAndNoHarm(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool{
		"capabilities without end": func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "CAPABILITY" {
				c.Line("* CAPABILITY %s", strings.Repeat("X ", 2<<20))
				c.OK(cmd)
			}
			return cmd.Name == "CAPABILITY"
		},
		"a search that finds a billion": func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "UID SEARCH" {
				c.Line(`* ESEARCH (TAG "%s") UID ALL 1:4000000000`, cmd.Tag)
				c.OK(cmd)
			}
			return cmd.Name == "UID SEARCH"
		},
		"mute after the login": func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "SELECT" {
				c.Mute()
			}
			return cmd.Name == "SELECT"
		},
		"goodbye": func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "UID FETCH" {
				c.Line("* BYE enough")
				c.Close()
			}
			return cmd.Name == "UID FETCH"
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := testkit.StartFake(t, func(f *testkit.Fake) { f.Handle = handle })
			f.Add("Subject: one\r\n\r\none", "")
			o := only(f)
			o.CommandTimeout = 6 * time.Second // for the one that says nothing; the others answer
			p, err := Reach(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err = p.Login(t.Context()); err == nil {
				if _, err = p.Open("INBOX", false); err == nil {
					_, err = p.Tally(time.Now().AddDate(-1, 0, 0), 100)
				}
			}
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestAuthorsAreReadFromTheFieldAsItStands(t *testing.T) {
	t.Parallel()
	for field, want := range map[string][]string{
		"From: a@example.org\r\n\r\n":                                    {"a@example.org"},
		"From: =?utf-8?q?A?= <A@Example.org>,\r\n b@example.org\r\n\r\n": {"a@example.org", "b@example.org"},
		"From: \"cut off <a@exam":                                        nil,
		"\r\n":                                                           nil,
		"":                                                               nil,
		"From: \x00\x1b[2J@example.org\r\n\r\n":                          nil,
		"no header\r\n\r\n":                                              nil,
		"From: undisclosed-recipients:;\r\n\r\n":                         nil,
	} {
		if got := authors([]byte(field)); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
}
