// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit/published"
	"github.com/hinged/hinged/store/boltfile"
)

// host has a status that a test sets, and a store.
type host struct {
	desk.Host
	store *boltfile.Store

	mu     sync.Mutex
	status desk.Status
	err    error
	asked  int
}

func (h *host) Status(context.Context) (desk.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	return h.status, h.err
}

func (h *host) Store(_ bool, fn func(*boltfile.Store, *stream.Files) error) error {
	return fn(h.store, new(stream.Files))
}

func (h *host) set(fn func(*desk.Status)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(&h.status)
}

func newHost(t testing.TB) *host {
	t.Helper()
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "store.db"), boltfile.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	at := time.Unix(1_790_000_000, 500_000_000).UTC()
	return &host{store: s, status: desk.Status{Accounts: []desk.AccountStatus{
		{
			Account: "ann", Connected: true, Messages: 12, Decided: 10, Unsure: 1, Important: 3, Ordinary: 4, Mistakes: 2, Updates: 5, HingeLoss: 2.5,
			MarksConfirmed: 3, MarksRefused: 1, LedgerEntries: 3, LastArrival: &at, LastLesson: &at, Judgement: desk.Judgement{Messages: 7, Figures: desk.Figures{F1: 0.8}},
		},
		{Account: "bob", LoginRefused: true},
		{Account: "kafka:carol", Messages: 99},
	}, Stream: &stream.Status{
		Connected: true, Accounts: 1, Counts: stream.Counts{Records: 5, Important: 2, DeadLetters: map[kafka.Reason]uint64{kafka.BadJSON: 3}},
		Partitions: []stream.PartitionStatus{
			{Partition: 0, Begun: true, Position: 5, End: 9, Lag: ptr(int64(4)), OldestSeconds: ptr(1.5), InTransaction: 3, LastRecord: &at},
			{Partition: 1, Begun: true, Position: 5, End: -1},
			{Partition: 2, Begun: false, Position: -1, End: 8, Stopped: true},
			{Partition: 3, Begun: false, Position: 2, End: 8, Lag: ptr(int64(6)), Stopped: true},
		},
	}}}
}

func ptr[T any](v T) *T { return &v }

// scrape returns the lines of a scrape that are values.
func scrape(t testing.TB, m *Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	out := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && !strings.HasPrefix(line, "#") {
			out[name+"}"] = value
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			out[name] = value
		}
	}
	return out
}

