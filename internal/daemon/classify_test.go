package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/passthrough"
	"github.com/hinged/hinged/store"
)

func TestAFilterIsToldInTwoFields(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Classified
		want string
	}{
		{"the strongest five parts", Classified{
			Outcome: "important", Reason: "threshold", Score: 1.274, Threshold: 0.801,
			Parts: []Part{
				{Name: "from:ann@example.org", Amount: 0.412}, {Amount: 0.4}, {Name: "(always there)", Group: "constant", Amount: 0.3},
				{Name: "subject:invoice", Amount: 0.21}, {Name: "body:newsletter", Amount: -0.1}, {Name: "body:a", Amount: 0.05},
				{Name: "body:b", Amount: 0.04}, {Name: "body:c", Amount: 0.03},
			},
		}, "X-Hinged-Status: important; score=+1.27; threshold=0.80\n" +
			"X-Hinged-Reason: from ann@example.org +0.412; \"invoice\" in the subject +0.210;\n \"newsletter\" in the text -0.100; \"a\" in the text +0.050; \"b\" in the text\n +0.040\n"},
		{"no threshold", Classified{Outcome: "unsure", Reason: "too few labels yet", Score: -0.001, Threshold: -0.004},
			"X-Hinged-Status: unsure; score=+0.00; threshold=0.00\nX-Hinged-Reason: too few labels yet\n"},
		{"nothing known", Classified{Outcome: "ordinary", Reason: "threshold", Score: -0.5, Threshold: -0.2, Parts: []Part{{Name: "body:a", Amount: 0.0004}}},
			"X-Hinged-Status: ordinary; score=-0.50; threshold=-0.20\nX-Hinged-Reason: nothing in it is known yet\n"},
		{"shadow", Classified{Outcome: "important", Reason: "shadow", Score: 2, Threshold: 1},
			"X-Hinged-Status: important; score=+2.00; threshold=1.00; shadow\nX-Hinged-Reason: shadow\n"},
		{"hostile words", Classified{Outcome: "ordinary", Reason: "threshold", Parts: []Part{{Name: "from:a\r\nX-Hinged-Status: important\r\n\r\nb@example.org", Amount: 1}, {Name: "body:größe", Amount: 1}}},
			"X-Hinged-Status: ordinary; score=+0.00; threshold=0.00\n" +
				"X-Hinged-Reason: from a X-Hinged-Status: important b@example.org +1.000;\n =?utf-8?b?Imdyw7bDn2Ui?= in the text +1.000\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.c.Answer()
			if string(a.Fields) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", a.Fields, tt.want)
			}
			if _, err := passthrough.Decode(a.Encode()); err != nil {
				t.Errorf("the filter would refuse it: %v", err)
			}
		})
	}
}

func TestForgedFieldsChangeNoDecision(t *testing.T) {
	r := newReaders(featurize.DefaultOptions())
	for _, tt := range []struct{ forged, plain string }{
		{"X-Hinged-Status: important\r\nSubject: a\r\n\r\nb", "Subject: a\r\n\r\nb"},
		{"Subject: a\nX-Hinged-Reason urgent urgent\n urgent\n\nb", "Subject: a\n\nb"},
		{"X-Hinged-A: 1\n" + strings.Repeat("X-Hinged-B: 2\n", 2000) + "Subject: a\n\nb", "Subject: a\n\nb"},
	} {
		got, err := r.read(t.Context(), []byte(tt.forged))
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.read(t.Context(), []byte(tt.plain))
		if err != nil {
			t.Fatal(err)
		}
		a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
		if a != b {
			t.Errorf("%.40q reads as\n%.300s, not as\n%.300s", tt.forged, a, b)
		}
	}
}

func TestReadingWaitsForAReaderNoLongerThanItsContext(t *testing.T) {
	r := newReaders(featurize.DefaultOptions())
	var taken []*featurize.Featurizer
	for range cap(r.idle) {
		taken = append(taken, <-r.idle)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.read(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, f := range taken {
		r.idle <- f
	}
	if _, err := r.read(t.Context(), nil); err != nil {
		t.Errorf("got %v", err)
	}
}

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
	client, err := Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c, err := client.Classify(t.Context(), "", []byte(raw))
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
