// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// Every folder says when the server last answered about it, also while nothing happens.
func TestStatusSaysWhenFoldersWereLookedAt(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	began := wallClock()
	r := startSource(t, dovecotOptions(d))
	until := func(what string, ok func(map[string]ingest.Look) bool) (looks map[string]ingest.Look) {
		t.Helper()
		testkit.Until(t, func() bool { looks = r.source.Status().Looks; return ok(looks) }, "never saw ", what)
		return looks
	}
	first := until("INBOX and Sent looked at", func(l map[string]ingest.Look) bool {
		return l["INBOX"].Listening && !l["Sent"].At.IsZero()
	})
	for name, l := range first {
		if l.At.Before(began) || l.At.After(wallClock()) {
			t.Errorf("%s was looked at at %v, and it is between %v and now", name, l.At, began)
		}
		if l.Listening != (name == "INBOX") {
			t.Errorf("%s: listening is %v", name, l.Listening)
		}
	}
	until("another look at Sent", func(l map[string]ingest.Look) bool { return l["Sent"].At.After(first["Sent"].At) })
	d.Stop()
	last := until("that nobody listens to INBOX", func(l map[string]ingest.Look) bool { return !l["INBOX"].Listening })
	if last["INBOX"].At.Before(first["INBOX"].At) {
		t.Errorf("the last look at INBOX was at %v, after one at %v", last["INBOX"].At, first["INBOX"].At)
	}
}
