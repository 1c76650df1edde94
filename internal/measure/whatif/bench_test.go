// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// lived is an account with 10,000 decisions about generated mail, or with the mail of the
// mbox file in HINGED_BENCH_MBOX, whose owner is HINGED_BENCH_OWNER.
func lived(b *testing.B) *life {
	b.Helper()
	path := os.Getenv("HINGED_BENCH_MBOX")
	if path == "" {
		l := newLife(b, boltfile.Options{}, lifeOptions())
		l.live(10_000)
		return l
	}
	o := filter.DefaultOptions()
	o.Featurize.Owner, o.Shadow, o.MarkWithin = []string{os.Getenv("HINGED_BENCH_OWNER")}, filter.ShadowOff, 0
	l := newLife(b, boltfile.Options{}, o)
	l.apply(&filter.Opened{Mailbox: "Sent", UIDValidity: 1, Role: ingest.RoleSent})
	all, err := archive.Open([]string{path}, archive.Options{Order: archive.ByDate})
	testkit.OK(b, err)
	defer all.Close()
	for {
		m, err := all.Next()
		if errors.Is(err, io.EOF) {
			l.commit()
			return l
		}
		testkit.OK(b, err)
		l.receive(bytes.Clone(m.Raw), m.Date(), o.Featurize.Owner[0])
	}
}

// receive takes a message of an archive: the owner's own into Sent, others into INBOX,
// where the owner reads them. Marks are set.
func (l *life) receive(raw []byte, at time.Time, owner string) {
	read := l.reader.Read(raw)
	l.uid++
	l.now = at
	place := filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: l.uid}
	if slices.Contains(read.From, owner) {
		place.Mailbox = "Sent"
	}
	r := l.apply(&filter.Arrived{At: store.MomentOf(at), Place: place, Meta: filter.NewMeta(read), Message: read})
	flags := []string{`\seen`}
	for _, mark := range r.Marks {
		flags = ingest.CanonicalFlags(append(flags, mark.Flag))
		l.apply(&filter.Settled{At: store.MomentOf(at), Ledger: mark.ID, Outcome: ingest.MarkDone, Flags: flags})
	}
	if l.uid%50 == 0 {
		l.commit()
	}
}

// BenchmarkRun replays with today's settings and with others, and logs what comes of it.
func BenchmarkRun(b *testing.B) {
	l := lived(b)
	for _, c := range []struct {
		name string
		with Settings
	}{
		{"a budget", Settings{Threshold: "budget", Share: new(0.05)}},
		{"a perceptron", Settings{Learner: "perceptron"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRuns(b)
			var got Run
			for b.Loop() {
				if got = l.run(r, c.with); got.State != Done || got.Live.Differ > 0 {
					b.Fatalf("%s %s, live %+v", got.State, got.Problem, got.Live)
				}
			}
			b.ReportMetric(float64(got.Messages), "decisions")
			b.ReportMetric(float64(got.Today.Lessons), "lessons")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(got.Messages)*1e6, "µs/decision")
			b.Logf("F1 %.2f and %.2f: %s", got.Today.F1, got.Other.F1, got.Recommendation)
		})
	}
}

// BenchmarkLiveBesideARun measures how long it takes to decide an arrival and to commit
// it, alone and while replays of the same account go on, one after the other.
func BenchmarkLiveBesideARun(b *testing.B) {
	l := lived(b)
	for _, beside := range []bool{false, true} {
		name := "alone"
		if beside {
			name = "beside replays"
		}
		b.Run(name, func(b *testing.B) {
			r := newRuns(b)
			a := l.account()
			var stop atomic.Bool
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for beside && !stop.Load() {
					if begun, err := r.Start(a, Settings{Learner: "perceptron"}); err == nil {
						if n, err := r.find("", begun.ID); err == nil {
							_ = n.wait(b.Context())
						}
					}
				}
			}()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				l.live(1)
				took = append(took, time.Since(began))
			}
			stop.Store(true)
			r.Close()
			<-ended
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}
