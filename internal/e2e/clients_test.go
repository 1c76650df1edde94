// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// What docs/mail-programs.md says of the programs that were tried is tried here, on a
// mailbox with one message for each mark.

const programsPage = "../../docs/mail-programs.md"

// marked is a mailbox with a message for each mark, which a program is to show.
type marked struct {
	*testkit.Dovecot
	t    *testing.T
	home string
	uids map[string]uint32 // by flag

	screens int // that were opened
}

// shownFlags are what the messages bear, in their order.
var shownFlags = []string{"none", "$Important", "$label1", `\Flagged`}

func newMarked(t *testing.T) *marked {
	t.Helper()
	m := &marked{Dovecot: testkit.StartDovecot(t, testkit.DovecotOptions{}), t: t, home: shortDir(t), uids: map[string]uint32{}}
	owner := m.Owner(t)
	for i, flag := range shownFlags {
		flags := []string{flag}
		if i == 0 {
			flags = nil
		}
		m.uids[flag] = owner.Append("INBOX", letter(i, "ann@example.net", m.User, fmt.Sprintf("letter%d", i)), time.Now().Add(-time.Hour), flags...)
	}
	owner.Close()
	return m
}

// env is that of a program with a home of its own.
func (m *marked) env() []string {
	return []string{"HOME=" + m.home, "XDG_CONFIG_HOME=" + m.home + "/.config", "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "USER=me"}
}

// file writes a configuration.
func (m *marked) file(name, text string) string {
	m.t.Helper()
	path := filepath.Join(m.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	testkit.Write(m.t, path, text)
	return path
}

// run runs a program that ends by itself.
func (m *marked) run(program string, args ...string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = m.env(), m.home
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// screen runs a program on a terminal of its own until the last message is shown, then
// types keys, and returns the lines by message once until is met.
func (m *marked) screen(keys string, until func(map[int]string) bool, program ...string) map[int]string {
	m.t.Helper()
	m.screens++
	socket := filepath.Join(m.home, fmt.Sprint("tmux", m.screens)) // the last one may still be ending
	tmux := func(args ...string) string {
		m.t.Helper()
		cmd := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...)
		cmd.Env = m.env()
		out, err := cmd.CombinedOutput()
		if err != nil {
			m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tmux(append([]string{"new-session", "-d", "-x", "140", "-y", "30"}, program...)...)
	defer tmux("kill-server")
	subject := regexp.MustCompile(`letter(\d)`)
	for began, typed := time.Now(), keys == ""; ; time.Sleep(50 * time.Millisecond) {
		text := tmux("capture-pane", "-p")
		lines := map[int]string{}
		for line := range strings.Lines(text) {
			if found := subject.FindStringSubmatch(line); found != nil {
				lines[int(found[1][0]-'0')] = strings.TrimRight(line, " \n")
			}
		}
		switch {
		case !typed && len(lines) == len(shownFlags):
			tmux("send-keys", "-l", keys)
			tmux("send-keys", "Enter")
			typed = true
		case typed && until(lines):
			return lines
		}
		if time.Since(began) > patience {
			m.t.Fatalf("%v shows\n%s", program, text)
		}
	}
}

// showAll is until for all messages.
func showAll(lines map[int]string) bool { return len(lines) == len(shownFlags) }

// only fails the test unless those messages are shown with mark, and no others.
func (m *marked) only(lines map[int]string, mark string, flags ...string) {
	m.t.Helper()
	for i, flag := range shownFlags {
		before, _, _ := strings.Cut(lines[i], "letter")
		if got, want := strings.Contains(before, mark), slices.Contains(flags, flag); got != want {
			m.t.Errorf("the message with %s is shown as %q; with %s in it: %v, want %v", flag, lines[i], mark, got, want)
		}
	}
	m.t.Log(lines)
}

// muttrc is how mutt and NeoMutt get to the mailbox.
func (m *marked) muttrc() string {
	return fmt.Sprintf("set folder=imap://%s/\nset imap_user=%q\nset imap_pass=%q\nset ssl_starttls=no\nset ssl_force_tls=no\nset spoolfile=+INBOX\nset imap_authenticators=plain\n",
		m.Addr, m.User, m.Password)
}

// letters are the flags of the Maildir that a program made, by message.
func (m *marked) letters(inbox string) map[int]string {
	m.t.Helper()
	paths, err := filepath.Glob(filepath.Join(inbox, "*", "[0-9]*"))
	if err != nil || len(paths) != len(shownFlags) {
		m.t.Fatalf("%d messages in %s, want %d (%v)", len(paths), inbox, len(shownFlags), err)
	}
	out := map[int]string{}
	for _, path := range paths {
		raw := testkit.Read(m.t, path)
		_, letters, _ := strings.Cut(filepath.Base(path), ":2,")
		number := regexp.MustCompile(`letter(\d)`).FindSubmatch(raw)
		out[int(number[1][0]-'0')] = letters
		// The owner reads it: the next synchronisation writes to the server.
		read := filepath.Join(inbox, "cur", strings.TrimSuffix(filepath.Base(path), letters)+flagsWith(letters, 'S'))
		if err := os.Rename(path, read); err != nil {
			m.t.Fatal(err)
		}
	}
	m.t.Log(out)
	return out
}

// flagsWith adds a letter where it belongs: they are in order.
func flagsWith(letters string, more byte) string {
	all := append([]byte(letters), more)
	slices.Sort(all)
	return string(all)
}

// kept fails the test unless the server has all marks still, and every message read.
func (m *marked) kept() {
	m.t.Helper()
	owner := m.Owner(m.t)
	for flag, uid := range m.uids {
		flags, _ := owner.Flags("INBOX", uid)
		want := []string{`\seen`}
		if flag != "none" {
			want = append(want, strings.ToLower(flag))
		}
		slices.Sort(want)
		slices.Sort(flags)
		if flags = slices.DeleteFunc(flags, func(f string) bool { return f == `\recent` }); !slices.Equal(flags, want) {
			m.t.Errorf("the server has %q on the message with %s, want %q", flags, flag, want)
		}
	}
}

func TestMailProgramsShowTheMark(t *testing.T) {
	t.Parallel()
	blocks := map[string]string{}
	for _, b := range blocksOf(t, programsPage) {
		blocks[b.kind] = b.text
	}
	for _, kind := range []string{"text", "ini"} {
		if blocks[kind] == "" {
			t.Fatalf("%s has no block of kind %s", programsPage, kind)
		}
	}
	t.Run("mutt", func(t *testing.T) {
		need(t, "mutt", "tmux")
		m := newMarked(t)
		rc := m.file("muttrc", m.muttrc())
		m.only(m.screen("", showAll, "mutt", "-n", "-F", rc), "!", `\Flagged`)
	})
	t.Run("neomutt", func(t *testing.T) {
		need(t, "neomutt", "tmux")
		m := newMarked(t)
		rc := m.file("neomuttrc", m.muttrc()+blocks["text"])
		lines := m.screen("", showAll, "neomutt", "-n", "-F", rc)
		m.only(lines, "Important", "$Important", "$label1")
		m.only(lines, " ! ", `\Flagged`)
		lines = m.screen("l~Y Important", func(l map[int]string) bool { return len(l) == 1 }, "neomutt", "-n", "-F", rc)
		m.only(lines, "Important", "$Important")
	})
	t.Run("aerc", func(t *testing.T) {
		need(t, "aerc", "tmux")
		m := newMarked(t)
		m.file(".config/aerc/accounts.conf", fmt.Sprintf("[a]\nsource = imap+insecure://%s:%s@%s\ndefault = INBOX\nfrom = %s\n",
			url.QueryEscape(m.User), m.Password, m.Addr, m.User))
		m.only(m.screen("", showAll, "aerc"), "!", `\Flagged`)
	})
	t.Run("mbsync", func(t *testing.T) {
		need(t, "mbsync")
		m := newMarked(t)
		host, port, _ := net.SplitHostPort(m.Addr)
		rc := m.file("mbsyncrc", fmt.Sprintf(`IMAPAccount a
Host %s
Port %s
User %s
Pass %s
SSLType None
AuthMechs PLAIN

IMAPStore far
Account a

MaildirStore near
Path %[5]s/
Inbox %[5]s/INBOX
SubFolders Verbatim

Channel c
Far :far:
Near :near:
Patterns INBOX
Create Near
Sync All
SyncState *
`, host, port, m.User, m.Password, filepath.Join(m.home, "mail")))
		m.file("mail/.keep", "")
		m.run("mbsync", "-c", rc, "-a")
		m.only(asLines(m.letters(filepath.Join(m.home, "mail/INBOX"))), "F", `\Flagged`)
		m.run("mbsync", "-c", rc, "-a")
		m.kept()
	})
	t.Run("offlineimap", func(t *testing.T) {
		need(t, "offlineimap")
		m := newMarked(t)
		host, port, _ := net.SplitHostPort(m.Addr)
		rc := m.file("offlineimaprc", fmt.Sprintf(`[general]
accounts = a
metadata = %[5]s/.offlineimap
[Account a]
localrepository = l
remoterepository = r
[Repository r]
type = IMAP
remotehost = %[1]s
remoteport = %[2]s
remoteuser = %[3]s
remotepass = %[4]s
ssl = no
starttls = no
auth_mechanisms = PLAIN
folderfilter = lambda f: f == 'INBOX'
[Repository l]
type = Maildir
localfolders = %[5]s/mail
%[6]s`, host, port, m.User, m.Password, m.home, blocks["ini"]))
		m.run("offlineimap", "-c", rc, "-o", "-u", "quiet")
		letters := asLines(m.letters(filepath.Join(m.home, "mail/INBOX")))
		m.only(letters, "F", `\Flagged`)
		m.only(letters, "a", "$Important")
		m.only(letters, "b", "$label1")
		m.run("offlineimap", "-c", rc, "-o", "-u", "quiet")
		m.kept()
	})
}

// asLines makes of a Maildir's letters what only looks at.
func asLines(letters map[int]string) map[int]string {
	out := map[int]string{}
	for i, l := range letters {
		out[i] = l + " letter"
	}
	return out
}
