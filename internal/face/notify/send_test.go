// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// received is what a server was sent.
type received struct{ method, path, token, body string }

func startReceiver(t *testing.T, status func(n int) int) (server *httptest.Server, all func() []received) {
	t.Helper()
	var mu sync.Mutex
	var list []received
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, received{r.Method, r.URL.Path, r.Header.Get("Authorization"), string(body)})
		if r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the content type is %q", r.Header.Get("Content-Type"))
		}
		code := status(len(list))
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
	}))
	t.Cleanup(server.Close)
	return server, func() []received {
		mu.Lock()
		defer mu.Unlock()
		return append([]received(nil), list...)
	}
}

func fine(int) int { return http.StatusOK }

func sample() *Notification {
	return &Notification{Kind: KindMessage, Account: "me", Title: "Wichtige Post", Text: "From Théo", From: "Théo", Count: 1, Message: "abc", At: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
}

func TestAWebhookIsPostedJSON(t *testing.T) {
	t.Parallel()
	server, all := startReceiver(t, fine)
	to := &Target{Webhook: server.URL + "/hook", Token: func(context.Context) (string, error) { return "tk_1", nil }}
	if err := send(t.Context(), to, sample()); err != nil {
		t.Fatal(err)
	}
	got := all()
	want := `{"kind":"message","account":"me","title":"Wichtige Post","text":"From Théo","at":"2026-03-02T09:00:00Z","count":1,"message":"abc","from":"Théo"}`
	if len(got) != 1 || got[0] != (received{"POST", "/hook", "Bearer tk_1", want}) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestNtfyIsPublishedTo(t *testing.T) {
	t.Parallel()
	server, all := startReceiver(t, fine)
	if err := send(t.Context(), &Target{Ntfy: server.URL + "/my-topic", Priority: 4}, sample()); err != nil {
		t.Fatal(err)
	}
	got := all()
	want := `{"topic":"my-topic","title":"Wichtige Post","message":"From Théo","priority":4}`
	if len(got) != 1 || got[0] != (received{"POST", "/", "", want}) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

func TestErrorsNameTheHostAndNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "tk_secret"
	token := func(context.Context) (string, error) { return secret, nil }
	for _, code := range []int{http.StatusFound, http.StatusForbidden, http.StatusTooManyRequests, http.StatusInternalServerError} {
		server, all := startReceiver(t, func(int) int { return code })
		err := send(t.Context(), &Target{Webhook: server.URL + "/secret-hook", Token: token}, sample())
		var asked *pauseError
		if !errors.As(err, &asked) || asked.pause != 7*time.Second || !strings.Contains(err.Error(), http.StatusText(code)) {
			t.Errorf("%d gives %v", code, err)
		}
		if strings.Contains(err.Error(), "secret") || len(all()) != 1 {
			t.Errorf("%d gives %v after %d requests", code, err, len(all()))
		}
	}
	server, _ := startReceiver(t, fine)
	server.Close()
	err := send(t.Context(), &Target{Ntfy: server.URL + "/secret-topic"}, sample())
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a server that is away gives %v", err)
	}
	err = send(t.Context(), &Target{Webhook: server.URL, Token: func(context.Context) (string, error) { return "", errors.New("no file") }}, sample())
	if err == nil || !strings.Contains(err.Error(), "no file") {
		t.Errorf("without its token: %v", err)
	}
	for _, to := range []Target{{Ntfy: "https://ntfy.example.org/secret"}, {Webhook: "https://example.org/secret"}, {Command: []string{"/bin/x", "secret"}}} {
		if strings.Contains(to.Way(), "secret") || strings.Contains(to.id(), "secret") {
			t.Errorf("it is called %s, %s", to.Way(), to.id())
		}
	}
}

func TestACommandReadsJSONAndIsBoundInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	script := filepath.Join(dir, "tell")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n[ \"$1\" = 'a b' ] || exit 3\ncat > \"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := send(t.Context(), &Target{Command: []string{script, "a b", out}}, sample()); err != nil {
		t.Fatal(err)
	}
	text := testkit.Read(t, out)
	var got Notification
	if err := json.Unmarshal(text, &got); err != nil || got.Text != "From Théo" || got.Message != "abc" {
		t.Errorf("the command read %s (%v)", text, err)
	}
	err := send(t.Context(), &Target{Command: []string{script, "secret"}}, sample())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a command that fails gives %v", err)
	}
	if err := send(t.Context(), &Target{Command: []string{filepath.Join(dir, "nothing")}}, sample()); err == nil {
		t.Error("a command that is not there gives no error")
	}
	// One that does not read what it is told, and one that does not end.
	if err := send(t.Context(), &Target{Command: []string{"true"}}, sample()); err != nil {
		t.Errorf("a command that reads nothing gives %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := send(ctx, &Target{Command: []string{"sleep", "1000"}}, sample()); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a command without end gives %v", err)
	}
}

// TestANotifierTellsOverItsWholeLife plays a server that refuses at first, a stop, and a
// second start, with goroutines and the machine's clock hurried by a test's After.
func TestANotifierTellsOverItsWholeLife(t *testing.T) {
	t.Parallel()
	server, all := startReceiver(t, func(n int) int {
		if n == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	var mu sync.Mutex
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	o := Options{
		Dir: t.TempDir(),
		Targets: []Target{
			{Account: "me", Webhook: server.URL + "/me", Title: "Mail", Zone: time.UTC, Sender: true},
			{Account: "you", Webhook: server.URL + "/you", Title: "Mail", Zone: time.UTC, Sender: true},
		},
		Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		After: func(d time.Duration) <-chan time.Time {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
			c := make(chan time.Time, 1)
			c <- now
			return c
		},
	}
	start := func() (n *Notifier, stop func()) {
		n = New(o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { n.Run(ctx); close(done) }()
		return n, func() { cancel(); <-done }
	}
	await := func(count int) {
		t.Helper()
		testkit.Until(t, func() bool { return len(all()) >= count }, count, " requests never came")
	}
	n, stop := start()
	n.Show(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(1), From: "Ann"})
	await(2)
	stop()
	n.Show(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(2), From: "Ben"}) // by nobody taken
	n, stop = start()
	n.Show(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(1), From: "Ann"})
	n.Show(desk.Shown{Account: "me", Deed: desk.DeedMarked, Message: key(3), From: "Dan"})
	await(3)
	stop()
	got := all()
	if len(got) != 3 || got[0] != got[1] || !strings.Contains(got[1].body, "From Ann") || !strings.Contains(got[2].body, "From Dan") {
		t.Errorf("got %+v, want Ann twice, since the first was refused, and Dan", got)
	}
	for _, r := range got {
		if r.path != "/me" {
			t.Errorf("%s was told", r.path)
		}
	}
}
