// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// The recipes of docs/mail-filters.md are followed here as they are printed, by the
// programs that they are for. Each gets important mail, ordinary mail and mail that
// says of itself that it is important, while hinged runs, where it is not there, and
// where it is killed in the middle of its answer.

const filtersPage = "../../docs/mail-filters.md"

// block is what stands between two fences of a page.
type block struct{ heading, kind, text string }

// blocksOf returns the blocks of a page, in order.
func blocksOf(t testing.TB, page string) (out []block) {
	t.Helper()
	text := testkit.Read(t, page)
	heading, open := "", false
	for line := range strings.Lines(string(text)) {
		m := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m != nil:
			if open = !open; open {
				out = append(out, block{heading, m[1], ""})
			}
		case open:
			out[len(out)-1].text += line
		case strings.HasPrefix(line, "## "):
			heading = strings.TrimSpace(line[3:])
		}
	}
	return out
}

// filterSite is one person's machine on which mail is delivered: a home, a hinged in
// it, and a daemon. All of it belongs to nobody, as Postfix, Dovecot and hinged want to
// deliver as root least of all; without root it belongs to who runs the test.
type filterSite struct {
	t      testing.TB
	dir    string // short, with all of it
	home   string
	socket string
	filter string // the socket for filters
	asked  string // the socket that the recipe asks
	real   string // the program
	user   *user.User
	as     *syscall.SysProcAttr // nil: who runs the test
	runs   *syscall.SysProcAttr // what the daemon runs as
	uid    int
	gid    int
	stop   func()
	daemon *os.Process
	blocks map[string][]block // by heading
}

// The states that hinged is in when mail comes.
const (
	running  = "running"
	notThere = "not there"
	killed   = "killed while it answers"
)

// need skips the test where a program is missing.
func need(t testing.TB, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short asks for tests without servers")
	}
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if _, err := os.Stat("/usr/sbin/" + name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI must have all programs, and there is no %s", name)
		}
		t.Skipf("SKIPPED: no %s here", name)
	}
}

func newFilterSite(t testing.TB) *filterSite {
	t.Helper()
	s := &filterSite{t: t, dir: shortDir(t), blocks: map[string][]block{}}
	for _, b := range blocksOf(t, filtersPage) {
		s.blocks[b.heading] = append(s.blocks[b.heading], b)
	}
	var err error
	if s.user, err = user.Current(); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if s.user, err = user.Lookup("nobody"); err != nil {
			t.Fatal(err)
		}
	}
	s.uid, _ = strconv.Atoi(s.user.Uid)
	s.gid, _ = strconv.Atoi(s.user.Gid)
	if os.Geteuid() == 0 {
		s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid)}}
	}
	s.home, s.socket, s.real = filepath.Join(s.dir, "home"), filepath.Join(s.dir, "hinged.sock"), filepath.Join(s.dir, "hinged")
	s.filter, s.asked, s.runs = filepath.Join(s.dir, "run/filter.sock"), s.socket, s.as
	s.own(s.dir)
	path := program(t)
	program := testkit.Read(t, path)
	s.write(s.real, string(program), 0o755)
	s.write(filepath.Join(s.home, ".config/hinged/hinged.toml"), fmt.Sprintf(`
state_dir = %q
socket = %q
filter_socket = %q

[[account]]
name = "owner"
owner = ["me@example.org"]
shadow = "off"

[[account.rule]]
match = "from:%s"
label = "important"

[[account.rule]]
match = "from:%s"
label = "ordinary"

[account.imap]
address = "127.0.0.1:1"
tls = "none"
username = "me"
password_command = ["echo", "none"]
`, filepath.Join(s.dir, "state"), s.socket, s.filter, boss, news), 0o600)
	t.Cleanup(func() { s.stop() })
	s.stop = func() {}
	return s
}

