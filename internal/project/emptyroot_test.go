// SPDX-License-Identifier: Apache-2.0

//go:build linux

package project_test

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// nobody is the user and group that the container image runs as.
const nobody = 65532

// emptyRoot makes a directory that holds the released program and nothing else,
// as the container image does.
func emptyRoot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := testkit.Read(t, release.path(t))
	testkit.WriteProgram(t, filepath.Join(dir, "hinged"), program, 0o755)
	return dir
}

// confined returns the program as run in that root, with an empty environment,
// by a user without rights. Root may change the root directory; anybody else
// may in a user namespace, where the kernel allows one.
func confined(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/hinged", args...)
	cmd.Dir = "/"
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		return cmd
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// runConfined returns what the confined program prints.
func runConfined(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := confined(t, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		absent(t, "neither root nor user namespaces here, for an empty root directory: "+err.Error())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("hinged %v in an empty root: %v\n%s", args, err, &stderr)
	}
	return stdout.Bytes()
}

func TestTheReleaseNeedsNothingButItself(t *testing.T) {
	compiles(t)
	dir := emptyRoot(t)
	version := runConfined(t, dir, "version")
	if !bytes.Contains(version, []byte("hinged")) {
		t.Errorf("version prints %q", version)
	}

	mbox := save(t, 120, 3)
	text := testkit.Read(t, mbox)
	if err := os.WriteFile(filepath.Join(dir, "mail.mbox"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	var inside played
	out := runConfined(t, dir, "eval", "--json", "--owner", "owner@example.org", "/mail.mbox")
	if err := json.Unmarshal(out, &inside); err != nil {
		t.Fatalf("eval --json: %v\n%s", err, out)
	}
	if outside := play(t, plain, nil, mbox, nil); inside.String() != outside.String() {
		t.Errorf("in an empty root\ngot  %v\nwant %v", inside, outside)
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("eval left something behind: %v", entries)
	}
}

func TestTheReleaseIsStatic(t *testing.T) {
	compiles(t)
	f, err := elf.Open(release.path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("it asks for a program interpreter")
		}
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	if len(libraries) != 0 {
		t.Errorf("it asks for %v", libraries)
	}
}
