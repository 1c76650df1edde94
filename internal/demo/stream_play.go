// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

// decisions is what was heard on the topic of decisions.
type decisions struct {
	mu       sync.Mutex
	byID     map[string]kafka.Decision // by Message-ID and account
	values   map[string][]byte         // by ce_id
	repeated int                       // said again
	unequal  int                       // said again in other bytes
	err      error
}

// listen follows the topic of decisions until ctx is done.
func (f *flow) listen(ctx context.Context) *decisions {
	d := &decisions{byID: map[string]kafka.Decision{}, values: map[string][]byte{}}
	for p := range int32(streamPartitions) {
		go func() {
			r := f.client.Read(f.topics().Decisions, kafka.TopicID{}, p, 0)
			defer r.Close()
			for ctx.Err() == nil {
				b, err := r.Next(ctx, 500, 1<<20)
				if err != nil {
					if ctx.Err() == nil && !kafka.Retryable(err) {
						d.fail(err)
						return
					}
					continue
				}
				for _, record := range b.Records {
					d.hear(record)
				}
			}
		}()
	}
	return d
}

func (d *decisions) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *decisions) hear(r kafka.Record) {
	var decision kafka.Decision
	if err := json.Unmarshal(r.Value, &decision); err != nil {
		d.fail(err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := decision.ID()
	if before, ok := d.values[id]; ok {
		// Whoever reads decisions passes over these.
		d.repeated++
		if !bytes.Equal(before, r.Value) {
			d.unequal++
		}
		return
	}
	d.values[id] = r.Value
	d.byID[decision.Account+" "+decision.MessageID] = decision
}

// get returns the decision on a message.
func (d *decisions) get(box *mailbox, m *Message) (kafka.Decision, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.byID[box.key+" "+m.ID]
	return found, ok, d.err
}

// message is the record of a message.
func (f *flow) message(box *mailbox, raw []byte, at time.Time) kafka.Record {
	return f.mail(box, kafka.Message{Raw: raw}, at)
}

func (f *flow) mail(box *mailbox, m kafka.Message, at time.Time) kafka.Record {
	f.sent++
	return kafka.Encode(m, box.key, fmt.Sprint(f.sent), "demo", at)
}

// feedback is what the owner's deed puts into the input topic: her answer is mail
// of her own, everything else is feedback.
func (f *flow) feedback(box *mailbox, m *Message, d deed, at time.Time) []kafka.Record {
	source := map[deed]string{marks: "mark", unmarks: "mark", stars: "flagged", junks: "junk", discards: "moved", answers: "answered"}[d]
	if source == "" {
		return nil
	}
	f.sent++
	event := kafka.Feedback{Message: kafka.Ref{MessageID: m.ID}, Important: d.teaches() == "important", Source: source}
	out := []kafka.Record{kafka.Encode(event, box.key, fmt.Sprint(f.sent), "demo", at)}
	if d == answers {
		out = append(out, f.mail(box, kafka.Message{Raw: m.Reply.Raw, Sent: true}, at))
	}
	return out
}

// produce puts records into the input topic.
func (f *flow) produce(ctx context.Context, records []kafka.Record) error {
	return f.wait(ctx, "nothing could be produced", func() (bool, error) {
		_, err := f.client.Produce(ctx, f.topics().Input, records)
		return err == nil, err
	})
}

// history is what came before the demo, all at once.
func (f *flow) history(ctx context.Context) error {
	var all []kafka.Record
	n := 0
	for _, box := range f.boxes {
		for _, m := range box.plan.History {
			all = append(all, f.message(box, m.Raw, m.Date))
			all = append(all, f.feedback(box, m, m.deed(false), m.Date)...)
			n++
		}
	}
	began := time.Now()
	if err := f.produce(ctx, all); err != nil {
		return err
	}
	if err := f.wait(ctx, "the mail of the last weeks was not decided", func() (bool, error) {
		for _, box := range f.boxes {
			for _, m := range box.plan.History {
				if _, ok, err := f.heard.get(box, m); !ok || err != nil {
					return false, err
				}
			}
		}
		return true, nil
	}); err != nil {
		return err
	}
	f.screen.line(fmt.Sprintf("The mail of the last %d days went in: %d messages, with what their owner did. All decided within %.1f s.", HistoryDays, n, time.Since(began).Seconds()))
	if err := f.settleDown(ctx); err != nil {
		return err
	}
	if err := f.snapshots(ctx); err != nil {
		return err
	}
	f.screen.line("Every partition has a snapshot.")
	return nil
}

// live sends message after message, and does what the owner does.
func (f *flow) live(ctx context.Context) error {
	f.screen.heading("Mail in, decisions out")
	f.began = time.Now()
	for i := range f.o.Messages {
		switch i {
		case f.o.Messages / 3:
			if err := f.second(ctx); err != nil {
				return err
			}
		case f.o.Messages * 2 / 3:
			if err := f.crash(); err != nil {
				return err
			}
		}
		if !f.o.Fast {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Until(f.began.Add(f.o.Span * time.Duration(i) / time.Duration(f.o.Messages)))):
			}
		}
		if err := f.round(ctx, i); err != nil {
			return err
		}
		if i >= f.o.Messages*2/3 {
			if err := f.tookOver(f.workers[1], "killed"); err != nil {
				return err
			}
		}
	}
	if err := f.settleDown(ctx); err != nil {
		return err
	}
	return f.compare(ctx)
}

