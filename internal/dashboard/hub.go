// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/desk"
)

const (
	// maxWatchers bounds how many browsers watch at once, and maxWatchersEach how many of
	// one user.
	maxWatchers, maxWatchersEach = 256, 128
	// maxAhead is how many events a browser may be behind before it has to load its page
	// anew.
	maxAhead = 32
	// maxDeeds is how many deeds wait to be shown: of more only the newest are.
	maxDeeds = 50
	// rowsEvery is how often new rows are sent at most.
	rowsEvery = 250 * time.Millisecond
	// idleShare is the part of an hour, a day or a second that the hub may spend on one
	// part of the pages of an account: what takes 50 ms to make is made each second at most.
	idleShare = 20
)

// hub tells browsers what is done about the accounts that they watch. What an account's
// writer tells it costs that writer a lock and no more: a goroutine for each account that
// is watched makes the HTML, once for all browsers, no more often than is of use, and
// drops what it has no time for. It is safe for concurrent use.
type hub struct {
	s       *Server
	boot    string // tells this process from the one before it
	running sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context // of all feeds; nil before start
	end     context.CancelFunc
	feeds   map[string]*feed
	deeds   map[string]uint64 // counts what was done, by account
	watched map[string]int    // browsers by user
	total   int
}

func newHub(s *Server) *hub {
	return &hub{s: s, boot: rand.Text()[:8], feeds: map[string]*feed{}, deeds: map[string]uint64{}, watched: map[string]int{}}
}

// start lets browsers watch until ctx is done or stop is called.
func (h *hub) start(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx, h.end = context.WithCancel(ctx)
}

// stop hangs up on all browsers. wait waits until nothing runs any more.
func (h *hub) stop() { h.end() }
func (h *hub) wait() { h.running.Wait() }

// show notes a deed for whoever watches its account.
func (h *hub) show(d desk.Shown) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deeds[d.Account]++
	f := h.feeds[d.Account]
	if f == nil {
		return
	}
	f.stirred = true
	if d.Deed != desk.DeedSilence { // there are many at once, and no row changes much
		f.waiting = append(f.waiting, deed{d, h.s.now()})
	}
	if len(f.waiting) > maxDeeds {
		if f.waiting[0].arrived() {
			f.skipped++
		}
		f.waiting = slices.Delete(f.waiting, 0, 1)
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// position says up to where an account's deeds are on a page that is made now. Whoever
// watches with it misses none.
func (h *hub) position(account string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.positionOf(account)
}

func (h *hub) positionOf(account string) string { return h.positionAt(h.deeds[account]) }

func (h *hub) positionAt(deeds uint64) string { return fmt.Sprintf("%s-%d", h.boot, deeds) }

// watcher is one browser that watches.
type watcher struct {
	viewer viewer
	own    bool     // it may see words
	parts  []string // of pages, that it shows
	events chan []byte
	// behind: events were dropped, since it did not take them.
	behind bool
	// gone is closed when it is to be hung up on.
	gone chan struct{}
}

// watch adds a browser, which has what was done up to a position; "": it has just loaded
// its page. The caller calls leave when it has gone. Without ok there are too many.
func (h *hub) watch(account string, v viewer, parts []string, since string) (w *watcher, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil || h.ctx.Err() != nil || h.total >= maxWatchers || h.watched[v.name()] >= maxWatchersEach {
		return nil, nil, false
	}
	w = &watcher{viewer: v, own: v.owns(account), parts: parts, events: make(chan []byte, maxAhead), gone: make(chan struct{})}
	if at := h.positionOf(account); since != "" && since != at {
		w.events <- event("reload", at, "")
	}
	f := h.feeds[account]
	if f == nil {
		f = newFeed(h, account)
		h.feeds[account] = f
		ctx, end := context.WithCancel(h.ctx)
		f.end = end
		h.running.Go(func() { f.run(ctx) })
	}
	f.watchers, f.joined = append(f.watchers, w), true
	h.total++
	h.watched[v.name()]++
	return w, func() { h.leave(f, w) }, true
}

func (h *hub) leave(f *feed, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total--
	if h.watched[w.viewer.name()]--; h.watched[w.viewer.name()] == 0 {
		delete(h.watched, w.viewer.name())
	}
	f.watchers = slices.DeleteFunc(f.watchers, func(other *watcher) bool { return other == w })
	if len(f.watchers) == 0 {
		f.end()
		delete(h.feeds, f.account)
	}
}

// hangUp hangs up on the browsers of some viewers.
func (h *hub) hangUp(on func(viewer) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		for _, w := range f.watchers {
			if on(w.viewer) {
				select {
				case <-w.gone:
				default:
					close(w.gone)
				}
			}
		}
	}
}

