// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"net/http"
	"strings"
	"time"
)

const (
	// heartbeat is how often a browser hears something, so that it, and proxies, know that
	// the connection lives.
	heartbeat = 20 * time.Second
	// takePatience is how long a browser may take to read an event.
	takePatience = 10 * time.Second
	// retryAfter is how long a browser waits before it connects again, in milliseconds.
	retryAfter = "3000"
)

// livePart is a part of an account's pages that is sent to browsers when it changes: HTML
// whose outermost elements have ids. live.js puts each in the place of the element that has
// its id.
type livePart struct {
	name   string
	event  string
	every  time.Duration // it is made at most so often
	poll   time.Duration // it is made so often though nothing was told; 0: it is not
	polled bool          // no deed changes it
	make   func(*Server, context.Context, *page) (string, error)
}

// live tells a browser what is done about an account, for as long as it listens.
func (s *Server) live(w http.ResponseWriter, r *http.Request, p *page) error {
	since := r.Header.Get("Last-Event-ID")
	if since == "" {
		since = r.URL.Query().Get("since")
	}
	out := http.NewResponseController(w)
	listener, leave, ok := s.hub.watch(p.account, p.viewer, strings.Split(r.URL.Query().Get("parts"), ","), since)
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "Too many browsers watch at once. This page shows what is new when you load it again.", http.StatusServiceUnavailable)
		return nil
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back
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
	if !write([]byte("retry: " + retryAfter + "\n\n")) {
		return nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	ended, stop := s.endOf(r, p)
	defer stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-listener.gone:
			return nil
		case <-ended:
			return nil
		case <-s.hub.ctx.Done():
			return nil
		case b := <-listener.events:
			if !write(b) {
				return nil
			}
			if late := s.hub.caughtUp(p.account, listener); late != nil && !write(late) {
				return nil
			}
		case <-beat.C:
			if !write([]byte(": \n\n")) {
				return nil
			}
		}
	}
}

// endOf is when a session ends if its browser asks for nothing more: a page that is left
// open keeps nobody signed in.
func (s *Server) endOf(r *http.Request, p *page) (<-chan time.Time, func()) {
	if p.session == "" {
		return nil, func() {}
	}
	left := time.Until(s.sessions.Deadline(r.Context()))
	if s.sessions.IdleTimeout > 0 {
		left = min(left, s.sessions.IdleTimeout)
	}
	t := time.NewTimer(left)
	return t.C, func() { t.Stop() }
}
