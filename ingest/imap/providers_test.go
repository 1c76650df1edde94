// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// gmail answers as Gmail does: folders with special uses below [Gmail], labels as
// capability, XOAUTH2 alone. At the first connections it does what busy servers do.
func gmail(f *testkit.Fake, trouble func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool) {
	f.Greeting = "* OK Gimap ready for requests from 127.0.0.1"
	f.Caps = "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 UIDPLUS COMPRESS=DEFLATE ENABLE MOVE CONDSTORE ESEARCH SPECIAL-USE LIST-EXTENDED SASL-IR AUTH=XOAUTH2"
	f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
		if trouble(c, cmd) {
			return true
		}
		switch cmd.Name {
		case "NAMESPACE":
			c.Line(`* NAMESPACE (("" "/")) NIL NIL`)
		case "LIST":
			c.Line(`* LIST (\HasNoChildren) "/" "INBOX"`)
			c.Line(`* LIST (\HasChildren \NoSelect) "/" "[Gmail]"`)
			c.Line(`* LIST (\HasNoChildren \Important) "/" "[Gmail]/Important"`)
			c.Line(`* LIST (\HasNoChildren \Sent) "/" "[Gmail]/Sent Mail"`)
			c.Line(`* LIST (\HasNoChildren \Junk) "/" "[Gmail]/Spam"`)
			c.Line(`* LIST (\All \HasNoChildren) "/" "[Gmail]/All Mail"`)
		case "STATUS":
			c.Line(`* STATUS %s (MESSAGES 0 UIDNEXT 1 UIDVALIDITY 1 HIGHESTMODSEQ 1)`, cmd.Args[:strings.LastIndex(cmd.Args, " (")])
		default:
			return false
		}
		c.OK(cmd)
		return true
	}
}

// TestR10ProvidersOnBadDays has Gmail and Outlook.com refuse and end connections in their
// own words. None of that is a wrong password, and the message that waits is read.
func TestR10ProvidersOnBadDays(t *testing.T) {
	for name, trouble := range map[string]func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool{
		"Gmail throttles": on("AUTHENTICATE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s NO [THROTTLED] Account exceeded command or bandwidth limits.", cmd.Tag)
		}),
		"Gmail has too many connections": on("AUTHENTICATE", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s NO [ALERT] Too many simultaneous connections. (Failure)", cmd.Tag)
		}),
		"Gmail is over quota at SELECT": on("SELECT", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s NO [OVERQUOTA] Account exceeded command or bandwidth limits.", cmd.Tag)
		}),
		"Gmail ends the session": on("SELECT", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Line("* BYE Session expired, please login again.")
			c.Close()
		}),
		"Outlook.com ends the session": on("SELECT", func(c *testkit.FakeConn, _ testkit.FakeCommand) {
			c.Line("* BYE Session invalidated - AccessTokenExpired")
			c.Close()
		}),
		"Outlook.com has too many connections": on("SELECT", func(c *testkit.FakeConn, cmd testkit.FakeCommand) {
			c.Line("%s BAD User is authenticated but not connected.", cmd.Tag)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var went atomic.Int32
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				gmail(f, func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if went.Load() >= 3 || !trouble(nil, cmd) {
						return false
					}
					went.Add(1)
					return trouble(c, cmd)
				})
			})
			f.Add(plainMail, "")
			o := only(f)
			o.Mailboxes, o.Auth = nil, AuthXOAuth2
			o.AuthBackoffMin, o.AuthBackoffMax = patience, patience // a refused login would be waited out
			var tokens atomic.Int32
			o.Password = func(context.Context) (string, error) { return fmt.Sprint("token ", tokens.Add(1)), nil }
			r := startSource(t, o)
			r.await("the waiting message", 0, arrivalOf("INBOX", 1))
			for role, box := range map[ingest.Role]string{
				ingest.RoleImportant: "[Gmail]/Important", ingest.RoleSent: "[Gmail]/Sent Mail", ingest.RoleJunk: "[Gmail]/Spam",
			} {
				r.await(box, 0, func(e ingest.Event) bool {
					m, ok := e.(ingest.MailboxOpened)
					return ok && m.Mailbox == box && m.Role == role
				})
			}
			if n := tokens.Load(); n < 3 {
				t.Errorf("%d tokens were asked for, want one for each connection", n)
			}
		})
	}
}

// TestConsentThatIsNeededIsAStateOfItsOwn has no token to be had, and then one that
// the server does not take, until the owner has logged in again.
func TestConsentThatIsNeededIsAStateOfItsOwn(t *testing.T) {
	var state atomic.Int32
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		gmail(f, func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "AUTHENTICATE" || state.Load() == 2 {
				return false
			}
			c.Line("+ %s", base64.StdEncoding.EncodeToString([]byte(`{"status":"400","schemes":"Bearer"}`)))
			if got := c.ReadLine(); got != "" {
				t.Errorf("the challenge was answered with %q", got)
			}
			c.Line("%s NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)", cmd.Tag)
			return true
		})
	})
	o := only(f)
	o.Auth = AuthXOAuth2
	o.Password = func(context.Context) (string, error) {
		if state.Load() == 0 {
			return "", errors.New("password_command: token ended with exit status 1 over invalid_grant; run it by hand to see why")
		}
		return "a token", nil
	}
	r := startSource(t, o)
	for n, words := range []string{"invalid_grant", "AUTHENTICATIONFAILED"} {
		state.Store(int32(n))
		problem := awaitProblem(t, r, words)
		if !r.source.Status().ConsentNeeded || !strings.Contains(problem, "consent needed") {
			t.Errorf("the status is %+v", r.source.Status())
		}
	}
	state.Store(2)
	awaitConnected(t, r)
	for deadline := time.Now().Add(patience); r.source.Status().ConsentNeeded; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("connected, and consent is needed still")
		}
	}
}
