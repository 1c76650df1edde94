// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/oauth2"

	"github.com/hinged/hinged/internal/host/atomicfile"
)

// grant is what is kept of what the server gave.
type grant struct {
	Refresh string    `json:"refresh_token"`
	Access  string    `json:"access_token"`
	At      time.Time `json:"obtained"`
	Until   time.Time `json:"expires"`
}

// fresh reports whether the access token is good for a while yet. A clock that was set back
// before its beginning says nothing about its end.
func (g *grant) fresh(now time.Time) bool {
	return g.Access != "" && !now.Before(g.At) && now.Before(g.Until.Add(-min(margin, g.Until.Sub(g.At)/2)))
}

// read returns what is in the file, once it is certain that nobody else can get at it.
func (c *Client) read() (g grant, err error) {
	info, err := os.Stat(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return g, c.consent("nobody has logged in yet")
	}
	if err != nil {
		return g, err
	}
	c.seen.Store(&info)
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return g, fmt.Errorf("others on this machine can get at %s, which has a token in it (mode %04o): chmod 600 %[1]s", c.File, mode)
	}
	if err := checkDir(filepath.Dir(c.File)); err != nil {
		return g, err
	}
	data, err := os.ReadFile(c.File)
	if err == nil && (json.Unmarshal(data, &g) != nil || g.Refresh == "") {
		return grant{}, c.consent(c.File + " is damaged")
	}
	return g, err
}

// checkDir refuses a directory in which others can put another file in the place of ours, and
// keeps root from making files that the daemon of another user can't read. It may not be there yet.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		return checkDir(filepath.Dir(dir))
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others on this machine can write to %s, which is for tokens: chmod go-w %[1]s", dir)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 && s.Uid != 0 {
		return fmt.Errorf("%s belongs to the user %d, who couldn't read what root writes there: run this with sudo -u '#%[2]d'", dir, s.Uid)
	}
	return nil
}

// write replaces the file. The caller has the lock.
func (c *Client) write(t *oauth2.Token) error {
	now := time.Now().UTC()
	g := grant{t.RefreshToken, t.AccessToken, now, t.Expiry.UTC()}
	if t.Expiry.IsZero() {
		g.Until = now.Add(untold)
	}
	data, err := json.MarshalIndent(g, "", "  ") //nolint:gosec // tokens are what it is for
	if err == nil {
		err = atomicfile.Write(c.File, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("can't keep the token: %w", err)
	}
	_, err = c.read() // which is no news
	return err
}

// lock waits until no other process is about to ask the server or to write the file, and makes
// the directory where there is none.
func (c *Client) lock(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Dir(c.File)
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.File+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which lets go of the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, &Error{text: "another process is renewing the token, and doesn't end", passes: true}
		case <-time.After(50 * time.Millisecond):
		}
	}
}
