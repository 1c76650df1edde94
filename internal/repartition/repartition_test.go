// SPDX-License-Identifier: Apache-2.0

package repartition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/replay"
	"github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// world is a cluster with the mail of some accounts.
type world struct {
	*testing.T
	addrs []string
	mail  *testkit.Mail
	sent  int
}

func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Run("kfake", func(t *testing.T) {
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		test(&world{T: t, addrs: c.ListenAddrs(), mail: testkit.NewMail(1)})
	})
	t.Run("Apache Kafka", func(t *testing.T) {
		test(&world{T: t, addrs: testkit.StartKafka(t, testkit.KafkaOptions{}).Addrs(), mail: testkit.NewMail(1)})
	})
}

// topics returns a client of topics whose names begin so.
func (w *world) topics(name string) *kafka.Client {
	w.Helper()
	c, err := kafka.New(kafka.Options{
		Brokers: w.addrs, Group: "g", RequestTimeout: time.Minute, MetadataAge: 10 * time.Second, MaxWait: 50 * time.Millisecond, JoinBackoff: 100 * time.Millisecond,
		Topics: kafka.Topics{Input: name + ".in", Decisions: "decisions", DeadLetters: "dead", Snapshots: name + ".snapshots"},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *world) make(c *kafka.Client, partitions int32) *kafka.Client {
	w.Helper()
	if err := kafka.Insist(w.Context(), func() error {
		_, _, err := c.EnsureTopics(w.Context(), kafka.Wanted{Create: true, Partitions: partitions})
		return err
	}); err != nil {
		w.Fatal(err)
	}
	return c
}

func engine(c *kafka.Client) stream.Options {
	o := filter.DefaultOptions()
	o.MinImportant, o.MinOrdinary = 2, 2
	return stream.Options{Broker: stream.Client(c), Topics: c.Options().Topics, Filter: o, SnapshotEvery: 1 << 30}
}

const accounts = 9

// some makes n messages of nine accounts, with feedback on each third.
func (w *world) some(n int) (all []kafka.Record) {
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	for range n {
		m := w.mail.Next()
		key := fmt.Sprintf("owner%d@example.org", w.sent%accounts)
		at = at.Add(time.Second)
		all = append(all, kafka.Encode(kafka.Message{Raw: m.Raw}, key, fmt.Sprint(w.sent), "test", at))
		if w.sent%3 == 0 {
			f := kafka.Feedback{Message: kafka.Ref{MessageID: m.MessageID}, Important: m.Important, Source: "explicit"}
			all = append(all, kafka.Encode(f, key, fmt.Sprint(w.sent, "f"), "test", at))
		}
		w.sent++
	}
	return all
}

func (w *world) send(c *kafka.Client, all []kafka.Record) {
	w.Helper()
	if _, err := c.Produce(w.Context(), c.Options().Topics.Input, all); err != nil {
		w.Fatal(err)
	}
}

// live runs the engine of a daemon with a store until it has everything, calls then, and
// returns the digests.
func (w *world) live(c *kafka.Client, path string, then func(s *stream.Engine)) map[string]string {
	w.Helper()
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	if err != nil {
		w.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			w.Error(err)
		}
	}()
	e, end := w.run(c, s)
	w.eventually(func() error {
		marks, err := c.Watermarks(w.Context(), c.Options().Topics.Input)
		if err != nil {
			return err
		}
		status := e.Status()
		if len(status.Partitions) != len(marks) {
			return fmt.Errorf("it has %d of %d partitions", len(status.Partitions), len(marks))
		}
		for _, p := range status.Partitions {
			if p.Stopped {
				w.Fatal(p.Problem)
			}
			if !p.Begun || p.Position < marks[p.Partition].End || p.Restoring > 0 {
				return fmt.Errorf("partition %d stands at %d of %d", p.Partition, p.Position, marks[p.Partition].End)
			}
		}
		return nil
	})
	if then != nil {
		then(e)
	}
	end()
	return digests(w, s)
}

// run runs the engine of a daemon with a store, until end is called.
func (w *world) run(c *kafka.Client, s *boltfile.Store) (e *stream.Engine, end func()) {
	w.Helper()
	o := engine(c)
	o.Store = s
	e, err := stream.New(o)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return e, func() {
		w.Helper()
		cancel()
		if err := <-ended; err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) eventually(check func() error) {
	w.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Since(began) > 5*time.Minute {
			w.Fatal(err)
		}
	}
}

func digests(w *world, s *boltfile.Store) map[string]string {
	w.Helper()
	names, err := s.Accounts()
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		st, err := s.Load(name)
		if err != nil {
			w.Fatal(err)
		}
		model, state := store.Digest(st)
		out[name] = model + " " + state
	}
	return out
}

