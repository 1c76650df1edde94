// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// managerScript starts a service manager for one user, in namespaces of its own for mounts
// and processes. systemd runs only on a machine that was booted with it, and knows that by
// a directory. It works in the cgroups that it is started in, and
// must not be in the machine's own: there it would move all processes about.
const managerScript = `
set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
for c in $cgroups; do
	echo $$ > "$c/cgroup.procs"
done
/lib/systemd/systemd --user --unit=basic.target
`

// userManager is a systemd that runs for the test alone.
type userManager struct {
	t    *testing.T
	home string
	env  []string
	pid  int // of the first process of its namespaces
	log  *testkit.Transcript
}

// noManager ends a test for which no service manager can be started: with a failure in CI.
func noManager(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI must test under a service manager: %s", why)
	}
	t.Skip("SKIPPED: no service manager: " + why)
}

// startUserManager starts one whose home directory is home.
func startUserManager(t *testing.T, home string) *userManager {
	t.Helper()
	if os.Geteuid() != 0 {
		noManager(t, "it needs root, for namespaces of its own")
	}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		noManager(t, err.Error()+" (package systemd)")
	}
	cgroups := newCgroups(t)
	run := filepath.Join(home, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	m := &userManager{t: t, home: home, log: new(testkit.Transcript), env: []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"), "SYSTEMD_PAGER=", "LC_ALL=C.UTF-8",
	}}
	// The shell is the first process of its namespace: when it is killed, so is every other.
	cmd := exec.CommandContext(context.Background(), "sh", "-c", managerScript)
	cmd.Env = append(m.env, "cgroups="+strings.Join(cgroups, " "), "SYSTEMD_LOG_TARGET=console")
	cmd.Stdout, cmd.Stderr = m.log, m.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.pid = cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := m.systemctl("show", "--property=Version"); err == nil {
			return m
		}
		select {
		case err := <-done:
			done <- err
			t.Fatalf("the service manager ended at its start: %v\n%s", err, m.log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service manager does not answer\n%s", m.log)
		}
	}
}

// newCgroups makes a cgroup for the test in every hierarchy.
func newCgroups(t *testing.T) []string {
	t.Helper()
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		roots = []string{"/sys/fs/cgroup/cgroup.procs"} // there is only one
	}
	var made []string
	t.Cleanup(func() {
		for _, dir := range made {
			vacate(t, dir)
		}
	})
	for _, procs := range roots {
		dir := filepath.Join(filepath.Dir(procs), "hinged-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			noManager(t, err.Error())
		}
		made = append(made, dir)
		if strings.Contains(dir, "/cpuset/") { // takes no process before it may use something
			for _, what := range []string{"cpuset.cpus", "cpuset.mems"} {
				all, err := os.ReadFile(filepath.Join(filepath.Dir(procs), what))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, what), all, 0)
				}
				if err != nil {
					noManager(t, err.Error())
				}
			}
		}
	}
	if len(made) == 0 {
		noManager(t, "no cgroups below /sys/fs/cgroup")
	}
	return made
}