// deed is what was done, and when that was told.
type deed struct {
	desk.Shown
	at time.Time
}

// arrived reports whether the deed is the decision about a message that has just come.
func (d *deed) arrived() bool {
	switch d.Deed {
	case desk.DeedMarked, desk.DeedImportant, desk.DeedUnsure, desk.DeedOrdinary:
		return true
	}
	return false
}

// feed is an account that is watched. Its fields below the line belong to the goroutine
// of run, those above to the hub's lock.
type feed struct {
	h        *hub
	account  string
	end      context.CancelFunc
	wake     chan struct{}
	watchers []*watcher
	waiting  []deed
	skipped  int    // messages whose rows were dropped
	stirred  bool   // something was done
	at       uint64 // so many deeds were taken, and are shown or about to be
	joined   bool   // somebody watches who has not got what was sent last

	made map[audience]*making
}

// audience is who gets a part of a page: the owner, or operators, who get it without
// words.
type audience struct {
	part string
	own  bool
}

// making is what is known of one part for one audience.
type making struct {
	last   string    // what was sent last
	due    bool      // something has changed it
	next   time.Time // it is not made before
	poll   time.Time // it is made then, if not before
	broken bool      // it could not be made
}

func newFeed(h *hub, account string) *feed {
	return &feed{h: h, account: account, wake: make(chan struct{}, 1), made: map[audience]*making{}}
}

// run makes what the watchers are to get, until ctx is done.
func (f *feed) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	rows := time.Time{} // not before
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		case <-timer.C:
		}
		now := time.Now()
		if wait := rows.Sub(now); wait > 0 && f.pending() {
			timer.Reset(wait)
			continue
		}
		n := f.take()
		if len(n.deeds) > 0 {
			rows = now.Add(rowsEvery)
			f.rows(ctx, n.deeds, n.skipped)
			f.changes(n.deeds)
		}
		timer.Reset(f.parts(ctx, &n))
	}
}

// pending reports whether there are deeds to be shown.
func (f *feed) pending() bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return len(f.waiting) > 0
}

// news is what there is to be shown, and who wants what.
type news struct {
	deeds   []deed
	skipped int
	stirred bool
	wanted  map[audience]bool
}

// take takes what is new.
func (f *feed) take() news {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	n := news{deeds: f.waiting, skipped: f.skipped, stirred: f.stirred, wanted: map[audience]bool{}}
	f.waiting, f.skipped, f.stirred, f.at = nil, 0, false, f.h.deeds[f.account]
	if f.joined {
		f.joined = false
		for _, m := range f.made {
			m.last = ""
		}
	}
	for _, w := range f.watchers {
		for _, name := range w.parts {
			n.wanted[audience{name, w.own}] = true
		}
	}
	return n
}

// send gives an event to everybody who is among to.
func (f *feed) send(name, html string, to func(*watcher) bool) {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	var frame []byte
	for _, w := range f.watchers {
		if !to(w) {
			continue
		}
		if frame == nil {
			frame = event(name, f.h.positionAt(f.at), html)
		}
		if w.behind {
			continue
		}
		select {
		case w.events <- frame:
		default:
			w.behind = true
		}
	}
}

// caughtUp is the event for a browser that took all events that it was given; nil: it
// missed none.
func (h *hub) caughtUp(account string, w *watcher) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.behind || len(w.events) > 0 {
		return nil
	}
	w.behind = false
	return event("reload", h.positionOf(account), "")
}

