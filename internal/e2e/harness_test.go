// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// built is where compiled put the program, for TestMain to remove.
var built string

var compiled = sync.OnceValues(func() (string, error) {
	var err error
	if built, err = os.MkdirTemp("", "hinged-e2e-"); err != nil {
		return "", err
	}
	path := filepath.Join(built, "hinged")
	return path, build(path, "")
})

// program is the path of hinged, which is built once for all tests.
func program(tb testing.TB) string {
	tb.Helper()
	path, err := compiled()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// build builds hinged as the linker's flags say.
func build(path, flags string) error {
	out, err := exec.Command("go", "build", "-ldflags", flags, "-o", path, "github.com/hinged/hinged/cmd/hinged").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building hinged: %w\n%s", err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(clockedSite); dir != "" {
		os.Exit(runClocked(dir))
	}
	if order := os.Getenv(askerVariable); order != "" {
		os.Exit(runAsker(order))
	}
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 3 * time.Minute

// site is one daemon and the mailbox that it watches.
type site struct {
	t      testing.TB
	imap   *testkit.Dovecot // nil: the server is of another make
	user   string
	dir    string
	config string
	socket string
	clock  *clock // that the daemon goes by; nil: the machine's
	binary string // that start runs; "": program
	// hurried: the daemon waits for little where hinged waits for minutes. Its store must
	// be there.
	hurried bool

	wire     *testkit.Proxy  // that killedUntil thaws when it froze; nil: there is none
	doubtful bool            // a kill may cost a mark
	doubted  map[uint32]bool // UIDs of the messages that it cost one, by scriptedOwner

	delivered atomic.Int64 // by scriptedOwner
	killed    atomic.Int64 // so often by killedUntil

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan error
	log  *testkit.Transcript
}

// newSite starts a Dovecot and writes a configuration for it; extra is TOML for
// the account.
func newSite(t testing.TB, extra string) *site {
	t.Helper()
	return siteOn(t, testkit.StartDovecot(t, testkit.DovecotOptions{}), t.TempDir(), extra)
}

func siteOn(t testing.TB, imap *testkit.Dovecot, dir, extra string) *site {
	t.Helper()
	return siteAt(t, imap, imap.Addr, dir, extra)
}

// siteAt is siteOn with a server that is reached at another address.
func siteAt(t testing.TB, imap *testkit.Dovecot, addr, dir, extra string) *site {
	t.Helper()
	return siteLogging(t, imap, addr, dir, "debug", extra)
}

// siteLogging is siteOn with a level of its own for the daemon's log: what tests
// print when they fail is too much of it for a benchmark.
func siteLogging(t testing.TB, imap *testkit.Dovecot, addr, dir, level, extra string) *site {
	t.Helper()
	s := siteFor(t, testkit.Login{Addr: addr, User: imap.User, Password: imap.Password}, dir, level, extra, "tls = \"none\"\npoll_interval = \"1s\"")
	s.imap = imap
	return s
}

// siteFor writes a configuration for a mailbox on any server; extra is TOML for the
// account, and connection for how its server is reached.
func siteFor(t testing.TB, login testkit.Login, dir, level, extra, connection string) *site {
	t.Helper()
	s := &site{t: t, user: login.User, dir: dir, config: filepath.Join(dir, "hinged.toml"), socket: filepath.Join(dir, "socket"), log: new(testkit.Transcript), doubted: map[uint32]bool{}}
	write := func(name, text string) {
		testkit.Write(t, filepath.Join(dir, name), text)
	}
	write("password", login.Password+"\n")
	if !strings.Contains(extra, "mark_within") {
		extra = "mark_within = \"0s\"\n" + extra // most tests date their mail as they like
	}
	write("hinged.toml", fmt.Sprintf(`
state_dir = %q
socket = %q
log_level = %q
log_format = "text"

[[account]]
name = "me"
owner = [%q]
%s

[account.imap]
address = %q
username = %q
password_file = %q
%s
`, filepath.Join(dir, "state"), s.socket, level, login.User, extra, login.Addr, login.User, filepath.Join(dir, "password"), connection))
	t.Cleanup(s.kill)
	return s
}

// start runs the daemon and waits until its socket answers.
func (s *site) start() {
	s.t.Helper()
	path := cmp.Or(s.binary, program(s.t))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd = exec.Command(path, "run", "--config", s.config)
	if s.clock != nil || s.hurried {
		s.cmd = exec.Command(os.Args[0])
		s.cmd.Env = append(os.Environ(), clockedSite+"="+s.dir)
	}
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	cmd := s.cmd
	go func() { done <- cmd.Wait() }()
	s.done = done
	awaitSocket(s.t, s.socket, done, s.log)
}

// awaitSocket waits until a daemon answers, which it does once all its doors are open. Its end
// would come over done, which keeps it.
func awaitSocket(t testing.TB, socket string, done chan error, log *testkit.Transcript) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(3 * time.Millisecond) {
		if _, ok := askAt(socket); ok {
			return
		}
		select {
		case err := <-done:
			done <- err
			t.Fatalf("the daemon ended at its start: %v\n%s", err, tail(log.String()))
		default:
		}
	}
	t.Fatalf("the daemon did not answer\n%s", tail(log.String()))
}

