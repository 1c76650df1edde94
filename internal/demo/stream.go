// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/desk"
)

// StreamOptions say how the demo through Kafka goes.
type StreamOptions struct {
	Seed uint64
	// Messages to each mailbox, in the live part.
	Messages int
	// Brokers of a real Kafka; none: one inside this process.
	Brokers []string
	// Fast: every step follows as soon as the one before is done; otherwise the
	// messages come within Span.
	Fast bool
	Span time.Duration
	// Patience is how long any one step may take; 0 is two minutes: a group waits 10
	// for a member that was killed.
	Patience time.Duration

	// Start runs `hinged run` with a configuration, as a process of its own that logs
	// to a file.
	Start func(config, log string) (Process, error)
	// Replay rebuilds the state from Kafka, as `hinged replay` does, and returns the
	// digests.
	Replay func(ctx context.Context, config, into string) ([]desk.Digest, error)
	Screen *Screen
}

// Process is a running `hinged run`.
type Process interface {
	PID() int
	Kill() error // as kill -9; returns once it is gone
	Stop() error // in order; returns once it is gone
}

// streamPartitions is how many there are; each has one mailbox.
const streamPartitions = 4

// mailbox is one account of the stream.
type mailbox struct {
	key  string
	plan *Plan
}

// flow is everything of a running demo through Kafka. Its methods belong to one
// goroutine.
type flow struct {
	o       StreamOptions
	screen  *Screen
	dir     string
	prefix  string // of the topics and the group
	brokers []string
	client  *kafka.Client
	boxes   []*mailbox
	workers []*worker
	heard   *decisions
	tally   streamTally
	began   time.Time // of the live part
	sent    int       // records produced
}

// RunStream plays the demo through Kafka, and leaves nothing behind but, on a real
// Kafka, its topics. It returns an error that wraps ErrLoop when the loop did not
// work. The end of ctx is no error.
func RunStream(ctx context.Context, o StreamOptions) (sum *Summary, err error) {
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	f := &flow{o: o, screen: o.Screen, prefix: "hinged-demo-" + strings.ToLower(rand.Text()[:6]), brokers: o.Brokers}
	if f.dir, err = os.MkdirTemp("", "hinged-demo"); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	undo = append(undo, func() error { return os.RemoveAll(f.dir) })
	where := "Kafka at " + strings.Join(f.brokers, ", ")
	if len(f.brokers) == 0 {
		addrs, stop, err := startBroker()
		if err != nil {
			return nil, err
		}
		undo = append(undo, stop)
		f.brokers = addrs
		where = "a broker inside this process, " + f.brokers[0]
	}
	if f.client, err = kafka.New(kafka.Options{Brokers: f.brokers, ClientID: f.prefix, Topics: f.topics(), MetadataAge: 300 * time.Millisecond, MaxWait: 50 * time.Millisecond}); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	undo = append(undo, f.client.Close)
	undo = append(undo, func() error {
		var errs []error
		for _, w := range f.workers {
			errs = append(errs, w.stop())
		}
		return errors.Join(errs...)
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := f.client.Partitions(ctx, f.topics().Input); err != nil && !errors.Is(err, kafka.ErrNoTopic) {
		return nil, quiet(ctx, fmt.Errorf("demo: %s: %w", where, err))
	}
	if err = f.play(ctx, where); err != nil {
		return nil, quiet(ctx, err)
	}
	sum = f.summary(where)
	f.screen.heading("What it came to")
	if err := f.print(sum); err != nil {
		return sum, err
	}
	return sum, f.check(sum)
}

func (f *flow) topics() kafka.Topics {
	return kafka.Topics{Input: f.prefix + ".input", Decisions: f.prefix + ".decisions", DeadLetters: f.prefix + ".dead-letters", Snapshots: f.prefix + ".snapshots"}
}

// play is the story.
func (f *flow) play(ctx context.Context, where string) error {
	f.cast()
	f.screen.line(fmt.Sprintf("%d mailboxes, their mail on %s.", len(f.boxes), where))
	f.screen.line("Topics " + f.prefix + ".input (messages and feedback), .decisions, .dead-letters and .snapshots, of 4 partitions each.")
	f.screen.line("To look in:  kcat -C -b " + f.brokers[0] + " -t " + f.prefix + ".decisions -f '%p/%o %k %s\\n'")
	if len(f.o.Brokers) > 0 {
		f.screen.line("They stay there. To delete them:  kafka-topics.sh --bootstrap-server " + f.brokers[0] + " --delete --topic '" + f.prefix + ".*'")
	}
	if err := f.hire("A"); err != nil {
		return err
	}
	if err := f.settleDown(ctx); err != nil {
		return err
	}
	f.screen.line(fmt.Sprintf("Process A (%d) has all partitions.", f.workers[0].process.PID()))
	f.heard = f.listen(ctx)
	if err := f.history(ctx); err != nil {
		return err
	}
	return f.live(ctx)
}

// cast makes a mailbox for each partition.
func (f *flow) cast() {
	f.boxes = make([]*mailbox, streamPartitions)
	start := time.Now()
	span := f.o.Span
	if f.o.Fast {
		span = time.Duration(f.o.Messages) * 40 * time.Millisecond
	}
	for n, left := 1, streamPartitions; left > 0; n++ {
		key := fmt.Sprintf("mailbox-%d", n)
		if p := kafka.Partition([]byte(key), streamPartitions); f.boxes[p] == nil {
			f.boxes[p] = &mailbox{key: key, plan: NewPlan(f.o.Seed+uint64(p), start, f.o.Messages, span)}
			left--
		}
	}
}

// writeConfig writes the configuration of one process.
func (f *flow) writeConfig(dir string) (string, error) {
	t := f.topics()
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by "hinged demo --kafka"; gone when it ends.
state_dir = "state"
socket = "hinged.sock"
log_format = "json"

[kafka]
brokers = ["%s"]
tls = "none"
group = %q
create_topics = true
partitions = %d
# Small numbers, so that something is to be seen.
snapshot_every = 100
snapshot_interval = "1s"
shadow = "off"
settle = "0s"
min_important = 8
min_ordinary = 8

[kafka.topics]
input = %q
decisions = %q
dead_letters = %q
snapshots = %q
`, strings.Join(f.brokers, `", "`), f.prefix, streamPartitions, t.Input, t.Decisions, t.DeadLetters, t.Snapshots)
	for _, box := range f.boxes {
		fmt.Fprintf(&b, "\n[[kafka.account]]\nkey = %q\nowner = [%q]\n", box.key, OwnerAddress)
	}
	path := filepath.Join(dir, "hinged.toml")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return "", fmt.Errorf("demo: %w", err)
	}
	return path, nil
}
