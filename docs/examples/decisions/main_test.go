// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/ingest/kafka"
)

const topic = "hinged.decisions"

// producer writes decisions as hinged does.
type producer struct {
	t      *testing.T
	client *kafka.Client
	broker string
}

func newProducer(t *testing.T) *producer {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	broker := c.ListenAddrs()[0]
	client := kafka.New(kafka.Options{
		Brokers: []string{broker}, Topics: kafka.Topics{Input: "in", Decisions: topic, DeadLetters: "dead", Snapshots: "snapshots"},
	})
	t.Cleanup(func() { _ = client.Close() })
	return &producer{t, client, broker}
}

// decide produces decisions on the messages of some offsets of the input, each
// the third of them important.
func (p *producer) decide(offsets ...int64) {
	p.t.Helper()
	var all []kafka.Record
	for _, offset := range offsets {
		d := kafka.Decision{
			Account: fmt.Sprintf("account%d", offset%5), MessageID: fmt.Sprintf("%d@example.org", offset), Key: strings.Repeat("0", 32),
			Decision: "ordinary", Score: -0.5, Topic: "in", Offset: offset, Arrived: time.Unix(1_790_000_000, 0),
		}
		if offset%3 == 0 {
			d.Decision, d.Mark, d.Score = "important", true, 0.5
		}
		r, err := d.Record()
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, r)
	}
	if _, err := p.client.Produce(p.t.Context(), topic, all); err != nil {
		p.t.Fatal(err)
	}
}

// marked returns the messages that the file says were marked, sorted.
func marked(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if e.Mark != nil {
			out = append(out, e.Mark.MessageID)
		}
	}
	slices.Sort(out)
	return out
}

func thirds(upTo int64) []string {
	out := []string{}
	for n := int64(0); n < upTo; n += 3 {
		out = append(out, fmt.Sprintf("%d@example.org", n))
	}
	slices.Sort(out)
	return out
}

func through(from, to int64) []int64 {
	var out []int64
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

func TestEachDecisionIsDealtWithOnce(t *testing.T) {
	p, path := newProducer(t), filepath.Join(t.TempDir(), "marked.jsonl")
	var out bytes.Buffer
	catchUp := func(want int64) {
		t.Helper()
		if err := follow(t.Context(), p.broker, topic, path, true, &out); err != nil {
			t.Fatal(err)
		}
		if got := marked(t, path); !slices.Equal(got, thirds(want)) {
			t.Errorf("got %d marked, want %d: %v", len(got), len(thirds(want)), got)
		}
	}
	p.decide(through(0, 40)...)
	catchUp(40)
	// Another process took over, and says again what it cannot know was said.
	p.decide(through(25, 60)...)
	p.decide(through(10, 30)...)
	catchUp(60)
	// A crash in the middle of a line: what it was about was not done.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	catchUp(60)
	// A restart with nothing new does nothing.
	before := out.Len()
	catchUp(60)
	if out.Len() != before {
		t.Errorf("it told of %s again", out.String()[before:])
	}
}

func TestItWaitsForMoreAndStopsWhenAsked(t *testing.T) {
	p, path := newProducer(t), filepath.Join(t.TempDir(), "marked.jsonl")
	p.decide(0, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	out := &told{want: 3, reached: make(chan struct{})}
	go func() { ended <- follow(ctx, p.broker, topic, path, false, out) }()
	p.decide(6)
	select {
	case <-out.reached:
	case <-ctx.Done():
		t.Error("three decisions were not told")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := marked(t, path); len(got) != 3 {
		t.Errorf("got %v, want three", got)
	}
}

// told counts lines.
type told struct {
	lines, want int
	reached     chan struct{}
}

func (w *told) Write(b []byte) (int, error) {
	if w.lines += bytes.Count(b, []byte("\n")); w.lines == w.want {
		close(w.reached)
	}
	return len(b), nil
}

func TestATopicThatIsNotThere(t *testing.T) {
	p := newProducer(t)
	if err := follow(t.Context(), p.broker, "none", filepath.Join(t.TempDir(), "m"), true, os.Stderr); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got %v, want an error that names the topic", err)
	}
}
