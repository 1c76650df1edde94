package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/daemon"
	"github.com/hinged/hinged/store"
)

// connect finds who answers about state: the daemon of this configuration when
// one runs, else the store itself.
func connect(ctx context.Context, path string) (daemon.Backend, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return connectTo(ctx, c)
}

// connectTo is connect for a configuration that was read.
func connectTo(ctx context.Context, c *config.Config) (daemon.Backend, error) {
	client, err := daemon.Dial(ctx, c.Socket)
	if err == nil {
		return client, nil
	}
	if !errors.Is(err, daemon.ErrNotRunning) {
		return nil, err
	}
	return daemon.OpenOffline(storePath(c), versionString(), store.Options{})
}

// ask connects, asks and closes.
func ask[T any](ctx context.Context, path string, get func(daemon.Backend) (T, error)) (v T, err error) {
	b, err := connect(ctx, path)
	if err != nil {
		return v, err
	}
	v, err = get(b)
	return v, errors.Join(err, b.Close())
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
