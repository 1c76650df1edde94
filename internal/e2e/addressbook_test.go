// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestTheAddressBookIsAFactOfWhoeverIsInIt has a daemon on Dovecot with a vCard file: who is in it
// has the fact, a forged name has not; the next reading counts, and a broken file changes nothing.
func TestTheAddressBookIsAFactOfWhoeverIsInIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "book.vcf")
	card := func(address string) string {
		return "BEGIN:VCARD\r\nVERSION:3.0\r\nEMAIL;TYPE=INTERNET:" + address + "\r\nEND:VCARD\r\n"
	}
	testkit.Write(t, file, card(boss)+card("ann@example.com"))
	s := siteOn(t, testkit.StartDovecot(t, testkit.DovecotOptions{}), dir, fmt.Sprintf(
		"%s[account.featurize]\nauthserv_id = \"mx.test\"\n[account.address_book]\nfile = %q\n", quick+still, file))
	s.start()
	owner := s.imap.Owner(t)
	s.until("the address book", func(a desk.AccountStatus) bool {
		return a.AddressBook != nil && a.AddressBook.Addresses == 2 && a.AddressBook.Read != nil
	})
	// A fact that never taught anything has no weight, and no part in a score.
	n := 1
	first := owner.Append("INBOX", letter(n, boss, s.user, "urgent matter", "Authentication-Results: mx.test; dmarc=pass header.from=example.com"), time.Now())
	s.until("the first message", func(a desk.AccountStatus) bool { return a.Messages == 1 })
	owner.Set("INBOX", first, `\Flagged`)
	s.until("the lesson", func(a desk.AccountStatus) bool { return a.Important == 1 })
	fact := func(from, verdict string) bool {
		t.Helper()
		n++
		owner.Append("INBOX", letter(n, from, s.user, "plain words", "Authentication-Results: mx.test; dmarc="+verdict+" header.from=example.com"), time.Now())
		s.until("the message", func(a desk.AccountStatus) bool { return a.Messages == uint64(n) })
		out, err := s.hinged("explain", "--config", s.config, "--json", fmt.Sprintf("l%d@example.com", n))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Contains(out, "the sender is in your address book")
	}
	for _, c := range []struct {
		from, verdict string
		want          bool
	}{{boss, "pass", true}, {boss, "fail", false}, {"stranger@example.com", "pass", false}} {
		if got := fact(c.from, c.verdict); got != c.want {
			t.Errorf("%s with dmarc=%s: the fact is there: %v, want %v", c.from, c.verdict, got, c.want)
		}
	}
	again := func(text string) {
		t.Helper()
		if err := s.stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		testkit.Write(t, file, text)
		s.start()
	}
	again(card("ann@example.com"))
	s.until("the other address book", func(a desk.AccountStatus) bool {
		return a.AddressBook != nil && a.AddressBook.Addresses == 1
	})
	if fact(boss, "pass") || !fact("ann@example.com", "pass") {
		t.Error("who left the book has the fact, or who stayed has not")
	}
	again("BEGIN:VCARD\r\nEMAIL:half")
	a := s.until("the problem", func(a desk.AccountStatus) bool { return a.AddressBook != nil && a.AddressBook.Problem != "" })
	if a.AddressBook.Addresses != 1 || !strings.Contains(strings.Join(a.Warnings, "\n"), "ends in the middle of a card") {
		t.Errorf("of half a file status says %+v, %q", a.AddressBook, a.Warnings)
	}
	if !fact("ann@example.com", "pass") {
		t.Error("half a file took the book away")
	}
	again(card("owner-of-nothing"))
	a = s.until("the problem", func(a desk.AccountStatus) bool { return a.AddressBook != nil && a.AddressBook.Problem != "" })
	if a.AddressBook.Addresses != 1 || !strings.Contains(a.AddressBook.Problem, "what was known of it stays: no address is in it") {
		t.Errorf("of an empty book status says %+v", a.AddressBook)
	}
	out, err := s.hinged("status", "--config", s.config)
	t.Logf("%v\n%s", err, out)
	s.wantReplay("at the end")
}
