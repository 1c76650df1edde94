// SPDX-License-Identifier: Apache-2.0

// Passes brings one event after another through writer, filter and store, and writes below a
// directory, for each of them, which code ran from Apply to Committed. It must be built with
// -cover -covermode=atomic: scripts/passes.sh does that, and counts.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const account = "me"

// must ends the program with an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	p := &passing{dir: os.Args[1]}
	must(os.MkdirAll(p.dir, 0o700))
	var err error
	p.store, err = boltfile.Open(filepath.Join(p.dir, "s.db"), boltfile.Options{NoSync: true})
	must(err)
	p.w, err = writer.Open(p.store, account)
	must(err)
	o := filter.DefaultOptions()
	o.Featurize.Owner, o.Shadow = []string{"owner@example.org"}, filter.ShadowOff
	o.Threshold = filter.Threshold{Mode: filter.ModeFixed, Value: -100}
	p.commit(&filter.Configured{Options: o})
	for i, name := range []string{"INBOX", "Sent"} {
		p.commit(&filter.Opened{Mailbox: name, UIDValidity: 1, Role: []ingest.Role{ingest.RoleInbox, ingest.RoleSent}[i]})
	}
	for i := range 60 {
		p.commit(p.arrival(i))
		if i < 50 {
			p.settle(i)
		}
	}

	p.event("message decided and marked", p.arrival(60))
	p.event("mark confirmed", p.settled(60))
	p.event("mark removed", &filter.Flagged{At: p.now(), Place: place(30), Flags: []string{ingest.CanonicalFlag(o.Companion)}})
	p.at += 10 * 60_000
	p.event("its lesson", &filter.Ticked{At: p.now()})
	p.event("undo of a mark", &filter.UndoRequested{At: p.now(), Only: p.ledger(40)})
	p.event("undo confirmed", &filter.Settled{At: p.now(), Ledger: p.ledger(40)[0], Outcome: ingest.MarkDone, Cleared: &[]filter.Place{place(40)}[0]})
	k, _ := p.w.Filter().State().Places.Get(store.PlaceKey("INBOX", 45))
	p.measure("forget a message", func() {
		p.rewrite(&past.ForgetRequested{At: p.now(), Key: k.Message})
	})
	p.measure("undo of learning", func() {
		p.rewrite(&past.UnlearnRequested{At: p.now(), Since: 1})
	})
}

// passing is an account of which the code that its events run is measured.
type passing struct {
	dir   string
	store *boltfile.Store
	w     *writer.Writer
	at    store.Moment
	n     int
}

func (p *passing) now() store.Moment { p.at += 1000; return 1_770_000_000_000 + p.at }

func place(i int) filter.Place {
	return filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uint32(i + 1)}
}

func (p *passing) arrival(i int) *filter.Arrived {
	reader, err := featurize.New(featurize.DefaultOptions())
	must(err)
	m := reader.Read(fmt.Appendf(nil, "From: a%d@example.org\r\nTo: owner@example.org\r\nSubject: number %d\r\nMessage-ID: <%d@example.org>\r\n\r\nwords of message %d\r\n", i%7, i, i, i))
	at := p.now()
	return &filter.Arrived{At: at, Seen: at, Dated: at, Place: place(i), Meta: filter.NewMeta(m), Message: m, ModSeq: uint64(i + 1)}
}

// ledger returns the numbers of the entries of a message's mark.
func (p *passing) ledger(i int) []uint64 {
	st := p.w.Filter().State()
	at, _ := st.Places.Get(store.PlaceKey("INBOX", uint32(i+1)))
	for _, key := range st.Ledger.Keys() {
		if e, _ := st.Ledger.Get(key); e.Message == at.Message {
			return []uint64{store.LedgerNumber(key)}
		}
	}
	must(fmt.Errorf("message %d has no mark", i))
	return nil
}

func (p *passing) settled(i int) *filter.Settled {
	flags := []string{"$hinged", "$important"}
	if e, _ := p.w.Filter().State().Ledger.Get(store.LedgerKey(p.ledger(i)[0])); e.Companion != "" {
		flags[0] = ingest.CanonicalFlag(e.Companion)
	}
	return &filter.Settled{At: p.now(), Ledger: p.ledger(i)[0], Outcome: ingest.MarkDone, Flags: ingest.CanonicalFlags(flags)}
}

func (p *passing) settle(i int) { p.commit(p.settled(i)) }

func (p *passing) commit(e filter.Event) {
	r, err := p.w.Apply(e)
	must(err)
	if !r.Changed {
		must(fmt.Errorf("%T changed nothing", e))
	}
	must(p.store.Commit(account, p.w.Filter().State(), p.w.Batch()))
	p.w.Committed()
}

func (p *passing) rewrite(e past.RewriteRequest) {
	commit := func(st *store.State, r store.Rewrite) error { return p.store.Rewrite(account, st, r) }
	r, _, err := p.w.Rewrite(context.Background(), e, commit)
	must(err)
	if !r.Changed {
		must(fmt.Errorf("%T changed nothing", e))
	}
}

func (p *passing) event(name string, e filter.Event) { p.measure(name, func() { p.commit(e) }) }

// measure writes which code do ran.
func (p *passing) measure(name string, do func()) {
	p.n++
	dir := filepath.Join(p.dir, fmt.Sprintf("%d %s", p.n, name))
	must(os.MkdirAll(dir, 0o700))
	must(coverage.WriteMetaDir(dir))
	must(coverage.ClearCounters())
	do()
	must(coverage.WriteCountersDir(dir))
}
