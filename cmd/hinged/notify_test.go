// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

func TestCheckSendsATestNotificationAfterAsking(t *testing.T) {
	got := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- r.URL.Path + " " + string(body)
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "hinged.toml")
	text := fmt.Sprintf(`
state_dir = %q
[[account]]
name = "me"
owner = ["me@example.org"]
[account.imap]
address = "127.0.0.1:1"
tls = "none"
username = "me"
password_file = "none"
[[account.notify]]
ntfy = "%[2]s/secret-topic"
[[account.notify]]
webhook = "%[2]s/secret-hook"
[[account.notify]]
webhook = "%[2]s/no"
[[account.notify]]
webhook = "%[2]s/token"
token_env = "HINGED_TEST_NO_SUCH_VARIABLE"
[[account.notify]]
command = ["no-such-program", "secret"]
`, filepath.Join(dir, "state"), server.URL)
	testkit.Write(t, file, text)
	host := strings.TrimPrefix(server.URL, "http://")
	c := sit(t, "check", "--notify", "--config", file)
	for i, answer := range []string{"y\r", "y\r", "n\r"} {
		c.answer("[y/N] ", i+1, answer)
	}
	if code := c.end(); code != cli.ExitFailed { // there is no mail server
		t.Errorf("exit code %d", code)
	}
	screen := strings.Join(strings.Fields(c.screen()), " ") // as if lines were endless
	for _, want := range []string{
		"Send a test notification for account me by ntfy at " + host + "?",
		"OK me: notify: ntfy at " + host + " took the test notification; see that it arrived",
		"FAIL me: notify: the webhook at " + host + ": " + host + ": the server said 403 Forbidden",
		"WARN me: notify: the webhook at " + host + ": not tried",
		"FAIL me: notify: the webhook at " + host + ": token_env: the environment has no HINGED_TEST_NO_SUCH_VARIABLE",
		"FAIL me: notify: the command no-such-program:",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("%q is not in\n%s", want, c.screen())
		}
	}
	if strings.Contains(screen, "secret") {
		t.Errorf("a secret is in\n%s", c.screen())
	}
	close(got)
	var all []string
	for r := range got {
		all = append(all, r)
	}
	if len(all) != 2 || !strings.HasPrefix(all[0], `/ {"topic":"secret-topic","title":"Important mail","message":"This is a test`) ||
		!strings.HasPrefix(all[1], `/secret-hook {"kind":"test","account":"me"`) {
		t.Errorf("sent was %q", all)
	}

	// Without --notify nothing is sent, and a terminal is needed with it.
	code, stdout, _ := hinged(t, "check", "--config", file)
	if want := "OK    me: notify: important mail is told by ntfy at " + host; code != cli.ExitFailed || !strings.Contains(stdout, want) {
		t.Errorf("exit code %d, want %q in\n%s", code, want, stdout)
	}
	for _, args := range [][]string{{"check", "--notify"}, {"check", "--notify", "--json"}} {
		if code, _, stderr := hinged(t, args...); code != cli.ExitUsage || !strings.Contains(stderr, "needs a terminal, and no --json") {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestATellerGoesOnWithAnotherConfiguration(t *testing.T) {
	got := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.URL.Path }))
	defer server.Close()
	of := func(paths ...string) *config.Config {
		a := config.DefaultAccount()
		a.Name = "me"
		for _, path := range paths {
			a.Notify = append(a.Notify, config.Notify{Webhook: server.URL + path, Title: "Mail"})
		}
		return &config.Config{StateDir: t.TempDir(), Accounts: []config.Account{a}}
	}
	log := slog.New(slog.DiscardHandler)
	tell, err := newTeller(of("/first"), log)
	if err != nil {
		t.Fatal(err)
	}
	renew := func(c *config.Config) {
		t.Helper()
		n, err := newNotifier(c, log)
		if err != nil {
			t.Fatal(err)
		}
		tell.renew(t.Context(), n)
	}
	mark := func(n int, want ...string) {
		t.Helper()
		toEach([]func(desk.Shown){tell.show})(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: fmt.Sprintf("%032x", n)})
		var all []string
		for range want {
			select {
			case path := <-got:
				all = append(all, path)
			case <-time.After(patience):
				t.Fatalf("told were %q, want %q", all, want)
			}
		}
		if slices.Sort(all); !slices.Equal(all, want) {
			t.Errorf("told were %q, want %q", all, want)
		}
	}
	tell.begin(t.Context())
	mark(1, "/first")
	renew(of("/second", "/third"))
	mark(2, "/second", "/third")
	renew(of())
	mark(3)
	renew(of("/first"))
	mark(4, "/first")
	tell.end()
	tell.end() // may be called twice
	if len(got) > 0 {
		t.Errorf("told was %s, too", <-got)
	}
}
