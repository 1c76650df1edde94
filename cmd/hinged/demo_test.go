package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hinged/hinged/internal/daemon"
	"github.com/hinged/hinged/internal/demo"
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
// configuration and PID to its process: lookin.
func lookin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: lookin")
	}
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, dir := range leftovers(ts) {
			c, err := daemon.Dial(context.Background(), filepath.Join(dir, "hinged.sock"))
			if err != nil {
				continue
			}
			s, err := c.Status(context.Background())
			ts.Check(c.Close())
			if err == nil && len(s.Accounts) == 1 && s.Accounts[0].MarksConfirmed > 0 {
				ts.Setenv("CONFIG", filepath.Join(dir, "hinged.toml"))
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
