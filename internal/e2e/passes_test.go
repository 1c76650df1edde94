// SPDX-License-Identifier: Apache-2.0

//go:build passes

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestPasses brings events to a daemon on a real mail server, and leaves below GOCOVERDIR,
// for each of them, which code ran until nothing was left to do. scripts/passes.sh builds
// the daemon in HINGED_PASSES, and counts.
func TestPasses(t *testing.T) {
	s := newSite(t, "mark = [\"$Important\"]\nsettle = \"1s\"\nshadow = \"off\"\n[account.threshold]\nmode = \"fixed\"\nvalue = -1.0\n")
	s.binary = os.Getenv("HINGED_PASSES")
	owner := s.imap.Owner(t)
	dir := os.Getenv("GOCOVERDIR")
	n := 0
	measure := func(name string) {
		t.Helper()
		n++
		if err := s.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, fmt.Sprint(n))
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(at, "done")); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: the daemon wrote no counters", name)
			}
		}
		if name == "" {
			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := os.Rename(at, filepath.Join(dir, fmt.Sprintf("%d %s", n, name))); err != nil {
			t.Fatal(err)
		}
	}
	// Nothing may ask the daemon meanwhile, since that would be counted, too.
	rest := func() { time.Sleep(4 * time.Second) }
	deliver := func(i int) uint32 {
		t.Helper()
		uid := owner.Append("INBOX", fmt.Appendf(nil, "From: Ann <ann@example.org>\r\nTo: %s\r\nSubject: letter %d\r\nMessage-ID: <%d@example.org>\r\nDate: %s\r\n\r\nwords of letter %d\r\n", s.user, i, i, time.Now().Format(time.RFC1123Z), i), time.Now())
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if flags, _ := owner.Flags("INBOX", uid); slices.Contains(flags, "$important") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the message is not marked")
			}
		}
		rest()
		return uid
	}
	learn := func(label string, cover string) {
		t.Helper()
		cmd := exec.Command(s.binary, "learn", label, "<1@example.org>", "--config", s.config)
		cmd.Env = append(os.Environ(), "GOCOVERDIR="+cover)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("learn: %v\n%s", err, out)
		}
	}

	s.start()
	rest()
	deliver(1)
	measure("")
	uid := deliver(2)
	measure("a message arrives and is marked")
	flags, _ := owner.Flags("INBOX", uid)
	owner.Clear("INBOX", uid, flags...)
	rest()
	measure("the owner removes a mark")
	rest()
	measure("nothing happens")
	client := filepath.Join(dir, "9 learn in the client")
	if err := os.Mkdir(client, 0o700); err != nil {
		t.Fatal(err)
	}
	learn("--important", client)
	rest()
	measure("learn in the daemon")
}
