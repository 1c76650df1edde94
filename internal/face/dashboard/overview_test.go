// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
)

func TestFoldersSayWhenTheyWereLookedAt(t *testing.T) {
	t.Parallel()
	h := newHome(t, homeOptions())
	h.arrive(letter(1, "Ada", "The first"), homeStart)
	folders := func() string { return strings.Join(strings.Fields(h.see("/a/nora/").text("#folders")), " ") }
	if got, want := folders(), "INBOX inbox 1 listening Sent sent 0 06:59"; !strings.Contains(got, want) {
		t.Errorf("the folders are %q, want %q", got, want)
	}
	if _, err := desk.Pause.Do(t.Context(), h.daemon, "nora", desk.SwitchRequest{}); err != nil {
		t.Fatal(err)
	}
	if got, want := folders(), "INBOX inbox 1 paused Sent sent 0 paused"; !strings.Contains(got, want) {
		t.Errorf("paused, the folders are %q, want %q", got, want)
	}
}
