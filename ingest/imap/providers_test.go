// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// tenant are the options for a mailbox at a provider, with its token as it was.
func tenant(p *testkit.Provider) Options {
	o := options(p.Addr, p.User, p.Password)
	o.Auth = AuthXOAuth2
	o.AuthBackoffMin, o.AuthBackoffMax = patience, patience // a refused login would be waited out
	o.markPause = 20 * time.Millisecond
	return o
}

// badDay is what a provider does to a command, once and again, in its own words.
type badDay struct {
	command string
	answers []string // in the place of its own; a line without a tag, "*", ends the connection
}

var gmailsDays = map[string]badDay{
	"throttles":                         {"AUTHENTICATE", []string{"NO [THROTTLED] Account exceeded command or bandwidth limits."}},
	"throttles without a code":          {"AUTHENTICATE", []string{"NO [ALERT] Account exceeded command or bandwidth limits. (Failure)"}},
	"has too many connections":          {"AUTHENTICATE", []string{"NO [ALERT] Too many simultaneous connections. (Failure)"}},
	"is over quota at SELECT":           {"SELECT", []string{"NO [OVERQUOTA] Account exceeded command or bandwidth limits."}},
	"is over quota at FETCH":            {"UID FETCH", []string{"NO [OVERQUOTA] Account exceeded command or bandwidth limits."}},
	"is over quota at STORE":            {"UID STORE", []string{"NO [OVERQUOTA] Account exceeded command or bandwidth limits."}},
	"is over quota at STATUS":           {"STATUS", []string{"NO [OVERQUOTA] Account exceeded command or bandwidth limits."}},
	"ends the session":                  {"SELECT", []string{"* BYE Session expired, please login again."}},
	"ends the session over the STORE":   {"UID STORE", []string{"* BYE Session expired, please login again."}},
	"has a system error while it waits": {"IDLE", []string{"* BYE System error"}},
}

var outlooksDays = map[string]badDay{
	"throttles":                        {"AUTHENTICATE", []string{"BAD Request is throttled. Suggested Backoff Time: 50 milliseconds", "* BYE Connection closed. 14"}},
	"throttles at SELECT":              {"SELECT", []string{"BAD Request is throttled. Suggested Backoff Time: 50 milliseconds", "* BYE Connection closed. 14"}},
	"throttles at STORE":               {"UID STORE", []string{"NO Request is throttled. Suggested Backoff Time: 299961 milliseconds"}},
	"throttles at STATUS":              {"STATUS", []string{"NO Request is throttled. Suggested Backoff Time: 299961 milliseconds"}},
	"has no mailbox behind the login":  {"SELECT", []string{"BAD User is authenticated but not connected."}},
	"loses the mailbox over the STORE": {"UID STORE", []string{"BAD User is authenticated but not connected."}},
	"ends the session":                 {"SELECT", []string{"* BYE Session invalidated - AccessTokenExpired"}},
	"ends the session over the STORE":  {"UID STORE", []string{"* BYE Session invalidated - AccessTokenExpired"}},
}