// What was learnt is kept, and what comes next is learnt on top of it: the accounts are
// those of an undisturbed twin whose mail came through one topic.
func TestAccountsGoOnInATopicWithMorePartitions(t *testing.T) {
	onBoth(t, func(w *world) {
		old, twin := w.make(w.topics("old"), 2), w.make(w.topics("twin"), 2)
		path := filepath.Join(w.TempDir(), "s.db")
		first, second := w.some(150), w.some(90)
		w.send(old, first)
		moving := Options{From: old, Engine: engine(old), To: w.topics("new"), Partitions: 5, Dir: w.TempDir()}
		if _, err := Run(w.Context(), moving); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "is decided up to offset 0 of") {
			w.Fatalf("before it is decided: %v", err)
		}
		before := w.live(old, path, func(*stream.Engine) {
			if _, err := Run(w.Context(), moving); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "stop all processes of the group g") {
				w.Errorf("while it runs: %v", err)
			}
		})
		dry := moving
		dry.DryRun = true
		if got, err := Run(w.Context(), dry); err != nil || got.From.Partitions != 2 || got.To.Partitions != 5 {
			w.Fatalf("the dry run: %+v, %v", got, err)
		}
		if _, err := moving.To.Partitions(w.Context(), "new.in"); !errors.Is(err, kafka.ErrNoTopic) {
			w.Errorf("the dry run made a topic: %v", err)
		}
		got, err := Run(w.Context(), moving)
		if err != nil || got.Accounts != accounts || len(got.Spread) != 5 || len(got.Created) != 2 {
			w.Fatalf("got %+v, %v", got, err)
		}
		// Once more, as after an interruption.
		if again, err := Run(w.Context(), moving); err != nil || fmt.Sprint(again.Spread) != fmt.Sprint(got.Spread) {
			w.Fatalf("once more: %+v, %v", again, err)
		}
		// With the old store, and mail that came before hinged did.
		w.send(moving.To, second)
		after := w.live(moving.To, path, nil)
		w.send(twin, append(first, second...))
		want := w.live(twin, filepath.Join(w.TempDir(), "twin.db"), nil)
		if len(want) != accounts || !maps.Equal(after, want) {
			w.Errorf("the accounts came to\n%v\nan undisturbed twin to\n%v", after, want)
		}
		if maps.Equal(after, before) {
			w.Error("nothing was learnt from what came later")
		}
		// The store has each account in its new place.
		s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
		if err != nil {
			w.Fatal(err)
		}
		defer s.Close()
		all, err := s.Partitions()
		if err != nil || len(all) != 5 {
			w.Errorf("the store has the partitions %v, %v", all, err)
		}
		for _, p := range all {
			names, err := s.AccountsOf(p)
			if err != nil || p.Topic != "new.in" {
				w.Fatal(p, err)
			}
			for _, name := range names {
				if home := kafka.Partition([]byte(strings.TrimPrefix(name, kafka.AccountPrefix)), 5); home != p.Number {
					w.Errorf("%s is in partition %d, want %d", name, p.Number, home)
				}
			}
		}
		// A process without a store, and a replay, come to the same.
		if fresh := w.live(moving.To, filepath.Join(w.TempDir(), "fresh.db"), nil); !maps.Equal(fresh, want) {
			w.Errorf("without a store the accounts came to\n%v\nwant\n%v", fresh, want)
		}
		again, err := replay.Run(w.Context(), replay.Options{Broker: stream.Client(moving.To), Engine: engine(moving.To), Into: filepath.Join(w.TempDir(), "again.db")})
		replayed := map[string]string{}
		for _, a := range again.Accounts {
			replayed[a.Account] = a.Model + " " + a.State
		}
		if err != nil || !maps.Equal(replayed, want) {
			w.Errorf("a replay came to\n%v, %v\nwant\n%v", replayed, err, want)
		}
		if _, err := Run(w.Context(), moving); !errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "has read new.in already") {
			w.Errorf("after hinged began there: %v", err)
		}
	})
}