func tail(log string) string { return log[max(0, len(log)-4000):] }

// kill ends the daemon at once, as kill -9 does, by its own process id.
func (s *site) kill() { _ = s.stop(syscall.SIGKILL) }

var errStuck = errors.New("the daemon did not end")

// stop sends the daemon a signal and waits for its end.
func (s *site) stop(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.done:
		s.cmd = nil
		return err
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		return fmt.Errorf("%w within %v of %v", errStuck, patience, sig)
	}
}

// end has the daemon end in order.
func (s *site) end() {
	s.t.Helper()
	if err := s.stop(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
}

// hinged runs a verb and returns what it printed.
func (s *site) hinged(args ...string) (string, error) {
	path := program(s.t)
	out, err := exec.Command(path, args...).CombinedOutput()
	return string(out), err
}

// ask asks the running daemon how it is; ok is false while none answers.
func (s *site) ask() (st desk.Status, ok bool) { return askAt(s.socket) }

func askAt(socket string) (st desk.Status, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := control.Dial(ctx, socket)
	if err != nil {
		return st, false
	}
	defer c.Close()
	st, err = control.Ask(ctx, c, desk.GetStatus, "", desk.None{})
	return st, err == nil
}

// status is that of the mailbox; ok is false while no daemon answers.
func (s *site) status() (st desk.AccountStatus, ok bool) {
	all, _ := s.ask()
	i := slices.IndexFunc(all.Accounts, func(a desk.AccountStatus) bool { return !strings.HasPrefix(a.Account, kafka.AccountPrefix) })
	if i < 0 {
		return st, false
	}
	return all.Accounts[i], true
}

// until waits for the daemon's status to satisfy ok, over restarts.
func (s *site) until(what string, ok func(desk.AccountStatus) bool) desk.AccountStatus {
	s.t.Helper()
	var last desk.AccountStatus
	for began := time.Now(); time.Since(began) < patience; testkit.Pause(began) {
		if st, up := s.status(); up {
			if last = st; ok(st) {
				return st
			}
		}
	}
	s.t.Fatalf("never saw %s; the last status is %+v\n%s", what, last, tail(s.log.String()))
	return last
}

// digests asks the daemon, or verify where none runs.
func (s *site) digests() string {
	s.t.Helper()
	var all []desk.Digest
	c, err := control.Dial(s.t.Context(), s.socket)
	if errors.Is(err, control.ErrNotRunning) {
		all, err = s.wantReplay("for the digests").Digests(), nil
	} else if err == nil {
		all, err = control.Ask(s.t.Context(), c, desk.GetDigests, "", desk.None{})
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		s.t.Fatalf("digests: %v", err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// pin logs what an account came to, for make pins: the flags of its messages, and the digest of
// its weights. That of its state knows the time of day.
func (s *site) pin(flags []string) {
	var all []desk.Digest
	if err := json.Unmarshal([]byte(s.digests()), &all); err != nil || len(all) != 1 {
		s.t.Fatalf("digests: %v, %d accounts", err, len(all))
	}
	testkit.Pin(s.t, "imap", s.t.Name()+" flags", fmt.Sprint(flags))
	testkit.Pin(s.t, "imap", s.t.Name()+" model", all[0].Model)
}

// wantReplay demands that the state on disk is that of a replay of the journal.
func (s *site) wantReplay(when string) desk.Verification {
	s.t.Helper()
	out, err := s.hinged("verify", "--config", s.config, "--json")
	var v desk.Verification
	if jerr := json.Unmarshal([]byte(out), &v); err != nil || jerr != nil || !v.OK {
		s.t.Fatalf("%s: verify found (%v, %v)\n%s", when, err, jerr, out)
	}
	return v
}
