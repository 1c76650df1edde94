// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// A filter that is a line of curl gets the message with the fields.
func TestTheFilterRouteAnswersWithTheMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stop := start(t, dir, newScript())
	socket := filepath.Join(dir, "s")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	web := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	ask := func(account, raw string) (status int, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://hinged/api/v1/filter?account="+account, strings.NewReader(raw))
		testkit.OK(t, err)
		got, err := web.Do(r)
		testkit.OK(t, err)
		defer got.Body.Close()
		body, err := io.ReadAll(got.Body)
		testkit.OK(t, err)
		return got.StatusCode, string(body)
	}
	c := must(t, dialled(t, dir), desk.Classify, desk.ClassifyRequest{Mail: []byte("Subject: a\n\nb")})
	want := string(c.Fields()) + "Subject: a\n\nb"
	if !strings.Contains(want, "X-Hinged-Reason: "+store.ReasonTooFewLabels.String()) {
		t.Errorf("the fields are %q", c.Fields())
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if status, got := ask("", "X-Hinged-Status: important\nSubject: a\n\nb"); status != http.StatusOK || got != want {
				t.Errorf("got %d, %q, want %q", status, got, want)
			}
		})
	}
	wg.Wait()
	if status, got := ask("nobody", "Subject: a\n\nb"); status != http.StatusInternalServerError || !strings.Contains(got, "no such account") {
		t.Errorf("for nobody: got %d, %q", status, got)
	}

	// Who sends half a message does not keep the daemon from stopping.
	half, err := dial(t.Context(), "", "")
	testkit.OK(t, err)
	defer half.Close()
	if _, err := io.WriteString(half, "POST /api/v1/filter HTTP/1.1\r\nHost: hinged\r\nContent-Length: 5\r\n\r\nabc"); err != nil {
		t.Fatal(err)
	}
	stop()
}

// The API's page has a message, and what a new account answers about it.
func TestTheAPIPagePrintsTheAnswerOfANewAccount(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/api.md")
	testkit.OK(t, err)
	example := regexp.MustCompile("(?s)<<'END'\n(.*?)END\n.*?```json\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no message and no answer")
	}
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{"me@example.org"}
	d, stop := primed(t, t.TempDir(), o, prior.Default().Pack())
	defer stop()
	got := must(t, d, desk.Classify, desk.ClassifyRequest{Mail: example[1]})
	want := desk.Classification{Defects: got.Defects, Parts: got.Parts}
	if err := json.Unmarshal(example[2], &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a new account answers %+v, the page says %+v (%v)", got, want, err)
	}
}
