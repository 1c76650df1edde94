// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/metrics"
	"github.com/hinged/hinged/internal/testkit"
)

// reading is a script whose server has what a test says, wherever a message was.
type reading struct {
	*script
	mu      sync.Mutex
	headers map[ingest.Place]string
	fail    error
	asked   [][]ingest.Place
}

func (r *reading) Headers(_ context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, places)
	out := map[ingest.Place][]byte{}
	for _, p := range places {
		if h, ok := r.headers[p]; ok {
			out[p] = []byte(h)
		}
	}
	return out, r.fail
}

func inbox(uid uint32) ingest.Place {
	return ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid}
}

func keyOf(t *testing.T, raw []byte) string {
	t.Helper()
	key, err := desk.KeyOf(raw, len(raw))
	testkit.OK(t, err)
	return key
}

func TestAHeadingIsThatOfTheMessageOrMissing(t *testing.T) {
	t.Parallel()
	s := &reading{script: newScript(), headers: map[ingest.Place]string{}}
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	dir := t.TempDir()
	d, stop := launch(t, options(dir, from("me", o, s)), nil)
	const doubtful, vouched = "From: \"Your bank\" <x@example.com>\r\n", "From: Théo <theo@example.com>\r\n"
	raw := map[uint32]string{
		1: doubtful + "Subject: one\r\nMessage-ID: <1@x>\r\n\r\n",
		2: "Authentication-Results: mx.example.org; dmarc=pass header.from=example.com\r\n" + vouched + "Subject: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?_au_lait?=\r\nMessage-ID: <2@x>\r\n\r\n",
		3: doubtful + "Subject: three\r\nMessage-ID: <3@x>\r\n\r\n",
		4: doubtful + "Subject: four\r\nMessage-ID: <4@x>\r\n\r\n",
		5: "Subject: bare\r\n\r\n",
		6: doubtful + "Subject: six\r\nMessage-ID: <6@x>\r\n\r\n",
	}
	s.events <- opened
	keys := map[uint32]string{}
	var all []string
	for uid := uint32(1); uid <= 6; uid++ {
		keys[uid] = keyOf(t, []byte(raw[uid]))
		all = append(all, keys[uid])
		s.events <- arrival(uid, []byte(raw[uid]))
	}
	twice := arrival(9, []byte(raw[6])) // a second copy
	s.events <- twice
	until(t, d, "six messages", func(a desk.AccountStatus) bool { return a.Messages == 6 })
	s.mu.Lock()
	s.headers = map[ingest.Place]string{
		inbox(1): raw[1],
		inbox(2): vouched + "Subject: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?_au_lait?=\r\nMessage-ID: <2@x>\r\n\r\n",
		inbox(3): doubtful + "Subject: another's\r\nMessage-ID: <33@x>\r\n\r\n",
		inbox(4): vouched + "Subject: another's\r\nMessage-ID: <4@x>\r\n\r\n",
		inbox(5): raw[5],
		inbox(9): raw[6],
	}
	s.mu.Unlock()
	ask := func(keys ...string) desk.Headings {
		t.Helper()
		return must(t, d, desk.GetHeadings, desk.HeadingsRequest{Messages: keys})
	}
	await(t, "the second copy", func() (any, bool) { return nil, len(ask(keys[6]).Headings) > 0 })
	got := ask(append(all, strings.Repeat("f", 32))...)
	want := map[string]desk.Heading{
		keys[1]: {Subject: "one", From: "x@example.com", Mailbox: "INBOX", MessageID: "1@x"}, // the name is not vouched for
		keys[2]: {Subject: "café au lait", From: "Théo", Mailbox: "INBOX", MessageID: "2@x"},
		keys[5]: {Subject: "bare", Mailbox: "INBOX"},
		keys[6]: {Subject: "six", From: "x@example.com", Mailbox: "INBOX", MessageID: "6@x"}, // from its second place
	}
	if got.Account != "me" || got.Problem != "" || len(got.Headings) != len(want) {
		t.Errorf("got %+v, want %d headings", got, len(want))
	}
	for key, h := range want {
		if got.Headings[key] != h {
			t.Errorf("%s: got %+v, want %+v", key, got.Headings[key], h)
		}
	}

	s.mu.Lock()
	s.fail, s.asked = errors.New("the server is away"), nil
	s.mu.Unlock()
	if got := ask(all...); got.Problem != "the server is away" || len(got.Headings) == 0 {
		t.Errorf("with the server away: got %+v, want what was there, and why there is no more", got)
	}
	if len(s.asked) != 1 {
		t.Errorf("with the server away it was asked %d times", len(s.asked))
	}

	most := make([]string, desk.MostHeadings)
	for i := range most {
		most[i] = keys[1]
	}
	if got := ask(most...); len(got.Headings) != 1 {
		t.Errorf("the most that may be asked for: got %+v", got)
	}
	for _, wrong := range [][]string{append(most, keys[1]), {"abc"}, {keys[1][:30]}, {"é"}} {
		if _, err := do(t.Context(), d, desk.GetHeadings, "", desk.HeadingsRequest{Messages: wrong}); err == nil {
			t.Errorf("%d keys, the first %q: no error", len(wrong), wrong[0])
		}
	}

	must(t, d, desk.Pause, desk.SwitchRequest{})
	if got := ask(all...); !strings.Contains(got.Problem, "paused") || len(got.Headings) > 0 {
		t.Errorf("paused: got %+v", got)
	}
	stop()
	h := stored(t, dir)
	must(t, h, desk.Resume, desk.SwitchRequest{})
	offline, err := do(t.Context(), h, desk.GetHeadings, "", desk.HeadingsRequest{Messages: all})
	if err != nil || !strings.Contains(offline.Problem, "not running") || len(offline.Headings) > 0 {
		t.Errorf("without a daemon: got %+v, %v", offline, err)
	}
}

