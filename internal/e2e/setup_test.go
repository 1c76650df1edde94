// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// TestFromNothingToARunningDaemon: init on a mailbox with some mail, check, run;
// and neither of the first two changed the mailbox.
func TestFromNothingToARunningDaemon(t *testing.T) {
	t.Parallel()
	testkit.NeedDovecot(t)
	imap := testkit.StartDovecot(t, testkit.DovecotOptions{})
	owner := imap.Owner(t)
	mail := testkit.NewMail(5)
	for i := range 30 {
		m := mail.Next()
		var flags []string
		if m.Important && i < 20 {
			flags = []string{`\Seen`, `\Answered`}
		}
		owner.Append("INBOX", m.Raw, time.Now().Add(-time.Duration(30-i)*time.Hour), flags...)
	}
	before := flagsOf(owner)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(imap.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, imap: imap, dir: dir, config: filepath.Join(dir, "hinged.toml"), socket: filepath.Join(dir, "state", "hinged.sock"), log: new(bytes.Buffer)}
	t.Cleanup(s.kill)
	out, err := s.hinged("init", "--config", s.config, "--address", imap.User, "--server", imap.Addr, "--password-file", secret, "--state-dir", filepath.Join(dir, "state"), "--reads", "phone")
	if err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	t.Logf("init:\n%s", out)
	for _, want := range []string{"Using " + imap.Addr, "30 messages in INBOX", "sent is Sent", "accepts new ones", "hinged check --config " + s.config, "hinged run"} {
		if !strings.Contains(out, want) {
			t.Errorf("init did not say %q", want)
		}
	}
	// Something else on this machine may have the usual port, a hinged for example.
	written, err := os.ReadFile(s.config)
	usual := config.DefaultDashboard().Listen
	if err != nil || !bytes.Contains(written, []byte(usual)) {
		t.Fatalf("init did not write %s: %v\n%s", usual, err, written)
	}
	if err := os.WriteFile(s.config, bytes.ReplaceAll(written, []byte(usual), []byte("127.0.0.1:0")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err = s.hinged("check", "--config", s.config); err != nil || !strings.HasSuffix(out, "all is well\n") {
		t.Errorf("check: %v\n%s", err, out)
	}
	t.Logf("check:\n%s", out)
	for uid, f := range flagsOf(owner) {
		if before[uid] != f {
			t.Errorf("message %d had the flags %q and has %q", uid, before[uid], f)
		}
	}
	s.start()
	s.until("the mailbox read", func(a desk.AccountStatus) bool { return a.Messages == 30 && a.Connected })
}

// TestCheckBesideADaemonTeachesItNothing: the daemon's connection is told of the
// keyword that check sets and takes off, and its model does not hear of it. That
// no event is made of it is tested in ingest/imap.
func TestCheckBesideADaemonTeachesItNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, quick+still)
	s.start()
	owner := s.imap.Owner(t)
	defer owner.Close()
	_, lessons := teach(s, owner)
	was := s.until("the last lesson", func(a desk.AccountStatus) bool { return a.MarksIntended == 0 && a.Pending == 0 })
	model := modelOf(t, s)

	for range 3 {
		out, err := s.hinged("check", "--config", s.config)
		if err != nil || !strings.Contains(out, "OK    store: a running daemon uses it") || !strings.Contains(out, "is off again") {
			t.Fatalf("check: %v\n%s", err, out)
		}
	}
	// A message that the daemon sees has come later than all of that.
	owner.Append("INBOX", letter(900, news, s.imap.User, "weekly newsletter"), time.Now().Add(-time.Minute))
	st := s.until("the message", func(a desk.AccountStatus) bool {
		return a.Messages == was.Messages+1 && a.MarksIntended == 0 && a.Pending == 0
	})
	if got := modelOf(t, s); got != model {
		t.Errorf("the model was %s and is %s", model, got)
	}
	if st.Important+st.Ordinary != lessons {
		t.Errorf("%d lessons, want %d", st.Important+st.Ordinary, lessons)
	}
	for uid, f := range flagsOf(owner) {
		if strings.Contains(f, "hingedcheck") {
			t.Errorf("message %d has the flags %q", uid, f)
		}
	}
	if err := s.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wantReplay("after the checks")
}

// modelOf is the digest of what was learnt.
func modelOf(t *testing.T, s *site) string {
	t.Helper()
	var all []desk.Digest
	if err := json.Unmarshal([]byte(s.digests()), &all); err != nil || len(all) != 1 {
		t.Fatalf("digests: %v, %d accounts", err, len(all))
	}
	return all[0].Model
}
