// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	replaces string // the refresh token of which this is the successor
}

func grantOf(t *oauth2.Token, now time.Time) *grant {
	g := &grant{Refresh: t.RefreshToken, Access: t.AccessToken, At: now.UTC(), Until: t.Expiry.UTC()}
	if t.Expiry.IsZero() {
		g.Until = g.At.Add(untold)
	}
	return g
}

// fresh reports whether the access token is good for a while yet. A clock that was set back
// before its beginning says nothing about its end.
func (g *grant) fresh(now time.Time) bool {
	early := min(margin, g.Until.Sub(g.At)/2)
	return g.Access != "" && !now.Before(g.At) && now.Before(g.Until.Add(-early))
}

// read returns what is in the file, once it is certain that nobody else can read it.
func (c *Client) read() (g grant, err error) {
	f, err := os.Open(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return g, c.consent("nobody has logged in yet")
	}
	if err != nil {
		return g, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return g, err
	}
	c.seen.Store(&info)
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return g, fmt.Errorf("%s has a token in it and the mode %04o, so that others on this machine can get at it: chmod 600 %[1]s", c.File, mode)
	}
	if err := c.checkDir(filepath.Dir(c.File)); err != nil {
		return g, err
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return g, err
	}
	if err := json.Unmarshal(data, &g); err != nil || g.Refresh == "" {
		return grant{}, c.consent(c.File + " is damaged")
	}
	return g, nil
}

// checkDir refuses a directory in which others can put another file in the place of ours.
func (c *Client) checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("others on this machine can write to %s, which is for tokens: chmod go-w %[1]s", dir)
	}
	return err
}

// write replaces the file. The caller has the lock.
func (c *Client) write(g *grant) error {
	data, err := json.MarshalIndent(g, "", "  ")
	if err == nil {
		err = atomicfile.Write(c.File, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("can't keep the token: %w", err)
	}
	if info, err := os.Stat(c.File); err == nil {
		c.seen.Store(&info)
	}
	return nil
}

// lock waits until no other process is about to ask the server or to write the file, and makes
// the directory where there is none.
func (c *Client) lock(ctx context.Context) (unlock func(), err error) {
	dir := filepath.Dir(c.File)
	if err := ownDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.checkDir(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(c.File+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // which lets go of the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s.lock: %w", c.File, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(&Error{text: "another process is renewing the token, and doesn't end", temporary: true}, f.Close())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ownDir keeps root from making files for a daemon of another user that this one can't read.
func ownDir(dir string) error {
	info, err := os.Stat(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		info, err = os.Stat(dir)
	}
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; os.Geteuid() == 0 && owner != 0 { //nolint:forcetypeassert // it is one on Unix
		return fmt.Errorf("%s belongs to the user with the id %d, who could not read what root writes there: run this as that user, with sudo -u '#%[2]d'", dir, owner)
	}
	return nil
}
