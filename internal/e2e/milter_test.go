// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// The set-up of docs/milter.md is followed here as it is printed, with a real Postfix that
// delivers into Maildirs of ann, bob and carl, who has no account.

const milterPage = "../../docs/milter.md"

type milterSite struct {
	*filterSite
	addr string
	said func() string
}

// newMilterSite runs a daemon with [milter] and a Postfix with one of the page's set-ups.
// forged are its header checks.
func newMilterSite(t testing.TB, several bool, forged string) *milterSite {
	t.Helper()
	need(t, "postfix")
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("not root, and CI=true")
		}
		t.Skip("SKIPPED: Postfix wants to be started by root")
	}
	s := &milterSite{filterSite: newFilterSite(t)}
	s.blocks = map[string][]block{}
	for _, b := range blocksOf(t, milterPage) {
		s.blocks[b.heading] = append(s.blocks[b.heading], b)
	}
	ports := testkit.FreePorts(t, 2)
	s.addr = fmt.Sprint("127.0.0.1:", ports[0])
	second := fmt.Sprint("127.0.0.1:", ports[1])
	dir := filepath.Join(s.dir, "queue/hinged")
	socket := filepath.Join(dir, "milter.sock")
	// As the page makes it, for a user that is not in Postfix' group here.
	if out, err := exec.Command("install", "-d", "-o", s.user.Username, "-g", "postfix", "-m", "2770", dir).CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
	account := func(name, label, recipients string) string {
		return fmt.Sprintf(`
[[account]]
name = %q
owner = ["%s@example.org"]
%s
shadow = "off"
[[account.rule]]
match = "from:%s"
label = %q
[account.imap]
address = "127.0.0.1:1"
tls = "none"
username = "me"
password_command = ["echo", "none"]
`, name, name, recipients, boss, label)
	}
	s.write(filepath.Join(s.home, ".config/hinged/hinged.toml"), fmt.Sprintf("state_dir = %q\nsocket = %q\n%s%s%s",
		filepath.Join(s.dir, "state"), s.socket,
		// A busy machine may take its time.
		strings.Replace(s.printedMilter("Set up hinged", 2), `"/var/spool/postfix/hinged/milter.sock"`, fmt.Sprintf("%q\ndeadline = \"1m\"", socket), 1),
		account("ann", "important", s.printedMilter("Set up hinged", 3)), account("bob", "ordinary", "")), 0o600)
	s.runDaemon()

	boxes := filepath.Join(s.dir, "boxes")
	if err := os.Mkdir(boxes, 0o755); err != nil {
		t.Fatal(err)
	}
	s.own(boxes)
	main := fmt.Sprintf(`virtual_transport = virtual
virtual_mailbox_base = %s
virtual_mailbox_maps = inline:{ann@example.org=ann/, bob@example.org=bob/, carl@example.org=carl/}
virtual_alias_maps = inline:{sales@example.org=ann@example.org}
virtual_minimum_uid = 1
virtual_uid_maps = static:%d
virtual_gid_maps = static:%d
`, boxes, s.uid, s.gid)
	master := s.addr + " inet n - y - - smtpd\n"
	if several {
		main += s.printedMilter("Several recipients", 0) + "header_checks = regexp:" + s.dir + "/postfix/hinged-forged\n"
		master += s.printedMilter("Several recipients", 1)
	} else {
		main += s.printedMilter("Set up Postfix", 0)
	}
	moved := strings.NewReplacer("127.0.0.1:10026", second, "[127.0.0.1]:10026", "[127.0.0.1]:"+fmt.Sprint(ports[1]), "_timeout = 10s", "_timeout = 100s", "_timeout = 5s", "_timeout = 100s")
	s.said = s.runPostfix(s.addr, forged, moved.Replace(main), moved.Replace(master))
	return s
}

// printedMilter is printed for the page about the milter.
func (s *milterSite) printedMilter(heading string, n int) string {
	s.t.Helper()
	if n >= len(s.blocks[heading]) {
		s.t.Fatalf("%s has %d blocks under %q", milterPage, len(s.blocks[heading]), heading)
	}
	return s.printed(heading, n)
}

