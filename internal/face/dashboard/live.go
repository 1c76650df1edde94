// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

const (
	// maxWatchers bounds how many browsers watch at once, and maxWatchersEach how many of
	// one user.
	maxWatchers, maxWatchersEach = 256, 128
	// tellEvery is how often a browser is told of news at most.
	tellEvery = time.Second
	// heartbeat is how often a browser hears something, so that it, and proxies, know that
	// the connection lives. So often the account's connection is looked at, too.
	heartbeat = 15 * time.Second
	// takePatience is how long a browser may take to read an event.
	takePatience = 10 * time.Second
	// retryAfter is how long a browser waits before it connects again, in milliseconds.
	retryAfter = "3000"
)

// hub tells browsers that watch an account what kinds of things were done about it. They
// then load their page again (live.js). What an account's writer tells it costs that writer
// a lock and no more. It is safe for concurrent use.
type hub struct {
	boot string // tells this process from the one before it

	mu       sync.Mutex
	ctx      context.Context // of all watchers; nil before start
	end      context.CancelFunc
	deeds    map[string]uint64 // counts what was done, by account
	watchers []*watcher
}

type watcher struct {
	viewer  viewer
	account string
	news    chan struct{} // has room for one
	kinds   []string      // of what was done since it was told last; under the hub's lock
	hangUp  context.CancelFunc
}

func newHub() *hub { return &hub{boot: rand.Text()[:8], deeds: map[string]uint64{}} }

// start lets browsers watch until ctx is done or stop is called, which hangs up on all.
func (h *hub) start(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx, h.end = context.WithCancel(ctx)
}
func (h *hub) stop() { h.end() }

// show notes a deed for whoever watches its account.
func (h *hub) show(d desk.Shown) {
	kind := "message"
	switch d.Deed {
	case desk.DeedLearnt, desk.DeedCorrected, desk.DeedSilence:
		kind = "lesson"
	case desk.DeedUndone:
		kind = "mark"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deeds[d.Account]++
	for _, w := range h.watchers {
		if w.account == d.Account {
			w.tell(kind)
			if d.Deed == desk.DeedMarked {
				w.tell("mark")
			}
		}
	}
}

// tell has the browser told. The caller holds the hub's lock.
func (w *watcher) tell(kind string) {
	if !slices.Contains(w.kinds, kind) {
		w.kinds = append(w.kinds, kind)
	}
	select {
	case w.news <- struct{}{}:
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

func (h *hub) positionOf(account string) string {
	return fmt.Sprintf("%s-%d", h.boot, h.deeds[account])
}

// watch adds a browser, which has what was done up to a position; "": it has just loaded
// its page. ctx ends when it is to be hung up on; the caller calls leave then. Without ok
// there are too many.
func (h *hub) watch(ctx context.Context, account string, v viewer, since string) (w *watcher, watching context.Context, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ofUser := 0
	for _, w := range h.watchers {
		if w.viewer.name() == v.name() {
			ofUser++
		}
	}
	if h.ctx == nil || h.ctx.Err() != nil || len(h.watchers) >= maxWatchers || ofUser >= maxWatchersEach {
		return nil, nil, nil, false
	}
	w = &watcher{viewer: v, account: account, news: make(chan struct{}, 1)}
	watching, w.hangUp = context.WithCancel(ctx)
	stop := context.AfterFunc(h.ctx, w.hangUp)
	if since != "" && since != h.positionOf(account) {
		w.tell("gap")
	}
	h.watchers = append(h.watchers, w)
	return w, watching, func() {
		stop()
		w.hangUp()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.watchers = slices.DeleteFunc(h.watchers, func(other *watcher) bool { return other == w })
	}, true
}

// hangUp hangs up on the browsers of some viewers.
func (h *hub) hangUp(on func(viewer) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers {
		if on(w.viewer) {
			w.hangUp()
		}
	}
}

// take returns the event for what was done since a browser was told last.
func (h *hub) take(w *watcher) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := fmt.Appendf(nil, "event: news\nid: %s\ndata: %s\n\n", h.positionOf(w.account), strings.Join(w.kinds, " "))
	w.kinds = nil
	return out
}

// live tells a browser what is done about an account, for as long as it listens.
func (s *Server) live(w http.ResponseWriter, r *http.Request, p *page) error {
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get("since")
	}
	ctx, cancel := s.session(r)
	defer cancel()
	listener, ctx, leave, ok := s.hub.watch(ctx, p.Account, p.viewer, since)
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many browsers watch at once. This page shows what is new when you load it again.", http.StatusServiceUnavailable)
		return nil
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
	out := http.NewResponseController(w)
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	write := func(b []byte) bool {
		if out.SetWriteDeadline(time.Now().Add(takePatience)) != nil {
			return false
		}
		if _, err := w.Write(b); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	news, pause := listener.news, (<-chan time.Time)(nil)
	connection, counts, told := connectionOf(p), countsOf(p), false
	for ok := write([]byte("retry: " + retryAfter + "\n\n")); ok; {
		select {
		case <-ctx.Done():
			return nil
		case <-news:
			ok = write(s.hub.take(listener))
			news, pause, told = nil, time.After(tellEvery), true
		case <-pause:
			news, pause = listener.news, nil
		case <-beat.C:
			text := ": \n\n"
			if err := s.look(ctx, p); err != nil {
				s.log.Debug("an account that is watched can't be looked at", "account", p.Account, "error", err)
			} else if now := connectionOf(p); now != connection {
				connection, text = now, "event: news\ndata: connection\n\n"
			} else if !told && countsOf(p) != counts { // an account of a stream tells no deeds
				text = "event: news\ndata: message lesson\n\n"
			}
			counts, told = countsOf(p), false
			ok = write([]byte(text))
		}
	}
	return nil
}

// connectionOf is what pages show of an account that changes without a deed.
func connectionOf(p *page) string {
	a := p.Status
	return fmt.Sprint(a.Connected, a.Paused, a.ConsentNeeded, a.Problem, a.Warnings, p.Asking)
}

func countsOf(p *page) [3]uint64 {
	return [3]uint64{p.Status.Messages, p.Status.Important, p.Status.Ordinary}
}

// session returns a context that ends with the request, or with its session if the browser
// asks for nothing more: a page that is left open keeps nobody signed in.
func (s *Server) session(r *http.Request) (context.Context, context.CancelFunc) {
	left := time.Until(s.sessions.Deadline(r.Context()))
	if s.sessions.IdleTimeout > 0 {
		left = min(left, s.sessions.IdleTimeout)
	}
	return context.WithTimeout(r.Context(), left)
}
