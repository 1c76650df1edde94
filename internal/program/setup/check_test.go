// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// checked is a configuration for one account, and how it is checked.
type checked struct {
	dir     string
	account string // more lines for [[account]]
	imap    string // the lines of [account.imap] but for the password
	secret  string
	roots   *tls.Config
	change  func(*Checker)
	stop    <-chan struct{} // ends the check; nil: nothing does
}

// run checks and returns the findings, a line each.
func (c checked) run(t *testing.T) (Report, string) {
	t.Helper()
	if c.dir == "" {
		c.dir = t.TempDir()
		// On its own, for a umask would not matter then.
		testkit.OK(t, os.Chmod(c.dir, 0o700))
	}
	path := filepath.Join(c.dir, "hinged.toml")
	if !strings.Contains(c.imap, "external") && !strings.Contains(c.imap, "password_command") {
		c.imap += "\npassword_file = 'password'"
	}
	text := fmt.Sprintf("state_dir = 'state'\nsocket = 'socket'\n[[account]]\nname = 'me'\nowner = ['owner@example.org']\n%s\n[account.imap]\n%s\n", c.account, c.imap)
	for name, data := range map[string]string{"hinged.toml": text, "password": c.secret + "\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(c.dir, name), []byte(data), 0o600))
	}
	conf, err := config.Load(path)
	testkit.OK(t, err)
	ch := &Checker{
		Path: path, Config: conf, StorePath: filepath.Join(conf.StateDir, "hinged.db"),
		IMAP: func(a *config.Account) (imap.Options, error) {
			return imap.Options{
				Address: a.IMAP.Address, TLS: imap.TLSMode(a.IMAP.TLS), TLSConfig: c.roots, Auth: imap.AuthMechanism(a.IMAP.Auth),
				Username: a.IMAP.Username, Password: a.IMAP.ReadPassword,
			}, nil
		},
	}
	ch.Patience = time.Minute // but for those that are to lose it
	var told []string
	ch.Tell = func(f Finding) { told = append(told, f.String()) }
	if c.change != nil {
		c.change(ch)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		select {
		case <-c.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	r, err := ch.Run(ctx)
	testkit.OK(t, err)
	if len(told) != len(r.Findings) || r.OK == slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Fail }) {
		t.Errorf("told %d of %d findings, ok is %v", len(told), len(r.Findings), r.OK)
	}
	for _, f := range r.Findings {
		if f.Level != OK && f.Mend == "" {
			t.Errorf("no mend: %s", f)
		}
		if strings.Contains(f.String(), "\n") || c.secret != "" && strings.Contains(f.String(), c.secret) {
			t.Errorf("more than a line, or the secret in it: %q", f)
		}
	}
	return r, strings.Join(told, "\n") + "\n"
}

// wants demands lines that begin so and hold the rest: "FAIL me: tls|expired".
func wants(t *testing.T, report string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		begin, rest, _ := strings.Cut(want, "|")
		level, begin, _ := strings.Cut(begin, " ")
		begin = fmt.Sprintf("%-4s  %s", level, begin)
		if !slices.ContainsFunc(strings.Split(report, "\n"), func(l string) bool { return strings.HasPrefix(l, begin) && strings.Contains(l, rest) }) {
			t.Errorf("no line %q … %q in\n%s", begin, rest, report)
		}
	}
}

// place is the address of a server, with the keys that go with it.
func place(addr, mode string) string {
	return fmt.Sprintf("address = %q\ntls = %q\nusername = 'owner@example.org'", addr, mode)
}

