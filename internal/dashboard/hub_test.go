// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
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

// live is a server of accounts ann and bob whose only part counts how often it is made.
func live(t *testing.T, o Options) (s *Server, made *atomic.Int32) {
	t.Helper()
	made = new(atomic.Int32)
	s = preparing(t, o)
	s.parts = []livePart{{name: "overview", event: "figures", every: time.Millisecond, make: func(_ *Server, _ context.Context, p *page) (string, error) {
		return fmt.Sprintf("<p id=\"n\">%d own %t</p>", made.Add(1), p.owns(p.account)), nil
	}}}
	starting(t, s)
	return s, made
}

var arrival = desk.Shown{Account: "ann", Deed: desk.DeedMarked, Message: "0123456789abcdef", Score: 0.8, Threshold: 0.2, From: "Théo", Subject: "Le train <de jeudi>", Why: []string{"you answered 8 of their 9 messages"}}

func TestARowIsMadeOnceForFiftyBrowsers(t *testing.T) {
	t.Parallel()
	s, made := live(t, Options{})
	const browsers = 50
	streams := make([]*stream, browsers)
	for i := range streams {
		streams[i] = browse(t, s).listen("/a/ann/live?parts=frame,overview,messages")
	}
	s.Show(arrival)
	rows := make([]string, browsers)
	var all sync.WaitGroup
	for i, st := range streams {
		all.Go(func() {
			rows[i] = st.until("message").data
			if e := st.until("figures"); e.data != "<p id=\"n\">1 own true</p>\n" {
				t.Errorf("browser %d got the figures %q", i, e.data)
			}
		})
	}
	all.Wait()
	for _, row := range rows {
		if row != rows[0] || !strings.Contains(row, "Le train &lt;de jeudi&gt;") || !strings.Contains(row, `id="m-0123456789abcdef"`) {
			t.Fatalf("got the row %s", row)
		}
	}
	if strings.Contains(rows[0], formProof("")) || !strings.Contains(rows[0], `name="csrf" value=""`) {
		t.Errorf("a row for everybody has somebody's proof: %s", rows[0])
	}
	if got := made.Load(); got != 1 {
		t.Errorf("made %d times", got)
	}
}

func TestWhatNobodyWatchesIsNotMade(t *testing.T) {
	t.Parallel()
	s, made := live(t, Options{})
	bob := browse(t, s).listen("/a/bob/live?parts=overview")
	for range 100 {
		s.Show(arrival)
	}
	d := arrival
	d.Account = "bob"
	s.Show(d)
	if e := bob.until("figures"); e.data != "<p id=\"n\">1 own true</p>\n" {
		t.Errorf("got %q", e.data)
	}
	if got := made.Load(); got != 1 {
		t.Errorf("made %d times", got)
	}
}

// A writer tells far more than can be shown, and one browser takes nothing.
func TestShowNeverWaitsForABrowser(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{})
	browse(t, s).listen("/a/ann/live?parts=overview,messages") // and never reads
	quick := browse(t, s).listen("/a/ann/live?parts=overview,messages")
	for i := range 10 * maxDeeds {
		d := arrival
		d.Message = fmt.Sprintf("%016x", i)
		s.Show(d)
	}
	last := fmt.Sprintf("m-%016x", 10*maxDeeds-1)
	// Rows are taken whenever the feed comes to it, so what was skipped may be said before
	// the last rows are.
	for came, skipped := false, false; !came || !skipped; {
		e, ok := quick.next()
		if !ok {
			t.Fatalf("the stream ended; the last row came: %t, rows were skipped: %t", came, skipped)
		}
		switch e.name {
		case "message":
			if n := strings.Count(e.data, "<li"); n > maxDeeds {
				t.Errorf("%d rows at once", n)
			}
			came = came || strings.Contains(e.data, last)
		case "skipped":
			skipped = true
		}
	}
}

func TestABrowserThatFellBehindLoadsItsPageAnew(t *testing.T) {
	t.Parallel()
	s := preparing(t, Options{})
	s.hub.start(t.Context())
	defer s.hub.wait()
	defer s.hub.stop()
	w, leave, ok := s.hub.watch("ann", viewer{local: true}, []string{"messages"}, "")
	if !ok {
		t.Fatal("there is room")
	}
	defer leave()
	s.hub.mu.Lock()
	f := s.hub.feeds["ann"]
	s.hub.mu.Unlock()
	for range maxAhead {
		f.send("message", "x", func(*watcher) bool { return true })
	}
	if w.behind {
		t.Errorf("it is behind after %d events", maxAhead)
	}
	f.send("message", "x", func(*watcher) bool { return true })
	if !w.behind {
		t.Error("it is not behind after one more")
	}
	if got := s.hub.caughtUp("ann", w); got != nil {
		t.Errorf("with events to take it is told %q", got)
	}
	for range maxAhead {
		<-w.events
	}
	if got := s.hub.caughtUp("ann", w); !strings.HasPrefix(string(got), "event: reload\n") {
		t.Errorf("it is told %q", got)
	}
	if got := s.hub.caughtUp("ann", w); got != nil {
		t.Errorf("it is told twice: %q", got)
	}
}

func TestAfterAGapThePageIsLoadedAnew(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{})
	here := s.hub.position("ann")
	if e := browse(t, s).listen("/a/ann/live?parts=messages&since=otherboot-4").until("reload"); e.id != here {
		t.Errorf("got %+v", e)
	}
	none := browse(t, s).listen("/a/ann/live?parts=messages&since=" + here)
	s.Show(arrival)
	if e, _ := none.next(); e.name != "message" || e.id != s.hub.position("ann") {
		t.Errorf("without a gap the first event is %+v", e)
	}
	if e := browse(t, s).listen("/a/ann/live?parts=messages&since=" + here).until("reload"); e.id == here {
		t.Errorf("got %+v", e)
	}
}

