// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
	source "github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// What moves on the embedded server is \Deleted for a moment. Of unread mail that would
// be a label of its own, or none, as timing has it: spam is read before it moves.
func TestSpamIsReadBeforeItMoves(t *testing.T) {
	e := startServer(t)
	h, _ := client(t, e, inbox)
	for _, d := range []deed{junks, reads, marks, answers} {
		uid := h.mustPut(t, inbox)
		testkit.OK(t, h.flag(d, uid, "$Important"))
		flags, there, err := h.flags(uid)
		testkit.OK(t, err)
		if !there || !has(flags, string(imap.FlagSeen)) {
			t.Errorf("%v: the flags are %v, want \\Seen among them", d, flags)
		}
	}
}

// What the owner's silence teaches is learnt at her first deed of the day. That is a note
// of hers, before any mail comes, and not what she does about the first of it.
func TestTheOwnersDayBeginsBeforeTheMailComes(t *testing.T) {
	e := startServer(t)
	postman, _ := client(t, e, inbox)
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{OwnerAddress}
	d, err := daemon.New(daemon.Options{
		StorePath: filepath.Join(t.TempDir(), "hinged.db"), Store: boltfile.Options{NoSync: true}, Logger: slog.New(slog.DiscardHandler),
		Accounts: []daemon.AccountOptions{{Name: account, Filter: o, NewSource: func(known []ingest.Known) (ingest.Source, error) {
			return source.New(source.Options{
				Address: e.Addr, TLS: source.TLSNone, Username: e.User, MaxBytes: 1 << 20,
				Password:     func(context.Context) (string, error) { return e.Password, nil },
				PollInterval: 50 * time.Millisecond,
			}, known)
		}}},
	})
	testkit.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		testkit.OK(t, <-ended)
		testkit.OK(t, d.Close())
	})
	start, err := night(time.Now())
	testkit.OK(t, err)
	s := &stage{
		o: Options{Patience: 3 * time.Minute, Fast: true}, daemon: d, postman: postman, owner: postman,
		plan: NewPlan(1, start, 10, time.Minute), there: map[string]int{},
	}
	active := func() (at store.Moment, days uint32) {
		t.Helper()
		testkit.OK(t, d.Each(ctx, func(d *desk.Desk) error {
			a := d.Filter.State().Account
			at, days = a.LastActive, a.ActiveDays
			return nil
		}))
		return at, days
	}
	testkit.OK(t, s.until(ctx, "connect", s.scanned))
	if at, days := active(); at != 0 || days != 0 {
		t.Fatalf("she was active at %d, on %d days, before the demo", at, days)
	}
	testkit.OK(t, s.wake(ctx))
	if _, days := active(); days != 1 {
		t.Errorf("she was active on %d days once she wrote, want 1", days)
	}
}