func TestEverythingIsWellOnDovecot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode string
		o    testkit.DovecotOptions
	}{
		{"none", testkit.DovecotOptions{}},
		{"tls", testkit.DovecotOptions{TLS: true}},
		{"starttls", testkit.DovecotOptions{StartTLS: true}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			d := testkit.StartDovecot(t, tt.o)
			owner := d.Owner(t)
			mail := testkit.NewMail(1)
			uid := owner.Append("INBOX", mail.Next().Raw, time.Now(), "$label1")
			owner.Append("INBOX", mail.Next().Raw, time.Now())
			before := fmt.Sprint(owner.All("INBOX"))
			words := allFlags(t, owner, "INBOX")
			r, got := checked{imap: place(d.Addr, tt.mode), secret: d.Password, roots: d.TLSConfig}.run(t)
			wants(t, got, "OK config: ", "OK state: |will be created", "OK store: |not exist yet", "OK me: password: |only by its owner",
				"OK me: connect: |greets", "OK me: login: |as owner@example.org", "OK me: abilities: |IDLE, CONDSTORE, MOVE, UIDPLUS, SPECIAL-USE",
				"OK me: folders: 6 folders: |sent is Sent", "OK me: marks: |$Important", fmt.Sprintf("OK me: flag: |UID %d in INBOX (only if unchanged)", uid))
			if tt.mode == "none" {
				wants(t, got, "OK me: tls: |stays on this machine")
			} else {
				wants(t, got, "WARN me: tls: TLS 1.3, certificate for localhost, 127.0.0.1 by |Fix: renew it") // it is good for a day
			}
			if !r.OK {
				t.Error("not well")
			}
			if after := fmt.Sprint(owner.All("INBOX")); after != before || allFlags(t, owner, "INBOX") != words {
				t.Errorf("the mailbox was\n%s %s\nand is\n%s %s", before, words, after, allFlags(t, owner, "INBOX"))
			}
		})
	}
}

// allFlags are all flags of a mailbox as the server spells them.
func allFlags(t *testing.T, owner *testkit.Owner, mailbox string) string {
	t.Helper()
	owner.Select(mailbox)
	all, err := owner.Client().Fetch(goimap.UIDSet{{Start: 1}}, &goimap.FetchOptions{UID: true, Flags: true}).Collect()
	testkit.OK(t, err)
	out := ""
	for _, m := range all {
		out += fmt.Sprint(m.UID, slices.DeleteFunc(m.Flags, func(f goimap.Flag) bool { return f == `\Recent` }))
	}
	return out
}

