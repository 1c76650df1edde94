// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/dashboard"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// patience is how long a test waits for what must come, on the slowest machine.
const patience = 2 * time.Minute

// home is an account with mail in it, the daemon that runs it, the dashboard and a
// browser. Its mail server is made up; all else is real.
type home struct {
	t      *testing.T
	daemon *daemon.Daemon
	server *dashboard.Server
	base   string
	http   *http.Client

	mu       sync.Mutex
	now      time.Time
	events   chan ingest.Event
	headings map[ingest.Place][]byte
	flags    map[ingest.Place][]string
	away     bool // the server gives no headings
	mute     bool // the server says nothing of marks
	uid      uint32
	arrived  uint64
}

var homeStart = time.Date(2026, 2, 12, 7, 0, 0, 0, time.UTC)

// homeOptions decide after two labels, so that a small mailbox is enough.
func homeOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{demo.OwnerAddress}
	o.Settle, o.Shadow = 0, filter.ShadowOff
	return o
}

// newHome runs an account "nora" until the test ends.
func newHome(t *testing.T, o filter.Options) *home {
	t.Helper()
	h := &home{t: t, now: homeStart, events: make(chan ingest.Event, 10_000), headings: map[ingest.Place][]byte{}, flags: map[ingest.Place][]string{}}
	var err error
	h.daemon, err = daemon.New(daemon.Options{
		StorePath: filepath.Join(t.TempDir(), "store.db"), Version: "test", Store: boltfile.Options{NoSync: true}, Now: h.clock, Show: h.show,
		Accounts: []daemon.AccountOptions{{Name: "nora", Filter: o, NewSource: func([]ingest.Known) (ingest.Source, error) { return h, nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.daemon.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("the daemon ended: %v", err)
		}
		if err := h.daemon.Close(); err != nil {
			t.Error(err)
		}
	})
	h.serve(h.daemon)
	h.events <- ingest.MailboxOpened{Mailbox: "INBOX", Role: ingest.RoleInbox, UIDValidity: 1, Keywords: true}
	h.events <- ingest.MailboxOpened{Mailbox: "Sent", Role: ingest.RoleSent, UIDValidity: 1, Keywords: true}
	return h
}

// serve starts a dashboard and a browser for it.
func (h *home) serve(host desk.Host) {
	h.t.Helper()
	server, err := dashboard.Listen(dashboard.Options{Listen: "127.0.0.1:0", Host: host, Now: h.clock})
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	h.server = server
	h.mu.Unlock()
	server.Start(h.t.Context(), func() { h.t.Error("the dashboard can't go on") })
	h.base = strings.TrimSuffix(server.URL(), "/")
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	h.http = &http.Client{Jar: jar, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if r := h.send(http.MethodGet, strings.TrimPrefix(server.Link().URL, h.base), nil); r.to != "/" {
		h.t.Fatalf("the link leads to %s: %d", r.to, r.code)
	}
	h.t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := server.Stop(); err != nil {
			h.t.Error(err)
		}
		if err := server.Close(); err != nil {
			h.t.Error(err)
		}
	})
}

// show tells the dashboard what the daemon does.
func (h *home) show(d desk.Shown) {
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	if server != nil { // the daemon began before it
		server.Show(d)
	}
}

func (h *home) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// until sets the clock forward.
func (h *home) until(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.After(h.now) {
		h.now = t
	}
}

// Run implements ingest.Source.
func (h *home) Run(ctx context.Context, emit ingest.Emit) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-h.events:
			if err := emit(ctx, e); err != nil {
				return nil //nolint:nilerr // emit fails only when ctx is done
			}
		}
	}
}

// Mark implements ingest.Source: the server does as it is asked.
func (h *home) Mark(requests ...ingest.MarkRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range requests {
		if h.mute {
			continue
		}
		flags := slices.DeleteFunc(slices.Clone(h.flags[r.Place]), func(f string) bool {
			return strings.EqualFold(f, r.Flag) || strings.EqualFold(f, r.Also)
		})
		if !r.Clear {
			flags = append(flags, r.Flag)
			if r.Also != "" {
				flags = append(flags, r.Also)
			}
		}
		flags = ingest.CanonicalFlags(flags)
		h.flags[r.Place] = flags
		h.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Clear: r.Clear, Outcome: ingest.MarkDone, Flags: flags}
	}
}

// Status implements ingest.Source.
func (h *home) Status() ingest.Status {
	return ingest.Status{Connected: true, Looks: map[string]ingest.Look{
		"INBOX": {At: h.clock().Add(-time.Hour), Listening: true}, "Sent": {At: h.clock().Add(-time.Minute)},
	}}
}

// Headers implements ingest.HeaderReader.
func (h *home) Headers(_ context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		return nil, context.DeadlineExceeded
	}
	out := map[ingest.Place][]byte{}
	for _, p := range places {
		if raw, ok := h.headings[p]; ok {
			out[p] = raw
		}
	}
	return out, nil
}

