// SPDX-License-Identifier: Apache-2.0

package deadletters

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

// Played is what `hinged dead-letters --play` prints.
type Played struct {
	// DryRun reports whether nothing was written.
	DryRun bool `json:"dry_run"`
	// Played are the letters that were put into the input, or would be.
	Played []Letter `json:"played"`
	// Before are the letters that had been played before and were left alone.
	Before []Letter `json:"before"`
	// Unplayable are the letters that can't be played, each with the reason.
	Unplayable []Letter `json:"unplayable"`
}

// PlayOptions say how Play plays.
type PlayOptions struct {
	DryRun bool
	Again  bool // also what was played before
	// Hook is called before each step of a batch: intend, play, done. An error ends Play
	// there, as a crash would. nil: nothing.
	Hook func(step string) error
	// Now is the clock of attempts; nil: time.Now.
	Now func() time.Time
	// Progress is told how many letters of how many are done; nil is fine.
	Progress func(done, total int64)
}

// The bounds of what is intended and played at a time.
const (
	batchLetters = 100
	batchBytes   = 8 << 20
)

// patience is for how long another run that intended to play a letter may be at it.
const patience = time.Minute

// ErrBusy is wrapped when another run may be playing the same letters.
var ErrBusy = errors.New("another run is playing dead letters, or was interrupted within the last minute; wait a minute and try again")

// Play puts the records of letters into the input again, in the order of their offsets:
// key, value and headers as they were, in the partition where the key belongs, with the
// present time as their timestamp. After an error it can be repeated: what was played is
// not played twice.
func Play(ctx context.Context, c *kafka.Client, s Selection, o PlayOptions) (out Played, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Hook == nil {
		o.Hook = func(string) error { return nil }
	}
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	out = Played{DryRun: o.DryRun, Played: []Letter{}, Before: []Letter{}, Unplayable: []Letter{}}
	found, ends, err := list(ctx, c, s)
	if err != nil {
		return out, err
	}
	p := &player{c: c, o: o, run: rand.Text(), topics: c.Options().Topics, ends: ends}
	if err := p.settle(ctx, found.Letters); err != nil {
		return out, fmt.Errorf("dead letters: %w", err)
	}
	var todo []Letter
	for _, l := range found.Letters {
		switch {
		case l.Unplayable != "":
			out.Unplayable = append(out.Unplayable, l)
		case l.Played != nil && !o.Again:
			out.Before = append(out.Before, l)
		default:
			todo = append(todo, l)
		}
	}
	if o.DryRun {
		out.Played = append(out.Played, todo...)
		return out, nil
	}
	for rest := todo; len(rest) > 0; {
		n, size := 0, 0
		for n < min(len(rest), batchLetters) && (n == 0 || size+rest[n].Bytes <= batchBytes) {
			size += rest[n].Bytes
			n++
		}
		if err := p.batch(ctx, rest[:n]); err != nil {
			return out, fmt.Errorf("dead letters: %d of %d were played: %w; try again, and nothing is played twice", len(out.Played), len(todo), err)
		}
		out.Played = append(out.Played, rest[:n]...)
		rest = rest[n:]
		o.Progress(int64(len(out.Played)), int64(len(todo)))
	}
	return out, nil
}

// player is one run.
type player struct {
	c      *kafka.Client
	o      PlayOptions
	run    string
	topics kafka.Topics
	ends   []kafka.Watermark // of the dead letters, as they were listed
}

