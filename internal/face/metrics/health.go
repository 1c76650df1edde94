// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
)

// Health is the body of /healthz and /readyz. It names nobody.
type Health struct {
	OK  bool   `json:"ok"`            // whether the answer is yes
	Why string `json:"why,omitempty"` // what is missing, in words
}

// ready remembers that everything was up once: a connection that is lost later is for the
// alerts.
type ready struct {
	mu      sync.Mutex
	once    bool
	checked time.Time
	why     string
}

// checkEvery is how often the daemon is asked, however often somebody asks us.
const checkEvery = time.Second

// note takes in a status.
func (r *ready) note(s *desk.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.once {
		r.why = missing(s)
		r.once = r.why == ""
	}
}

// missing says what is missing before the daemon is ready; "" if nothing is.
func missing(s *desk.Status) string {
	waiting, reached := 0, false
	for i := range s.Accounts {
		a := &s.Accounts[i]
		if stream.IsAccount(a.Account) {
			continue
		}
		reached = reached || a.Connected || a.Reconnects > 0
		if !a.Paused {
			waiting++
		}
	}
	switch {
	case waiting > 0 && !reached:
		return "no mail server has been reached yet"
	case s.Stream != nil && !s.Stream.Connected:
		return "the consumer group has not dealt out its partitions yet"
	}
	return ""
}

// check asks for the status unless that was done just now.
func (m *Metrics) check(ctx context.Context) Health {
	r := &m.ready
	r.mu.Lock()
	due := !r.once && time.Since(r.checked) >= checkEvery
	if due {
		r.checked = time.Now()
	}
	r.mu.Unlock()
	if due {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		s, err := m.o.Host.Status(ctx)
		if err != nil {
			m.log.Warn("the status can't be read", "error", err)
			return Health{Why: "the status can't be read; the log says why"}
		}
		r.note(&s)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return Health{OK: r.once, Why: r.why}
}

// alive remembers whether the daemon was alive, for those who ask often.
type alive struct {
	mu      sync.Mutex
	checked time.Time
	err     error
}

// alivePatience is how long the daemon may take to show that it is alive.
const alivePatience = 10 * time.Second

// Healthz answers 200 as long as the daemon is alive. What it can't do at present, such as
// to reach a mail server, is no reason to restart it.
func (m *Metrics) Healthz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := m.lives(); err != nil {
			answer(w, Health{Why: "the daemon does not answer; the log says more"})
			return
		}
		answer(w, Health{OK: true})
	})
}

// lives asks the daemon whether it is alive unless that was done just now.
func (m *Metrics) lives() error {
	a := &m.alive
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.o.Alive == nil || time.Since(a.checked) < checkEvery {
		return a.err
	}
	// The client may leave; the answer is for others, too.
	ctx, cancel := context.WithTimeout(context.Background(), alivePatience)
	defer cancel()
	if a.err = m.o.Alive(ctx); a.err != nil {
		m.log.Warn("the daemon is not alive", "error", a.err)
	}
	a.checked = time.Now()
	return a.err
}

// Readyz answers 200 once the store is open, the accounts are loaded, and a mail server
// was reached or the consumer group joined; before that, 503.
func (m *Metrics) Readyz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, m.check(r.Context())) })
}

func answer(w http.ResponseWriter, h Health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !h.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(h) //nolint:errchkjson // the client has gone if this fails
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// unix is a moment as Prometheus has it; ok is false if there is none.
func unix(t *time.Time) (v float64, ok bool) {
	if t == nil {
		return 0, false
	}
	return float64(t.UnixMilli()) / 1000, true
}

func number(n int32) string { return strconv.Itoa(int(n)) }