// status waits for the account's status to be as it should.
func (h *home) status(what string, ok func(desk.AccountStatus) bool) desk.AccountStatus {
	h.t.Helper()
	var a desk.AccountStatus
	for began := time.Now(); time.Since(began) < patience; testkit.Pause(began) {
		var err error
		if a, err = desk.GetAccount.Do(h.t.Context(), h.daemon, "nora", desk.None{}); err != nil {
			h.t.Fatal(err)
		}
		if ok(a) {
			return a
		}
	}
	h.t.Fatalf("never saw %s; the last status is %+v", what, a)
	return a
}

// arrive delivers a message and waits until it is decided and marked, if it is to be.
func (h *home) arrive(raw []byte, at time.Time) ingest.Place {
	h.t.Helper()
	return h.arriveIn("INBOX", raw, at)
}

func (h *home) arriveIn(mailbox string, raw []byte, at time.Time) ingest.Place {
	h.t.Helper()
	h.until(at)
	h.mu.Lock()
	h.uid++
	h.arrived++
	place := ingest.Place{Mailbox: mailbox, UIDValidity: 1, UID: h.uid}
	h.headings[place] = raw
	n, mute := h.arrived, h.mute
	h.mu.Unlock()
	h.events <- ingest.Arrival{Place: place, Internal: at, Raw: raw, Size: int64(len(raw))}
	h.status("the message", func(a desk.AccountStatus) bool { return a.Messages == n && (mute || a.MarksIntended == 0) })
	return place
}

// flag changes a message's flags as its owner does: those with a minus sign before them go.
func (h *home) flag(p ingest.Place, changes ...string) {
	h.mu.Lock()
	flags := slices.Clone(h.flags[p])
	for _, f := range changes {
		if off, gone := strings.CutPrefix(f, "-"); gone {
			flags = slices.DeleteFunc(flags, func(f string) bool { return strings.EqualFold(f, off) })
		} else {
			flags = append(flags, f)
		}
	}
	flags = ingest.CanonicalFlags(flags)
	h.flags[p] = flags
	h.mu.Unlock()
	h.events <- ingest.FlagsChanged{Place: p, Flags: flags}
}

// live plays a mailbox: mail comes, and its owner does with it what she does.
func (h *home) live(messages []*demo.Message) {
	h.t.Helper()
	for _, m := range messages {
		p := h.arrive(m.Raw, m.Date)
		h.mu.Lock()
		marked := ingest.HasFlag(h.flags[p], "$important")
		h.mu.Unlock()
		switch {
		case m.Spam && m.Junks:
			h.flag(p, "$Junk")
		case m.Important && m.Reply != nil:
			h.flag(p, `\Seen`, `\Answered`)
		case m.Important && m.Stars:
			h.flag(p, `\Seen`, `\Flagged`)
		case m.Important && !marked && !m.Overlooks:
			h.flag(p, `\Seen`, "$Important")
		case !m.Important && marked && !m.Overlooks:
			h.flag(p, `\Seen`, "-$Important")
		case m.Reads:
			h.flag(p, `\Seen`)
		}
	}
	h.events <- ingest.Tick{}
	h.status("all feedback", func(a desk.AccountStatus) bool { return a.Pending == 0 })
}

// reply is what a page or a change was answered with.
type reply struct {
	t    *testing.T
	code int
	to   string
	body string
	root *html.Node
}

func (h *home) send(method, path string, form url.Values) reply {
	h.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	out := reply{t: h.t, code: resp.StatusCode, to: resp.Header.Get("Location"), body: string(text)}
	if out.root, err = html.Parse(strings.NewReader(out.body)); err != nil {
		h.t.Fatal(err)
	}
	return out
}

// see gets a page, which must be there and sound.
func (h *home) see(path string) reply {
	h.t.Helper()
	r := h.send(http.MethodGet, path, nil)
	if r.code != http.StatusOK {
		h.t.Fatalf("%s: %d\n%s", path, r.code, r.text("main"))
	}
	r.sound(path)
	return r
}

// press sends the form of a page that goes to action, with some more fields, and follows
// where that leads.
func (h *home) press(page reply, action string, more url.Values) reply {
	h.t.Helper()
	form := page.form(action)
	for name, values := range more {
		form[name] = values
	}
	r := h.send(http.MethodPost, action, form)
	if r.code != http.StatusSeeOther {
		h.t.Fatalf("POST %s: %d\n%s", action, r.code, r.text("main"))
	}
	to, _, _ := strings.Cut(r.to, "#")
	next := h.see(to)
	next.to = r.to
	return next
}

// letter is a message that is like no other.
func letter(n int, from, subject string) []byte {
	return fmt.Appendf(nil, "From: %s <%[2]s@example.org>\r\nTo: %[3]s\r\nSubject: %[4]s\r\nMessage-ID: <letter%[5]d@example.org>\r\nDate: Thu, 12 Mar 2026 09:00:00 +0000\r\n\r\nShall we meet at the bridge?\r\n",
		from, strings.ToLower(from), demo.OwnerAddress, subject, n)
}