func TestWhatIsWrongOnDovecotIsFound(t *testing.T) {
	t.Parallel()
	secure := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	upgrade := testkit.StartDovecot(t, testkit.DovecotOptions{StartTLS: true})
	plain := testkit.StartDovecot(t, testkit.DovecotOptions{})
	strict := testkit.StartFake(t, func(f *testkit.Fake) { f.Caps = "IMAP4rev1 STARTTLS LOGINDISABLED" })
	oauth := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Caps = "IMAP4rev1 SASL-IR AUTH=XOAUTH2"
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name == "AUTHENTICATE" {
				c.Line("%s NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)", cmd.Tag)
			}
			return cmd.Name == "AUTHENTICATE"
		}
	})
	_, securePort, _ := net.SplitHostPort(secure.Addr)
	for _, tt := range []struct {
		name string
		c    checked
		want []string
	}{
		{"a wrong password", checked{imap: place(plain.Addr, "none"), secret: "Tulips in May"}, []string{"FAIL me: login: |refused the login"}},
		{"nobody vouches for the certificate", checked{imap: place(secure.Addr, "tls"), secret: secure.Password}, []string{"OK me: connect: |can be reached", "FAIL me: tls: |Fix: if it is your own server's, set ca_file"}},
		{"the same after STARTTLS", checked{imap: place(upgrade.Addr, "starttls"), secret: upgrade.Password}, []string{"FAIL me: tls: |Fix: if it is your own server's, set ca_file"}},
		{
			"another authority", checked{imap: place(secure.Addr, "tls"), secret: secure.Password, roots: upgrade.TLSConfig},
			[]string{"FAIL me: tls: |Fix: set ca_file to the certificate of the authority that signed it"},
		},
		{
			"a name that the certificate does not have", checked{imap: place("127.0.0.2:"+securePort, "tls"), secret: secure.Password, roots: secure.TLSConfig, change: redirect(secure.Addr)},
			[]string{"FAIL me: tls: |use a name that is in the certificate: localhost, 127.0.0.1"},
		},
		{"a certificate that has ended", checked{imap: place(secure.Addr, "tls"), secret: secure.Password, roots: later(secure.TLSConfig)}, []string{"FAIL me: tls: |renew it"}},
		{"no TLS on this port", checked{imap: place(plain.Addr, "tls"), secret: plain.Password}, []string{`FAIL me: tls: |Fix: tls = "starttls", or the port 993`}},
		{"no STARTTLS on this port", checked{imap: place(plain.Addr, "starttls"), secret: plain.Password}, []string{`FAIL me: tls: |Fix: tls = "tls" with the port 993`}},
		{"no login without TLS", checked{imap: place(strict.Addr, "none"), secret: "secret"}, []string{`FAIL me: login: |Fix: tls = "tls", or "starttls"`}},
		{"a way to log in that there is not", checked{imap: place(plain.Addr, "none") + "\nauth = 'xoauth2'", secret: plain.Password}, []string{"FAIL me: login: |it offers "}},
		{
			"an empty mailbox, a folder that is not there", checked{imap: place(plain.Addr, "none") + "\nexclude = ['Lists']", secret: plain.Password},
			[]string{"WARN me: flag: |INBOX is empty", `WARN me: folders: exclude names "Lists"|the server has Archive, Drafts, INBOX, Junk, Sent, Trash`},
		},
		{
			"a name that there is not", checked{imap: place("imap.example.org", "tls"), secret: "Tulips in May", change: lookUp(nil, &net.DNSError{Err: "no such host", IsNotFound: true})},
			[]string{"FAIL me: dns: |there is no host imap.example.org. Fix: correct the host in address"},
		},
		{
			"a resolver that does not answer", checked{imap: place("imap.example.org", "tls"), secret: "Tulips in May", change: lookUp(nil, &net.DNSError{Err: "timeout", IsTimeout: true})},
			[]string{"FAIL me: dns: |Fix: look at this machine's network and resolver"},
		},
		{
			"a name that there is", checked{imap: place("localhost:1", "tls"), secret: "Tulips in May", change: lookUp([]netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil)},
			[]string{"OK me: dns: |localhost has 1 address", "FAIL me: connect: |localhost:1 cannot be reached"},
		},
		{
			"no token without consent", checked{imap: place(plain.Addr, "none") + "\nauth = 'xoauth2'\npassword_command = ['sh', '-c', 'echo invalid_grant >&2; exit 1']"},
			[]string{"FAIL me: password: |over invalid_grant; run it by hand to see why. Fix: log in with the provider again"},
		},
		{
			"a token that is refused", checked{imap: place(oauth.Addr, "none") + "\nauth = 'xoauth2'", secret: "Tulips in May"},
			[]string{"FAIL me: login: |Invalid credentials (Failure)). Fix: log in with the provider again"},
		},
		{"nobody listens", checked{imap: place("127.0.0.1:1", "tls"), secret: "Tulips in May"}, []string{"FAIL me: connect: |993 is the usual port"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := tt.c.run(t)
			wants(t, got, tt.want...)
		})
	}
}

// redirect has connections go to a server under another name.
func redirect(addr string) func(*Checker) {
	return func(c *Checker) {
		c.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}
}

// lookUp is a resolver that gives one answer.
func lookUp(found []netip.Addr, err error) func(*Checker) {
	return func(c *Checker) {
		c.lookup = func(context.Context, string, string) ([]netip.Addr, error) { return found, err }
	}
}

// later is a client that lives two days from now.
func later(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.Time = func() time.Time { return time.Now().AddDate(0, 0, 2) }
	return c
}