// rows sends the rows of messages that have just been decided, and of those that
// something was learnt about.
func (f *feed) rows(ctx context.Context, deeds []deed, skipped int) {
	wants := func(w *watcher) bool { return w.own && slices.Contains(w.parts, partMessages) }
	if !f.any(wants) {
		return
	}
	p := f.page(true)
	var b strings.Builder
	var changed []string
	row := func(do func() (string, error)) {
		var html string
		err := f.h.s.guarded(func() (err error) { html, err = do(); return err })
		if err != nil && ctx.Err() == nil {
			f.h.s.log.Warn("rows of the dashboard could not be made", "account", f.account, "error", err)
			return
		}
		b.WriteString(html)
	}
	for _, d := range deeds {
		if d.arrived() {
			row(func() (string, error) { return f.h.s.newRow(p, d) })
		} else if !slices.Contains(changed, d.Message) {
			changed = append(changed, d.Message)
		}
	}
	if len(changed) > 0 {
		row(func() (string, error) { return f.h.s.changedRows(ctx, p, changed) })
	}
	if b.Len() > 0 {
		f.send("message", b.String(), wants)
	}
	if skipped > 0 {
		f.send("skipped", strconv.Itoa(skipped), wants)
	}
}

// changes tells owners which messages something was learnt about, and which were marked or
// have lost a mark: a page that is about one of them is loaded anew.
func (f *feed) changes(deeds []deed) {
	keys := map[string][]string{}
	for _, d := range deeds {
		var name string
		switch d.Deed {
		case desk.DeedLearnt, desk.DeedCorrected:
			name = "lesson"
		case desk.DeedMarked, desk.DeedUndone:
			name = "mark"
		default:
			continue
		}
		if !slices.Contains(keys[name], d.Message) {
			keys[name] = append(keys[name], d.Message)
		}
	}
	for _, name := range []string{"lesson", "mark"} {
		if len(keys[name]) > 0 {
			f.send(name, strings.Join(keys[name], " "), func(w *watcher) bool { return w.own })
		}
	}
}

// any reports whether some watcher is as is asked.
func (f *feed) any(is func(*watcher) bool) bool {
	f.h.mu.Lock()
	defer f.h.mu.Unlock()
	return slices.ContainsFunc(f.watchers, is)
}

// page is the page that parts are made for. It has nothing of one browser: csrf fields are
// empty, and live.js fills them.
func (f *feed) page(own bool) *page {
	s := f.h.s
	p := &page{account: f.account, now: s.now(), zone: s.zone(f.account)}
	switch {
	case s.byLink():
		p.viewer = viewer{local: true}
	case own:
		p.viewer = viewer{user: &User{Accounts: []string{f.account}}}
	default:
		p.viewer = viewer{user: &User{Operator: true}}
	}
	return p
}

// parts makes what is due and sends what has changed. It returns in how long something
// will be due.
func (f *feed) parts(ctx context.Context, n *news) time.Duration {
	wait := time.Hour
	for i := range f.h.s.parts {
		part := &f.h.s.parts[i]
		for _, own := range []bool{true, false} {
			to := audience{part.name, own}
			if !n.wanted[to] {
				delete(f.made, to)
				continue
			}
			m := f.made[to]
			if m == nil {
				m = &making{next: time.Now().Add(part.every), poll: time.Now().Add(part.poll)}
				f.made[to] = m
			}
			m.due = m.due || n.stirred && !part.polled
			if part.poll > 0 && !time.Now().Before(m.poll) {
				m.due = true
			}
			if m.due && !time.Now().Before(m.next) {
				f.make(ctx, part, to, m)
			}
			if m.due {
				wait = min(wait, time.Until(m.next))
			}
			if part.poll > 0 {
				wait = min(wait, time.Until(m.poll))
			}
		}
	}
	return max(wait, time.Millisecond)
}

// make makes one part, and sends it unless it is as it was.
func (f *feed) make(ctx context.Context, part *livePart, to audience, m *making) {
	began := time.Now()
	var html string
	err := f.h.s.guarded(func() (err error) { html, err = part.make(f.h.s, ctx, f.page(to.own)); return err })
	took := time.Since(began)
	m.due, m.next, m.poll = false, time.Now().Add(max(part.every, idleShare*took)), time.Now().Add(max(part.poll, idleShare*took))
	if err != nil && ctx.Err() == nil && !m.broken {
		f.h.s.log.Warn("a part of the dashboard could not be made", "account", f.account, "part", part.name, "error", err)
	}
	if m.broken = err != nil; m.broken || html == m.last {
		return
	}
	m.last = html
	f.send(part.event, html, func(w *watcher) bool { return w.own == to.own && slices.Contains(w.parts, part.name) })
}

// event is a server-sent event (HTML Living Standard, section 9.2). data may have lines.
func event(name, id, data string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "event: %s\nid: %s\n", name, id)
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", ""), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteByte('\n')
	return []byte(b.String())
}
