// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

const partitions = 3

// world is a broker with mail of some accounts in it.
type world struct {
	t      *testing.T
	broker string
	client *kafka.Client
	mail   *testkit.Mail
	sent   int
	every  int64 // records between two snapshots
}

func newWorld(t *testing.T) *world {
	t.Helper()
	topics := kafka.Topics{Input: "in", Decisions: "decisions", DeadLetters: "dead", Snapshots: "snapshots"}
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topics.All()...))
	testkit.OK(t, err)
	t.Cleanup(c.Close)
	w := &world{t: t, broker: c.ListenAddrs()[0], mail: testkit.NewMail(1), every: 1 << 30}
	w.client = kafka.New(kafka.Options{
		Brokers: []string{w.broker}, MetadataAge: 10 * time.Second, MaxWait: 50 * time.Millisecond, JoinBackoff: 100 * time.Millisecond,
		Topics: topics,
	})
	t.Cleanup(func() { _ = w.client.Close() })
	return w
}

func (w *world) engine() stream.Options {
	o := filter.DefaultOptions()
	return stream.Options{Broker: stream.Client(w.client), Topics: w.client.Options().Topics, Filter: o, SnapshotEvery: w.every}
}

// send produces n messages of five accounts, with feedback on each third, and
// something of no use.
func (w *world) send(n int) {
	w.t.Helper()
	var all []kafka.Record
	for range n {
		m := w.mail.Next()
		key := fmt.Sprintf("owner%d@example.org", w.sent%5)
		all = append(all, kafka.Encode(kafka.Message{Raw: m.Raw}, key, fmt.Sprint(w.sent), "test", m.Date))
		if w.sent%3 == 0 {
			f := kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(m.MessageID)}, Label: kafka.Label(m.Important), Source: "explicit"}
			all = append(all, kafka.Encode(f, key, fmt.Sprint(w.sent, "f"), "test", m.Date.Add(time.Minute)))
		}
		if w.sent%20 == 0 {
			all = append(all, kafka.Record{Partition: 1, Key: []byte(key), Value: []byte("x"), Headers: []kafka.Header{{Key: "ce_type", Value: []byte("nonsense")}}})
		}
		w.sent++
	}
	if _, err := w.client.Produce(w.t.Context(), "in", all); err != nil {
		w.t.Fatal(err)
	}
}

// live runs the engine of a daemon until it has read everything, and some more
// until ready says so, and returns the digests.
func (w *world) live(ready func(stream.Status) bool) []Account {
	w.t.Helper()
	s, err := stream.OpenFiles(filepath.Join(w.t.TempDir(), "live.db"), boltfile.Options{NoSync: true})
	testkit.OK(w.t, err)
	o := w.engine()
	o.Files = s
	e, err := stream.New(o)
	testkit.OK(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		status := e.Status()
		done := len(status.Partitions) == partitions
		for i := range status.Partitions {
			p := &status.Partitions[i]
			done = done && p.Begun && p.CaughtUp()
		}
		if done && ready(status) {
			break
		}
		if time.Since(began) > 5*time.Minute {
			w.t.Fatalf("it does not catch up: %+v", status)
		}
	}
	cancel()
	testkit.OK(w.t, <-ended)
	out, err := digests(w.t.Context(), s)
	testkit.OK(w.t, err)
	testkit.OK(w.t, s.Close())
	all := map[string][2]string{}
	for _, a := range out {
		all[a.Account] = [2]string{a.Model, a.State}
	}
	testkit.PinAccounts(w.t, "replay", all, nil)
	return out
}

func everything(stream.Status) bool { return true }

func (w *world) replay(into string) (Replayed, error) {
	last := int64(-1)
	return Run(w.t.Context(), Options{
		Broker: stream.Client(w.client), Engine: w.engine(), Into: into, Store: boltfile.Options{NoSync: true},
		Progress: func(done, total int64) {
			if done < last || done > total {
				w.t.Errorf("%d of %d are done, after %d", done, total, last)
			}
			last = done
		},
	})
}

func TestAReplayFromTheFirstRecordGivesTheDigestsOfTheDaemon(t *testing.T) {
	w := newWorld(t)
	w.send(150)
	want := w.live(everything)
	if len(want) != 5 {
		t.Fatalf("got %d accounts, want 5", len(want))
	}
	before := w.ends()
	into := filepath.Join(t.TempDir(), "rebuilt.db")
	got, err := w.replay(into)
	testkit.OK(t, err)
	if !slices.Equal(got.Accounts, want) {
		t.Errorf("got %v\nwant %v", got.Accounts, want)
	}
	if got.Records == 0 || got.Messages != 150 || got.DeadLetters == 0 || got.File != into {
		t.Errorf("got %+v", got)
	}
	for i, p := range got.Partitions {
		if p.Partition != int32(i) || p.From != FromStart || p.Offset != 0 || p.Next == 0 {
			t.Errorf("got %+v, want from the start", p)
		}
	}
	if after := w.ends(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("something was produced: %v, before %v", after, before)
	}
	// What was made is a store.
	s, err := boltfile.OpenReadOnly(into, boltfile.Options{})
	testkit.OK(t, err)
	defer s.Close()
	files, err := stream.ReadFiles(into, boltfile.Options{})
	testkit.OK(t, err)
	defer files.Close()
	if again, err := digests(t.Context(), files); err != nil || !slices.Equal(again, want) {
		t.Errorf("in the file: %v, %v", again, err)
	}
	if left, err := filepath.Glob(into + ".unfinished*"); err != nil || len(left) > 0 {
		t.Errorf("the draft is still there: %q, %v", left, err)
	}
}