// TestR10ProvidersOnBadDays has Gmail and Outlook.com refuse and end connections in their
// own words. None of that is a wrong password: the message that waits is read, and marked
// with the star, though the first three attempts fail.
func TestR10ProvidersOnBadDays(t *testing.T) {
	t.Parallel()
	for provider, c := range map[string]struct {
		start func(testing.TB) *testkit.Provider
		days  map[string]badDay
		roles map[string]ingest.Role
	}{
		"Gmail": {testkit.StartGmail, gmailsDays, map[string]ingest.Role{
			"[Gmail]/Important": ingest.RoleImportant, "[Gmail]/Sent Mail": ingest.RoleSent, "[Gmail]/Spam": ingest.RoleJunk, "[Gmail]/Trash": ingest.RoleTrash,
		}},
		"Outlook.com": {testkit.StartOutlook, outlooksDays, map[string]ingest.Role{
			"Sent": ingest.RoleSent, "Junk": ingest.RoleJunk, "Deleted": ingest.RoleTrash, "Archive": ingest.RoleArchive,
		}},
	} {
		for name, day := range c.days {
			t.Run(provider+" "+name, func(t *testing.T) {
				t.Parallel()
				p := c.start(t)
				var went atomic.Int32
				p.Troubled(func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != day.command || went.Load() >= 3 {
						return false
					}
					went.Add(1)
					for _, line := range day.answers {
						if strings.HasPrefix(line, "*") {
							conn.Line("%s", line)
							conn.Close()
						} else {
							conn.Line("%s %s", cmd.Tag, line)
						}
					}
					return true
				})
				id := p.Deliver([]byte(plainMail), time.Now(), "", "INBOX")
				o := tenant(p)
				var tokens atomic.Int32
				o.Password = func(context.Context) (string, error) { tokens.Add(1); return p.Password, nil }
				r := startSource(t, o)
				e, _ := r.await("the waiting message", 0, func(e ingest.Event) bool {
					a, ok := e.(ingest.Arrival)
					return ok && a.Mailbox == "INBOX"
				})
				if raw := string(e.(ingest.Arrival).Raw); raw != plainMail {
					t.Errorf("the message was reported with the text %q", raw)
				}
				r.source.Mark(ingest.MarkRequest{ID: 1, Place: e.(ingest.Arrival).Place, Flag: `\Flagged`})
				done, _ := r.await("the mark", 0, resultOf(1))
				if m := done.(ingest.MarkResult); m.Outcome != ingest.MarkDone || !slices.Contains(p.Flags(id), `\Flagged`) {
					t.Errorf("the mark ended as %+v; the message has %q", m, p.Flags(id))
				}
				for box, role := range c.roles {
					r.await(box, 0, func(e ingest.Event) bool {
						m, ok := e.(ingest.MailboxOpened)
						return ok && m.Mailbox == box && m.Role == role && m.Labels == (provider == "Gmail")
					})
				}
				testkit.Until(t, func() bool { return went.Load() >= 3 }, day.command+" did not come three times")
				if n := tokens.Load(); int(n) > p.Connections() {
					t.Errorf("%d tokens were asked for, for %d connections", n, p.Connections())
				}
			})
		}
	}
}

// TestPastIsReadOverLimits has Gmail refuse to send texts, more often than a message would
// be tried that can't be read. It comes with its text.
func TestPastIsReadOverLimits(t *testing.T) {
	t.Parallel()
	p := testkit.StartGmail(t)
	var went atomic.Int32
	p.Troubled(func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if !strings.Contains(cmd.Args, "BODY.PEEK[]") || went.Add(1) > maxBlame/blameServer+2 {
			return false
		}
		conn.Line("%s NO [OVERQUOTA] Account exceeded command or bandwidth limits.", cmd.Tag)
		return true
	})
	p.Deliver([]byte(plainMail), time.Now(), "", "INBOX")
	o := tenant(p)
	o.Mailboxes = []string{"INBOX"}
	r, _ := readPast(t, o, HistoryOptions{}, nil, nil)
	if past := arrivals(r.all()); len(past) != 1 || string(past[0].Raw) != plainMail {
		t.Errorf("the past is %s", describeEvents(r.all()))
	}
}

// TestSuggestedBackoffIsKept: the words of Microsoft 365 say how long to wait.
func TestSuggestedBackoffIsKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"Request is throttled. Suggested Backoff Time: 299961 milliseconds": 299961 * time.Millisecond,
		"Request is throttled.": 0,
		"Suggested Backoff Time: 99999999999999999999 milliseconds": 0,
	} {
		err := fmt.Errorf("SELECT INBOX: %w", &statusError{Type: "NO", Text: text})
		if got := askedPause(err); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	p := testkit.StartOutlook(t)
	var went atomic.Int64 // when it was refused last
	p.Troubled(func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if cmd.Name != "AUTHENTICATE" || !went.CompareAndSwap(0, time.Now().UnixMilli()) {
			return false
		}
		conn.Line("%s BAD Request is throttled. Suggested Backoff Time: 700 milliseconds", cmd.Tag)
		return true
	})
	o := tenant(p)
	o.Mailboxes, o.BackoffMin, o.BackoffMax = []string{"INBOX"}, time.Millisecond, time.Minute
	r := startSource(t, o)
	awaitConnected(t, r)
	if waited := time.Now().UnixMilli() - went.Load(); waited < 700 {
		t.Errorf("connected again after %d ms", waited)
	}
}

