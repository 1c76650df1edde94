// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"mime"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestHeadingsAreReadFromTheServerAndStoredNowhere asks a running daemon for the subjects
// of 200 messages, follows one that is moved and one that is deleted, and looks for a
// subject in everything that hinged wrote.
func TestHeadingsAreReadFromTheServerAndStoredNowhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, "[account.featurize]\nnames = false\n")
	owner := s.imap.Owner(t)
	box := testkit.NewMail(12)
	const subject = "Zwölf Boxkämpfer jagen Viktor"
	want := map[string]desk.Heading{} // by key
	uids := map[string]uint32{}
	var keys []string
	add := func(raw []byte) string {
		uid := owner.Append("INBOX", raw, time.Now())
		key, err := desk.KeyOf(raw, len(raw))
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		from, err := m.Header.AddressList("From")
		if err != nil {
			t.Fatal(err)
		}
		text, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
		if err != nil {
			t.Fatal(err)
		}
		h := desk.Heading{Subject: text, From: from[0].Name, Mailbox: "INBOX", MessageID: strings.Trim(m.Header.Get("Message-Id"), "<>")}
		if h.From == "" {
			h.From = from[0].Address
		}
		want[key], uids[key] = h, uid
		keys = append(keys, key)
		return key
	}
	for range 199 {
		add(box.Next().Raw)
	}
	special := add(fmt.Appendf(nil, "From: %s <viktor@example.org>\r\nTo: owner@example.org\r\nSubject: %s\r\nMessage-ID: <special@example.org>\r\nDate: %s\r\n\r\nhello\r\n",
		mime.QEncoding.Encode("utf-8", "Viktor Öhm"), mime.BEncoding.Encode("utf-8", subject), time.Now().Format(time.RFC1123Z)))
	validity, modseq := owner.Select("INBOX"), owner.ModSeq("INBOX")
	s.start()
	s.until("all messages decided", func(a desk.AccountStatus) bool { return a.Messages == 200 && a.Connected })

	got := ask(s, desk.GetHeadings, desk.HeadingsRequest{Messages: append(keys, strings.Repeat("0", 32))})
	for deadline := time.Now().Add(patience); got.Problem != "" && time.Now().Before(deadline); { // a slow machine
		time.Sleep(50 * time.Millisecond)
		got = ask(s, desk.GetHeadings, desk.HeadingsRequest{Messages: keys})
	}
	if got.Problem != "" || len(got.Headings) != len(keys) {
		t.Errorf("got %d headings and the problem %q, want %d and none", len(got.Headings), got.Problem, len(keys))
	}
	for key, h := range want {
		if got.Headings[key] != h {
			t.Errorf("%s: got %+v, want %+v", key, got.Headings[key], h)
		}
	}
	for _, m := range owner.All("INBOX") {
		if strings.Contains(strings.ToLower(strings.Join(m.Flags, " ")), "seen") {
			t.Errorf("UID %d became \\Seen", m.UID)
		}
	}
	if now := owner.ModSeq("INBOX"); now != modseq || owner.Select("INBOX") != validity {
		t.Errorf("INBOX changed: %d, before it was %d", now, modseq)
	}

	// Elsewhere and gone.
	moved, gone := keys[0], keys[1]
	owner.Move("INBOX", uids[moved], "Archive")
	owner.Expunge("INBOX", uids[gone])
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		got := ask(s, desk.GetHeadings, desk.HeadingsRequest{Messages: []string{moved, gone, special}})
		if h, ok := got.Headings[gone]; ok && h != want[gone] || got.Headings[special] != want[special] {
			t.Fatalf("another's heading: %+v", got)
		}
		h := want[moved]
		h.Mailbox = "Archive"
		if _, still := got.Headings[gone]; got.Headings[moved] == h && !still {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the moved message was never found in Archive, or the deleted one stayed: %+v", got)
		}
	}

	if out, err := s.hinged("pause", "--config", s.config); err != nil {
		t.Fatalf("pause: %v\n%s", err, out)
	}
	if got := ask(s, desk.GetHeadings, desk.HeadingsRequest{Messages: keys}); len(got.Headings) > 0 || !strings.Contains(got.Problem, "paused") {
		t.Errorf("paused: got %d headings and the problem %q", len(got.Headings), got.Problem)
	}
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	for _, words := range []string{"Boxkämpfer", "Boxk=C3=A4mpfer", "Viktor Öhm"} {
		if file := s.wrote(words); file != "" {
			t.Errorf("%q is in %s", words, file)
		}
	}
}

// wrote returns a file of the daemon's that has these words, or its log; "" for none.
func (s *site) wrote(words string) (file string) {
	s.t.Helper()
	if strings.Contains(s.log.String(), words) {
		return "the log"
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(words)) {
			file = path
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return file
}