// ends of all topics but the input.
func (w *world) ends() map[string][]kafka.Watermark {
	out := map[string][]kafka.Watermark{}
	for _, topic := range []string{"decisions", "dead", "snapshots"} {
		out[topic] = w.marks(topic)
	}
	return out
}

func (w *world) marks(topic string) []kafka.Watermark {
	w.t.Helper()
	m, err := w.client.Watermarks(w.t.Context(), topic)
	testkit.OK(w.t, err)
	return m
}

func TestAReplayEndsWhereTheLogEndedAtItsBeginning(t *testing.T) {
	w := newWorld(t)
	w.send(60)
	want := w.live(everything)
	// More comes once the replay has looked where the logs end.
	broker := &busy{Broker: stream.Client(w.client), more: func() { w.send(30) }}
	got, err := Run(t.Context(), Options{Broker: broker, Engine: w.engine(), Into: filepath.Join(t.TempDir(), "r.db"), Store: boltfile.Options{NoSync: true}})
	testkit.OK(t, err)
	if got.Messages != 60 || !slices.Equal(got.Accounts, want) {
		t.Errorf("got %d messages and %v\nwant 60 and %v", got.Messages, got.Accounts, want)
	}
}

// busy has more mail right after somebody looked where its logs end.
type busy struct {
	stream.Broker
	more func()
}

func (b *busy) Watermarks(ctx context.Context, topic string) ([]kafka.Watermark, error) {
	marks, err := b.Broker.Watermarks(ctx, topic)
	if b.more != nil {
		b.more()
		b.more = nil
	}
	return marks, err
}

func TestAReplayIntoAFileThatIsThereIsRefused(t *testing.T) {
	w := newWorld(t)
	into := filepath.Join(t.TempDir(), "precious.db")
	testkit.OK(t, os.WriteFile(into, []byte("mine"), 0o600))
	if _, err := w.replay(into); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), into) {
		t.Errorf("got %v, want that it is there", err)
	}
	if text, err := os.ReadFile(into); err != nil || string(text) != "mine" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestAReplayThatIsInterruptedLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.send(60)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, Options{
		Broker: stream.Client(w.client), Engine: w.engine(), Into: filepath.Join(dir, "r.db"), Store: boltfile.Options{NoSync: true},
		Progress: func(int64, int64) { cancel() },
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was interrupted", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// cut deletes the first records of every partition of the input, up to an offset.
func (w *world) cut(at [partitions]int64) {
	w.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.broker))
	testkit.OK(w.t, err)
	defer c.Close()
	req := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = "in"
	for i, offset := range at {
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = int32(i), offset
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(w.t.Context(), c)
	testkit.OK(w.t, err)
	for _, p := range res.Topics[0].Partitions {
		if p.ErrorCode != 0 || p.LowWatermark == 0 {
			w.t.Fatalf("partition %d begins at %d, error %d", p.Partition, p.LowWatermark, p.ErrorCode)
		}
	}
}

// halves are in the middle of the partitions of the input.
func (w *world) halves() (at [partitions]int64) {
	w.t.Helper()
	for i, m := range w.marks("in") {
		at[i] = m.End / 2
	}
	return at
}

// snapshots are the positions of the newest snapshots.
func (w *world) snapshots() (at [partitions]int64) {
	w.t.Helper()
	for i, m := range w.marks("snapshots") {
		r := w.client.Read("snapshots", kafka.TopicID{}, int32(i), m.First)
		for next := m.First; next < m.End; {
			b, err := r.Next(w.t.Context(), 1000, 1<<20)
			testkit.OK(w.t, err)
			next = max(next, b.Next)
			for _, record := range b.Records {
				if name, ok := strings.CutPrefix(string(record.Key), "manifest/"); ok && record.Value != nil {
					position, err := strconv.ParseInt(name[strings.IndexByte(name, '/')+1:], 16, 64)
					testkit.OK(w.t, err)
					at[i] = max(at[i], position)
				}
			}
		}
		r.Close()
	}
	return at
}

// snapshotted reports whether this process has made a snapshot of every partition.
func snapshotted(s stream.Status) bool {
	for i := range s.Partitions {
		if s.Partitions[i].Snapshots == 0 {
			return false
		}
	}
	return true
}

func TestAReplayFromSnapshotsGivesTheDigestsOfTheDaemon(t *testing.T) {
	w := newWorld(t)
	w.every = 20
	w.send(200)
	w.live(snapshotted)
	w.cut(w.snapshots())
	w.send(20)
	w.every = 1 << 30
	want := w.live(everything) // which itself begins at the snapshots
	got, err := w.replay(filepath.Join(t.TempDir(), "rebuilt.db"))
	testkit.OK(t, err)
	if !slices.Equal(got.Accounts, want) {
		t.Errorf("got %v\nwant %v", got.Accounts, want)
	}
	for _, p := range got.Partitions {
		if p.From != FromSnapshot || p.Offset == 0 || p.Next <= p.Offset {
			t.Errorf("got %+v, want from a snapshot", p)
		}
	}
}

func TestALogWithoutItsFirstRecordAndWithoutASnapshotIsRefused(t *testing.T) {
	w := newWorld(t)
	w.send(60)
	w.cut(w.halves())
	dir := t.TempDir()
	if _, err := w.replay(filepath.Join(dir, "r.db")); err == nil || errors.Is(err, os.ErrExist) {
		t.Errorf("got %v, want that no state fits the log", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
