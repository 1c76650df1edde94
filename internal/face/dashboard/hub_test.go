// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// sent is one server-sent event.
type sent struct{ name, id, data string }

// stream is what a browser listens to.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
	close func() error
}

// listen has a browser watch an account.
func (b *browser) listen(path string) *stream {
	b.t.Helper()
	// What never comes ends the stream, so that the test can say what it waited for.
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	b.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("watching: %s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	s := &stream{b.t, bufio.NewScanner(resp.Body), resp.Body.Close}
	if !s.lines.Scan() || !strings.HasPrefix(s.lines.Text(), "retry: ") {
		b.t.Fatalf("the first line is %q", s.lines.Text())
	}
	return s
}

// next returns the next event, with another as its name ok is false at the end.
func (s *stream) next() (e sent, ok bool) {
	for s.lines.Scan() {
		key, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch key {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data += value + "\n"
		case "":
			if e.name != "" {
				return e, true
			}
		}
	}
	return e, false
}

// until returns the next event of a name.
func (s *stream) until(name string) sent {
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before an event %s", name)
		}
		if e.name == name {
			return e
		}
	}
}

// live is a server of accounts ann and bob.
func live(t *testing.T, o Options) *Server {
	t.Helper()
	s := preparing(t, o)
	starting(t, s)
	return s
}

var arrival = desk.Shown{Account: "ann", Deed: desk.DeedMarked, Message: "0123456789abcdef", Score: 0.8, Threshold: 0.2, From: "Théo", Subject: "Le train <de jeudi>", Why: []string{"you answered 8 of their 9 messages"}}

func TestWhoeverWatchesIsToldOfTheirAccountAlone(t *testing.T) {
	t.Parallel()
	s := live(t, Options{})
	ann, bob := browse(t, s).listen("/a/ann/live"), browse(t, s).listen("/a/bob/live")
	s.Show(arrival)
	if e := ann.until("news"); e.data != "message mark\n" || e.id != s.hub.position("ann") {
		t.Errorf("ann is told %+v", e)
	}
	d := arrival
	d.Account, d.Deed = "bob", desk.DeedSilence
	s.Show(d)
	if e := bob.until("news"); e.data != "lesson\n" {
		t.Errorf("bob is told %+v", e)
	}
}

// A writer tells far more than can be shown, and one browser takes nothing.
func TestShowNeverWaitsForABrowser(t *testing.T) {
	t.Parallel()
	s := live(t, Options{})
	browse(t, s).listen("/a/ann/live") // and never reads
	quick := browse(t, s).listen("/a/ann/live")
	for range 10000 {
		s.Show(arrival)
	}
	for events := 1; ; events++ {
		if e := quick.until("news"); e.id == s.hub.position("ann") {
			break
		}
		if events > 3 {
			t.Fatal("it is told of each deed")
		}
	}
}

func TestAfterAGapThePageIsLoadedAnew(t *testing.T) {
	t.Parallel()
	s := live(t, Options{})
	here := s.hub.position("ann")
	if e := browse(t, s).listen("/a/ann/live?since=otherboot-4").until("news"); e.id != here || e.data != "gap\n" {
		t.Errorf("got %+v", e)
	}
	none := browse(t, s).listen("/a/ann/live?since=" + here)
	s.Show(arrival)
	if e := none.until("news"); e.data != "message mark\n" {
		t.Errorf("without a gap the first event is %+v", e)
	}
	if e := browse(t, s).listen("/a/ann/live?since=" + here).until("news"); e.id == here || e.data != "gap\n" {
		t.Errorf("got %+v", e)
	}
}

func TestAPageThatPanicsEndsNothing(t *testing.T) {
	t.Parallel()
	s := preparing(t, Options{})
	s.page("GET /a/{account}/oh", func(http.ResponseWriter, *http.Request, *page) error { panic("oh") })
	starting(t, s)
	if got := browse(t, s).get("/a/ann/oh"); got.code != http.StatusInternalServerError || !strings.Contains(got.body, "This page can’t be shown now") {
		t.Errorf("a page that panics: %d %s", got.code, got.body)
	}
}

// A page that is open loads itself again, and keeps nobody signed in by that.
func TestAnOpenPageProlongsNoSession(t *testing.T) {
	t.Parallel()
	s := live(t, Options{Users: []User{{Name: "ann", PasswordHash: quickHash(t, "correct horse"), Accounts: []string{"ann"}}}})
	b := browse(t, s)
	b.signIn("ann", "correct horse", "/")
	for _, live := range []string{"1", ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+"/a/ann/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if live != "" {
			r.Header.Set("X-Live", live)
		}
		resp, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if prolonged := len(resp.Cookies()) > 0; prolonged != (live == "") {
			t.Errorf("with X-Live %q it is prolonged: %t", live, prolonged)
		}
	}
}

func TestTooManyBrowsersAreToldSo(t *testing.T) {
	t.Parallel()
	s := live(t, Options{})
	leaves := make([]func(), 0, maxWatchersEach)
	for range maxWatchersEach {
		_, _, leave, ok := s.hub.watch(t.Context(), "ann", viewer{local: true}, "")
		if !ok {
			t.Fatal("no room")
		}
		leaves = append(leaves, leave)
	}
	b := browse(t, s)
	if got := b.get("/a/ann/live"); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "Too many browsers") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	leaves[0]()
	b.listen("/a/ann/live")
	for _, leave := range leaves[1:] {
		leave()
	}
}

func TestSigningOutEndsWhatTheBrowserWatches(t *testing.T) {
	t.Parallel()
	s := live(t, Options{Users: []User{{Name: "ann", PasswordHash: quickHash(t, "correct horse"), Accounts: []string{"ann"}}}})
	one, two := browse(t, s), browse(t, s)
	one.signIn("ann", "correct horse", "/")
	two.signIn("ann", "correct horse", "/")
	atOne, atTwo := one.listen("/a/ann/live"), two.listen("/a/ann/live")
	if got := one.leave(""); got.code != http.StatusSeeOther {
		t.Fatalf("signing out: %d %s", got.code, got.body)
	}
	for ok := true; ok; _, ok = atOne.next() { // until it is hung up on
	}
	s.Show(arrival)
	atTwo.until("news")
	one.signIn("ann", "correct horse", "/")
	if got := one.leave("1"); got.code != http.StatusSeeOther {
		t.Fatalf("signing out everywhere: %d %s", got.code, got.body)
	}
	for ok := true; ok; _, ok = atTwo.next() { // until it is hung up on
	}
	if got := two.get("/a/ann/figures"); got.code != http.StatusSeeOther {
		t.Errorf("another browser still sees: %d", got.code)
	}
}

func TestStoppingHangsUpAndLeavesNothingRunning(t *testing.T) {
	s, err := Listen(Options{Listen: "127.0.0.1:0", Host: having("ann", "bob")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Start(ctx, func() { t.Error("the server can't go on") })
	var streams []*stream
	for _, account := range []string{"ann", "bob", "ann"} {
		streams = append(streams, browse(t, s).listen("/a/"+account+"/live"))
	}
	s.Show(arrival)
	cancel()
	for _, st := range streams {
		for ok := true; ok; _, ok = st.next() {
		}
	}
	if err := errors.Join(s.Stop(), s.Close()); err != nil {
		t.Fatal(err)
	}
	s.Show(arrival) // the daemon may still tell
	var b strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "dashboard.(*Server)") {
		t.Errorf("still running:\n%s", b.String())
	}
}
