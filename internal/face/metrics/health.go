// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
)

// Health is the body of /healthz and /readyz. It names nobody.
type Health struct {
	OK  bool   `json:"ok"`            // whether the answer is yes
	Why string `json:"why,omitempty"` // what is missing, in words
}

// probe remembers what the daemon answered, for those who ask often.
type probe struct {
	mu      sync.Mutex
	checked time.Time
	err     error
}

// checkEvery is how often the daemon is asked, however often somebody asks us.
const checkEvery = time.Second

// ask asks the daemon unless that was done just now.
func (p *probe) ask(patience time.Duration, fn func(context.Context) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.checked) >= checkEvery {
		// The client may leave; the answer is for others, too.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p.err, p.checked = fn(ctx), time.Now()
	}
	return p.err
}

// ready remembers that everything was up once: a connection that is lost later is for the
// alerts.
type ready struct {
	probe
	once atomic.Bool
}

// note takes in a status, and says what is missing.
func (r *ready) note(s *desk.Status) error {
	why := missing(s)
	if why == "" {
		r.once.Store(true)
		return nil
	}
	return errors.New(why)
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

// alivePatience is how long the daemon may take to show that it is alive.
const alivePatience = 10 * time.Second

// Healthz answers 200 as long as the daemon is alive. What it can't do at present, such as
// to reach a mail server, is no reason to restart it.
func (m *Metrics) Healthz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err := m.alive.ask(alivePatience, func(ctx context.Context) error {
			if m.o.Alive == nil {
				return nil
			}
			err := m.o.Alive(ctx)
			if err != nil {
				m.log.Warn("the daemon is not alive", "error", err)
				err = errors.New("the daemon does not answer; the log says more")
			}
			return err
		})
		answer(w, err)
	})
}

// Readyz answers 200 once the store is open, the accounts are loaded, and a mail server
// was reached or the consumer group joined; before that, 503.
func (m *Metrics) Readyz() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if m.ready.once.Load() {
			answer(w, nil)
			return
		}
		answer(w, m.ready.ask(patience, func(ctx context.Context) error {
			s, err := m.o.Host.Status(ctx)
			if err != nil {
				m.log.Warn("the status can't be read", "error", err)
				return errors.New("the status can't be read; the log says why")
			}
			return m.ready.note(&s)
		}))
	})
}

func answer(w http.ResponseWriter, err error) {
	h := Health{OK: err == nil}
	if err != nil {
		h.Why = err.Error()
	}
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

func unix(t *time.Time) (v float64, ok bool) {
	if t == nil {
		return 0, false
	}
	return float64(t.UnixMilli()) / 1000, true
}

func number(n int32) string { return strconv.Itoa(int(n)) }
