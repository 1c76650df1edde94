// SPDX-License-Identifier: Apache-2.0

// Package metrics says how the daemon is doing to Prometheus, and to whoever supervises
// it: /metrics, /healthz and /readyz.
//
//	daemon ─ Show, Scored ─▶ counters of this process ─┐
//	desk.Host.Status ─▶ what is committed ─────────────┴▶ Handler
//
// What is committed is read at each scrape, so a restart changes none of it. No metric
// names a sender, a subject or an account of a stream. docs/metrics.md lists them all.
package metrics

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store/boltfile"
)

const (
	// patience is how long a scrape waits in all for accounts whose writers are busy; what
	// it says of them is then of the last time.
	patience = 2 * time.Second
	// scrapePatience bounds a whole scrape, and scrapes is how many may go on at once.
	scrapePatience = 8 * time.Second
	scrapes        = 3
)

// Options are what Metrics needs to know.
type Options struct {
	Host    desk.Host
	Version string
	Logger  *slog.Logger // nil discards
	// Alive says why the daemon is not alive, as for a watchdog; nil: it is as long as the
	// process answers. It must not wait for a mail server or a disk.
	Alive func(context.Context) error
}

// Metrics counts what the daemon tells, and reads the rest from its host at each scrape.
// It is safe for concurrent use.
type Metrics struct {
	o        Options
	log      *slog.Logger
	registry *prometheus.Registry
	scored   *prometheus.CounterVec
	feedback *prometheus.CounterVec
	took     prometheus.Histogram
	ready    ready
	alive    probe
}

// New returns the metrics of a host.
func New(o Options) *Metrics {
	m := &Metrics{
		o: o, log: o.Logger, registry: prometheus.NewRegistry(),
		scored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hinged_messages_scored_total",
			Help: "Decisions by verdict since the process started: important, unsure or ordinary. The account is stream for all accounts of a stream.",
		}, []string{account, "verdict"}),
		feedback: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hinged_feedback_events_total",
			Help: "Lessons learnt since the process started, by what the owner did and by label.",
		}, []string{account, "source", "label"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hinged_score_duration_seconds",
			Help: "Time to read a message and to decide about it, without waiting.",
			// A message takes about a millisecond; one at the limit of its size, a second.
			Buckets: prometheus.ExponentialBuckets(0.000_125, 2, 16),
		}),
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "hinged_build_info", Help: "Always 1; the labels say which version runs.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(o.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		m.feedback, m.took, build, newStatus(m),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapes, Timeout: scrapePatience, Registry: m.registry,
	})
}

// Show counts feedback. Nothing of the mail's words is kept.
func (m *Metrics) Show(s desk.Shown) {
	switch s.Deed {
	case desk.DeedLearnt, desk.DeedCorrected, desk.DeedSilence:
		m.feedback.WithLabelValues(s.Account, s.Source, s.Label).Inc()
	}
}

// streamLabel stands for all accounts of a stream.
const streamLabel = "stream"

// Scored counts a decision.
func (m *Metrics) Scored(s desk.Scored) {
	name := s.Account
	if name == "" {
		name = streamLabel
	}
	m.scored.WithLabelValues(name, s.Outcome).Inc()
	m.took.Observe(s.Took.Seconds())
}

// begin has the counters of decisions begin at 0, so that the first one is seen as a rise.
func (m *Metrics) begin(account string) {
	for _, verdict := range []string{"important", "unsure", "ordinary"} {
		m.scored.WithLabelValues(account, verdict)
	}
}

// status reads the host at each scrape.
type status struct {
	m          *Metrics
	accounts   []ofAccount
	streams    []ofStream
	partitions []ofPartition

	lessons, loss, kafkaDecisions, dead, size, count, warnings, milter *metric

	mu     sync.Mutex
	counts map[series]grown
	seen   map[string]bool // the accounts of the last scrape
}

// series is one counter of one account.
type series struct {
	desc   *prometheus.Desc
	labels [2]string
}

// grown is a counter that never falls: undoing lessons takes them out of the state, and a
// counter that falls looks like one that began anew.
type grown struct{ last, base float64 }

func newStatus(m *Metrics) *status {
	return &status{
		m: m, accounts: accountMetrics(), streams: streamMetrics(), partitions: partitionMetrics(),
		lessons:        newMetric(true, "hinged_lessons_total", "Lessons learnt, by label.", account, "label"),
		loss:           newMetric(false, "hinged_hinge_loss", "Hinge loss of all lessons.", account),
		kafkaDecisions: newMetric(true, "hinged_kafka_decisions_total", "Decisions produced, by verdict.", "verdict"),
		dead:           newMetric(true, "hinged_kafka_dead_letters_total", "Refused records, by reason.", "reason"),
		size:           newMetric(false, "hinged_db_size_bytes", "Size of the store."),
		milter:         newMetric(true, "hinged_milter_messages_total", "Messages of a mail server since the process started, by result. Only decided ones got a header (docs/milter.md).", "result"),
		count:          newMetric(false, "hinged_accounts", "Accounts with a mail server."),
		warnings:       newMetric(false, "hinged_daemon_warnings", "Warnings that status shows about the whole daemon."),
		counts:         map[series]grown{},
	}
}