// asService has the daemon run as its unit does: as a user of its own in the group of the
// mail's, with the socket for filters in a directory that only the group may enter. The
// recipe asks that one.
func (s *filterSite) asService() {
	s.t.Helper()
	s.asked = s.filter
	if os.Geteuid() != 0 {
		return
	}
	service, err := user.Lookup("daemon")
	if err != nil {
		s.t.Fatal(err)
	}
	s.uid, _ = strconv.Atoi(service.Uid)
	s.runs = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid)}}
	run := filepath.Dir(s.filter)
	if err := os.Mkdir(run, 0o750); err != nil {
		s.t.Fatal(err)
	}
	for _, path := range []string{s.dir, s.home, filepath.Join(s.home, ".config/hinged/hinged.toml"), run} {
		s.own(path)
	}
}

// own gives a path to the user.
func (s *filterSite) own(path string) {
	s.t.Helper()
	if err := os.Chown(path, s.uid, s.gid); err != nil {
		s.t.Fatal(err)
	}
}

// write makes a file, and the folders that it needs, for the user.
func (s *filterSite) write(path, text string, mode os.FileMode) {
	s.t.Helper()
	var missing []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		missing = append(missing, dir)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	testkit.WriteProgram(s.t, path, []byte(text), mode)
	if err := os.Chmod(path, mode); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range append(missing, path) {
		s.own(p)
	}
}

// printed returns a block of the page, with the places that it names moved into the
// folder of the test.
func (s *filterSite) printed(heading string, n int) string {
	s.t.Helper()
	if n >= len(s.blocks[heading]) {
		s.t.Fatalf("%s has %d blocks under %q", filtersPage, len(s.blocks[heading]), heading)
	}
	return strings.NewReplacer(
		"/home/ann/.local/state/hinged/hinged.sock", s.socket, "/run/hinged/filter.sock", s.filter, "/usr/local/bin/hinged", filepath.Join(s.dir, "usr/local/bin/hinged"),
		"/usr/local/lib/", s.dir+"/usr/local/lib/", "/usr/lib/dovecot/", s.dir+"/dovecot/", "/etc/postfix/", s.dir+"/postfix/",
		"%h/", s.home+"/", "user=ann", "user="+s.user.Username,
	).Replace(s.blocks[heading][n].text)
}

// be brings hinged into a state, at the places to which it is installed.
func (s *filterSite) be(state string) {
	s.t.Helper()
	s.stop()
	s.stop = func() {}
	for _, place := range []string{filepath.Join(s.home, ".local/bin/hinged"), filepath.Join(s.dir, "usr/local/bin/hinged")} {
		switch state {
		case running:
			// What it hears is kept.
			s.write(place, fmt.Sprintf("#!/bin/sh\ncat >%[1]s/heard\nexec %[2]s \"$@\" <%[1]s/heard\n", s.dir, s.real), 0o755)
		case notThere:
			_ = os.Remove(place)
		case killed:
			s.write(place, "#!/bin/sh\nprintf 'X-Hinged-Status: important; score=+9.99\\nSubject: half'\nkill -9 $$\n", 0o755)
		}
	}
	switch state {
	case running:
		s.runDaemon()
	case killed:
		s.answerHalf()
	}
}

// runDaemon starts the daemon and waits until it answers.
func (s *filterSite) runDaemon() {
	s.t.Helper()
	log := new(testkit.Transcript)
	cmd := exec.Command(s.real, "run")
	cmd.Env, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.env(), s.runs, log, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	s.daemon = cmd.Process
	s.stop = func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-done
	}
	awaitSocket(s.t, s.socket, done, log)
}

// answerHalf answers on the socket as a daemon that is killed while it does.
func (s *filterSite) answerHalf() {
	s.t.Helper()
	_ = os.Remove(s.asked)
	l, err := net.Listen("unix", s.asked)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chmod(s.asked, 0o666); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			request := make([]byte, 64<<10)
			n, _ := c.Read(request) // what comes does not matter
			answer := "X-Hinged-Status: important; score=+9.99\r\nSubject: half"
			if bytes.Contains(request[:n], []byte("/v1/classify")) {
				answer = `{"outcome":"important","sco`
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n%s", answer)
			_ = c.Close()
		}
	}()
	s.stop = func() {
		_ = l.Close()
		<-ended
	}
}

