// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
)

func TestEveryStateOfTheLedgerHasASentenceAndATab(t *testing.T) {
	t.Parallel()
	for _, state := range desk.LedgerStates() {
		if words := stateWords(state); !strings.Contains(words, " ") && words != "stands" {
			t.Errorf("%s is called %q", state, words)
		}
		tabs := 0
		for _, of := range ledgerStates {
			if slices.Contains(of.states, state) {
				tabs++
			}
		}
		if tabs != 1 {
			t.Errorf("%s is under %d tabs", state, tabs)
		}
	}
	digest := desk.LedgerEntry{Ours: true, State: "sent", Mailbox: "INBOX"}
	if got := ledgerTitle([]desk.LedgerEntry{digest}); got != "No marks yet." {
		t.Errorf("with a digest mail alone the ledger says %q", got)
	}
}
