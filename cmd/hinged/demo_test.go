// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/program/demo"
)

// leftovers are what a demo makes in the directory for temporary files.
func leftovers(ts *testscript.TestScript) []string {
	var all []string
	for _, pattern := range []string{"hinged*", "dovecot*"} {
		found, err := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), pattern))
		ts.Check(err)
		all = append(all, found...)
	}
	return all
}

// gone wants that demos have left nothing behind: gone.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: gone")
	}
	if left := leftovers(ts); len(left) > 0 {
		ts.Fatalf("left behind: %v", left)
	}
}

// lookin waits until a running demo has set a mark, and sets CONFIG to its
// configuration, SOCKET to its socket and PID to its process: lookin.
func lookin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: lookin")
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, dir := range leftovers(ts) {
			c, err := control.Dial(context.Background(), filepath.Join(dir, "hinged.sock"))
			if err != nil {
				continue
			}
			s, err := control.Ask(context.Background(), c, desk.GetStatus, "", desk.None{})
			ts.Check(c.Close())
			if err == nil && len(s.Accounts) == 1 && s.Accounts[0].MarksConfirmed > 0 {
				ts.Setenv("CONFIG", filepath.Join(dir, "hinged.toml"))
				ts.Setenv("SOCKET", filepath.Join(dir, "hinged.sock"))
				ts.Setenv("PID", strconv.Itoa(s.PID))
				return
			}
		}
	}
	ts.Fatalf("no demo has set a mark")
}

// alike wants two summaries to be equal but for the time they took: alike a b.
func alike(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: alike file file")
	}
	var text [2]string
	for i, name := range args {
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		var s demo.Summary
		ts.Check(json.Unmarshal(data, &s))
		s.Seconds = 0
		data, err = json.Marshal(s)
		ts.Check(err)
		text[i] = string(data)
	}
	if text[0] != text[1] {
		ts.Fatalf("%s and %s differ:\n%s\n%s", args[0], args[1], text[0], text[1])
	}
}

// spoiled is a short demo whose configuration is changed behind its back.
func spoiled(t *testing.T, patience time.Duration, from, to string) (*demo.Summary, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	sum, err := demo.Run(t.Context(), demo.Options{
		Messages: 40, Mark: "$Important", Fast: true, Screen: new(demo.Screen),
		Patience:  patience,
		Bootstrap: bootstrapDemo,
		Open: func(ctx context.Context, path string, log *slog.Logger) (*daemon.Daemon, func() error, error) {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, nil, err
			}
			changed := bytes.Replace(text, []byte(from), []byte(to), 1)
			if bytes.Equal(text, changed) {
				t.Fatalf("%q is not in the configuration", from)
			}
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				return nil, nil, err
			}
			return openDemo(ctx, path, log)
		},
		Explain: func(io.Writer, desk.Explanation) error { return nil },
	})
	left, readErr := os.ReadDir(os.TempDir())
	if readErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, readErr)
	}
	return sum, err
}

func TestADemoThatMarksNothingFails(t *testing.T) {
	sum, err := spoiled(t, 0, `shadow = "off"`, `shadow = "on"`)
	if !errors.Is(err, demo.ErrLoop) || !strings.Contains(err.Error(), "no mark was set") {
		t.Errorf("got %v", err)
	}
	if sum == nil || sum.MarksSet != 0 || sum.Messages != 40 {
		t.Errorf("got %+v", sum)
	}
}

func TestADemoWhoseDaemonReachesNothingFails(t *testing.T) {
	if _, err := spoiled(t, 2*time.Second, `username = "nora"`, `username = "nobody"`); !errors.Is(err, demo.ErrLoop) || !strings.Contains(err.Error(), "take over from the bootstrap") {
		t.Errorf("got %v", err)
	}
}
