// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestSecretsAndSubjectsStayOutOfLogsAndErrors has a server repeat whatever it
// is told, in every form, and reads the logs and the status.
func TestSecretsAndSubjectsStayOutOfLogsAndErrors(t *testing.T) {
	t.Parallel()
	const user, secret = "owner@example.org", "correct horse battery staple"
	forms := []string{
		secret, "horse battery",
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("\x00" + user + "\x00" + secret)),
		base64.StdEncoding.EncodeToString([]byte("user=" + user + "\x01auth=Bearer " + secret + "\x01\x01")),
	}
	for _, auth := range []AuthMechanism{AuthPlain, AuthLogin, AuthXOAuth2, AuthOAuthBearer} {
		t.Run(string(auth), func(t *testing.T) {
			t.Parallel()
			refused := make(chan string, 100)
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Caps += " AUTH=XOAUTH2 AUTH=OAUTHBEARER"
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "AUTHENTICATE" && cmd.Name != "LOGIN" {
						return false
					}
					if c.N > 2 {
						return false
					}
					if strings.Contains(cmd.Args, "OAUTH") { // error details first
						c.Line("+ %s", base64.StdEncoding.EncodeToString([]byte(`{"status":"401"}`)))
						refused <- "answer: " + c.ReadLine()
					}
					c.Line("%s NO [AUTHENTICATIONFAILED] I was told %s and %s", cmd.Tag, cmd.Args, secret)
					return true
				}
			})
			f.Add("Subject: the quiet subject\r\nFrom: secret.friend@example.org\r\n\r\nhello", "")
			var log testkit.Transcript
			o := only(f)
			o.Username, o.Auth = user, auth
			o.Password = func(context.Context) (string, error) { return secret, nil }
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			r := startSource(t, o)
			problem := awaitProblem(t, r, "refused")
			r.await("arrival once the login works", 0, arrivalOf("INBOX", 1))
			r.stop()
			for _, where := range []string{problem, log.String()} {
				for _, form := range append(forms, "quiet subject", "secret.friend") {
					if strings.Contains(where, form) {
						t.Errorf("%q is in %s", form, where)
					}
				}
			}
			if !log.Has("AUTHENTICATIONFAILED") {
				t.Errorf("the log must still tell what is wrong:\n%s", log.String())
			}
			if strings.Contains(string(auth), "oauth") {
				// XOAUTH2 wants an empty line, OAUTHBEARER a single 0x01 (RFC 7628, section 3.2.3).
				want := map[AuthMechanism]string{AuthXOAuth2: "answer: ", AuthOAuthBearer: "answer: AQ=="}[auth]
				if got := <-refused; got != want {
					t.Errorf("the error details were answered with %q, want %q", got, want)
				}
			}
		})
	}
}

// TestASecretIsKnownInTheFormInWhichItWasSent has a server repeat the command alone.
func TestASecretIsKnownInTheFormInWhichItWasSent(t *testing.T) {
	t.Parallel()
	long := "ya29." + strings.Repeat("a0AfH6SMBx-", 60) // the words of a server are cut short before its end
	for _, k := range []struct {
		auth   AuthMechanism
		secret string
	}{
		{AuthLogin, `my"pass\word-4711-long`},
		{AuthPlain, `my"pass\word-4711-long`},
		{AuthOAuthBearer, "ya29.a0AfH6SMBx-token-0123456789"},
		{AuthLogin, long},
		{AuthPlain, long},
		{AuthXOAuth2, long},
		{AuthOAuthBearer, long},
	} {
		t.Run(string(k.auth), func(t *testing.T) {
			t.Parallel()
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Caps += " AUTH=XOAUTH2 AUTH=OAUTHBEARER"
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "AUTHENTICATE" && cmd.Name != "LOGIN" {
						return false
					}
					c.Line("%s NO [AUTHENTICATIONFAILED] I was told %s", cmd.Tag, cmd.Args)
					return true
				}
			})
			var log testkit.Transcript
			o := only(f)
			o.Username, o.Auth = "owner", k.auth
			o.Password = func(context.Context) (string, error) { return k.secret, nil }
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			r := startSource(t, o)
			problem := awaitProblem(t, r, "refused")
			r.stop()
			for _, where := range []string{problem, log.String()} {
				if slices.ContainsFunc(spellings(where), func(said string) bool { return strings.Contains(said, k.secret[:10]) }) {
					t.Errorf("the secret is in %q", where)
				}
			}
		})
	}
}

// spellings returns words, what they say without backslashes, and what is base64 in them.
func spellings(words string) []string {
	all := []string{words, strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(words)}
	for _, word := range strings.Fields(words) {
		for n := len(word); n > 20; n-- {
			if raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(word[:n], "=")); err == nil {
				all = append(all, string(raw))
			}
		}
	}
	return all
}

func TestPasswordThatCannotBeHadIsAProblemAndHeals(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	o := dovecotOptions(d)
	calls := 0 // logins take turns
	o.Password = func(context.Context) (string, error) {
		if calls++; calls < 3 {
			return "", errors.New("open /run/secret: no such file")
		}
		return d.Password, nil
	}
	r := startSource(t, o)
	awaitProblem(t, r, "no such file")
	r.await("INBOX", 0, cursorOf("INBOX", 1))
}

func TestReceiverThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	s, err := New(dovecotOptions(d), nil)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	done := make(chan error, 1)
	go func() {
		done <- s.Run(context.Background(), func(context.Context, ingest.Event) error { return full })
	}()
	select {
	case err := <-done:
		if !errors.Is(err, full) {
			t.Errorf("got %v, want the receiver's error", err)
		}
	case <-time.After(patience):
		t.Fatal("Run goes on without a receiver")
	}
}

// TestRunLeavesNoGoroutineBehind ends runs in the middle of a scan, in IDLE and
// while waiting to connect again.
func TestRunLeavesNoGoroutineBehind(t *testing.T) {
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	d.Fill(300, testkit.NewMail(15).Next)
	before := runtime.NumGoroutine()
	for _, events := range []int{1, 50, 1 << 20} {
		r := newRecorder(t)
		s, err := New(dovecotOptions(d), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		r.hook = func(e ingest.Event) {
			n++
			if c, ok := e.(ingest.Cursor); n == events || ok && c.UIDNext == 301 {
				cancel()
			}
		}
		if err := s.Run(ctx, r.emit); err != nil {
			t.Error(err)
		}
		cancel()
	}
	o := options("127.0.0.1:1", "owner", "x")
	s, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := s.Run(ctx, newRecorder(t).emit); err != nil {
		t.Error(err)
	}
	var after int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if after = runtime.NumGoroutine(); after <= before {
			return
		}
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines before, %d after:\n%s", before, after, buf[:runtime.Stack(buf, true)])
}
