// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/face/metrics"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

// startMetrics runs a daemon over accounts with scripts and counts what it tells.
func startMetrics(t testing.TB, accounts int) (*Daemon, []*script, *metrics.Metrics, func() []desk.Scored) {
	t.Helper()
	var mu sync.Mutex
	var told []desk.Scored
	var m *metrics.Metrics
	o := Options{
		StorePath: filepath.Join(t.TempDir(), "store.db"), Store: boltfile.Options{NoSync: true},
		Show: func(s desk.Shown) { m.Show(s) },
		Scored: func(s desk.Scored) {
			m.Scored(s)
			mu.Lock()
			defer mu.Unlock()
			told = append(told, s)
		},
	}
	scripts := make([]*script, accounts)
	for i := range scripts {
		s := newScript()
		scripts[i] = s
		o.Accounts = append(o.Accounts, AccountOptions{
			Name: fmt.Sprint("account", i), Filter: testOptions(),
			NewSource: func([]ingest.Known) (ingest.Source, error) { return s, nil },
		})
	}
	d, err := New(o)
	testkit.OK(t, err)
	m = metrics.New(metrics.Options{Host: d, Alive: d.Alive})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, d.Close()); err != nil {
			t.Error(err)
		}
	})
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
	for deadline := time.Now().Add(patience); len(told()) < 4; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("told %+v", told())
		}
	}
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
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if strings.Count(scrape(t, m), "_messages_total{account=\"account0\"} 2")+strings.Count(scrape(t, m), "_messages_total{account=\"account1\"} 2") == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the messages were never counted")
		}
	}
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
	for deadline := time.Now().Add(patience); ; {
		text := scrape(t, m)
		if !strings.Contains(text, `hinged_messages_total{account="account0"} 2`) {
			t.Fatalf("the busy account is missing:\n%s", text)
		}
		if strings.Contains(text, `hinged_messages_total{account="account1"} 3`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the other account stands still, too")
		}
	}
	close(release)
	testkit.OK(t, <-done)
}

func BenchmarkAScrapeOfADaemonWithAThousandAccounts(b *testing.B) {
	_, scripts, m, _ := startMetrics(b, 1000)
	for _, s := range scripts {
		teach(s)
	}
	for b.Loop() {
		scrape(b, m)
	}
}