// round sends the ith message to every mailbox, waits for the decisions, and hands
// in what the owner says to them.
func (f *flow) round(ctx context.Context, i int) error {
	now := time.Now()
	var in []kafka.Record
	for _, box := range f.boxes {
		in = append(in, f.message(box, box.plan.Live[i].Raw, now))
	}
	if err := f.produce(ctx, in); err != nil {
		return err
	}
	var back []kafka.Record
	for _, box := range f.boxes {
		m := box.plan.Live[i]
		var d kafka.Decision
		if err := f.wait(ctx, "a message was not decided", func() (ok bool, err error) {
			d, ok, err = f.heard.get(box, m)
			return ok, err
		}); err != nil {
			return err
		}
		e := &entry{m: m, outcome: d.Decision, score: d.Score, marked: d.Decision == "important"}
		e.deed = m.deed(e.marked)
		f.tally.add(e)
		f.screen.line(f.screen.streamed(time.Since(f.began), e, d))
		records := f.feedback(box, m, e.deed, now)
		if len(records) > 0 && e.deed.corrects(e.marked) {
			f.screen.line(f.screen.deed(time.Since(f.began), e, "feedback, "+e.deed.teaches()))
		}
		back = append(back, records...)
	}
	if len(back) == 0 {
		return nil
	}
	return f.produce(ctx, back)
}

// streamed is the line for a message that came through Kafka: where its record is,
// and the decision.
func (c *Screen) streamed(at time.Duration, e *entry, d kafka.Decision) string {
	return c.decision(at, e) + c.paint(fmt.Sprintf("  [%s %d/%d]", d.Account, d.Partition, d.Offset), faint)
}

// second starts another process, which takes some of the partitions over.
func (f *flow) second(ctx context.Context) error {
	f.screen.heading("A second process joins")
	if err := f.hire("B"); err != nil {
		return err
	}
	if err := f.settleDown(ctx); err != nil {
		return err
	}
	return f.tookOver(f.workers[1], "joined")
}

// crash kills the first process: the second takes over what it had.
func (f *flow) crash() error {
	f.screen.heading(fmt.Sprintf("kill -9 %d: process A is gone", f.workers[0].process.PID()))
	f.screen.line("The mail goes on coming; what A had waits until the group has noticed, for some ten seconds.")
	return f.workers[0].kill()
}

// tookOver tells what a process took over since it was last asked.
func (f *flow) tookOver(w *worker, why string) error {
	at, err := w.takeovers()
	if err != nil {
		return err
	}
	for p := range int32(streamPartitions) {
		offset, ok := at[p]
		if !ok || f.tally.has(p) {
			continue
		}
		t := Takeover{Partition: p, Process: w.name, Why: why, Offset: offset}
		f.tally.takeovers = append(f.tally.takeovers, t)
		f.screen.line(fmt.Sprintf("Process %s, whose store was empty, took over partition %d (%s): from the snapshot at offset %d.", w.name, p, f.boxes[p].key, offset))
	}
	return nil
}