// TestAServerWithoutKeywords: INBOX is shared read-only, as by an ACL that lets
// the owner change \Seen and nothing else.
func TestAServerWithoutKeywords(t *testing.T) {
	t.Parallel()
	rules, err := os.MkdirTemp("", "acl") //nolint:usetesting // Dovecot must be able to enter it
	testkit.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(rules) })
	testkit.OK(t, errors.Join(os.Chmod(rules, 0o755), os.WriteFile(filepath.Join(rules, "acl"), []byte("* owner lrsi\n"), 0o644)))
	d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: fmt.Sprintf(
		"mail_plugins = acl\nprotocol imap {\n  mail_plugins = acl imap_acl\n}\nplugin {\n  acl = vfile:%s/acl\n}\n", rules)})
	owner := d.Owner(t)
	owner.Append("INBOX", testkit.NewMail(1).Next().Raw, time.Now())
	_, got := checked{imap: place(d.Addr, "none"), secret: d.Password}.run(t)
	wants(t, got, `FAIL me: marks: |INBOX does not keep $Important, nor the star. Fix: mark = [] and mark_copy = "Important"`, "WARN me: flag: |not tried")

	fake := testkit.StartFake(t, func(f *testkit.Fake) { f.Permanent = `\Answered \Flagged \Seen` })
	fake.Add("Subject: one\r\n\r\none", "")
	_, got = checked{imap: place(fake.Addr, "none"), secret: "secret"}.run(t)
	wants(t, got, `FAIL me: marks: |Fix: mark = ["\\Flagged"]`, "WARN me: flag: |not tried")
	r, got := checked{account: `mark = ['\Flagged']`, imap: place(fake.Addr, "none"), secret: "secret"}.run(t)
	wants(t, got, `OK me: marks: |\Flagged`, "WARN me: flag: |not tried")
	if !r.OK {
		t.Error("a star is enough")
	}
}

// TestCopiesAreChecked: where they go, and whether they could be taken back. Without marks
// beside them, none is tried.
func TestCopiesAreChecked(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	d.Owner(t).Append("INBOX", testkit.NewMail(1).Next().Raw, time.Now())
	copies := checked{account: "mark = []\nmark_copy = 'Important'", imap: place(d.Addr, "none"), secret: d.Password}
	r, got := copies.run(t)
	wants(t, got, "OK me: copies: |Important, which is not there and is made with the first")
	if !r.OK || strings.Contains(got, "marks:") || strings.Contains(got, "flag:") {
		t.Errorf("found\n%s", got)
	}
	d.Owner(t).Create("Important")
	_, got = copies.run(t)
	wants(t, got, "OK me: copies: |copies go to Important")
	fake := testkit.StartFake(t, func(f *testkit.Fake) { f.Caps = strings.Replace(f.Caps, "UIDPLUS ", "", 1) })
	fake.Add("Subject: one\r\n\r\none", "")
	copies.imap, copies.secret = place(fake.Addr, "none"), "secret"
	r, got = copies.run(t)
	wants(t, got, `FAIL me: copies: |no UIDPLUS, without which hinged could not take a copy back: it makes none. Fix: mark_copy = ""`)
	if r.OK {
		t.Error("a server that can't take copies back is well")
	}
}

func TestAMuteServerIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"CAPABILITY", "AUTHENTICATE", "LIST", "SELECT", "UID SEARCH", "UID FETCH", "UID STORE"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name == at && (c.N == 1 || at != "UID STORE") {
						if at == "UID STORE" { // done, but never answered
							f.Lock()
							f.Messages[0].Flags += " " + ingest.CheckKeyword
							f.Unlock()
						}
						c.Mute()
						return true
					}
					return false
				}
			})
			f.Add("Subject: one\r\n\r\none", `\Seen`)
			_, got := checked{imap: place(f.Addr, "none"), secret: "secret", change: func(c *Checker) { c.Patience = 2 * time.Second }}.run(t)
			if !strings.Contains(got, "FAIL  me: ") || !strings.Contains(got, "the server did not respond") {
				t.Errorf("got\n%s", got)
			}
			f.Lock()
			defer f.Unlock()
			if f.Messages[0].Flags != `\Seen` {
				t.Errorf("left %q behind", f.Messages[0].Flags)
			}
		})
	}
}

