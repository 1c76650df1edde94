// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// connect finds who answers: the daemon of this configuration when one runs, else
// the store itself.
func connect(ctx context.Context, path string) (*control.At, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return connectTo(ctx, c, boltfile.Options{})
}

// lockPatience is how long a verb waits for a daemon that has the store already and
// does not answer yet, and lockEvery how often it asks.
const (
	lockPatience = 10 * time.Second
	lockEvery    = 100 * time.Millisecond
)

func connectTo(ctx context.Context, c *config.Config, o boltfile.Options) (*control.At, error) {
	for end := time.Now().Add(lockPatience); ; {
		at, err := connectOnce(ctx, c, o)
		if !errors.Is(err, store.ErrRunning) {
			return at, err
		}
		if !time.Now().Before(end) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

func connectOnce(ctx context.Context, c *config.Config, o boltfile.Options) (*control.At, error) {
	at, err := control.Dial(ctx, c.Socket)
	if !errors.Is(err, control.ErrNotRunning) {
		return at, err
	}
	h, err := daemon.OpenStore(storePath(c), versionString(), o)
	if errors.Is(err, fs.ErrNotExist) {
		next := firstSteps
		if len(c.Accounts) == 0 {
			next = "`hinged run` starts with the mail that comes through Kafka"
		}
		return nil, fmt.Errorf("nothing has been learnt yet: %s does not exist\n%s", storePath(c), next)
	}
	if err != nil {
		return nil, err
	}
	h.OwnBackups = backupOptions(c)
	h.Accounts = func() ([]daemon.AccountOptions, error) {
		all, err := daemonOptions(c, slog.New(slog.DiscardHandler))
		return all.Accounts, err
	}
	return control.Local(h), nil
}

// firstSteps says how an account begins, for whoever asks before it did.
const firstSteps = "`hinged bootstrap` learns from your mailbox; `hinged run` starts watching"

// ask connects, has one verb carried out and closes.
func ask[Q, A any](ctx context.Context, path string, v desk.Verb[Q, A], account string, q Q) (A, error) {
	return with(ctx, path, func(at *control.At) (A, error) { return control.Ask(ctx, at, v, account, q) })
}

// with connects, lets do ask and closes.
func with[T any](ctx context.Context, path string, do func(*control.At) (T, error)) (v T, err error) {
	at, err := connect(ctx, path)
	if err != nil {
		return v, err
	}
	v, err = do(at)
	return v, errors.Join(err, at.Close())
}
