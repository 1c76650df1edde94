// SPDX-License-Identifier: Apache-2.0

package dovecot

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hinged/hinged/internal/loopback"
)

// Options configure Start. The zero value is a plain-text server for one user,
// on Maildir.
type Options struct {
	Users  []string // default: owner@example.org
	Format string   // maildir (default), mbox, mdbox or sdbox
	TLS    bool     // implicit TLS instead of plain text, with a certificate made for it
	// StartTLS offers the upgrade on the plain-text port and refuses passwords
	// before it. Not together with TLS.
	StartTLS bool
	Config   string // more lines for dovecot.conf
}

// Server is a Dovecot. Its methods are not safe for concurrent use.
type Server struct {
	Addr      string // host:port, on loopback
	User      string // the first user
	Password  string // of every user
	Users     []string
	TLSConfig *tls.Config // trusts the server; nil without TLS
	// Certificate is the server's, PEM; nil without TLS.
	Certificate []byte

	dir  string
	conf string
	port *loopback.Ports
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
	made bool          // the users' INBOX
}

// ErrNone is returned where there is no Dovecot on the machine.
var ErrNone = errors.New("no dovecot program is on this machine (on Debian and Ubuntu: apt install dovecot-imapd)")

// Find returns the path of the dovecot program, or ErrNone.
func Find() (string, error) { return find("/usr/sbin/dovecot", "/usr/local/sbin/dovecot") }

// find looks along PATH first, which need not hold the administrator's programs.
func find(usual ...string) (string, error) {
	if path, err := exec.LookPath("dovecot"); err == nil {
		return path, nil
	}
	for _, path := range usual {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// New makes a Dovecot with its directory and configuration, on a free port of
// loopback, with the mailboxes INBOX, Sent, Junk, Trash, Drafts and Archive for
// each user. Start starts it; the caller closes it.
func New(o Options) (*Server, error) {
	if len(o.Users) == 0 {
		o.Users = []string{"owner@example.org"}
	}
	secret := make([]byte, 12)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("dovecot: %w", err)
	}
	// Short, since Unix sockets in it allow 107 bytes.
	base := os.TempDir()
	if os.Geteuid() == 0 && !passable(base) {
		base = "/tmp" // Dovecot's own users must get to it
	}
	dir, err := os.MkdirTemp(base, "dovecot")
	if err != nil {
		return nil, fmt.Errorf("dovecot: %w", err)
	}
	port, err := loopback.Hold(1)
	if err != nil {
		return nil, fmt.Errorf("dovecot: %w", errors.Join(err, os.Remove(dir)))
	}
	s := &Server{
		Addr: fmt.Sprint("127.0.0.1:", port.Numbers[0]), port: port, User: o.Users[0], Users: o.Users, Password: hex.EncodeToString(secret),
		dir: dir, conf: filepath.Join(dir, "dovecot.conf"),
	}
	if err := s.configure(o); err != nil {
		return nil, errors.Join(fmt.Errorf("dovecot: %w", err), s.Close())
	}
	return s, nil
}

// passable reports whether every user may pass through dir.
func passable(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// startPatience is how long Start waits for an answer, and Close for its helpers.
const startPatience = time.Minute

// Start starts the server, also again after Stop, and waits until it answers.
func (s *Server) Start(ctx context.Context) error {
	binary, err := Find()
	if err != nil {
		return err
	}
	// A file, not a buffer: its children keep a pipe open after the master ended.
	output, err := os.Create(filepath.Join(s.dir, "output"))
	if err != nil {
		return fmt.Errorf("start dovecot: %w", err)
	}
	defer output.Close()
	cmd := exec.Command(binary, "-F", "-c", s.conf) //nolint:noctx,gosec // Stop ends it, in its own way; the path is from Find
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start dovecot: %w", err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal that Stop sends
		close(done)
	}()
	s.cmd, s.done = cmd, done
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", s.Addr); err == nil {
			conn.Close()
			return s.makeInboxes(ctx)
		}
		select {
		case <-done:
			said, _ := os.ReadFile(output.Name())
			return fmt.Errorf("dovecot ended at once: %s\n%s", said, s.Log())
		case <-ctx.Done():
			s.Stop()
			return fmt.Errorf("dovecot does not answer on %s: %w\n%s", s.Addr, ctx.Err(), s.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// makeInboxes has INBOX made for the first few users, by one process each. If the
// first two sessions of a user make it side by side, Dovecot 2.3 may abort one of them
// for a deadlock (mdbox), or refuse what it asks.
func (s *Server) makeInboxes(ctx context.Context) error {
	if s.made {
		return nil
	}
	admin, err := exec.LookPath("doveadm")
	if err != nil {
		return nil //nolint:nilerr // it is a matter of luck then
	}
	for _, u := range s.Users[:min(len(s.Users), 8)] {
		cmd := exec.CommandContext(ctx, admin, "-c", s.conf, "fetch", "-u", u, "uid", "mailbox", "INBOX", "all") //nolint:gosec // the path is from LookPath, the names are ours
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make INBOX of %s: %w: %s", u, err, said)
		}
	}
	s.made = true
	return nil
}

// Stop stops the server, and with it every connection. It may be called twice.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-s.done:
	case <-time.After(300 * time.Millisecond):
		// By now the clients were told goodbye; the rest of its shutdown is waiting
		// for its own helpers.
	}
	// Its helpers may outlive it, and write. The group is the one that Start made.
	killGroup(s.cmd.Process.Pid)
	<-s.done
	s.cmd = nil
}

// Close stops the server and removes its directory, with all mail.
func (s *Server) Close() error {
	s.Stop()
	s.port.Release()
	for deadline := time.Now().Add(startPatience); ; time.Sleep(50 * time.Millisecond) {
		// A helper that is just being killed may still write a file.
		err := os.RemoveAll(s.dir)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dovecot: %w", err)
		}
	}
}

// Log returns what the server logged.
func (s *Server) Log() string {
	data, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Mail returns the directory of a user's mail.
func (s *Server) Mail(user string) string { return filepath.Join(s.dir, "mail", user, "Mail") }

// SetPassword changes the password of every user, on the server alone: Password
// stays as it was.
func (s *Server) SetPassword(password string) error {
	path := filepath.Join(s.dir, "users")
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, line := range lines {
		f := strings.Split(line, ":")
		f[1] = "{PLAIN}" + password
		lines[i] = strings.Join(f, ":")
	}
	// Dovecot looks at the file's time, in seconds, and its size.
	later := time.Now().Add(2 * time.Second)
	if err = os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err == nil {
		err = os.Chtimes(path, later, later)
	}
	if err != nil {
		return fmt.Errorf("set password: %w", err)
	}
	return nil
}
