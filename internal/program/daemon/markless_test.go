// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestStatusSaysWhichMailboxTakesNoMarks has a mailbox that keeps no keywords, and one
// whose server refuses a mark; each until it does better.
func TestStatusSaysWhichMailboxTakesNoMarks(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, stop := start(t, t.TempDir(), s)
	defer stop()
	await := func(what string, want ...string) {
		t.Helper()
		var got []string
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			st, err := d.Status(t.Context())
			testkit.OK(t, err)
			got = nil
			for _, w := range st.Accounts[0].Warnings {
				if strings.HasPrefix(w, "hinged can't mark anything in ") {
					got = append(got, w)
				}
			}
			met := len(got) == len(want)
			for i := range want {
				met = met && strings.Contains(got[i], want[i])
			}
			if met {
				return
			}
		}
		t.Fatalf("%s: the warnings are %q, want %q", what, got, want)
	}
	none := opened
	none.Keywords = false
	s.events <- none
	sent := none
	sent.Mailbox, sent.Role = "Sent", ingest.RoleSent
	s.events <- sent // nothing is marked there anyway
	await("no keywords", "INBOX: the server keeps no $Important there")
	s.events <- opened
	await("opened anew, with keywords")
	at := ingest.Place{Mailbox: "Lists", UIDValidity: 1, UID: 1}
	s.events <- ingest.MarkResult{ID: 9, Place: at, Outcome: ingest.MarkImpossible, Detail: "NO [READ-ONLY] can't"}
	await("refused", "Lists: the server refused a mark: NO [READ-ONLY] can't")
	s.events <- ingest.MarkResult{ID: 10, Place: at, Outcome: ingest.MarkDone}
	await("set after all")
}