func want(t *testing.T, got map[string]string, all map[string]string) {
	t.Helper()
	for name, value := range all {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

func TestAScrapeSaysWhatIsCommitted(t *testing.T) {
	m := New(Options{Host: newHost(t), Version: "v1.2.3"})
	m.Show(desk.Shown{Account: "ann", Deed: desk.DeedCorrected, Source: "flagged", Label: "important", From: "secret@example.com", Subject: "secret"})
	m.Show(desk.Shown{Account: "ann", Deed: desk.DeedMarked})
	m.Scored(desk.Scored{Account: "ann", Outcome: "important", Took: time.Millisecond})
	m.Scored(desk.Scored{Outcome: "ordinary", Took: time.Second})
	got := scrape(t, m)
	want(t, got, map[string]string{
		`hinged_messages_total{account="ann"}`:                                           "12",
		`hinged_messages_decided_total{account="ann"}`:                                   "10",
		`hinged_lessons_total{account="ann",label="ordinary"}`:                           "4",
		`hinged_hinge_loss_sum{account="ann"}`:                                           "2.5",
		`hinged_hinge_loss_count{account="ann"}`:                                         "7",
		`hinged_marks_set_total{account="ann"}`:                                          "3",
		`hinged_marks_reverted_by_user_total{account="ann"}`:                             "1",
		`hinged_ledger_entries{account="ann"}`:                                           "3",
		`hinged_imap_connected{account="ann"}`:                                           "1",
		`hinged_imap_connected{account="bob"}`:                                           "0",
		`hinged_auth_required{account="ann"}`:                                            "0",
		`hinged_auth_required{account="bob"}`:                                            "1",
		`hinged_last_scored_timestamp_seconds{account="ann"}`:                            "1.7900000005e+09",
		`hinged_last_scored_timestamp_seconds{account="bob"}`:                            "", // none yet
		`hinged_decision_f1{account="ann"}`:                                              "0.8",
		`hinged_decision_f1{account="bob"}`:                                              "",
		`hinged_messages_scored_total{account="ann",verdict="important"}`:                "1",
		`hinged_messages_scored_total{account="bob",verdict="unsure"}`:                   "0",
		`hinged_messages_scored_total{account="stream",verdict="ordinary"}`:              "1",
		`hinged_feedback_events_total{account="ann",label="important",source="flagged"}`: "1",
		`hinged_score_duration_seconds_count`:                                            "2",
		`hinged_accounts`:                                                                "2",
		`hinged_kafka_records_total`:                                                     "5",
		`hinged_kafka_decisions_total{verdict="important"}`:                              "2",
		`hinged_kafka_dead_letters_total{reason="bad-json"}`:                             "3",
		`hinged_kafka_dead_letters_total{reason="no-key"}`:                               "0",
		`hinged_kafka_lag{partition="0"}`:                                                "4",
		`hinged_kafka_lag{partition="1"}`:                                                "", // unknown is not 0
		`hinged_kafka_lag{partition="2"}`:                                                "",
		`hinged_kafka_lag{partition="3"}`:                                                "6", // stopped, and still counted
		`hinged_kafka_oldest_record_seconds{partition="0"}`:                              "1.5",
		`hinged_kafka_oldest_record_seconds{partition="1"}`:                              "",
		`hinged_kafka_transaction_records{partition="0"}`:                                "3",
		`hinged_kafka_transaction_records{partition="1"}`:                                "",
		`hinged_kafka_position{partition="2"}`:                                           "",
		`hinged_kafka_position{partition="3"}`:                                           "2",
		`hinged_kafka_partition_stopped{partition="1"}`:                                  "0",
		`hinged_kafka_partition_stopped{partition="2"}`:                                  "1",
	})
	seen := map[string]bool{}
	for name := range got {
		seen[name[:strings.IndexAny(name+"{", "{")]] = true
		if strings.Contains(name, "carol") || strings.Contains(name, "secret") {
			t.Errorf("%s names somebody", name)
		}
	}
	for _, name := range []string{"hinged_build_info", "hinged_db_size_bytes", "go_goroutines", "process_start_time_seconds"} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// What lessons said is taken out of the state by an undo; a counter that fell would look
// like one that began anew at what is left.
func TestCountersNeverFall(t *testing.T) {
	h := newHost(t)
	m := New(Options{Host: h})
	scrape(t, m)
	for _, step := range []struct {
		mistakes uint64
		want     string
	}{{1, "2"}, {1, "2"}, {3, "4"}, {0, "4"}, {5, "9"}} {
		h.set(func(s *desk.Status) { s.Accounts[0].Mistakes = step.mistakes })
		want(t, scrape(t, m), map[string]string{`hinged_mistakes_total{account="ann"}`: step.want})
	}
}

func TestAnAccountThatIsGoneHasNoMetrics(t *testing.T) {
	h := newHost(t)
	m := New(Options{Host: h})
	m.Scored(desk.Scored{Account: "bob", Outcome: "important"})
	m.Show(desk.Shown{Account: "bob", Deed: desk.DeedLearnt, Source: "mark", Label: "important"})
	scrape(t, m)
	h.set(func(s *desk.Status) { s.Accounts = s.Accounts[:1] })
	scrape(t, m) // feedback may have been gathered before it was dropped
	for name := range scrape(t, m) {
		if strings.Contains(name, "bob") {
			t.Errorf("there is still %s", name)
		}
	}
}

func TestTheNamesFollowTheConventions(t *testing.T) {
	m := New(Options{Host: newHost(t)})
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "hinged_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestAScrapeThatCannotReadTheStatusSaysSo(t *testing.T) {
	h := newHost(t)
	h.err = errors.New("refused")
	w := httptest.NewRecorder()
	New(Options{Host: h}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	// What is known is told all the same; that accounts are missing is for an alert.
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "hinged_build_info") || strings.Contains(w.Body.String(), "hinged_accounts") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

func TestAliveAsLongAsTheDaemonSaysSo(t *testing.T) {
	asked := 0
	var dead error
	m := New(Options{Host: newHost(t), Alive: func(context.Context) error { asked++; return dead }})
	expect := func(code, want int) {
		t.Helper()
		w := httptest.NewRecorder()
		m.Healthz().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != code || asked != want || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%d %s after %d questions, want %d after %d", w.Code, w.Body, asked, code, want)
		}
	}
	expect(200, 1)
	dead = errors.New("account secret does not answer")
	expect(200, 1) // it was asked just now
	m.alive.checked = time.Time{}
	expect(503, 2)
}

func TestReadyOnceAConnectionWasMade(t *testing.T) {
	h := newHost(t)
	h.set(func(s *desk.Status) { s.Accounts[0].Connected, s.Stream.Connected = false, false })
	m := New(Options{Host: h})
	ask := func(handler http.Handler) (int, string) {
		m.ready.checked = time.Time{}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code, w.Body.String()
	}
	expect := func(code int, says string) {
		t.Helper()
		if got, body := ask(m.Readyz()); got != code || !strings.Contains(body, says) {
			t.Errorf("%d %s, want %d with %q", got, body, code, says)
		}
		if got, body := ask(m.Healthz()); got != http.StatusOK {
			t.Errorf("not alive: %d %s", got, body)
		}
	}
	expect(503, "no mail server")
	h.set(func(s *desk.Status) { s.Accounts[0].Connected = true })
	expect(503, "consumer group")
	h.err = errors.New("refused by /var/lib/secret")
	if code, body := ask(m.Readyz()); code != 503 || strings.Contains(body, "secret") {
		t.Errorf("%d %s", code, body)
	}
	h.err = nil
	h.set(func(s *desk.Status) { s.Stream.Connected = true })
	expect(200, `"ok":true`)
	h.set(func(s *desk.Status) { s.Accounts[0].Connected = false })
	expect(200, `"ok":true`) // lost again: for the alerts
	asked := h.asked
	expect(200, `"ok":true`)
	if h.asked != asked {
		t.Error("the status is asked for though it is known")
	}
	if paused := (&desk.Status{Accounts: []desk.AccountStatus{{Account: "ann", Paused: true}}}); missing(paused) != "" {
		t.Error("a paused account is waited for")
	}
}

var update = flag.Bool("update", false, "write the generated files anew")

// page is where the metrics are described.
const page = "../../../docs/metrics.md"

func TestThePageListsEveryMetric(t *testing.T) {
	m := New(Options{Host: newHost(t)})
	m.Show(desk.Shown{Account: "ann", Deed: desk.DeedLearnt, Source: "mark", Label: "important"})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[dto.MetricType]string{dto.MetricType_COUNTER: "counter", dto.MetricType_GAUGE: "gauge", dto.MetricType_SUMMARY: "summary", dto.MetricType_HISTOGRAM: "histogram"}
	table := "\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "hinged_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.GetName(), kinds[f.GetType()], strings.Join(labels, ", "), f.GetHelp())
	}
	published.SamePart(t, page, table, *update, "go test ./internal/face/metrics -update")
}

// Reasons must be all that there are, or some dead letters would not be counted.
func TestEveryReasonOfADeadLetterIsCounted(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../../ingest/kafka/parse.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		if v, ok := node.(*ast.ValueSpec); ok {
			if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Reason" {
				n += len(v.Names)
			}
		}
		return true
	})
	if n == 0 || n != len(kafka.Reasons()) {
		t.Errorf("%d reasons are declared and %d listed", n, len(kafka.Reasons()))
	}
}
