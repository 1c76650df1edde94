// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/pipeline"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
)

// batch is what will be one commit.
type batch struct {
	items     int // that are in it
	records   int
	bytes     int64 // held by its items
	value     int64 // bytes that it is to produce
	decisions []kafka.Record
	dead      []kafka.Record
	changed   []*held // with something to commit, in the order in which they came
	notes     []func()
	tally     Counts
	newest    time.Time // timestamp of the last record
}

// apply does what one item says, to the accounts in memory and to the batch. An
// error means that the partition cannot go on.
func (p *partition) apply(ctx context.Context, it *item) error {
	b := &p.batch
	if it.event != nil && rewrites(it.event) && b.items > 0 {
		// It goes back to what is committed, so that must be all.
		p.again = it
		return nil
	}
	b.items++
	b.bytes += it.size
	b.tally.Markers += uint64(it.markers)
	b.tally.Aborted += uint64(it.aborted)
	if p.at.Next = it.next; it.epoch > 0 {
		p.at.Epoch = it.epoch
	}
	if it.empty {
		return nil
	}
	refused := it.refused
	if refused == nil {
		var err error
		if refused, err = p.event(ctx, it); err != nil {
			return fmt.Errorf("offset %d: %w", it.record.Offset, err)
		}
	}
	if refused != nil {
		p.bury(kafka.DeadLetter(p.e.o.Topics.Input, it.record, *refused), refused.Reason)
	}
	b.records++
	b.tally.Records++
	b.newest = it.record.Time
	return nil
}

// bury adds a dead letter to the batch.
func (p *partition) bury(dead kafka.Record, why kafka.Reason) {
	b := &p.batch
	b.dead = append(b.dead, dead)
	b.value += int64(len(dead.Value))
	b.tally.refuse(why)
}

// event gives what a record says to its account.
func (p *partition) event(ctx context.Context, it *item) (*kafka.Refusal, error) {
	h, err := p.account(ctx, string(it.record.Key))
	if err != nil {
		return nil, err
	}
	if rewrites(it.event) {
		return p.rewrite(ctx, h, it)
	}
	e, refused := convert(p.id.Topic, it)
	if refused != nil {
		return refused, nil
	}
	if err := p.configure(h, it); err != nil {
		return nil, err
	}
	began := time.Now()
	r, err := p.change(h, e)
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *filter.Arrived:
		pipeline.LogFault(p.log.With("account", h.name, "offset", it.record.Offset), it.message)
		p.noteScored(&r, it.took+time.Since(began))
		return nil, p.decided(h, it, e, &r)
	case *filter.Labelled:
		p.batch.tally.Feedback++
	}
	return nil, nil
}

// noteScored notes that a decision was made, if r has one, and how long that took.
func (p *partition) noteScored(r *filter.Result, took time.Duration) {
	if p.e.o.Scored == nil || r.Decision == nil || r.Decision.Outcome == store.Undecided {
		return
	}
	outcome := r.Decision.Outcome.String()
	p.batch.notes = append(p.batch.notes, func() { p.e.o.Scored(outcome, took) })
}

// change applies one event to an account and notes that it has something to
// commit.
func (p *partition) change(h *held, e filter.Event) (filter.Result, error) {
	before := h.work.Dirty()
	r, err := h.work.Apply(e)
	if err != nil {
		return r, fmt.Errorf("account %s: %w", h.name, err)
	}
	if !before && h.work.Dirty() {
		p.batch.changed = append(p.batch.changed, h)
	}
	h.known = h.known || r.Changed
	p.batch.tally.Lessons += uint64(len(r.Lessons))
	for _, x := range r.Expired {
		dead, err := expired(x)
		if err != nil {
			return r, fmt.Errorf("account %s: %w", h.name, err)
		}
		reason := kafka.Expired
		if x.Unsure {
			reason = kafka.Conflict
		}
		p.bury(dead, reason)
	}
	p.cache.count(h)
	return r, nil
}

// configure gives an account the options of the configuration, at its first record
// and when they are others since. They do not change while we run, so it is enough
// to look when the account was loaded, and when its past was rewritten.
func (p *partition) configure(h *held, it *item) error {
	if h.configured {
		return nil
	}
	h.configured = true
	o := p.e.o.account(h.key)
	if h.work.Filter().Configured(o) {
		return p.prime(h, it)
	}
	if h.known {
		name := h.name
		p.batch.notes = append(p.batch.notes, func() {
			p.log.Info("the account's settings changed; later messages are judged by the new ones", "account", name, "offset", it.record.Offset)
		})
	}
	if _, err := p.change(h, &filter.Configured{At: momentOf(&it.record), Options: o}); err != nil {
		return err
	}
	return p.prime(h, it)
}

// prime gives an account that has learnt nothing what it is to begin with.
func (p *partition) prime(h *held, it *item) error {
	if h.work.Filter().Primed(p.e.o.Prior) {
		return nil
	}
	_, err := p.change(h, &filter.Primed{At: momentOf(&it.record), Weights: p.e.o.Prior})
	return err
}

