// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

func TestAMessageIsPutIntoAMailboxOnce(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	p := testkit.StartProxy(t, d.Addr)
	owner := d.Owner(t)
	o := dovecotOptions(d)
	o.Address = p.Addr
	r := startSource(t, o)
	awaitConnected(t, r)
	message := func(n int) (id string, raw []byte) {
		id = fmt.Sprintf("digest.%d@hinged.invalid", n)
		return id, []byte("From: digest@hinged.invalid\r\nMessage-ID: <" + id + ">\r\nSubject: s\r\n\r\nGrüße\r\n")
	}
	in := func(box string) int {
		owner.Select(box)
		return len(owner.All(box))
	}
	id, raw := message(1)
	for range 2 {
		if err := r.source.Post(t.Context(), "inbox", id, raw); err != nil {
			t.Fatal(err)
		}
		if n := in("INBOX"); n != 1 {
			t.Fatalf("INBOX has %d messages, want 1", n)
		}
	}
	if flags, _ := owner.Flags("INBOX", 1); strings.Contains(fmt.Sprint(flags), "seen") {
		t.Errorf("it has the flags %q", flags)
	}
	if err := r.source.Post(t.Context(), "Nowhere", id, raw); err == nil {
		t.Error("a mailbox that is not there gives no error")
	}
	if err := r.source.Post(t.Context(), "INBOX", "with space", raw); err == nil {
		t.Error("a Message-ID that can't be searched for gives no error")
	}

	// The server has it, and the answer is lost.
	id, raw = message(2)
	p.FreezeAfter("APPEND", 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.source.Post(ctx, "Archive", id, raw) }()
	testkit.Until(t, func() bool { return p.Frozen() }, "no APPEND came")
	cancel()
	if err := <-done; err == nil {
		t.Error("without the server's answer there is no error")
	}
	p.Thaw()
	testkit.Until(t, func() bool { return r.source.Post(t.Context(), "Archive", id, raw) == nil }, "never posted")
	if n := in("Archive"); n != 1 {
		t.Errorf("Archive has %d messages, want 1", n)
	}
	r.stop()
	if err := r.source.Post(t.Context(), "INBOX", id, raw); err == nil || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("after the end of Run: %v", err)
	}
}
