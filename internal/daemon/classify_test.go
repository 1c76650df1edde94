package daemon

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/passthrough"
	"github.com/hinged/hinged/store"
)

// A mail filter speaks HTTP/1.0 with the daemon, by hand.
func TestTheFilterRouteAnswersInPlainText(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, newScript())
	socket := filepath.Join(dir, "s")
	ask := func(request string) string {
		t.Helper()
		c, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	raw := "Subject: a\n\nb"
	got := ask(fmt.Sprintf("POST /v1/filter?account= HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(raw), raw))
	head, body, _ := strings.Cut(got, "\r\n\r\n")
	a, err := passthrough.Decode([]byte(body))
	if err != nil || !strings.HasPrefix(head, "HTTP/1.0 200 OK\r\n") || a.Outcome != "unsure" || !strings.Contains(string(a.Fields), "X-Hinged-Reason: "+store.ReasonTooFewLabels.String()) {
		t.Errorf("got %q, %v", got, err)
	}
	got = ask("POST /v1/filter?account=nobody HTTP/1.0\r\n\r\n")
	head, body, _ = strings.Cut(got, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.0 500 ") || body != "" {
		t.Errorf("got %q", got)
	}
	for _, wrong := range []string{"POST /v1/filter HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", "POST /v1/filter HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n"} {
		if got := ask(wrong); !strings.Contains(got, " 400 Bad Request\r\n") {
			t.Errorf("%q: got %q", wrong, got)
		}
	}

	// Many at once get the same answer.
	client, err := control.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c, err := do(t.Context(), client, desk.Classify, "", desk.ClassifyRequest{Mail: []byte(raw)})
			if answer := c.Answer(); err != nil || string(answer.Fields) != string(a.Fields) {
				t.Errorf("got %+v, %v", c, err)
			}
		})
	}
	wg.Wait()
}

func TestAFilterThatSendsNothingDoesNotKeepTheDaemonFromStopping(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, dir, newScript())
	c, err := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /v1/filter HTTP/1.0\r\nContent-Length: 5\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	stop()
	// A connection with something unread is not closed but reset.
	if answer, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) || len(answer) > 0 {
		t.Errorf("got %q, %v", answer, err)
	}
}
