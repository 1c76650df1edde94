// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/metrics"
	"github.com/hinged/hinged/internal/testkit"
)

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
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		a, err := d.Account(context.Background(), "account0")
		if err == nil {
			err = a.Look(context.Background(), func(*desk.Desk) error { close(held); <-release; return nil })
		}
		done <- err
	}()
	<-held
	scripts[1].events <- arrival(3, mail(3, "boss@example.com", "urgent thing"))
	await(t, "the other account go on", func() (any, bool) {
		text := scrape(t, m)
		if !strings.Contains(text, `hinged_messages_total{account="account0"} 2`) {
			t.Fatalf("the busy account is missing:\n%s", text)
		}
		return text, strings.Contains(text, `hinged_messages_total{account="account1"} 3`)
	})
	close(release)
	testkit.OK(t, <-done)
}