// vacate removes a cgroup and all below it, once the last process has ended.
func vacate(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var dirs []string
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, d := range slices.Backward(dirs) { // the innermost first
			_ = syscall.Rmdir(d) // a process may be in it for a moment still
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
	t.Errorf("%s is still there", dir)
}

// systemctl asks the manager.
func (m *userManager) systemctl(args ...string) (string, error) {
	// In its namespaces, since it asks who asks.
	cmd := exec.Command("nsenter", append([]string{"--target", strconv.Itoa(m.pid), "--mount", "--pid", "systemctl", "--user", "--no-ask-password"}, args...)...)
	cmd.Env = m.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is systemctl, and fails the test if that does.
func (m *userManager) must(args ...string) {
	m.t.Helper()
	if out, err := m.systemctl(args...); err != nil {
		m.t.Fatalf("systemctl %v: %v\n%s\n%s", args, err, out, m.log)
	}
}

// show returns a property of the service.
func (m *userManager) show(property string) string {
	m.t.Helper()
	out, err := m.systemctl("show", "--value", "--property", property, "hinged.service")
	if err != nil {
		m.t.Fatalf("systemctl show: %v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// until waits for a property of the service.
func (m *userManager) until(property string, ok func(string) bool) string {
	m.t.Helper()
	var last string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if last = m.show(property); ok(last) {
			return last
		}
	}
	status, _ := m.systemctl("status", "hinged.service")
	m.t.Fatalf("%s is %q\n%s\n%s", property, last, status, m.log)
	return ""
}

// is compares, and has says whether it is contained.
func is(want string) func(string) bool { return func(got string) bool { return got == want } }
func has(want string) func(string) bool {
	return func(got string) bool { return strings.Contains(got, want) }
}

// TestUnderARealServiceManager runs the unit of deploy/ as it stands, but for paths that
// are the test's: it is ready when it says so, tells what it does, reads its
// configuration again, is killed when it gives no sign of life, and comes back.
func TestUnderARealServiceManager(t *testing.T) {
	t.Parallel()
	hinged := program(t)
	s := newSite(t, "")
	home := s.dir
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	config := testkit.Read(t, s.config)
	// State and socket are where a user has them by default, which the unit counts on.
	_, rest, _ := strings.Cut(string(config), "log_level")
	good := fmt.Sprintf("state_dir = %q\nlog_level%s", filepath.Join(home, ".local/state/hinged"), rest)
	const unitDir, configFile = ".config/systemd/user/", ".config/hinged/hinged.toml"
	put(configFile, good)
	s.config, s.socket = filepath.Join(home, configFile), filepath.Join(home, ".local/state/hinged/hinged.sock")
	unit := testkit.Read(t, "../../deploy/hinged-user.service")
	put(unitDir+"hinged.service", strings.ReplaceAll(string(unit), "/usr/local/bin/hinged", hinged))
	// The test's files are all below /tmp. And nobody wants to wait for minutes.
	put(unitDir+"hinged.service.d/test.conf", "[Service]\nPrivateTmp=no\nWatchdogSec=10s\nRestartSec=100ms\nStandardOutput=append:"+home+"/log\nStandardError=inherit\n")
	m := startUserManager(t, home)

	m.must("start", "hinged.service") // returns once it is ready
	if _, ok := s.ask(); !ok {
		t.Error("it is ready and does not answer")
	}
	m.until("StatusText", has("1 account, 1 connected"))
	if got := m.show("WatchdogTimestampMonotonic"); got == "0" || got == "" {
		t.Errorf("the watchdog got no sign of life: %q", got)
	}

	put(configFile, "log_levell = \"info\"\n"+good)
	m.must("reload", "hinged.service")
	m.until("StatusText", has("so the old one stays in force: "+s.config+":1: log_levell: unknown key"))
	put(configFile, strings.Replace(good, `log_level = "debug"`, `log_level = "info"`, 1))
	m.must("reload", "hinged.service")
	m.until("StatusText", has("1 account, 1 connected"))
	if got := m.show("ActiveState") + " " + m.show("NRestarts"); got != "active 0" {
		t.Errorf("after two reloads it is %s", got)
	}

	m.must("kill", "--signal=STOP", "hinged.service")
	m.until("NRestarts", is("1"))
	m.until("StatusText", has("1 account, 1 connected"))
	log := testkit.Read(t, filepath.Join(home, "log"))
	if !bytes.Contains(log, []byte("SIGABRT")) {
		t.Errorf("the watchdog left no trace of where it was stuck:\n%s", tail(string(log)))
	}
	m.must("stop", "hinged.service")
	if got := m.show("Result"); got != "success" {
		t.Errorf("it ended with %s\n%s", got, m.log)
	}
	s.wantReplay("at the end")
}