// TestGmailShowsOneMessageInManyMailboxes: a mark that is set in one mailbox shows in the
// others, under UIDs of their own, and a star in the view of what is starred.
func TestGmailShowsOneMessageInManyMailboxes(t *testing.T) {
	t.Parallel()
	p := testkit.StartGmail(t)
	id := p.Deliver([]byte(plainMail), time.Now(), "", "INBOX", "[Gmail]/Important")
	o := tenant(p)
	o.Mailboxes = []string{"INBOX", "[Gmail]/Important", "[Gmail]/All Mail", "[Gmail]/Starred", "[Gmail]/Trash"}
	r := startSource(t, o)
	places := map[string]ingest.Place{}
	for _, box := range []string{"INBOX", "[Gmail]/Important", "[Gmail]/All Mail"} {
		e, _ := r.await("the message in "+box, 0, func(e ingest.Event) bool {
			a, ok := e.(ingest.Arrival)
			return ok && a.Mailbox == box
		})
		places[box] = e.(ingest.Arrival).Place
	}
	r.source.Mark(ingest.MarkRequest{ID: 1, Place: places["INBOX"], Flag: "$Important"})
	if e, _ := r.await("the mark", 0, resultOf(1)); e.(ingest.MarkResult).Outcome != ingest.MarkDone {
		t.Errorf("the mark ended as %+v", e)
	}
	for _, box := range []string{"[Gmail]/Important", "[Gmail]/All Mail"} {
		r.await("the mark in "+box, 0, flagsOf(box, places[box].UID, "$Important"))
	}
	p.Set(id, `\Flagged`)
	r.await("the star", 0, flagsOf("INBOX", places["INBOX"].UID, "$Important", `\Flagged`))
	r.await("the message among those starred", 0, func(e ingest.Event) bool {
		a, ok := e.(ingest.Arrival)
		return ok && a.Mailbox == "[Gmail]/Starred"
	})
	p.Archive(id)
	r.await("the message leave INBOX", 0, func(e ingest.Event) bool {
		v, ok := e.(ingest.Vanished)
		return ok && v.Mailbox == "INBOX"
	})
	p.Move(id, "[Gmail]/Important", "[Gmail]/Trash")
	r.await("the message in Trash", 0, func(e ingest.Event) bool {
		a, ok := e.(ingest.Arrival)
		return ok && a.Mailbox == "[Gmail]/Trash"
	})
	for _, box := range []string{"[Gmail]/Important", "[Gmail]/All Mail", "[Gmail]/Starred"} {
		r.await("the message leave "+box, 0, func(e ingest.Event) bool {
			v, ok := e.(ingest.Vanished)
			return ok && v.Mailbox == box
		})
	}
}

// noToken is the error of a program that got no token before the owner logs in.
type noToken string

func (e noToken) Error() string     { return string(e) }
func (noToken) ConsentNeeded() bool { return true }

// TestConsentThatIsNeededIsAStateOfItsOwn has no token to be had, and then one that
// the server does not take, until the owner has logged in again.
func TestConsentThatIsNeededIsAStateOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(testing.TB) *testkit.Provider
		words string
	}{"Gmail": {testkit.StartGmail, "AUTHENTICATIONFAILED"}, "Outlook.com": {testkit.StartOutlook, "AUTHENTICATE failed"}} {
		t.Run(name, func(t *testing.T) {
			p := c.start(t)
			var state atomic.Int32
			p.Troubled(func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
				if cmd.Name != "AUTHENTICATE" || state.Load() == 2 {
					return false
				}
				conn.Line("+ %s", base64.StdEncoding.EncodeToString([]byte(`{"status":"400","schemes":"Bearer"}`)))
				if got := conn.ReadLine(); got != "" {
					t.Errorf("the challenge was answered with %q", got)
				}
				conn.Line("%s NO %s", cmd.Tag, c.words)
				return true
			})
			o := tenant(p)
			o.Mailboxes = []string{"INBOX"}
			o.AuthBackoffMin, o.AuthBackoffMax = 50*time.Millisecond, 400*time.Millisecond
			o.Password = func(context.Context) (string, error) {
				if state.Load() == 0 {
					return "", fmt.Errorf("password_command: %w", noToken("invalid_grant"))
				}
				return p.Password, nil
			}
			r := startSource(t, o)
			for n, words := range []string{"invalid_grant", c.words} {
				state.Store(int32(n))
				problem := awaitProblem(t, r, words)
				if !r.source.Status().ConsentNeeded || !strings.Contains(problem, "consent needed") {
					t.Errorf("the status is %+v", r.source.Status())
				}
			}
			state.Store(2)
			awaitConnected(t, r)
			testkit.Until(t, func() bool { return !r.source.Status().ConsentNeeded }, "connected, and consent is needed still")
		})
	}
}