// decided adds the decision on a message to the batch: the one taken now, or the
// one taken when the same content came before, but without its mark if the owner
// does not want that by now. The owner's own mail has none.
func (p *partition) decided(h *held, it *item, e *filter.Arrived, r *filter.Result) error {
	p.batch.tally.Messages++
	f := h.work.Filter()
	k := e.Meta.Key
	m, known := f.State().Messages.Get(string(k[:]))
	if !known || m.Outcome == store.Undecided {
		p.batch.tally.Own++
		return nil
	}
	if r.Decision == nil && m.Outcome == store.DecidedImportant {
		if why := f.Arrivals.Withheld(k, &m); why != store.ReasonThreshold {
			m.Reason = why
		}
	}
	d := kafka.Decision{
		Account: h.key, MessageID: it.message.MessageID, Key: hex.EncodeToString(k[:]),
		Decision: m.Outcome.String(), Score: m.Score, Threshold: m.Threshold, Probability: filter.Rounded(m.Probability),
		Mark:  m.Outcome == store.DecidedImportant && (m.Reason == store.ReasonThreshold || m.Reason == store.ReasonRule),
		Topic: p.e.o.Topics.Input, TopicID: idText(p.topic), Partition: it.record.Partition, Offset: it.record.Offset, Arrived: it.record.Time,
		Reused: store.LogPosition{Cuts: p.cuts}.Reused(it.record.Offset),
	}
	if m.Reason != store.ReasonThreshold {
		d.Reason = m.Reason.String()
	}
	if r.Decision == nil {
		p.batch.tally.Repeated++
	} else {
		d.Because = because(f, r)
	}
	record, err := d.Record()
	if err != nil {
		return err
	}
	if r.Decision != nil && f.State().Account.Decided%digestEvery == 0 {
		_, digest := store.Digest(f.State())
		record.Headers = append(record.Headers, kafka.Header{Key: kafka.HeaderState, Value: []byte(digest)})
	}
	p.batch.decisions = append(p.batch.decisions, record)
	p.batch.value += int64(len(record.Value))
	p.batch.tally.decide(m.Outcome)
	return nil
}

// digestEvery: one of so many decisions on an account carries the digest of its state.
const digestEvery = 256

// idText is an id as readers of decisions see it: none is left out.
func idText(id kafka.TopicID) string {
	if id == (kafka.TopicID{}) {
		return ""
	}
	return id.String()
}

// becauseParts is how many features a decision names.
const becauseParts = 5

// because names the features that pulled hardest.
func because(f *filter.Filter, r *filter.Result) []kafka.Part {
	var out []kafka.Part
	for _, part := range f.Explainer.Strongest(r.Features, becauseParts) {
		out = append(out, kafka.Part{Feature: part.Name, Part: part.Amount})
	}
	return out
}

// account returns an account of the partition, from memory or from the store.
func (p *partition) account(ctx context.Context, key string) (*held, error) {
	name := kafka.AccountPrefix + key
	if h := p.cache.get(name); h != nil {
		return h, nil
	}
	if err := p.fetch(ctx, name); err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	work, err := writer.Open(p.file(), name)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", name, err)
	}
	h := &held{name: name, key: key, work: work, known: work.Filter().State().Settings.Len() > 0}
	p.cache.put(h)
	return h, nil
}

// finish produces what the batch says, waits until the brokers have it, and
// commits. It tries until it succeeds; an error means that ctx is done, or that
// the partition cannot go on.
func (p *partition) finish(ctx context.Context) error {
	b := &p.batch
	if b.items == 0 {
		return nil
	}
	began := time.Now()
	if err := p.produce(ctx, p.e.o.Topics.Decisions, b.decisions); err != nil {
		return err
	}
	if err := p.produce(ctx, p.e.o.Topics.DeadLetters, b.dead); err != nil {
		return err
	}
	if err := p.commit(ctx, p.at); err != nil {
		return err
	}
	for _, h := range b.changed {
		h.work.Committed()
	}
	p.cache.trim()
	p.intake.release(b.items, b.bytes)
	p.committed(b, p.at)
	p.took = time.Since(began)
	for _, note := range b.notes {
		note()
	}
	return nil
}

// produce writes records to a topic until all of them are acknowledged.
func (p *partition) produce(ctx context.Context, topic string, records []kafka.Record) error {
	for n := 1; len(records) > 0; n++ {
		_, err := p.e.o.Broker.Produce(ctx, topic, records)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var failed *kafka.ProduceError
		if errors.As(err, &failed) {
			var smaller bool
			if records, smaller = unacknowledged(records, failed, topic == p.e.o.Topics.DeadLetters); smaller && errors.Is(failed.Err, kafka.ErrTooLarge) {
				continue
			}
		}
		p.trouble(fmt.Errorf("can't produce to topic %s; nothing is lost, trying again: %w", topic, err))
		if err := p.pause(ctx, n); err != nil {
			return err
		}
	}
	p.trouble(nil)
	return nil
}

// unacknowledged returns the records that are still to be produced. A dead letter
// that is larger than a broker takes goes without some of it; smaller reports whether
// there was one that could be made so.
func unacknowledged(records []kafka.Record, failed *kafka.ProduceError, dead bool) (rest []kafka.Record, smaller bool) {
	large := map[int]bool{}
	if dead {
		for _, i := range failed.TooLarge {
			large[i] = true
		}
	}
	rest = make([]kafka.Record, 0, len(failed.Failed))
	for _, i := range failed.Failed {
		r := records[i]
		if large[i] {
			var less bool
			r, less = kafka.Shrink(r)
			smaller = smaller || less
		}
		rest = append(rest, r)
	}
	return rest, smaller
}

// commit makes the accounts of the batch and the position durable. What is
// produced is tried to be committed once also when ctx is done: it may well be in
// vain, but then it is read again.
func (p *partition) commit(ctx context.Context, at store.LogPosition) error {
	commits := make([]store.AccountCommit, 0, len(p.batch.changed))
	for _, h := range p.batch.changed {
		commits = append(commits, store.AccountCommit{Account: h.name, State: h.work.Filter().State(), Batch: h.work.Batch()})
	}
	return p.try(ctx, cannotCommit, inVain, func() error { return p.file().CommitPartition(at, commits) })
}

const cannotCommit = "can't commit; nothing is lost, trying again"

// inVain reports whether committing the same again would not help.
func inVain(err error) bool {
	return errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrPartition) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged)
}