// The daemon goes on, and so does what else is shown.
func TestAPartThatPanicsEndsNothing(t *testing.T) {
	t.Parallel()
	s := preparing(t, Options{})
	tried, made := new(atomic.Int32), new(atomic.Int32)
	s.parts = []livePart{
		{name: "overview", event: "figures", every: time.Millisecond, make: func(*Server, context.Context, *page) (string, error) { tried.Add(1); panic("oh") }},
		{name: "frame", event: "connection", every: time.Millisecond, make: func(*Server, context.Context, *page) (string, error) { return fmt.Sprint(made.Add(1)), nil }},
	}
	s.page("GET /a/{account}/oh", func(http.ResponseWriter, *http.Request, *page) error { panic("oh") })
	starting(t, s)
	b := browse(t, s)
	st := b.listen("/a/ann/live?parts=frame,overview")
	for deadline := time.Now().Add(time.Minute); tried.Load() < 2; {
		s.Show(arrival)
		st.until("connection")
		if time.Now().After(deadline) {
			t.Fatal("it was not made again")
		}
	}
	if got := b.get("/a/ann/oh"); got.code != http.StatusInternalServerError || !strings.Contains(got.body, "This page can’t be shown now") {
		t.Errorf("a page that panics: %d %s", got.code, got.body)
	}
}

// What came while a part was made is not in it: whoever is cut off then loads the page anew.
func TestAnEventSaysNoMoreThanWasShown(t *testing.T) {
	t.Parallel()
	s := preparing(t, Options{})
	began, goOn := make(chan bool), make(chan bool)
	s.parts = []livePart{{name: "overview", event: "figures", make: func(*Server, context.Context, *page) (string, error) {
		began <- true
		<-goOn
		return rand.Text(), nil
	}}}
	starting(t, s)
	st := browse(t, s).listen("/a/ann/live?parts=overview")
	s.Show(arrival)
	<-began
	s.Show(arrival)
	two := s.hub.position("ann")
	goOn <- true
	if e := st.until("figures"); e.id == two || !strings.HasSuffix(e.id, "-1") {
		t.Errorf("the first event is at %s, and two deeds are at %s", e.id, two)
	}
	<-began
	goOn <- true
	if e := st.until("figures"); e.id != two {
		t.Errorf("the second event is at %s, want %s", e.id, two)
	}
}

// Many lessons at once, as from silence, make no rows and push none out.
func TestSilenceMakesNoRows(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{})
	st := browse(t, s).listen("/a/ann/live?parts=messages,overview")
	quiet := arrival
	quiet.Deed = desk.DeedSilence
	s.Show(arrival)
	for range 10 * maxDeeds {
		s.Show(quiet)
	}
	if e := st.until("message"); !strings.Contains(e.data, arrival.Message) {
		t.Errorf("got %s", e.data)
	}
	st.until("figures")
}

func TestAnOperatorIsToldNoWords(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{Users: []User{
		{Name: "op", PasswordHash: quickHash(t, "correct horse"), Operator: true},
		{Name: "ann", PasswordHash: quickHash(t, "battery staple"), Accounts: []string{"ann"}},
	}})
	op, ann := browse(t, s), browse(t, s)
	op.signIn("op", "correct horse", "/")
	ann.signIn("ann", "battery staple", "/")
	atOp, atAnn := op.listen("/a/ann/live?parts=frame,overview,messages"), ann.listen("/a/ann/live?parts=messages")
	s.Show(arrival)
	atAnn.until("message")
	learnt := arrival
	learnt.Deed = desk.DeedSilence
	s.Show(learnt)
	for range 2 {
		if e, _ := atOp.next(); e.name != "figures" || !strings.Contains(e.data, "own false") {
			t.Errorf("the operator is told %+v", e)
		}
		s.Show(learnt)
	}
}

func TestTooManyBrowsersAreToldSo(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{})
	leaves := make([]func(), 0, maxWatchersEach)
	for range maxWatchersEach {
		_, leave, ok := s.hub.watch("ann", viewer{local: true}, nil, "")
		if !ok {
			t.Fatal("no room")
		}
		leaves = append(leaves, leave)
	}
	b := browse(t, s)
	if got := b.get("/a/ann/live?parts=messages"); got.code != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "Too many browsers") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	leaves[0]()
	b.listen("/a/ann/live?parts=messages")
	for _, leave := range leaves[1:] {
		leave()
	}
}

func TestSigningOutEndsWhatTheBrowserWatches(t *testing.T) {
	t.Parallel()
	s, _ := live(t, Options{Users: []User{{Name: "ann", PasswordHash: quickHash(t, "correct horse"), Accounts: []string{"ann"}}}})
	one, two := browse(t, s), browse(t, s)
	one.signIn("ann", "correct horse", "/")
	two.signIn("ann", "correct horse", "/")
	atOne, atTwo := one.listen("/a/ann/live?parts=messages"), two.listen("/a/ann/live?parts=messages")
	if got := one.leave(""); got.code != http.StatusSeeOther {
		t.Fatalf("signing out: %d %s", got.code, got.body)
	}
	for ok := true; ok; _, ok = atOne.next() { // until it is hung up on
	}
	s.Show(arrival)
	atTwo.until("message")
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
		streams = append(streams, browse(t, s).listen("/a/"+account+"/live?parts=frame,messages"))
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
	if strings.Contains(b.String(), "dashboard.(*feed)") || strings.Contains(b.String(), "dashboard.(*Server)") {
		t.Errorf("still running:\n%s", b.String())
	}
}