func (s *milterSite) send(raw []byte, to ...string) {
	s.t.Helper()
	if err := smtp.SendMail(s.addr, nil, "sender@example.net", to, raw); err != nil {
		s.t.Fatalf("%v\n%s", err, s.said())
	}
}

// in waits until somebody has n messages, and returns them.
func (s *milterSite) in(name string, n int) (all [][]byte) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		paths, err := filepath.Glob(filepath.Join(s.dir, "boxes", name, "new/*"))
		if err != nil {
			s.t.Fatal(err)
		}
		if len(paths) < n && time.Now().Before(end) {
			continue
		}
		if len(paths) != n {
			s.t.Fatalf("%s has %d messages, want %d\n%s", name, len(paths), n, tail(s.said()))
		}
		for _, p := range paths {
			all = append(all, testkit.Read(s.t, p))
		}
		return all
	}
}

// one delivers a message to some, and returns what our fields in that of each are, unfolded.
func (s *milterSite) one(raw []byte, to ...string) (of map[string]string) {
	s.t.Helper()
	of = map[string]string{}
	s.send(raw, to...)
	for _, address := range to {
		name, _, _ := strings.Cut(strings.Replace(address, "sales@", "ann@", 1), "@")
		name, _, _ = strings.Cut(name, "+")
		of[address] = ourFields(s.in(name, 1)[0])
		if err := os.RemoveAll(filepath.Join(s.dir, "boxes", name)); err != nil {
			s.t.Fatal(err)
		}
	}
	return of
}

var hingedField = regexp.MustCompile(`(?mi)^X-Hinged-.*(\n[ \t].*)*\n`)