// cutOff is a broker that refuses records with a key that begins so.
type cutOff struct {
	stream.Broker
	prefix string
}

// errCutOff is not worth another try.
var errCutOff = fmt.Errorf("cut off: %w", kafka.ErrClosed)

func (c cutOff) Produce(ctx context.Context, topic string, all []kafka.Record) ([]int64, error) {
	for i, r := range all {
		if strings.HasPrefix(string(r.Key), c.prefix) {
			if i > 0 {
				_, _ = c.Broker.Produce(ctx, topic, all[:i]) // half of it
			}
			return nil, errCutOff
		}
	}
	return c.Broker.Produce(ctx, topic, all)
}

// Interrupted at any step, it leaves topics in which hinged does not begin with nothing.
func TestWhatWasMovedInPartIsNotBegun(t *testing.T) {
	onBoth(t, func(w *world) {
		old := w.make(w.topics("old"), 2)
		w.send(old, w.some(60))
		path := filepath.Join(w.TempDir(), "s.db")
		want := w.live(old, path, nil)
		to := w.make(w.topics("new"), 3)
		s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
		if err != nil {
			w.Fatal(err)
		}
		defer s.Close()
		all, err := s.Partitions()
		if err != nil {
			w.Fatal(err)
		}
		o := engine(old)
		for _, at := range []string{"chunk/", "manifest/"} {
			if _, err := o.Spread(w.Context(), s, stream.Move{Broker: cutOff{stream.Client(to), at}, Topics: to.Options().Topics, Partitions: 3, From: all}); !errors.Is(err, errCutOff) {
				w.Fatalf("%s: got %v", at, err)
			}
			fresh, err := boltfile.Open(filepath.Join(w.TempDir(), "fresh.db"), boltfile.Options{NoSync: true})
			if err != nil {
				w.Fatal(err)
			}
			e, end := w.run(to, fresh)
			w.eventually(func() error {
				for _, p := range e.Status().Partitions {
					if !p.Stopped || !strings.Contains(p.Problem, stream.ErrNoState.Error()) {
						return fmt.Errorf("%s: partition %d: begun %v, stopped %v: %s", at, p.Partition, p.Begun, p.Stopped, p.Problem)
					}
				}
				if n := len(e.Status().Partitions); n != 3 {
					return fmt.Errorf("it has %d partitions", n)
				}
				return nil
			})
			end()
			if err := fresh.Close(); err != nil {
				w.Fatal(err)
			}
		}
		if _, err := o.Spread(w.Context(), s, stream.Move{Broker: stream.Client(to), Topics: to.Options().Topics, Partitions: 3, From: all}); err != nil {
			w.Fatal(err)
		}
		if got := w.live(to, filepath.Join(w.TempDir(), "whole.db"), nil); !maps.Equal(got, want) {
			w.Errorf("the accounts came to\n%v\nwant\n%v", got, want)
		}
	})
}
