// SPDX-License-Identifier: Apache-2.0

// Decisions follows the decisions that hinged produces to Kafka, and does
// something with each of them exactly once: here it appends a line of JSON to a
// file, for each message that is to be marked.
//
//	go run ./docs/examples/decisions -brokers kafka.example.org:9092 -file marked.jsonl
//
// Two things make it "once". Every decision has a ce_id that names its message's
// record for good; one that was said again has the same, and is passed over. And
// what was done, the ids and where to go on reading stand in one file, so that
// they cannot disagree after a crash. In a database that would be one
// transaction, with a unique key on ce_id.
//
// It is a starting point, and not part of hinged: it needs nothing of it but what
// the records look like.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

// decision is as much of the value of a record as is of use here; the rest is in
// docs/json/kafka-decision.schema.json.
type decision struct {
	Account   string  `json:"account"`
	MessageID string  `json:"message_id"`
	Decision  string  `json:"decision"`
	Mark      bool    `json:"mark"`
	Score     float64 `json:"score"`
}

// entry is one line of the file: what was done with a record, and where it was.
type entry struct {
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
	ID        string    `json:"ce_id"`
	Mark      *decision `json:"mark,omitempty"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	brokers := flag.String("brokers", "localhost:9092", "a broker")
	topic := flag.String("topic", "hinged.decisions", "the topic of decisions")
	file := flag.String("file", "marked.jsonl", "what was done")
	catchUp := flag.Bool("catch-up", false, "end when there is nothing more, instead of waiting for it")
	flag.Parse()
	if err := follow(ctx, *brokers, *topic, *file, *catchUp, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// follow reads all partitions until ctx is done, or to their ends.
func follow(ctx context.Context, broker, topic, path string, catchUp bool, out io.Writer) error {
	done, err := open(path)
	if err != nil {
		return err
	}
	defer done.Close()

	client := &kafka.Client{Addr: kafka.TCP(broker)}
	meta, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	if err := meta.Topics[0].Error; err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	records := make(chan kafka.Message)
	errs := make([]error, len(meta.Topics[0].Partitions))
	var reading sync.WaitGroup
	for i, p := range meta.Topics[0].Partitions {
		reading.Go(func() {
			if errs[i] = read(ctx, broker, topic, p.ID, done.next[p.ID], catchUp, records); errs[i] != nil {
				cancel() // one partition alone would be half of the truth
			}
		})
	}
	go func() {
		reading.Wait()
		close(records)
	}()
	for m := range records {
		if err := done.handle(m, out); err != nil {
			cancel()
			for range records { // until the readers have ended
			}
			return err
		}
	}
	return errors.Join(errs...)
}

// read hands on the records of one partition.
func read(ctx context.Context, broker, topic string, partition int, from int64, catchUp bool, to chan<- kafka.Message) error {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{broker}, Topic: topic, Partition: partition,
		MaxBytes: 16 << 20, MaxWait: 300 * time.Millisecond, OffsetOutOfRangeError: true,
	})
	defer r.Close()
	conn, err := kafka.DialLeader(ctx, "tcp", broker, topic, partition)
	if err != nil {
		return err
	}
	first, end, err := conn.ReadOffsets()
	if err := errors.Join(err, conn.Close()); err != nil {
		return err
	}
	if from < first {
		// Nothing was read yet; or it was deleted before we came, and is lost to us.
		from = first
	}
	if err := r.SetOffset(from); err != nil {
		return err
	}
	for !catchUp || from < end {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil // we were asked to stop
			}
			return fmt.Errorf("partition %d: %w", partition, err)
		}
		from = m.Offset + 1
		select {
		case to <- m:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// deeds is the file of what was done.
type deeds struct {
	file *os.File
	seen map[string]bool // by ce_id
	next map[int]int64   // where to go on, by partition
}

// open reads what was done before. A line that a crash cut off was not done.
func open(path string) (*deeds, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	d := &deeds{file: f, seen: map[string]bool{}, next: map[int]int64{}}
	whole := int64(0)
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		var e entry
		if err != nil || json.Unmarshal(line, &e) != nil {
			break
		}
		whole += int64(len(line))
		d.seen[e.ID] = true
		d.next[e.Partition] = e.Offset + 1
	}
	if err := f.Truncate(whole); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(whole, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

func (d *deeds) Close() error { return d.file.Close() }

// handle does what one record asks for, unless it was done before.
func (d *deeds) handle(m kafka.Message, out io.Writer) error {
	e := entry{Partition: m.Partition, Offset: m.Offset}
	kind := ""
	for _, h := range m.Headers {
		switch h.Key {
		case "ce_id":
			e.ID = string(h.Value)
		case "ce_type":
			kind = string(h.Value)
		}
	}
	if kind != "io.hinged.message.decided.v1" || d.seen[e.ID] {
		return nil // of a later version, or said again
	}
	var decided decision
	if err := json.Unmarshal(m.Value, &decided); err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", m.Partition, m.Offset, err)
	}
	if decided.Mark {
		e.Mark = &decided
	}
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(e); err != nil {
		return err
	}
	if _, err := d.file.Write(line.Bytes()); err != nil {
		return err
	}
	// Slow for each record; a batch of them would share one.
	if err := d.file.Sync(); err != nil {
		return err
	}
	d.seen[e.ID] = true
	if e.Mark != nil {
		_, err := fmt.Fprintf(out, "%s: %s is important (%+.2f)\n", decided.Account, decided.MessageID, decided.Score)
		return err
	}
	return nil
}