func TestStateStoreAndSecretsAreLookedAt(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, nil)
	base := checked{imap: place(f.Addr, "none"), secret: "secret"}
	in := func(t *testing.T) (checked, string) {
		c := base
		c.dir = t.TempDir()
		testkit.OK(t, os.Mkdir(filepath.Join(c.dir, "state"), 0o700))
		return c, filepath.Join(c.dir, "state", "hinged.db")
	}
	t.Run("a store that opens", func(t *testing.T) {
		c, db := in(t)
		s, err := boltfile.Open(db, boltfile.Options{})
		testkit.OK(t, err)
		_, got := c.run(t)
		wants(t, got, "OK state: |is writable", "WARN store: |another process has")
		testkit.OK(t, s.Close())
		_, got = c.run(t)
		wants(t, got, "OK store: |opens, and no daemon runs")
	})
	t.Run("a damaged store", func(t *testing.T) {
		c, db := in(t)
		testkit.OK(t, os.WriteFile(db, bytes.Repeat([]byte("x"), 1<<16), 0o600))
		_, got := c.run(t)
		wants(t, got, "FAIL store: |Fix: ")
	})
	t.Run("no store at all in a directory for all", func(t *testing.T) {
		c, db := in(t)
		testkit.OK(t, os.Chmod(filepath.Dir(db), 0o755))
		_, got := c.run(t)
		wants(t, got, "WARN state: |chmod 700 ", "OK store: |not exist yet")
		if left, err := os.ReadDir(filepath.Dir(db)); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	t.Run("a state directory that is a file", func(t *testing.T) {
		c := base
		c.dir = t.TempDir()
		testkit.OK(t, os.WriteFile(filepath.Join(c.dir, "state"), nil, 0o600))
		_, got := c.run(t)
		wants(t, got, "FAIL state: |cannot be written to")
	})
	t.Run("something else listens on the socket", func(t *testing.T) {
		c := base
		c.dir = t.TempDir()
		l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(c.dir, "socket"))
		testkit.OK(t, err)
		defer l.Close()
		c.change = func(c *Checker) { c.Patience = 200 * time.Millisecond }
		_, got := c.run(t)
		wants(t, got, "FAIL store: |does not answer")
	})
	t.Run("an account that is none", func(t *testing.T) {
		ch := &Checker{Config: &config.Config{Accounts: []config.Account{{Name: "me"}}}, Account: "you"}
		if _, err := ch.Run(t.Context()); !errors.Is(err, desk.ErrNoAccount) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhoCanReadAFile(t *testing.T) {
	t.Parallel()
	open, err := os.MkdirTemp("", "open") //nolint:usetesting // everybody can enter what is above it
	testkit.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(open) })
	path := filepath.Join(open, "password")
	testkit.OK(t, os.WriteFile(path, nil, 0o600))
	for _, tt := range []struct {
		dir, file os.FileMode
		want      Level
	}{
		{0o755, 0o600, OK}, {0o755, 0o400, OK}, {0o755, 0o640, Warn}, {0o755, 0o644, Fail}, {0o700, 0o604, OK}, {0o711, 0o604, Fail},
	} {
		testkit.OK(t, errors.Join(os.Chmod(open, tt.dir), os.Chmod(path, tt.file)))
		if got, _, text := Readers(path); got != tt.want {
			t.Errorf("%o in a directory of %o: got %s, %s; want %s", tt.file, tt.dir, got, text, tt.want)
		}
	}
	if got, _, _ := Readers(filepath.Join(open, "none")); got != Fail {
		t.Errorf("a missing file: got %s", got)
	}
}
