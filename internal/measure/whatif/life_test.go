// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// life is an account in a store, with generated mail and an owner who does something
// with much of it.
type life struct {
	t      testing.TB
	s      *boltfile.Store
	w      *writer.Writer
	mail   *testkit.Mail
	reader *featurize.Featurizer
	rng    *rand.Rand
	uid    uint32
	now    time.Time
	// whims is which part of the owner's words is the opposite of what the mail is.
	whims float64
}

func lifeOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{"owner@example.org"}
	o.Shadow = filter.ShadowOff
	o.MarkWithin = 0
	o.Limits.Journal = 600
	return o
}

func newLife(t testing.TB, with boltfile.Options, o filter.Options) *life {
	t.Helper()
	with.NoSync = true
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "s.db"), with)
	testkit.OK(t, err)
	t.Cleanup(func() { testkit.OK(t, s.Close()) })
	l := &life{t: t, s: s, mail: testkit.NewMail(5), rng: rand.New(rand.NewPCG(5, 5)), whims: 0.1}
	l.w, err = writer.Open(s, "me")
	testkit.OK(t, err)
	l.reader, err = featurize.New(o.Featurize)
	testkit.OK(t, err)
	l.configure(o)
	l.apply(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
	return l
}

func (l *life) configure(o filter.Options) {
	l.apply(&filter.Configured{At: store.MomentOf(l.now), Options: o})
	l.commit()
}

func (l *life) apply(e filter.Event) filter.Result {
	l.t.Helper()
	r, err := l.w.Apply(e)
	testkit.OK(l.t, err)
	return r
}

func (l *life) commit() {
	l.t.Helper()
	if !l.w.Dirty() {
		return
	}
	testkit.OK(l.t, l.s.Commit("me", l.w.Filter().State(), l.w.Batch()))
	l.w.Committed()
}

// go lives through n messages: marks are set, some are taken off, some messages are
// starred or called junk, most are left alone.
func (l *life) live(n int) {
	l.t.Helper()
	for i := range n {
		m := l.mail.Next()
		if l.now = m.Date; l.now.IsZero() {
			l.t.Fatal("a message has no date")
		}
		l.uid++
		read := l.reader.Read(m.Raw)
		place := filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: l.uid}
		flags := []string{`\seen`}
		meta := filter.NewMeta(read)
		meta.Personal = meta.Personal && i%2 == 0 // silence says something about the others
		r := l.apply(&filter.Arrived{At: store.MomentOf(l.now), Place: place, Meta: meta, Message: read})
		for _, mark := range r.Marks {
			flags = append(flags, ingest.CanonicalFlag(mark.Flag))
			l.apply(&filter.Settled{At: store.MomentOf(l.now), Ledger: mark.ID, Outcome: ingest.MarkDone, Flags: ingest.CanonicalFlags(flags)})
		}
		marked := len(flags) > 1
		important := m.Important != (l.rng.Float64() < l.whims)
		l.now = l.now.Add(time.Duration(1+l.rng.IntN(40)) * time.Minute)
		switch said := l.rng.IntN(3); {
		case important && said > 0:
			flags = append(flags, `\flagged`)
		case marked && !important && said == 1:
			flags = flags[:1]
		case !marked && !important && said == 0:
			flags = append(flags, "$junk")
		}
		l.apply(&filter.Flagged{At: store.MomentOf(l.now), Place: place, Flags: ingest.CanonicalFlags(flags)})
		if i%20 == 19 || i == n-1 {
			l.commit()
		}
	}
}

// account is what a run needs.
func (l *life) account() Account { return Of(l.s, "me", l.w.Filter()) }

// run replays with settings and waits for the end.
func (l *life) run(r *Runs, with Settings) Run {
	l.t.Helper()
	begun, err := r.Start(l.account(), with)
	testkit.OK(l.t, err)
	return await(l.t, r, begun.ID)
}

func await(t testing.TB, r *Runs, id string) Run {
	t.Helper()
	n, err := r.find("", id)
	if err == nil {
		err = n.wait(t.Context())
	}
	testkit.OK(t, err)
	return n.answer()
}

func newRuns(t testing.TB) *Runs {
	r := NewRuns()
	t.Cleanup(r.Close)
	return r
}

// checkpointed is a store that lets go of its past soon.
func checkpointed() boltfile.Options { return boltfile.Options{CheckpointEvery: 4, JournalCap: 600} }

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