// Describe implements prometheus.Collector. It says nothing: what there is depends on the
// status, and the tables of metrics have no name twice.
func (*status) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (s *status) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.m.scored.Collect(out) // after begin
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, err := s.m.o.Host.Status(ctx)
	if err != nil {
		s.m.log.Warn("a scrape could not read the status", "error", err)
		out <- prometheus.NewInvalidMetric(s.count.desc, err)
		return
	}
	_ = s.m.ready.note(&now)
	seen := map[string]bool{}
	for i := range now.Accounts {
		if a := &now.Accounts[i]; !stream.IsAccount(a.Account) {
			seen[a.Account] = true
			s.account(out, a)
		}
	}
	s.drop(seen)
	s.put(out, s.count, float64(len(seen)))
	s.put(out, s.warnings, float64(len(now.Warnings)))
	if now.Stream != nil {
		s.stream(out, now.Stream)
	}
	if now.Milter != nil {
		for result, n := range now.Milter.Messages {
			s.put(out, s.milter, float64(n), result)
		}
	}
	s.file(out)
}

func (s *status) drop(seen map[string]bool) {
	for name := range s.seen {
		if seen[name] {
			continue
		}
		s.m.scored.DeletePartialMatch(prometheus.Labels{account: name})
		s.m.feedback.DeletePartialMatch(prometheus.Labels{account: name})
		maps.DeleteFunc(s.counts, func(k series, _ grown) bool { return k.labels[0] == name })
	}
	s.seen = seen
}

// put sends a value. Counters never fall.
func (s *status) put(out chan<- prometheus.Metric, m *metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.counter {
		kind, v = prometheus.CounterValue, s.grow(m.desc, v, labels)
	}
	out <- prometheus.MustNewConstMetric(m.desc, kind, v, labels...)
}

func (s *status) grow(desc *prometheus.Desc, v float64, labels []string) float64 {
	key := series{desc: desc}
	copy(key.labels[:], labels)
	g := s.counts[key]
	if v < g.last {
		g.base += g.last - v
	}
	g.last = v
	s.counts[key] = g
	return g.base + v
}

func (s *status) account(out chan<- prometheus.Metric, a *desk.AccountStatus) {
	for _, m := range s.accounts {
		if v, ok := m.value(a); ok {
			s.put(out, m.metric, v, a.Account)
		}
	}
	s.m.begin(a.Account)
	s.put(out, s.lessons, float64(a.Important), a.Account, "important")
	s.put(out, s.lessons, float64(a.Ordinary), a.Account, "ordinary")
	// A summary without quantiles: its sum and its count.
	count := s.grow(s.loss.desc, float64(a.Important+a.Ordinary), []string{a.Account, "count"})
	sum := s.grow(s.loss.desc, a.HingeLoss, []string{a.Account, "sum"})
	out <- prometheus.MustNewConstSummary(s.loss.desc, uint64(count), sum, nil, a.Account)
}

func (s *status) stream(out chan<- prometheus.Metric, t *stream.Status) {
	s.m.begin(streamLabel)
	for _, m := range s.streams {
		s.put(out, m.metric, m.value(t))
	}
	for verdict, n := range map[string]uint64{"important": t.Important, "unsure": t.Unsure, "ordinary": t.Ordinary} {
		s.put(out, s.kafkaDecisions, float64(n), verdict)
	}
	for _, reason := range kafka.Reasons() {
		s.put(out, s.dead, float64(t.DeadLetters[reason]), string(reason))
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		for _, m := range s.partitions {
			if v, ok := m.value(p); ok {
				s.put(out, m.metric, v, number(p.Partition))
			}
		}
	}
}

func (s *status) file(out chan<- prometheus.Metric) {
	var size int64
	err := s.m.o.Host.Store(false, func(own *boltfile.Store, files *stream.Files) error {
		for _, f := range files.And(own) {
			bytes, err := f.Size()
			if err != nil {
				return err
			}
			size += bytes
		}
		return nil
	})
	if err != nil {
		s.m.log.Debug("the size of the store is not known", "error", err)
		return
	}
	s.put(out, s.size, float64(size))
}