func TestASourceThatReadsNoHeadingsSaysSo(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	raw := mail(1, "a@example.com", "words")
	s.events <- opened
	s.events <- arrival(1, raw)
	until(t, d, "a message", func(a desk.AccountStatus) bool { return a.Messages == 1 })
	h, err := do(t.Context(), d, desk.GetHeadings, "me", desk.HeadingsRequest{Messages: []string{keyOf(t, raw)}})
	if err != nil || h.Problem != errSourceMail.Error() || len(h.Headings) > 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

// startShown runs a daemon over one scripted account that tells what it does, but for
// what it learns.
func startShown(t *testing.T, dir string, s *script) (shown chan desk.Shown, stop func()) {
	t.Helper()
	shown = make(chan desk.Shown, 100)
	o := options(dir, from("me", testOptions(), s))
	o.Show = func(s desk.Shown) {
		if s.Deed == desk.DeedMarked || s.Deed == desk.DeedImportant {
			shown <- s
		}
	}
	_, stop = launch(t, o, nil)
	return shown, stop
}

// A mark that was not confirmed when hinged ended is told of once the server has confirmed
// it, as others are, and once only.
func TestAMarkIsShownOnceItIsConfirmedAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScript()
	marks := make(chan ingest.MarkRequest, 10)
	s.onMark = func(r ingest.MarkRequest) { marks <- r }
	shown, stop := startShown(t, dir, s)
	done := func(r ingest.MarkRequest) {
		s.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Outcome: ingest.MarkDone, Flags: []string{"$important"}}
	}
	await := func(what string) desk.Shown {
		t.Helper()
		select {
		case s := <-shown:
			return s
		case <-time.After(patience):
			t.Fatalf("%s was never shown", what)
		}
		return desk.Shown{}
	}
	teach(s)
	raw := mail(3, `"Your bank" <boss@example.com>`, "urgent thing") // a name that nobody vouches for
	s.events <- arrival(3, raw)
	done(<-marks)
	first := await("a mark")
	if first.Deed != desk.DeedMarked || first.Message != keyOf(t, raw) || first.Subject != "urgent thing" || first.From != "boss@example.com" {
		t.Errorf("shown is %+v", first)
	}
	later := mail(4, "boss@example.com", "urgent other thing")
	s.events <- arrival(4, later)
	unanswered := <-marks
	stop()

	s.events = make(chan ingest.Event, 100)
	shown, _ = startShown(t, dir, s)
	again := <-marks
	if again.ID != unanswered.ID {
		t.Fatalf("asked for mark %d again, want %d", again.ID, unanswered.ID)
	}
	s.events <- opened
	done(again)
	second := await("the mark of the earlier run")
	if second.Deed != desk.DeedMarked || second.Message != keyOf(t, later) || second.From != "boss@example.com" || second.Score <= second.Threshold {
		t.Errorf("after the restart, shown is %+v", second)
	}
	done(again) // some servers repeat themselves
	third := mail(5, "boss@example.com", "urgent third thing")
	s.events <- arrival(5, third)
	done(<-marks)
	if next := await("the next mark"); next.Message != keyOf(t, third) {
		t.Errorf("shown is %+v, want the next message: one mark was shown twice", next)
	}
}

// startMetrics runs a daemon over accounts with scripts and counts what it tells.
func startMetrics(t testing.TB, accounts int) (*Daemon, []*script, *metrics.Metrics, func() []desk.Scored) {
	t.Helper()
	var mu sync.Mutex
	var told []desk.Scored
	var m *metrics.Metrics
	o := options(t.TempDir())
	o.Show = func(s desk.Shown) { m.Show(s) }
	o.Scored = func(s desk.Scored) {
		m.Scored(s)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}
	scripts := make([]*script, accounts)
	for i := range scripts {
		scripts[i] = newScript()
		o.Accounts = append(o.Accounts, from(fmt.Sprint("account", i), testOptions(), scripts[i]))
	}
	d, _ := launch(t, o, nil)
	m = metrics.New(metrics.Options{Host: d, Alive: d.Alive})
	return d, scripts, m, func() []desk.Scored {
		mu.Lock()
		defer mu.Unlock()
		return append([]desk.Scored(nil), told...)
	}
}

