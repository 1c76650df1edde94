// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// A Message-ID means the same message wherever it is named, as it is copied out of a
// message, too.
func TestAMessageIsFoundByItsIDHoweverThatIsWritten(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	for _, id := range []string{"m1@x", "<m1@x>", " < m1@x >\r\n", "Message-ID: <m1@x>", "\u00a0<m1@x>\u00a0", "<m1@x> (copied)"} {
		ex, err := do(t.Context(), d, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: id}})
		if err != nil || ex.Label != "important" {
			t.Errorf("explain %q: %+v, %v", id, ex.Label, err)
		}
		if l, err := do(t.Context(), d, desk.GetLedger, "", desk.LedgerRequest{Message: id}); err != nil || l.Message != ex.Message {
			t.Errorf("ledger %q: %+v, %v", id, l.Message, err)
		}
	}
}

// An owner's address is the same for `hinged forget` as for the filter.
func TestTheOwnerIsNotForgottenHoweverTheirAddressIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := testOptions()
	o.Featurize.Owner = []string{" Owner@Example.org "}
	_, stop := open(t, dir, o, boltfile.Options{})
	stop()
	h, err := OpenStore(filepath.Join(dir, "store.db"), "test", boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := control.Local(h)
	defer at.Close()
	for _, sender := range []string{"owner@example.org", "Me <OWNER@example.org>"} {
		if _, err := control.Ask(t.Context(), at, desk.Forget, "", desk.ForgetRequest{Sender: sender, DryRun: true}); !errors.Is(err, desk.ErrForget) {
			t.Errorf("%s: got %v, want ErrForget", sender, err)
		}
	}
}

// An account that is in the store and not configured any more is verified, too.
func TestVerifyLooksAtAccountsThatNobodyRuns(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	until(t, d, "the start", func(desk.AccountStatus) bool { return true })
	if err := d.store.Commit("gone", filled(t, d, 0), store.Batch{Journal: [][]byte{{1}}}); err != nil {
		t.Fatal(err)
	}
	v, err := do(t.Context(), d, desk.Verify, "", desk.VerifyRequest{})
	if err != nil || len(v.Accounts) != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
}
