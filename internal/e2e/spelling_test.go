// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/testkit"
)

// TestR5TheMarkIsTheSameInAnyCase: the server keeps the mark as another program spelt it
// first, and programs set and clear it in spellings of their own. Setting what is set is no
// change and no lesson; what the owner does with the mark counts however it is spelt.
func TestR5TheMarkIsTheSameInAnyCase(t *testing.T) {
	onEveryServer(t, speltOtherwise)
	for name, start := range map[string]func(*testing.T) *testkit.MailServer{
		"Cyrus": func(t *testing.T) *testkit.MailServer { return testkit.StartCyrus(t, testkit.CyrusOptions{}) },
		"Courier": func(t *testing.T) *testkit.MailServer {
			return testkit.StartCourier(t, testkit.CourierOptions{IdlePoll: time.Second})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := start(t)
			speltOtherwise(&resident{T: t, wire: testkit.StartProxy(t, m.Addr), login: m.Login, user: m.User, Owner: m.Owner(t)})
		})
	}
}

func speltOtherwise(o *resident) {
	first := o.dull()
	o.Set("INBOX", first, "$IMPORTANT")
	o.Expunge("INBOX", first) // the mailbox keeps the spelling
	s := o.daemon(quick)
	s.start()
	messages, _ := teach(s, o.Owner)
	c := newTally(s, o, messages)
	marked, unmarked := o.urgent("INBOX"), o.dull(`\Seen`)
	c.arrived(2)
	stored := o.asSpelt(marked)
	for _, name := range []imap.Flag{"$important", "$IMPORTANT", "$iMPORTANT", `\Important`, `\IMPORTANT`} {
		o.try(marked, imap.StoreFlagsAdd, name) // servers may refuse the last two
	}
	c.want("a mark that was set once more", 0, 0)
	s.end()
	s.start()
	c.want("another look at all flags", 0, 0)
	if now, _ := s.status(); now.MarksRefused != 0 {
		o.Errorf("%d marks are taken for refused", now.MarksRefused)
	}

	o.Set("INBOX", unmarked, "$imPORTANT")
	c.want("the owner's own mark", 1, 0)
	o.Set("INBOX", marked, `\Seen`)
	o.Clear("INBOX", marked, "$importANT")
	c.want("the mark taken off", 0, 1)
	o.try(marked, imap.StoreFlagsAdd, "$hinged")
	c.want("the companion set once more", 0, 0)
	if o.isMarked(marked) {
		o.Error("the mark came back")
	}
	o.Logf("the server calls the mark %q", stored)
}

// asSpelt returns the name of the mark on a message in INBOX as the server spells it; the
// client library would write it in its own way.
func (o *resident) asSpelt(uid uint32) string {
	o.Helper()
	dial := func() (net.Conn, error) { return net.Dial("tcp", o.login.Addr) }
	if o.login.TLSConfig != nil {
		dial = func() (net.Conn, error) { return tls.Dial("tcp", o.login.Addr, o.login.TLSConfig) }
	}
	conn, err := dial()
	if err != nil {
		o.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	var said strings.Builder
	lines := bufio.NewScanner(conn)
	for i, command := range []string{
		fmt.Sprintf("LOGIN %q %q", o.login.User, o.login.Password), "EXAMINE INBOX", fmt.Sprintf("UID FETCH %d FLAGS", uid),
	} {
		fmt.Fprintf(conn, "t%d %s\r\n", i, command)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), fmt.Sprintf("t%d ", i)) {
			said.WriteString(lines.Text() + "\n")
		}
	}
	_, fetched, _ := strings.Cut(said.String(), " FETCH ")
	name := regexp.MustCompile(`(?i)[$\\]important`).FindString(fetched)
	if name == "" {
		o.Fatalf("message %d is not marked; the server says\n%s", uid, said.String())
	}
	return name
}

// try has the owner's program change a flag, which the server may refuse.
func (o *resident) try(uid uint32, op imap.StoreFlagsOp, flag imap.Flag) {
	o.Helper()
	o.Select("INBOX")
	err := o.Client().Store(imap.UIDSetNum(imap.UID(uid)), &imap.StoreFlags{Op: op, Flags: []imap.Flag{flag}}, nil).Close()
	if err != nil {
		o.Logf("%s is refused: %v", flag, err)
	}
}
