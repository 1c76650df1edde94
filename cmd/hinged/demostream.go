// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/demo"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/replay"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store/boltfile"
)

// startPatience is how long a process of the demo may take to end in order.
const startPatience = time.Minute

// startRun runs `hinged run` as a process of its own, from this same program.
func startRun(path, log string) (demo.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the process has its own
	// Whoever calls ends it, by Stop or Kill.
	cmd := exec.CommandContext(context.Background(), self) //nolint:gosec // this same program
	cmd.Args = []string{"hinged", "run", "--config", path}
	cmd.Stdout, cmd.Stderr = out, out
	// Ctrl-C is for the demo, which then ends its processes in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &child{cmd: cmd, log: log, ended: make(chan error, 1)}
	go func() { p.ended <- cmd.Wait() }()
	return p, nil
}

// child is a running `hinged run`.
type child struct {
	cmd   *exec.Cmd
	log   string
	ended chan error
}

func (c *child) PID() int { return c.cmd.Process.Pid }

func (c *child) Kill() error {
	err := c.cmd.Process.Kill()
	var exit *exec.ExitError
	if ended := <-c.ended; ended != nil && !errors.As(ended, &exit) {
		err = errors.Join(err, ended)
	}
	return err
}

func (c *child) Stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-c.ended:
		if err != nil {
			return fmt.Errorf("hinged run, whose log is %s: %w", c.log, err)
		}
		return nil
	case <-time.After(startPatience):
		return errors.Join(errors.New("hinged run does not end"), c.Kill())
	}
}

// replayDemo rebuilds the state of a configuration as `hinged replay` does.
func replayDemo(ctx context.Context, path, into string) ([]desk.Digest, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	client, o, err := streamOptions(c.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	done, err := replay.Run(ctx, replay.Options{Broker: stream.Client(client), Engine: o, Into: into, Store: boltfile.Options{}})
	if err != nil {
		return nil, err
	}
	out := []desk.Digest{}
	for _, a := range done.Accounts {
		out = append(out, desk.Digest{Account: a.Account, Model: a.Model, State: a.State})
	}
	return out, nil
}
