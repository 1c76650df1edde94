// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
)

// TestStatusSaysWhichMailboxTakesNoMarks has a mailbox that keeps no keywords, and one
// whose server refuses a mark; each until it does better.
func TestStatusSaysWhichMailboxTakesNoMarks(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	warned := func(what string, want ...string) {
		t.Helper()
		await(t, what, func() (any, bool) {
			var got []string
			for _, w := range must(t, d, desk.GetStatus, desk.None{}).Accounts[0].Warnings {
				if strings.HasPrefix(w, "hinged can't mark anything in ") {
					got = append(got, w)
				}
			}
			return got, slices.EqualFunc(got, want, strings.Contains)
		})
	}
	none := opened
	none.Keywords = false
	s.events <- none
	sent := none
	sent.Mailbox, sent.Role = "Sent", ingest.RoleSent
	s.events <- sent // nothing is marked there anyway
	warned("no keywords", "INBOX: the server keeps no $Important there")
	s.events <- opened
	warned("opened anew, with keywords")
	at := ingest.Place{Mailbox: "Lists", UIDValidity: 1, UID: 1}
	s.events <- ingest.MarkResult{ID: 9, Place: at, Outcome: ingest.MarkImpossible, Detail: "NO [READ-ONLY] can't"}
	warned("refused", "Lists: the server refused a mark: NO [READ-ONLY] can't")
	s.events <- ingest.MarkResult{ID: 10, Place: at, Outcome: ingest.MarkDone}
	warned("set after all")
}
