// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
)

// topic is an input topic on a real Apache Kafka, and what a producer does to
// it.
type topic struct {
	t          testing.TB
	broker     *testkit.Kafka
	client     *kafka.Client
	partitions int32
}

// newTopic makes an input topic with so many partitions.
func newTopic(t testing.TB, broker *testkit.Kafka, name string, partitions int32) *topic {
	t.Helper()
	in := &topic{t: t, broker: broker, client: clientOf(t, broker, topicsOf(name, name)), partitions: partitions}
	in.retry("making the topics", func(ctx context.Context) error {
		_, _, err := in.client.EnsureTopics(ctx, kafka.Wanted{Partitions: partitions, Create: true})
		return err
	})
	return in
}

// clientOf returns a client that knows these topics.
func clientOf(t testing.TB, broker *testkit.Kafka, topics kafka.Topics) *kafka.Client {
	t.Helper()
	c := kafka.New(kafka.Options{Brokers: broker.Addrs(), Topics: topics, RequestTimeout: time.Minute})
	t.Cleanup(func() { c.Close() })
	return c
}

// of returns the topic as a process of a group sees it.
func (in *topic) of(group string) *topic {
	as := *in
	as.client = clientOf(in.t, in.broker, topicsOf(in.client.Options().Topics.Input, group))
	return &as
}

// configure changes a setting of a topic.
func (in *topic) configure(topic, name, value string) {
	in.t.Helper()
	in.retry("changing "+name+" of "+topic, func(ctx context.Context) error { return in.tryConfigure(ctx, topic, name, value) })
}

func (in *topic) tryConfigure(ctx context.Context, topic, name, value string) error {
	c := kafkago.Client{Addr: kafkago.TCP(in.broker.Addrs()...), Timeout: time.Minute}
	res, err := c.IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{
		Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{
				Name: name, Value: value, ConfigOperation: kafkago.ConfigOperationSet,
			}},
		}},
	})
	if err != nil {
		return err
	}
	return res.Resources[0].Error
}

// topicsOf are the topics of a group of processes that read the same input.
func topicsOf(input, group string) kafka.Topics {
	return kafka.Topics{Input: input, Decisions: group + ".decisions", DeadLetters: group + ".dead-letters", Snapshots: group + ".snapshots"}
}

