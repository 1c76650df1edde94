// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/daemon"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// history is a source that reads the mailbox of a player as it is at the start.
type history struct {
	ingest.Source
	p *player
}

func (h *history) Run(ctx context.Context, emit ingest.Emit) error {
	for _, f := range folders {
		if h.p.watches(f) {
			if err := emit(ctx, ingest.MailboxOpened{Mailbox: f, UIDValidity: validity, Role: roles[f]}); err != nil {
				return err
			}
		}
	}
	for _, l := range h.p.there() {
		place := ingest.Place{Mailbox: l.folder, UIDValidity: validity, UID: l.uid}
		a := ingest.Arrival{Place: place, Internal: l.at, Flags: l.flags, Raw: h.p.Mail[l.mail].Raw, Backlog: true, Away: true}
		if err := emit(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// TestThePastIsReadAsTheDaemonReadsIt: the decisions are those that daemon.Rehearse leads to,
// the code of `hinged bootstrap --dry-run`.
func TestThePastIsReadAsTheDaemonReadsIt(t *testing.T) {
	h, err := settled()
	if err != nil {
		t.Fatal(err)
	}
	h.live = 120
	o, err := h.open(persons.Make("office", 3, 500))
	if err != nil {
		t.Fatal(err)
	}
	p := h.player(o, 380)
	p.until(p.start)
	memory := filter.Memory{}
	f, err := filter.New(store.NewState(), memory)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []filter.Event{&filter.Configured{Options: o.options}, &filter.Primed{Weights: h.prior}} {
		if _, err := f.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	err = daemon.Rehearse(t.Context(), f, &history{p: p}, func(_ filter.Event, _ *featurize.Message, r filter.Result) error {
		if r.Decision != nil {
			memory.Keep(r.Decision.Message, r.Features, true)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.bootstrap()
	if p.err != nil {
		t.Fatal(p.err)
	}
	keys := f.State().Messages.Keys()
	if n := p.filter.State().Messages.Len(); n != len(keys) || n < 380 {
		t.Fatalf("%d messages are known, the daemon knows %d", n, len(keys))
	}
	for _, k := range keys {
		want, _ := f.State().Messages.Get(k)
		got, _ := p.filter.State().Messages.Get(k)
		if got.Score != want.Score || got.Outcome != want.Outcome || got.Reason != want.Reason || got.Role != want.Role {
			t.Errorf("message %d: score %v, %v, want %v, %v", want.Seq, got.Score, got.Outcome, want.Score, want.Outcome)
		}
	}
}
