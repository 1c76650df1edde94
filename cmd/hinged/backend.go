// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/daemon"
	"github.com/hinged/hinged/internal/desk"
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
	return connectTo(ctx, c)
}

// lockPatience is how long a verb waits for a daemon that has the store already and
// does not answer yet, and lockEvery how often it asks.
const (
	lockPatience = 10 * time.Second
	lockEvery    = 100 * time.Millisecond
)

// connectTo is connect for a configuration that was read.
func connectTo(ctx context.Context, c *config.Config) (*control.At, error) {
	for end := time.Now().Add(lockPatience); ; {
		at, err := connectOnce(ctx, c)
		if !errors.Is(err, store.ErrRunning) || !time.Now().Before(end) {
			return at, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

func connectOnce(ctx context.Context, c *config.Config) (*control.At, error) {
	at, err := control.Dial(ctx, c.Socket)
	if !errors.Is(err, control.ErrNotRunning) {
		return at, err
	}
	h, err := daemon.OpenStore(storePath(c), versionString(), boltfile.Options{})
	if err != nil {
		return nil, err
	}
	h.Accounts = func() ([]daemon.AccountOptions, error) {
		all, err := daemonOptions(c, slog.New(slog.DiscardHandler))
		return all.Accounts, err
	}
	return control.Local(h), nil
}

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
