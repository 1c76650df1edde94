// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// What a month sees and does on its mail server.

func (m *month) copy(o *testkit.Owner, from string, uid uint32, to string) {
	m.t.Helper()
	o.Select(from)
	if _, err := o.Client().Copy(goimap.UIDSetNum(goimap.UID(uid)), to).Wait(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *month) rename(from, to string) {
	m.t.Helper()
	if err := m.web.Client().Rename(from, to, nil).Wait(); err != nil {
		m.t.Fatal(err)
	}
	// Dovecot makes it by itself when somebody asks for it first, the daemon for one.
	var refused *goimap.Error
	if err := m.web.Client().Create(from, nil).Wait(); err != nil && (!errors.As(err, &refused) || refused.Code != goimap.ResponseCodeAlreadyExists) {
		m.t.Fatal(err)
	}
	m.heard("renamed")
}

var validityField = regexp.MustCompile(`^3 V(\d+)`)

// renumber gives a mailbox another UIDVALIDITY, as a server does that lost its index.
func (m *month) renumber(mailbox string) {
	m.t.Helper()
	server := m.site.imap
	server.Stop()
	dir := server.Mail(m.mail.Owner)
	if mailbox != "INBOX" {
		dir = filepath.Join(dir, "."+mailbox)
	}
	list := filepath.Join(dir, "dovecot-uidlist")
	text := testkit.Read(m.t, list)
	found := validityField.FindSubmatch(text)
	if found == nil {
		m.t.Fatalf("%s begins with %.80q", list, text)
	}
	old, err := strconv.Atoi(string(found[1]))
	if err != nil {
		m.t.Fatal(err)
	}
	text = append(fmt.Appendf(nil, "3 V%d", old+1000), text[len(found[0]):]...)
	testkit.Write(m.t, list, text)
	root := server.Mail(m.mail.Owner)
	for _, stale := range []string{
		filepath.Join(dir, "dovecot.index"), filepath.Join(dir, "dovecot.index.log"), filepath.Join(dir, "dovecot.index.cache"),
		filepath.Join(root, "dovecot.list.index"), filepath.Join(root, "dovecot.list.index.log"),
	} {
		if err := os.Remove(stale); err != nil && !os.IsNotExist(err) {
			m.t.Fatal(err)
		}
	}
	server.Start()
	m.login()
	if v := m.desktop.Select(mailbox); v != uint32(old+1000) {
		m.t.Fatalf("UIDVALIDITY of %s is %d, want %d", mailbox, v, old+1000)
	}
	m.heard("renumbered " + mailbox)
}

// inbox returns the UIDs in INBOX, ascending.
func (m *month) inbox() (uids []uint32) {
	m.t.Helper()
	m.desktop.Select("INBOX")
	d, err := m.desktop.Client().UIDSearch(&goimap.SearchCriteria{}, nil).Wait()
	if err != nil {
		m.t.Fatal(err)
	}
	for _, uid := range d.AllUIDs() {
		uids = append(uids, uint32(uid))
	}
	slices.Sort(uids)
	return uids
}

// flagsOf returns the canonical flags of messages in INBOX.
func (m *month) flagsOf(uids []uint32) map[uint32][]string {
	m.t.Helper()
	if len(uids) == 0 {
		return nil
	}
	m.desktop.Select("INBOX")
	all, err := m.desktop.Client().Fetch(uidSet(uids), &goimap.FetchOptions{UID: true, Flags: true}).Collect()
	if err != nil {
		m.t.Fatal(err)
	}
	out := map[uint32][]string{}
	for _, f := range all {
		var flags []string
		for _, flag := range f.Flags {
			flags = append(flags, strings.ToLower(string(flag)))
		}
		slices.Sort(flags)
		out[uint32(f.UID)] = flags
	}
	return out
}

// heard waits until the daemon has seen all that there is on the server, and has set
// its marks.
func (m *month) heard(what string) {
	m.t.Helper()
	m.caughtUp(what, m.server())
}

// caughtUp waits until the daemon knows the messages that there are on the server, has
// set its marks, and has seen the changes of flags up to these.
func (m *month) caughtUp(what string, changed map[string]stand) {
	m.t.Helper()
	var there map[string]stand
	var asked time.Time
	m.last = m.site.until(what, func(a desk.AccountStatus) bool {
		if a.Messages != m.come || a.MarksIntended != 0 {
			return false
		}
		// The server is busy enough with those whom this waits for.
		if time.Since(asked) > 200*time.Millisecond {
			there, asked = m.server(), time.Now()
		}
		missing := len(there)
		for _, b := range a.Mailboxes {
			w, watched := there[b.Mailbox]
			if !watched {
				continue
			}
			if b.UIDValidity != w.validity || b.UIDNext < w.next || b.Messages != w.messages {
				return false
			}
			if b.HighestModSeq < changed[b.Mailbox].modseq {
				return false
			}
			missing--
		}
		return missing == 0
	})
}

// stand is how far a mailbox has come.
type stand struct {
	validity, next uint32
	messages       int
	modseq         uint64
}

// server returns how far the watched mailboxes are on the server. While a mailbox is
// renamed or numbered anew, Dovecot may answer NO for a moment ("Mailbox was deleted under
// us"); then it is asked again.
func (m *month) server() map[string]stand {
	m.t.Helper()
	out := map[string]stand{}
	for _, mailbox := range []string{"INBOX", "Sent", "Junk", "Trash", "Archive"} {
		ask := func() (*goimap.StatusData, error) {
			return m.status.Client().Status(mailbox, &goimap.StatusOptions{UIDNext: true, UIDValidity: true, NumMessages: true, HighestModSeq: true}).Wait()
		}
		d, err := ask()
		for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); d, err = ask() {
			if no := (*goimap.Error)(nil); !errors.As(err, &no) || no.Type != goimap.StatusResponseTypeNo {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			m.t.Fatal(err)
		}
		out[mailbox] = stand{d.UIDValidity, uint32(d.UIDNext), int(*d.NumMessages), d.HighestModSeq}
	}
	return out
}

// settled waits until nothing is pending.
func (m *month) settled(when string) {
	m.t.Helper()
	m.last = m.site.until(when, func(a desk.AccountStatus) bool { return a.Pending == 0 && a.MarksIntended == 0 })
}

// wantNoneAgain looks whether a mark that the owner took off is there again.
func (m *month) wantNoneAgain() {
	m.t.Helper()
	for uid, flags := range m.flagsOf(m.inbox()) {
		if slices.Contains(flags, "$important") && m.refused[m.known[uid].MessageID] {
			m.t.Errorf("UID %d of INBOX is marked again", uid)
		}
	}
}
