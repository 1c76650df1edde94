// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// To mark mail matters more than to show it.
func TestAPortThatIsTakenStopsNoDaemon(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "hinged.toml")
	text := fmt.Sprintf("state_dir = \"state\"\nsocket = \"socket\"\ndashboard = {listen = %q}\n[[account]]\nname = \"me\"\nowner = [\"owner@example.org\"]\nimap = {address = \"127.0.0.1:1\", tls = \"none\", username = \"me\", password_env = \"NONE\"}\n", taken.Addr())
	testkit.Write(t, path, text)
	var said testkit.Transcript
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"run", "--config", path}, nil, io.Discard, &said) }()
	defer func() {
		stop()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("exit code %d:\n%s", code, said.String())
		}
	}()
	var at *control.At
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if at, err = control.Dial(ctx, filepath.Join(dir, "socket")); err == nil {
			break
		}
		if !errors.Is(err, control.ErrNotRunning) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer at.Close()
	s, err := control.Ask(ctx, at, desk.GetStatus, "", desk.None{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Dashboard != "" || !strings.Contains(strings.Join(s.Warnings, "\n"), "there is no dashboard, since its port is taken: "+taken.Addr().String()) {
		t.Errorf("the status is %+v", s)
	}
	if !said.Has(`"level":"ERROR"`) || !said.Has("the dashboard's port is taken") {
		t.Errorf("the log is\n%s", said.String())
	}
}

// page asks the dashboard of the daemon behind a socket for a path, wants a code, and
// writes the answer to a file: page socket 200 /metrics answer [token]. With "link" in the
// place of a token it opens a link first. Redirects are not followed.
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: page socket code path file [token]")
	}
	ctx := context.Background()
	at, err := control.Dial(ctx, ts.MkAbs(args[0]))
	ts.Check(err)
	s, err := control.Ask(ctx, at, desk.GetStatus, "", desk.None{})
	ts.Check(err)
	link, err := control.Ask(ctx, at, desk.OpenDashboard, "", desk.None{})
	ts.Check(err)
	ts.Check(at.Close())
	if s.Dashboard == "" {
		ts.Fatalf("the daemon names no dashboard")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.Dashboard, "/")+args[2], nil)
	ts.Check(err)
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	switch {
	case len(args) == 5 && args[4] == "link":
		opened, err := client.Get(link.URL)
		ts.Check(err)
		ts.Check(opened.Body.Close())
	case len(args) == 5:
		req.Header.Set("Authorization", "Bearer "+args[4])
	}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	if strconv.Itoa(resp.StatusCode) != args[1] {
		ts.Fatalf("%s: %s, want %s\n%s", args[2], resp.Status, args[1], body)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), body, 0o600))
}