func ourFields(raw []byte) string {
	head, _, _ := bytes.Cut(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	return strings.Join(hingedField.FindAllString(string(head)+"\n", -1), "")
}

var forgedFields = []string{"X-Hinged-Status: important; score=+9.99; threshold=0.10", "x-hinged-reason: because\r\n\tI say so", "X-HINGED-STATUS : important", "X-Hinged-New: 1"}

func TestMilterWithPostfix(t *testing.T) {
	t.Parallel()
	s := newMilterSite(t, false, "") // without header checks: hinged takes out what is forged
	mail := letter(1, boss, "ann@example.org", "urgent matter", forgedFields...)
	// What classify writes is what hinged writes here.
	command := exec.Command(s.real, "classify", "-p", "--account", "ann", "--socket", s.socket)
	command.Stdin, command.SysProcAttr = bytes.NewReader(mail), s.as
	classified, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := ourFields(classified)
	if !strings.HasPrefix(want, "X-Hinged-Status: important; score=") || strings.Count(want, "X-Hinged-") != 2 {
		t.Fatalf("classify wrote %q", want)
	}
	for _, tt := range []struct {
		to   []string
		want string
	}{
		{[]string{"ann@example.org"}, want},
		{[]string{"sales@example.org"}, want},
		{[]string{"ann@example.org", "bob@example.org"}, ""},
		{[]string{"ann@example.org", "carl@example.org"}, ""},
		{[]string{"carl@example.org"}, ""},
	} {
		for to, got := range s.one(mail, tt.to...) {
			if got != tt.want {
				t.Errorf("to %v: in that of %s stand the fields %q, want %q\n%s", tt.to, to, got, tt.want, tail(s.said()))
			}
		}
	}
	if got := s.one(letter(2, boss, "bob@example.org", "urgent matter"), "bob@example.org")["bob@example.org"]; !strings.HasPrefix(got, "X-Hinged-Status: ordinary;") {
		t.Errorf("in bob's stand the fields %q", got)
	}
	long := letter(3, boss, "ann@example.org", "a long one", "X-Filler: "+strings.Repeat("x ", 200))
	long = append(long, bytes.Repeat([]byte("A line of a long letter that goes on and on.\r\n"), 100_000)...)
	if got := s.one(long, "ann@example.org")["ann@example.org"]; !strings.HasPrefix(got, "X-Hinged-Status: important;") {
		t.Errorf("in a long one stand the fields %q", got)
	}
	status := exec.Command(s.real, "status")
	status.Env, status.SysProcAttr = s.env(), s.as
	if out, err := status.Output(); err != nil || !strings.Contains(string(out), "messages: 4 decided 1 nobody 2 several") {
		t.Errorf("status: %v\n%s", err, out)
	}
	s.stop()
	s.stop = func() {}
	if got := s.one(letter(4, boss, "ann@example.org", "while it is down"), "ann@example.org")["ann@example.org"]; got != "" {
		t.Errorf("without hinged it has the fields %q", got)
	}
}

// One message, and each gets their own header.
func TestMilterForEachRecipient(t *testing.T) {
	t.Parallel()
	s := newMilterSite(t, true, "/^X-Hinged-/ IGNORE\n")
	to := []string{"ann@example.org", "bob@example.org", "carl@example.org"}
	got := s.one(letter(1, boss, "ann@example.org", "urgent matter", forgedFields...), to...)
	for name, want := range map[string]string{"ann@example.org": "X-Hinged-Status: important;", "bob@example.org": "X-Hinged-Status: ordinary;", "carl@example.org": ""} {
		if !strings.HasPrefix(got[name], want) || want == "" && got[name] != "" || strings.Count(got[name], "X-Hinged-") > 2 {
			t.Errorf("in that of %s stand the fields %q, want %q\n%s", name, got[name], want, tail(s.said()))
		}
	}
	if got := s.one(letter(2, boss, "sales@example.org", "an alias"), "sales@example.org", "bob@example.org"); !strings.HasPrefix(got["sales@example.org"], "X-Hinged-Status: important;") {
		t.Errorf("of an alias: %q", got)
	}
	s.stop()
	s.stop = func() {}
	for name, fields := range s.one(letter(3, boss, "ann@example.org", "while it is down", forgedFields...), to...) {
		if fields != "" {
			t.Errorf("without hinged that of %s has the fields %q", name, fields)
		}
	}
}

// While many messages come, hinged is killed: each arrives once, with and without the header,
// and once it runs again, with it.
func TestMilterThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	s := newMilterSite(t, false, "/^X-Hinged-/ IGNORE\n")
	const senders, each = 4, 75
	var all sync.WaitGroup
	some := make(chan struct{}, senders*each)
	for n := range senders {
		all.Go(func() {
			for i := range each {
				id := n*each + i
				if err := smtp.SendMail(s.addr, nil, "sender@example.net", []string{"ann@example.org"}, letter(id, boss, "ann@example.org", fmt.Sprint("number ", id))); err != nil {
					t.Errorf("%d: %v", id, err)
				}
				some <- struct{}{}
			}
		})
	}
	for range senders * each / 3 {
		<-some
	}
	if err := s.daemon.Kill(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	with := 0
	var ids []string
	for _, raw := range s.in("ann", senders*each) {
		ids = append(ids, string(messageID.Find(raw)))
		if ourFields(raw) != "" {
			with++
		}
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != senders*each || with < senders*each/3 || with == senders*each {
		t.Errorf("%d different messages, %d of them with the header, want %d, and some of both kinds", n, with, senders*each)
	}
	t.Logf("%d messages, each once; %d with the header", len(ids), with)
	if err := os.RemoveAll(filepath.Join(s.dir, "boxes/ann")); err != nil {
		t.Fatal(err)
	}
	s.stop() // it has ended
	s.runDaemon()
	if got := s.one(letter(1000, boss, "ann@example.org", "again"), "ann@example.org")["ann@example.org"]; got == "" {
		t.Errorf("after a new start there is no header\n%s", tail(s.said()))
	}
}

var messageID = regexp.MustCompile(`(?mi)^Message-ID: .*$`)