// retry calls fn until it succeeds, over restarts of the broker.
func (in *topic) retry(what string, fn func(ctx context.Context) error) {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := fn(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			in.t.Fatalf("%s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// produce writes records, each partition's in their order. A record that is
// written twice, because the broker went away before it answered, is one more
// thing that a topic can hold.
func (in *topic) produce(records []kafka.Record) {
	in.t.Helper()
	for left := records; len(left) > 0; {
		n := min(len(left), 500)
		in.retry("producing", func(ctx context.Context) error {
			_, err := in.client.Produce(ctx, in.client.Options().Topics.Input, left[:n])
			return err
		})
		left = left[n:]
	}
}

// ends are the ends of a topic's partitions.
func (in *topic) ends(name string) (ends []int64) {
	in.t.Helper()
	in.retry("the ends of "+name, func(ctx context.Context) error {
		marks, err := in.client.Watermarks(ctx, name)
		ends = ends[:0]
		for _, w := range marks {
			ends = append(ends, w.End)
		}
		return err
	})
	return ends
}

// read returns every record of a topic, partition after partition.
func (in *topic) read(name string) (all []kafka.Record) {
	in.t.Helper()
	for p, end := range in.ends(name) {
		r := in.client.Read(name, kafka.TopicID{}, int32(p), 0)
		for r.Position() < end {
			in.retry("reading "+name, func(ctx context.Context) error {
				b, err := r.Next(ctx, 1000, 4<<20)
				all = append(all, b.Records...)
				return err
			})
		}
		r.Close()
	}
	return all
}

// section is [kafka] for a process of a group; extra is more TOML for it.
func (in *topic) section(group, extra string) string {
	topics := topicsOf(in.client.Options().Topics.Input, group)
	return fmt.Sprintf(`
[kafka]
brokers = [%s]
tls = "none"
group = %q
topics = {input = %q, decisions = %q, dead_letters = %q, snapshots = %q}
create_topics = true
partitions = %d
%s
`, `"`+strings.Join(in.broker.Addrs(), `", "`)+`"`, group, topics.Input, topics.Decisions, topics.DeadLetters, topics.Snapshots, in.partitions, extra)
}

// process is one daemon that reads the topic, in a directory of its own; extra
// is TOML for [kafka]. Processes of one group share the work.
func (in *topic) process(group, extra string) *site {
	in.t.Helper()
	dir := in.t.TempDir()
	s := &site{t: in.t, dir: dir, config: filepath.Join(dir, "hinged.toml"), socket: filepath.Join(dir, "socket"), log: new(testkit.Transcript)}
	text := fmt.Sprintf("state_dir = %q\nsocket = %q\nlog_level = \"info\"\nlog_format = \"text\"\n%s", filepath.Join(dir, "state"), s.socket, in.section(group, extra))
	testkit.Write(in.t, s.config, text)
	in.t.Cleanup(s.kill)
	return s
}

// stream is the status of the topic; ok is false while no daemon answers.
func (s *site) stream() (st stream.Status, ok bool) {
	all, _ := s.ask()
	if all.Stream == nil {
		return st, false
	}
	return *all.Stream, true
}

// done waits until the processes have done all that is in the topic. Between
// them they must have each partition once.
func (in *topic) done(within time.Duration, processes ...*site) {
	in.t.Helper()
	in.doneLooking(50*time.Millisecond, within, processes...)
}

// doneLooking is done with a pause between two looks, which cost the processes
// something, too.
func (in *topic) doneLooking(pause, within time.Duration, processes ...*site) {
	in.t.Helper()
	ends := in.ends(in.client.Options().Topics.Input)
	at := map[int32]int64{}
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(pause) {
		clear(at)
		twice := false
		for _, s := range processes {
			st, _ := s.stream()
			for _, p := range st.Partitions {
				_, there := at[p.Partition]
				twice = twice || there
				at[p.Partition] = p.Position
			}
		}
		rest := int64(0)
		for p, end := range ends {
			position, there := at[int32(p)]
			if !there {
				rest++
			}
			rest += end - position
		}
		if rest == 0 && !twice {
			return
		}
	}
	for i, s := range processes {
		st, _ := s.stream()
		in.t.Logf("process %d: %+v\n%s", i, st, tail(s.log.String()))
	}
	in.t.Fatalf("after %v the positions are %v, the ends %v", within, at, ends)
}

// accountDigests waits until the processes have done all that is in the topic and
// collects the digests of the accounts that each owns. When the partitions are
// dealt out anew while it asks one after the other, which may happen at any time,
// it asks again.
func (in *topic) accountDigests(processes ...*site) (all map[string]desk.Digest) {
	in.t.Helper()
	for {
		in.done(2*patience, processes...)
		dealt := in.dealt(processes)
		all = map[string]desk.Digest{}
		var twice []string
		for _, s := range processes {
			var some []desk.Digest
			if err := json.Unmarshal([]byte(s.digests()), &some); err != nil {
				in.t.Fatal(err)
			}
			for _, d := range some {
				if old, there := all[d.Account]; there && old != d {
					twice = append(twice, fmt.Sprintf("%+v and %+v", old, d))
				}
				all[d.Account] = d
			}
		}
		if in.dealt(processes) != dealt {
			continue
		}
		if len(twice) > 0 {
			in.t.Errorf("two owners of one account: %s", twice)
		}
		return all
	}
}

// dealt says which process has which partitions.
func (in *topic) dealt(processes []*site) string {
	var all []string
	for _, s := range processes {
		st, _ := s.stream()
		for _, p := range st.Partitions {
			all = append(all, fmt.Sprint(p.Partition))
		}
		all = append(all, "|")
	}
	return strings.Join(all, " ")
}

// same compares digests account by account.
func same(t testing.TB, got, want map[string]desk.Digest) {
	t.Helper()
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			if wrong++; wrong <= 5 {
				t.Errorf("%s: got %+v, want %+v", name, got[name], want[name])
			}
		}
	}
	if len(got) != len(want) || wrong > 0 {
		t.Errorf("%d accounts, %d of them with another digest; want %d, all alike", len(got), wrong, len(want))
	}
}
