// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/store/boltfile"
)

// server is a source over a mailbox that remembers what it was told to resume
// from: each run reports all messages from the known position on, and then what
// comes live.
type server struct {
	running atomic.Int32
	runs    atomic.Int32
	mail    func() [][]byte // all messages, by UID from 1
	more    chan struct{}   // there may be new mail
	known   []ingest.Known
	marked  atomic.Int32
}

func (s *server) Mark(requests ...ingest.MarkRequest) { s.marked.Add(int32(len(requests))) }
func (s *server) Status() ingest.Status               { return ingest.Status{Connected: s.running.Load() > 0} }

func (s *server) Run(ctx context.Context, emit ingest.Emit) error {
	s.running.Add(1)
	s.runs.Add(1)
	defer s.running.Add(-1)
	next := uint32(1)
	if len(s.known) > 0 {
		next = s.known[0].UIDNext
	}
	if emit(ctx, opened) != nil {
		return nil
	}
	for {
		for all := s.mail(); int(next) <= len(all); next++ {
			if emit(ctx, arrival(next, all[next-1])) != nil ||
				emit(ctx, ingest.Cursor{Mailbox: "INBOX", UIDValidity: 1, UIDNext: next + 1, BacklogBefore: 1}) != nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.more:
		}
	}
}

func startServer(t *testing.T, dir string, s *server) *Daemon {
	t.Helper()
	d, _ := startSource(t, dir, func(known []ingest.Known) (ingest.Source, error) { s.known = known; return s, nil }, nil)
	return d
}

func TestAPauseStopsTheSourceAndAResumeGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	var count atomic.Int32
	var all [][]byte
	for i := range 2000 {
		all = append(all, mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	s := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all[:count.Load()] }}
	more := func(n int32) {
		count.Add(n)
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
	d := startServer(t, t.TempDir(), s)
	ctx := context.Background()
	for i := range 20 {
		more(100)
		if i%3 == 0 {
			until(t, d, "some messages", func(a desk.AccountStatus) bool { return a.Messages > uint64(100*i) })
		}
		// In the middle of the stream, most times.
		if p, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); err != nil || !p[0].Paused || !p[0].Changed || p[0].Since == nil {
			t.Fatalf("pause gave %+v, %v", p, err)
		}
		if n := s.running.Load(); n != 0 {
			t.Fatalf("after the pause %d runs of the source go on", n)
		}
		before := until(t, d, "the pause", func(a desk.AccountStatus) bool { return a.Paused && a.PausedSince != nil && !a.Connected })
		if i%4 == 0 {
			more(0)
			if p, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); err != nil || p[0].Changed {
				t.Fatalf("paused again: %+v, %v", p, err)
			}
			if after := until(t, d, "it still", func(a desk.AccountStatus) bool { return a.Paused }); after.Messages != before.Messages {
				t.Fatalf("messages went from %d to %d while paused", before.Messages, after.Messages)
			}
		}
		if r, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); err != nil || r[0].Paused || !r[0].Changed {
			t.Fatalf("resume gave %+v, %v", r, err)
		}
	}
	until(t, d, "every message", func(a desk.AccountStatus) bool { return a.Messages == 2000 && !a.Paused })
	v, err := do(ctx, d, desk.Verify, "", desk.VerifyRequest{})
	if err != nil || !v.OK {
		t.Fatalf("verify: %+v, %v", v, err)
	}
	if s.runs.Load() != 21 {
		t.Errorf("the source ran %d times, want 21", s.runs.Load())
	}
}

// A pause and a resume that cross each other lose nothing either.
func TestPausesAndResumesAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	var all [][]byte
	for i := range 3000 {
		all = append(all, mail(i, "a@example.com", fmt.Sprint("words ", i)))
	}
	s := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all }}
	d := startServer(t, t.TempDir(), s)
	ctx := context.Background()
	for range 30 {
		errs := make(chan error, 2)
		go func() { _, err := do(ctx, d, desk.Pause, "", desk.SwitchRequest{}); errs <- err }()
		go func() { _, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); errs <- err }()
		if err := errors.Join(<-errs, <-errs); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := do(ctx, d, desk.Resume, "", desk.SwitchRequest{}); err != nil {
		t.Fatal(err)
	}
	until(t, d, "every message", func(a desk.AccountStatus) bool { return a.Messages == 3000 })
}

func TestAPausedAccountStartsPaused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScript()
	d, stop := start(t, dir, s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	stop()
	off, err := OpenStore(filepath.Join(dir, "store.db"), "test", boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := do(context.Background(), off, desk.Pause, "", desk.SwitchRequest{}); err != nil || !p[0].Changed {
		t.Fatalf("pause gave %+v, %v", p, err)
	}
	until(t, off, "the pause in the store", func(a desk.AccountStatus) bool { return a.Paused })
	if err := off.Close(); err != nil {
		t.Fatal(err)
	}

	all := [][]byte{mail(1, "boss@example.com", "urgent matter"), mail(2, "news@example.net", "newsletter"), mail(3, "boss@example.com", "urgent thing")}
	srv := &server{more: make(chan struct{}, 1), mail: func() [][]byte { return all }}
	d = startServer(t, dir, srv)
	until(t, d, "the pause", func(a desk.AccountStatus) bool { return a.Paused })
	if _, err := do(context.Background(), d, desk.Label, "", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: "<m1@x>"}}}); !errors.Is(err, desk.ErrPaused) {
		t.Errorf("learning while paused gave %v, want ErrPaused", err)
	}
	if srv.runs.Load() != 0 {
		t.Error("the source ran")
	}
	if _, err := do(context.Background(), d, desk.Resume, "", desk.SwitchRequest{}); err != nil {
		t.Fatal(err)
	}
	until(t, d, "the third message", func(a desk.AccountStatus) bool { return a.Messages == 3 })
}
