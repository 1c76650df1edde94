package testkit

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// DovecotOptions configure StartDovecot. The zero value is a plain-text server
// for one user, on Maildir.
type DovecotOptions struct {
	Users  []string // default: owner@example.org
	Format string   // maildir (default), mdbox or sdbox
	TLS    bool     // implicit TLS instead of plain text, with a certificate made for it
	// StartTLS offers the upgrade on the plain-text port and refuses passwords
	// before it. Not together with TLS.
	StartTLS bool
	Config   string // more lines for dovecot.conf
}

// Dovecot is a running server. Its mail is gone with the test.
type Dovecot struct {
	Addr      string // host:port, on loopback
	User      string // the first user
	Password  string // of every user
	Users     []string
	TLSConfig *tls.Config // trusts the server; nil without TLS

	tb   testing.TB
	dir  string
	conf string
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// NeedDovecot skips the test where there is no Dovecot, saying so. In CI, where
// CI=true, that is a failure.
func NeedDovecot(tb testing.TB) {
	tb.Helper()
	if _, err := dovecotBinary(); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("CI must test against a real Dovecot: %v", err)
		}
		tb.Skipf("SKIPPED: no real Dovecot here: %v", err)
	}
}

func dovecotBinary() (string, error) {
	if path, err := exec.LookPath("dovecot"); err == nil {
		return path, nil
	}
	for _, path := range []string{"/usr/sbin/dovecot", "/usr/local/sbin/dovecot"} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// StartDovecot starts a Dovecot of its own for this test on a free port of
// loopback, with the mailboxes INBOX, Sent, Junk, Trash, Drafts and Archive. It
// is stopped when the test ends.
func StartDovecot(tb testing.TB, o DovecotOptions) *Dovecot {
	tb.Helper()
	NeedDovecot(tb)
	if len(o.Users) == 0 {
		o.Users = []string{"owner@example.org"}
	}
	secret := make([]byte, 12)
	if _, err := rand.Read(secret); err != nil {
		tb.Fatal(err)
	}
	// Not tb.TempDir: its path holds the test's name, and Unix sockets allow 107
	// bytes.
	dir, err := os.MkdirTemp("", "dovecot") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	d := &Dovecot{
		Addr: freeAddr(tb), User: o.Users[0], Users: o.Users, Password: hex.EncodeToString(secret),
		tb: tb, dir: dir, conf: filepath.Join(dir, "dovecot.conf"),
	}
	d.configure(o)
	tb.Cleanup(d.Stop)
	d.Start()
	return d
}

func freeAddr(tb testing.TB) string {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// configure writes dovecot.conf and the users, for Dovecot 2.3.
func (d *Dovecot) configure(o DovecotOptions) {
	d.tb.Helper()
	me, err := user.Current()
	if err != nil {
		d.tb.Fatal(err)
	}
	loginUser, internalUser, mailUser := me.Username, me.Username, me
	if os.Geteuid() == 0 {
		// Dovecot never opens mail as root.
		loginUser, internalUser = "dovenull", "dovecot"
		if mailUser, err = user.Lookup("nobody"); err != nil {
			d.tb.Fatal(err)
		}
	}
	uid, _ := strconv.Atoi(mailUser.Uid)
	gid, _ := strconv.Atoi(mailUser.Gid)
	mail := filepath.Join(d.dir, "mail")
	for _, dir := range []string{d.dir, mail} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			d.tb.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			d.tb.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(mail, uid, gid); err != nil {
			d.tb.Fatal(err)
		}
	}
	if o.Format == "" {
		o.Format = "maildir"
	}
	group, err := user.LookupGroupId(mailUser.Gid)
	if err != nil {
		d.tb.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(d.Addr)
	plain, secure, ssl := port, "0", "no"
	if o.TLS || o.StartTLS {
		ssl = d.certificate()
		if o.TLS {
			plain, secure = "0", port
		} else {
			ssl += "disable_plaintext_auth = yes\n"
		}
	}
	var users strings.Builder
	for _, u := range o.Users {
		fmt.Fprintf(&users, "%s:{PLAIN}%s:%d:%d::%s/%s::\n", u, d.Password, uid, gid, mail, u)
	}
	if err := os.WriteFile(filepath.Join(d.dir, "users"), []byte(users.String()), 0o644); err != nil {
		d.tb.Fatal(err)
	}
	if !strings.HasPrefix(ssl, "no") {
		ssl = "required\n" + ssl
	} else {
		ssl += "\ndisable_plaintext_auth = no\n"
	}
	var chroot string
	if os.Geteuid() != 0 {
		chroot = "chroot ="
	}
	conf := fmt.Sprintf(`
base_dir = %[1]s/run
state_dir = %[1]s/run
log_path = %[1]s/log
protocols = imap
listen = 127.0.0.1
ssl = %[2]s
default_login_user = %[3]s
default_internal_user = %[4]s
default_internal_group = %[5]s
mail_location = %[6]s:~/Mail
first_valid_uid = 1
first_valid_gid = 1
mail_max_userip_connections = 100
mail_fsync = never
auth_failure_delay = 0
auth_verbose = no
passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%%u %[1]s/users
}
userdb {
  driver = passwd-file
  args = username_format=%%u %[1]s/users
}
service anvil {
  %[9]s
}
service stats {
  %[9]s
}
service imap-login {
  %[9]s
  inet_listener imap {
    port = %[7]s
  }
  inet_listener imaps {
    port = %[8]s
  }
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    auto = create
    special_use = \Sent
  }
  mailbox Junk {
    auto = create
    special_use = \Junk
  }
  mailbox Trash {
    auto = create
    special_use = \Trash
  }
  mailbox Drafts {
    auto = create
    special_use = \Drafts
  }
  mailbox Archive {
    auto = create
    special_use = \Archive
  }
}
%[10]s
`, d.dir, ssl, loginUser, internalUser, groupOf(internalUser, group.Name), o.Format, plain, secure, chroot, o.Config)
	if err := os.WriteFile(d.conf, []byte(conf), 0o644); err != nil {
		d.tb.Fatal(err)
	}
}

// groupOf returns the name of a user's group, or fallback.
func groupOf(name, fallback string) string {
	if u, err := user.Lookup(name); err == nil {
		if g, err := user.LookupGroupId(u.Gid); err == nil {
			return g.Name
		}
	}
	return fallback
}

// certificate makes the server a certificate and returns the settings for it.
func (d *Dovecot) certificate() string {
	d.tb.Helper()
	cert, key := selfSigned(d.tb)
	certPath, keyPath := filepath.Join(d.dir, "cert.pem"), filepath.Join(d.dir, "key.pem")
	for path, data := range map[string][]byte{certPath: cert, keyPath: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			d.tb.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	d.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return fmt.Sprintf("ssl_cert = <%s\nssl_key = <%s\n", certPath, keyPath)
}

// Start starts the server again after Stop and waits until it answers.
func (d *Dovecot) Start() {
	d.tb.Helper()
	binary, err := dovecotBinary()
	if err != nil {
		d.tb.Fatal(err)
	}
	// A file, not a buffer: its children keep a pipe open after the master ended.
	output, err := os.Create(filepath.Join(d.dir, "output"))
	if err != nil {
		d.tb.Fatal(err)
	}
	defer output.Close()
	cmd := exec.Command(binary, "-F", "-c", d.conf) //nolint:noctx // Stop ends it, in its own way
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = dieWithTest()
	if err := cmd.Start(); err != nil {
		d.tb.Fatalf("start dovecot: %v", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal that Stop sends
		close(done)
	}()
	d.cmd, d.done = cmd, done
	deadline := time.Now().Add(20 * time.Second)
	for {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(d.tb.Context(), "tcp", d.Addr); err == nil {
			conn.Close()
			return
		}
		select {
		case <-done:
			said, _ := os.ReadFile(output.Name())
			d.tb.Fatalf("dovecot ended at once: %s\n%s", said, d.Log())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			d.tb.Fatalf("dovecot does not answer on %s: %s", d.Addr, d.Log())
		}
	}
}

// Stop stops the server, and with it every connection. It may be called twice.
func (d *Dovecot) Stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-d.done:
	case <-time.After(300 * time.Millisecond):
		// By now the clients were told goodbye; the rest of its shutdown is waiting
		// for its own helpers. The group is the one that Start made for it.
		_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		<-d.done
	}
	d.cmd = nil
}

// Restart stops the server and starts it again on the same port, with the same
// mail.
func (d *Dovecot) Restart() {
	d.tb.Helper()
	d.Stop()
	d.Start()
}

// Log returns what the server logged.
func (d *Dovecot) Log() string {
	data, err := os.ReadFile(filepath.Join(d.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Fill puts many messages into the first user's INBOX, a Maildir, as a delivery
// agent beside the server would: hundreds of times faster than APPEND. Their
// UIDs ascend in the order given.
func (d *Dovecot) Fill(n int, next func() Message) {
	d.tb.Helper()
	box := filepath.Join(d.dir, "mail", d.User, "Mail")
	first := d.Owner(d.tb)
	first.Select("INBOX") // makes the Maildir
	first.Close()
	owner := -1
	if info, err := os.Stat(box); err != nil {
		d.tb.Fatalf("fill: no Maildir at %s: %v", box, err)
	} else if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(stat.Uid)
	}
	// Dovecot numbers new files in the order of the first part of their names.
	for i := range n {
		m := next()
		path := filepath.Join(box, "new", fmt.Sprintf("%d.M%06dP1.testkit", 1700000000+i, i%1000000))
		if err := os.WriteFile(path, m.Raw, 0o600); err != nil {
			d.tb.Fatal(err)
		}
		if err := os.Chtimes(path, m.Date, m.Date); err != nil {
			d.tb.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, owner, -1); err != nil {
				d.tb.Fatal(err)
			}
		}
	}
}

// SetPassword changes the password of every user, on the server alone.
func (d *Dovecot) SetPassword(password string) {
	d.tb.Helper()
	path := filepath.Join(d.dir, "users")
	data, err := os.ReadFile(path)
	if err != nil {
		d.tb.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines {
		f := strings.Split(line, ":")
		f[1] = "{PLAIN}" + password
		lines[i] = strings.Join(f, ":")
	}
	// Dovecot looks at the file's time, in seconds, and its size.
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		d.tb.Fatal(err)
	}
	later := time.Now().Add(2 * time.Second)
	if err := os.Chtimes(path, later, later); err != nil {
		d.tb.Fatal(err)
	}
}
