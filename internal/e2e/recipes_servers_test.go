// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// The recipes for Dovecot with Pigeonhole, and for Postfix.

// lmtp delivers a message to a Dovecot as a mail server does.
func lmtp(t testing.TB, socket, user string, raw []byte) {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	text := textproto.NewConn(conn)
	say := func(code int, format string, args ...any) {
		t.Helper()
		if format != "" {
			if err := text.PrintfLine(format, args...); err != nil {
				t.Fatal(err)
			}
		}
		if _, answer, err := text.ReadResponse(code); err != nil {
			t.Fatalf("lmtp: %s: %v %s", format, err, answer)
		}
	}
	say(220, "")
	say(250, "LHLO localhost")
	say(250, "MAIL FROM:<sender@example.net>")
	say(250, "RCPT TO:<%s>", user)
	say(354, "DATA")
	w := text.DotWriter()
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	say(250, "")
}

// withSieve starts a Dovecot that delivers with Sieve, under its usual limit of memory,
// with a script that comes before those of its users.
func (s *filterSite) withSieve(script string) *testkit.Dovecot {
	s.t.Helper()
	for _, part := range []string{"lmtp", "modules/sieve/lib90_sieve_extprograms_plugin.so"} {
		if _, err := os.Stat(filepath.Join("/usr/lib/dovecot", part)); err != nil && os.Getenv("CI") != "true" {
			s.t.Skipf("SKIPPED: no Pigeonhole or no LMTP here (packages dovecot-sieve, dovecot-lmtpd): %v", err)
		}
	}
	before := filepath.Join(s.dir, "before.sieve")
	s.write(before, script, 0o644)
	return testkit.StartDovecot(s.t, testkit.DovecotOptions{Config: fmt.Sprintf(`
protocols = imap lmtp
default_vsz_limit = 256M
service lmtp {
  unix_listener lmtp {
    mode = 0666
  }
}
protocol lmtp {
  mail_plugins = sieve
}
plugin {
  sieve_before = %s
}
%s`, before, s.printed("Dovecot and Sieve", 1))})
}

// delivered returns how to deliver to a Dovecot and see what became of it.
func (s *filterSite) delivered(d *testkit.Dovecot) deliver {
	owner := d.Owner(s.t)
	socket := filepath.Join(d.Mail(d.User), "../../../run/lmtp")
	return func(raw []byte) (bool, []byte) {
		s.t.Helper()
		lmtp(s.t, filepath.Clean(socket), d.User, raw)
		owner.Select("INBOX")
		all := owner.All("INBOX")
		if len(all) != 1 {
			s.t.Fatalf("%d messages in INBOX, want 1\n%s", len(all), d.Log())
		}
		owner.Expunge("INBOX", all[0].UID)
		return slices.Contains(all[0].Flags, "$important"), all[0].Raw
	}
}

func TestRecipesOfDovecotAndSieve(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	const heading = "Dovecot and Sieve"
	t.Run("the filter", func(t *testing.T) {
		s := newFilterSite(t)
		s.asService()
		s.write(filepath.Join(s.dir, "dovecot/sieve-filter/hinged-filter"), s.printed(heading, 4), 0o755)
		s.try(true, s.delivered(s.withSieve(s.printed(heading, 6))))
	})
	t.Run("the exit code", func(t *testing.T) {
		s := newFilterSite(t)
		s.asService()
		s.write(filepath.Join(s.dir, "dovecot/sieve-execute/hinged-classify"), s.printed(heading, 7), 0o755)
		s.try(false, s.delivered(s.withSieve(s.printed(heading, 8))))
	})
}

// Somebody who copies one block gets a script that compiles.
func TestEachSieveScriptOfThePagesCompilesByItself(t *testing.T) {
	t.Parallel()
	need(t, "sievec")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for _, page := range pages {
		for _, b := range blocksOf(t, page) {
			if b.kind != "sieve" {
				continue
			}
			scripts++
			dir := t.TempDir()
			path, config := filepath.Join(dir, "script.sieve"), filepath.Join(dir, "dovecot.conf")
			for name, text := range map[string]string{path: b.text, config: "plugin {\n  sieve_plugins = sieve_extprograms\n}\n"} {
				testkit.Write(t, name, text)
			}
			out, err := exec.Command("sievec", "-c", config, "-x", "+editheader +vnd.dovecot.filter +vnd.dovecot.execute", path).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s, under %q: %v\n%s\n%s", page, b.heading, err, b.text, out)
			}
		}
	}
	if scripts < 3 {
		t.Errorf("found only %d scripts", scripts)
	}
}

// postfix starts a Postfix as mail-filters.md has it, and returns the address at which it takes
// mail by SMTP. Its mail goes to Dovecot by LMTP.
func (s *filterSite) postfix(socket string) (addr string, queued func() string) {
	s.t.Helper()
	addr = fmt.Sprint("127.0.0.1:", testkit.FreePorts(s.t, 1)[0])
	s.write(filepath.Join(s.dir, "usr/local/lib/hinged-postfix"), s.printed("Postfix", 3), 0o755)
	queued = s.runPostfix(addr, s.printed("Postfix", 2), fmt.Sprintf("virtual_transport = lmtp:unix:%s\n%s", socket, s.printed("Postfix", 0)),
		strings.Replace(s.printed("Postfix", 1), "smtp      inet", addr+" inet", 1))
	return addr, queued
}