// settle finds out what became of attempts that nobody says were done, and writes it
// down, but in a dry run.
func (p *player) settle(ctx context.Context, all []Letter) error {
	if !slices.ContainsFunc(all, func(l Letter) bool { return len(l.attempts) > 0 }) {
		return nil
	}
	marks, err := p.c.Watermarks(ctx, p.topics.Input)
	if err != nil {
		return err
	}
	open := map[int32]int64{} // where to look in the input, by partition
	for i := range all {
		if err := p.look(&all[i], marks, open); err != nil {
			return err
		}
	}
	arrived := map[string]time.Time{}
	for at, from := range open {
		err := each(ctx, p.c, p.topics.Input, at, max(from, marks[at].First), marks[at].End, func(r *kafka.Record) {
			if id, ok := r.Header(headerPlayed); ok {
				arrived[string(id)] = r.Time.UTC()
			}
		})
		if err != nil {
			return err
		}
	}
	var notes []kafka.Record
	for i := range all {
		if at, ok := arrived[all[i].ID]; ok && len(all[i].attempts) > 0 {
			all[i].Played, all[i].Unplayable = &at, ""
			notes = append(notes, all[i].note(p.run, done, 0))
		}
	}
	if p.o.DryRun {
		return nil
	}
	_, err = p.c.Produce(ctx, p.topics.DeadLetters, notes)
	return err
}

// look notes in open where the attempts to play a letter are to be looked for.
func (p *player) look(l *Letter, marks []kafka.Watermark, open map[int32]int64) error {
	for _, a := range l.attempts {
		if p.o.Now().Sub(a.on) < patience && !p.o.DryRun {
			return ErrBusy
		}
		at := kafka.Partition(l.key, int32(len(marks)))
		if marks[at].High > marks[at].End {
			return fmt.Errorf("partition %d of the input has an open transaction of a producer, behind which nobody can see whether %s was played; try again when it has ended", at, l.ID)
		}
		if from, ok := open[at]; !ok || a.end < from {
			open[at] = a.end
		}
		if a.end < marks[at].First && !p.o.Again {
			l.Unplayable = "it may have been played before, and the input no longer shows whether it was; --again plays it"
		}
	}
	return nil
}

// batch plays some letters.
func (p *player) batch(ctx context.Context, letters []Letter) error {
	var records, before, after []kafka.Record
	marks, err := p.c.Watermarks(ctx, p.topics.Input)
	if err != nil {
		return err
	}
	for i := range letters {
		l := &letters[i]
		r, err := Read(ctx, p.c, l)
		if err != nil {
			return err
		}
		end := marks[kafka.Partition(l.key, int32(len(marks)))].End
		records = append(records, kafka.Record{Partition: kafka.ByKey, Key: r.Key, Value: r.Value, Headers: append(r.Headers, kafka.Header{Key: headerPlayed, Value: []byte(l.ID)})})
		before = append(before, l.note(p.run, intended, end))
		after = append(after, l.note(p.run, done, 0))
	}
	if err := p.o.Hook("intend"); err != nil {
		return err
	}
	if _, err := p.c.Produce(ctx, p.topics.DeadLetters, before); err != nil {
		return err
	}
	if err := p.alone(ctx, letters); err != nil {
		return err
	}
	if err := p.o.Hook("play"); err != nil {
		return err
	}
	if _, err := p.c.Produce(ctx, p.topics.Input, records); err != nil {
		return err
	}
	if err := p.o.Hook("done"); err != nil {
		return err
	}
	_, err = p.c.Produce(ctx, p.topics.DeadLetters, after)
	return err
}

// alone reports whether nobody else has written about the letters since they were
// listed. Of two runs that intend the same, at least one sees the other here.
func (p *player) alone(ctx context.Context, letters []Letter) error {
	now, err := p.c.Watermarks(ctx, p.topics.DeadLetters)
	if err != nil {
		return err
	}
	other := false
	for at := range now {
		if !slices.ContainsFunc(letters, func(l Letter) bool { return l.at.partition == int32(at) }) || at >= len(p.ends) {
			continue
		}
		err := each(ctx, p.c, p.topics.DeadLetters, int32(at), p.ends[at].End, now[at].End, func(r *kafka.Record) {
			id, _ := r.Header(headerPlayed)
			run, _ := r.Header(headerRun)
			other = other || string(run) != p.run && slices.ContainsFunc(letters, func(l Letter) bool { return l.ID == string(id) })
		})
		if err != nil {
			return err
		}
	}
	if other {
		return ErrBusy
	}
	return nil
}