func scrape(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestEveryDecisionIsToldOnceItIsCommitted(t *testing.T) {
	t.Parallel()
	d, scripts, m, told := startMetrics(t, 1)
	s := scripts[0]
	teach(s)
	s.events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	s.events <- arrival(4, mail(4, "news@example.net", "newsletter"))
	await(t, "four decisions", func() (any, bool) { return told(), len(told()) >= 4 })
	for _, one := range told() {
		if one.Account != "account0" || one.Took <= 0 || one.Outcome == "" {
			t.Errorf("told %+v", one)
		}
	}
	status, err := desk.GetAccount.Do(t.Context(), d, "", desk.None{})
	if err != nil || status.Decided != 4 {
		t.Fatalf("%d decided, %v", status.Decided, err)
	}
	text := scrape(t, m)
	for _, want := range []string{
		`hinged_messages_decided_total{account="account0"} 4`,
		`hinged_messages_scored_total{account="account0",verdict="important"} `,
		`hinged_score_duration_seconds_count 4`,
		`hinged_feedback_events_total{account="account0",label="important",source="flagged"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

// A scrape shows what is known of an account whose writer is busy, such as with a disk that
// refuses: it ends before the writer goes on.
func TestAScrapeDoesNotWaitForABusyWriter(t *testing.T) {
	t.Parallel()
	d, scripts, m, _ := startMetrics(t, 2)
	teach(scripts[0])
	teach(scripts[1])
	await(t, "the messages counted", func() (any, bool) {
		text := scrape(t, m)
		return text, strings.Contains(text, `_messages_total{account="account0"} 2`) && strings.Contains(text, `_messages_total{account="account1"} 2`)
	})
	release := hold(t, d.all()[0])
	scripts[1].events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	await(t, "the other account go on", func() (any, bool) {
		text := scrape(t, m)
		if !strings.Contains(text, `hinged_messages_total{account="account0"} 2`) {
			t.Fatalf("the busy account is missing:\n%s", text)
		}
		return text, strings.Contains(text, `hinged_messages_total{account="account1"} 3`)
	})
	release()
}

// TestStatusSaysWhichMailboxTakesNoMarks has a mailbox that keeps no keywords, and one
// whose server refuses a mark; each until it does better.
func TestStatusSaysWhichMailboxTakesNoMarks(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	warned := func(what string, want ...string) {
		t.Helper()
		await(t, what, func() (any, bool) {
			var got []string
			for _, w := range must(t, d, desk.GetStatus, desk.None{}).Accounts[0].Warnings {
				if strings.HasPrefix(w, "hinged can't mark anything in ") {
					got = append(got, w)
				}
			}
			return got, slices.EqualFunc(got, want, strings.Contains)
		})
	}
	none := opened
	none.Keywords = false
	s.events <- none
	sent := none
	sent.Mailbox, sent.Role = "Sent", ingest.RoleSent
	s.events <- sent // nothing is marked there anyway
	warned("no keywords", "INBOX: the server keeps no $Important there")
	s.events <- opened
	warned("opened anew, with keywords")
	at := ingest.Place{Mailbox: "Lists", UIDValidity: 1, UID: 1}
	s.events <- ingest.MarkResult{ID: 9, Place: at, Outcome: ingest.MarkImpossible, Detail: "NO [READ-ONLY] can't"}
	warned("refused", "Lists: the server refused a mark: NO [READ-ONLY] can't")
	s.events <- ingest.MarkResult{ID: 10, Place: at, Outcome: ingest.MarkDone}
	warned("set after all")
}

// standing is a source whose status a test sets.
type standing struct {
	ingest.Source
	status ingest.Status
}

func (s *standing) Status() ingest.Status { return s.status }

// TestNeedOfConsentIsShownWhenItBeginsAndWhenItEnds, and a start without it shows nothing.
func TestNeedOfConsentIsShownWhenItBeginsAndWhenItEnds(t *testing.T) {
	t.Parallel()
	well, needed, away := ingest.Status{Connected: true}, ingest.Status{ConsentNeeded: true}, ingest.Status{}
	for name, c := range map[string]struct {
		statuses []ingest.Status
		want     []desk.Deed
	}{
		"a start without need":  {[]ingest.Status{away, well, away, well}, nil},
		"a start with need":     {[]ingest.Status{needed, needed}, []desk.Deed{desk.DeedBarred}},
		"need that comes again": {[]ingest.Status{well, needed, away, well, well, needed}, []desk.Deed{desk.DeedBarred, desk.DeedConsented, desk.DeedBarred}},
	} {
		var got []desk.Deed
		s := &standing{}
		r := &renewable{}
		r.current.Store(new(ingest.Source(s)))
		a := &account{source: r, shows: shows{show: func(s desk.Shown) { got = append(got, s.Deed) }}}
		for _, s.status = range c.statuses {
			a.showConsent()
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: shown were %v, want %v", name, got, c.want)
		}
	}
}