// runPostfix starts a Postfix of its own, with a queue of its own, that listens on addr. forged
// are its header checks; main and master are added to its files.
func (s *filterSite) runPostfix(addr, forged, main, master string) (queued func() string) {
	s.t.Helper()
	config, queue, programs := filepath.Join(s.dir, "postfix"), filepath.Join(s.dir, "queue"), filepath.Join(s.dir, "sbin")
	// The queue is Postfix's. Where users put mail is open to all: the program that
	// does it has no right of its own here, as it has where Postfix is installed.
	for name, mode := range map[string]os.FileMode{
		"active": 0o700, "bounce": 0o700, "corrupt": 0o700, "defer": 0o700, "deferred": 0o700, "flush": 0o700, "hold": 0o700,
		"incoming": 0o700, "maildrop": 0o777, "private": 0o700, "public": 0o777, "saved": 0o700, "trace": 0o700, "../postdata": 0o700,
	} {
		dir := filepath.Join(queue, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			s.t.Fatal(err)
		}
		if out, err := exec.Command("chown", "postfix", dir).CombinedOutput(); err != nil {
			s.t.Fatalf("chown: %v\n%s", err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(queue, "pid"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	postdrop := testkit.Read(s.t, "/usr/sbin/postdrop")
	s.write(filepath.Join(programs, "postdrop"), string(postdrop), 0o755)
	log := filepath.Join(s.dir, "log")
	root := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	root(filepath.Join(config, "main.cf"), fmt.Sprintf(`compatibility_level = 3.6
queue_directory = %s
data_directory = %s
command_directory = %s
maillog_file = %s
maillog_file_prefixes = %s
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = localhost
mydestination =
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = example.org
lmtp_destination_recipient_limit = 1
default_privs = daemon
smtpd_peername_lookup = no
disable_dns_lookups = yes
minimal_backoff_time = 1s
queue_run_delay = 1s
%s`, queue, filepath.Join(s.dir, "postdata"), programs, log, s.dir, main))
	root(filepath.Join(config, "master.cf"), master+`
pickup    unix  n       -       n       1       1       pickup
cleanup   unix  n       -       n       -       0       cleanup
qmgr      unix  n       -       n       300     1       qmgr
rewrite   unix  -       -       n       -       -       trivial-rewrite
bounce    unix  -       -       n       -       0       bounce
defer     unix  -       -       n       -       0       bounce
trace     unix  -       -       n       -       0       bounce
flush     unix  n       -       n       1000?   0       flush
proxymap  unix  -       -       n       -       -       proxymap
error     unix  -       -       n       -       -       error
retry     unix  -       -       n       -       -       error
lmtp      unix  -       -       n       -       -       lmtp
virtual   unix  -       n       n       -       -       virtual
discard   unix  -       -       n       -       -       discard
anvil     unix  -       -       n       -       1       anvil
postlog   unix-dgram n  -       n       -       1       postlogd
`)
	root(filepath.Join(config, "hinged-forged"), forged)
	var out bytes.Buffer
	cmd := exec.Command("/usr/lib/postfix/sbin/master", "-d", "-c", config)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	queued = func() string {
		said, _ := os.ReadFile(log)
		return string(said) + out.String()
	}
	s.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait() // a signal ended it
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return queued
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("postfix does not answer\n%s", queued())
		}
	}
}

func TestRecipeOfPostfix(t *testing.T) {
	t.Parallel()
	need(t, "postfix")
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("not root, and CI=true")
		}
		t.Skip("SKIPPED: Postfix wants to be started by root")
	}
	s := newFilterSite(t)
	// Dovecot marks what it gets, by the plain script of the page.
	d := s.withSieve(s.printed("Dovecot and Sieve", 0))
	socket := filepath.Clean(filepath.Join(d.Mail(d.User), "../../../run/lmtp"))
	addr, said := s.postfix(socket)
	owner := d.Owner(t)
	deliver := func(raw []byte) (bool, []byte) {
		t.Helper()
		if err := smtp.SendMail(addr, nil, "sender@example.net", []string{d.User}, raw); err != nil {
			t.Fatalf("%v\n%s", err, said())
		}
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			owner.Select("INBOX")
			all := owner.All("INBOX")
			if len(all) == 0 && time.Since(began) < patience {
				continue
			}
			if len(all) != 1 {
				t.Fatalf("%d messages in INBOX, want 1\n%s\n%s", len(all), said(), d.Log())
			}
			owner.Expunge("INBOX", all[0].UID)
			return slices.Contains(all[0].Flags, "$important"), all[0].Raw
		}
	}
	s.try(true, deliver)
	s.heardAll(deliver)
}
