// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store/boltfile"
)

// clockedSite is the variable of the environment by which the test program knows that
// it is to be the daemon of a site. It goes by the site's clock, if there is one: a month
// then takes minutes, and the daemon can be killed. It is in a hurry where hinged waits,
// and without a clock also for servers that do not respond.
const clockedSite = "HINGED_TEST_SITE"

// clock is a file with the time, in seconds since 1970. The test sets it.
type clock struct {
	t    testing.TB
	path string
	now  time.Time
}

func newClock(t testing.TB, dir string, now time.Time) *clock {
	c := &clock{t: t, path: filepath.Join(dir, "clock")}
	c.set(now)
	return c
}

// set makes it that time. It never goes back.
func (c *clock) set(now time.Time) {
	c.t.Helper()
	if now.Before(c.now) {
		c.t.Fatalf("the clock would go back from %v to %v", c.now, now)
	}
	c.now = now.Truncate(time.Second) // as INTERNALDATE is
	next := c.path + ".next"
	err := os.WriteFile(next, strconv.AppendInt(nil, c.now.Unix(), 10), 0o600)
	if err == nil {
		err = os.Rename(next, c.path)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// pass lets time go by.
func (c *clock) pass(d time.Duration) { c.set(c.now.Add(d)) }

// runClocked is the daemon of a site, on a store that exists, with the clock of the
// site.
func runClocked(dir string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	d, err := openClocked(dir, log)
	if err == nil {
		err = d.Run(ctx)
		if e := d.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func openClocked(dir string, log *slog.Logger) (*daemon.Daemon, error) {
	c, err := config.Load(filepath.Join(dir, "hinged.toml"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "state", "hinged.db")
	st, err := boltfile.Open(path, boltfile.Options{})
	if err != nil {
		return nil, err
	}
	w, err := writer.Open(st, "me")
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	server := &c.Accounts[0].IMAP
	source := imap.Options{
		Address: server.Address, TLS: imap.TLSMode(server.TLS), Username: server.Username, Logger: log,
		Auth: imap.AuthMechanism(server.Auth), Password: server.ReadPassword,
		PollInterval: 20 * time.Millisecond, BackoffMin: 10 * time.Millisecond, BackoffMax: time.Second, LoginEvery: time.Millisecond,
		RecheckInterval: 200 * time.Millisecond, // else what it says to have seen of INBOX lags one look behind
	}
	o := daemon.Options{
		StorePath: path, Socket: c.Socket, Logger: log, Now: clockOf(dir),
		Accounts: []daemon.AccountOptions{{
			Name: "me", Filter: w.Filter().Options(), Prior: w.Filter().Prior(),
			NewSource: func(known []ingest.Known) (ingest.Source, error) { return imap.New(source, known) },
		}},
	}
	if o.Now == nil {
		source.CommandTimeout, source.IdleRestart = hurriedTimeout, time.Second
		source.AuthBackoffMin, source.AuthBackoffMax = 100*time.Millisecond, time.Second
	}
	if server.CAFile != "" {
		authority, err := os.ReadFile(server.CAFile)
		if err != nil {
			return nil, err
		}
		source.TLSConfig = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		source.TLSConfig.RootCAs.AppendCertsFromPEM(authority)
	}
	return daemon.New(o)
}

// hurriedTimeout is how long a server may be silent for a daemon without a clock.
const hurriedTimeout = 3 * time.Second

// clockOf reads the clock of a site; nil: it has none.
func clockOf(dir string) func() time.Time {
	path := filepath.Join(dir, "clock")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		seconds, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			panic(err)
		}
		return time.Unix(seconds, 0)
	}
}
