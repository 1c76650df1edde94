// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
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