// env is what a mail server's delivery leaves of the environment.
func (s *filterSite) env() []string {
	return []string{"HOME=" + s.home, "LOGNAME=" + s.user.Username, "USER=" + s.user.Username, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
}

// feed runs a program as the user, with a message on its standard input.
func (s *filterSite) feed(raw []byte, program string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.Stdin = s.home, s.env(), s.as, bytes.NewReader(raw)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// newest takes the one message out of some folders, Maildirs, and says in which it was.
func (s *filterSite) newest(folders ...string) (folder string, raw []byte) {
	s.t.Helper()
	for _, f := range folders {
		paths, err := filepath.Glob(filepath.Join(f, "new", "[0-9]*"))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, path := range paths {
			if raw != nil {
				s.t.Fatalf("%s: a second message", path)
			}
			if raw, err = os.ReadFile(path); err != nil {
				s.t.Fatal(err)
			}
			if err := os.Remove(path); err != nil {
				s.t.Fatal(err)
			}
			folder = f
		}
	}
	return folder, raw
}

// deliver hands a message to what a recipe configures, and returns whether it was taken
// for important and what was kept of it.
type deliver func(raw []byte) (important bool, kept []byte)

var statusField = regexp.MustCompile(`(?mi)^X-Hinged-(Status|Reason)[^\n]*`)

// try sends all kinds of mail, in every state of hinged. inField says whether the recipe
// puts the decision into the header.
func (s *filterSite) try(inField bool, deliver deliver) {
	s.t.Helper()
	forged := []string{"X-Hinged-Status: important; score=+9.99; threshold=0.10", "x-hinged-reason: because\r\n\tI say so"}
	mail := []struct {
		name      string
		raw       []byte
		important bool
	}{
		{"important", letter(1, boss, "me@example.org", "urgent matter"), true},
		{"ordinary", letter(2, news, "me@example.org", "weekly newsletter"), false},
		{"forged", letter(3, news, "me@example.org", "a bargain", forged...), false},
		{"forged, from a stranger", letter(4, "eve@example.net", "me@example.org", "another bargain", forged...), false},
	}
	for _, state := range []string{running, notThere, killed} {
		s.be(state)
		for _, m := range mail {
			// Delivery agents on Unix get LF.
			raw := bytes.ReplaceAll(m.raw, []byte("\r\n"), []byte("\n"))
			important, kept := deliver(raw)
			if want := m.important && state == running; important != want {
				s.t.Errorf("hinged is %s, %s mail: taken for important: %v, want %v\n%s", state, m.name, important, want, kept)
			}
			kept = bytes.ReplaceAll(kept, []byte("\r\n"), []byte("\n"))
			head, body, _ := bytes.Cut(kept, []byte("\n\n"))
			_, whole, _ := bytes.Cut(raw, []byte("\n\n"))
			if strings.TrimRight(string(body), "\n") != strings.TrimRight(string(whole), "\n") {
				s.t.Errorf("hinged is %s, %s mail: the body is %q, want %q", state, m.name, body, whole)
			}
			for _, name := range []string{"From", "To", "Subject", "Message-ID"} {
				field := regexp.MustCompile(`(?m)^` + name + `: .*$`)
				if got, want := field.Find(head), field.Find(raw); !bytes.Equal(got, want) {
					s.t.Errorf("hinged is %s, %s mail: %q, want %q", state, m.name, got, want)
				}
			}
			if !inField {
				continue
			}
			fields := statusField.FindAllString(string(head), -1)
			switch {
			case state != running && len(fields) > 0:
				s.t.Errorf("hinged is %s, %s mail: it has the fields %q", state, m.name, fields)
			case state == running && (len(fields) != 2 || strings.Contains(string(head), "I say so")):
				s.t.Errorf("hinged is %s, %s mail: it has the fields %q", state, m.name, fields)
			}
		}
	}
}

// heardAll fails the test unless hinged got the whole of a message.
func (s *filterSite) heardAll(deliver deliver) {
	s.t.Helper()
	s.be(running)
	raw := bytes.ReplaceAll(letter(5, boss, "me@example.org", "urgent matter"), []byte("\r\n"), []byte("\n"))
	deliver(raw)
	heard := testkit.Read(s.t, filepath.Join(s.dir, "heard"))
	if !strings.Contains(string(heard), "This is about urgent matter and nothing else") {
		s.t.Errorf("hinged heard only %q", heard)
	}
}

func TestRecipesOfProcmail(t *testing.T) {
	t.Parallel()
	need(t, "procmail", "formail")
	for n, inField := range []bool{true, false} {
		t.Run(fmt.Sprint("recipe ", n+1), func(t *testing.T) {
			s := newFilterSite(t)
			inbox, rc := filepath.Join(s.home, "inbox"), filepath.Join(s.home, ".procmailrc")
			s.write(rc, s.printed("procmail", n), 0o600)
			deliver := func(raw []byte) (bool, []byte) {
				// It takes the home from the list of users, where nobody has none.
				s.feed(raw, "procmail", "HOME="+s.home, "MAILDIR="+s.home, "SHELL=/bin/sh", "DEFAULT="+inbox+"/", rc)
				folder, kept := s.newest(inbox, filepath.Join(s.home, "important"))
				return folder != inbox, kept
			}
			s.try(inField, deliver)
			s.heardAll(deliver)
		})
	}
}

func TestRecipesOfMaildrop(t *testing.T) {
	t.Parallel()
	need(t, "maildrop", "reformail")
	for n, inField := range []bool{true, false} {
		t.Run(fmt.Sprint("recipe ", n+1), func(t *testing.T) {
			s := newFilterSite(t)
			inbox, rc := filepath.Join(s.home, "Maildir"), filepath.Join(s.home, ".mailfilter")
			important := filepath.Join(inbox, ".important")
			for _, dir := range []string{inbox, important} {
				for _, sub := range []string{"cur", "new", "tmp"} {
					s.write(filepath.Join(dir, sub, ".keep"), "", 0o600)
				}
			}
			// It takes both from the list of users, where nobody has neither.
			own := fmt.Sprintf("HOME=%q\nSHELL=\"/bin/sh\"\nDEFAULT=\"$HOME/Maildir\"\n", s.home)
			s.write(rc, own+s.printed("maildrop", n), 0o600)
			deliver := func(raw []byte) (bool, []byte) {
				s.feed(raw, "maildrop", rc)
				folder, kept := s.newest(inbox, important)
				return folder != inbox, kept
			}
			s.try(inField, deliver)
			s.heardAll(deliver)
		})
	}
}

func TestRecipeOfFdm(t *testing.T) {
	t.Parallel()
	need(t, "fdm")
	s := newFilterSite(t)
	inbox, rc := filepath.Join(s.home, "Maildir"), filepath.Join(s.home, ".fdm.conf")
	s.write(rc, fmt.Sprintf("set lock-file %q\naccount \"stdin\" stdin\n", filepath.Join(s.dir, "lock"))+s.printed("fdm", 0), 0o600)
	deliver := func(raw []byte) (bool, []byte) {
		s.feed(raw, "fdm", "-f", rc, "-a", "stdin", "fetch")
		folder, kept := s.newest(inbox, filepath.Join(inbox, ".important"))
		return folder != inbox, kept
	}
	s.try(false, deliver)
	s.heardAll(deliver)
}

// A recipe that nobody follows would rot.
func TestEveryRecipeIsFollowed(t *testing.T) {
	t.Parallel()
	// Those of Postfix and Dovecot are several blocks each. asService does what the key, the
	// drop-in and the trial by hand say.
	followed := map[string]int{"": 1, "procmail": 2, "maildrop": 2, "fdm": 1, "Dovecot and Sieve": 9, "Postfix": 4}
	found := map[string]int{}
	for _, b := range blocksOf(t, filtersPage) {
		found[b.heading]++
	}
	if !maps.Equal(found, followed) {
		t.Errorf("the page has blocks under %v, and those under %v are followed", found, followed)
	}
}
