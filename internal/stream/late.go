// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

const (
	// lateRecords are read again at a time: while the writer waits for them, others wait, too.
	lateRecords = 16
	// latePatience is how long the writer waits for the broker, which has these records.
	latePatience = time.Second
)

// late is what is read again of the accounts that are set aside, a few records at a time and
// only when it is their turn. It belongs to the writer, so that nothing is read that the writer
// has not passed over.
type late struct {
	reader Reader // nil: none is open
	at     int64  // its position
	items  []*item
	failed int       // attempts to read in a row
	after  time.Time // before then none is made
	err    error     // why there can be none
}

// nextLate returns the next item of accounts that are set aside; nil if there is none now.
func (p *partition) nextLate(ctx context.Context) *item {
	l := &p.late
	if len(l.items) == 0 {
		p.readLate(ctx)
	}
	if len(l.items) == 0 {
		return nil
	}
	it := l.items[0]
	l.items = l.items[1:]
	return it
}

// close lets go of the reader.
func (l *late) close() {
	if l.reader != nil {
		l.reader.Close()
	}
	l.reader = nil
}

// readLate reads on. What fails is tried again later, while the other accounts go on.
func (p *partition) readLate(ctx context.Context) {
	l := &p.late
	from, front, some := p.asides.stretch()
	if !some || l.at != from {
		l.close()
	}
	if !some || l.err != nil || time.Now().Before(l.after) {
		return
	}
	if l.reader == nil {
		l.reader, l.at = p.open(from), from
	}
	call, cancel := context.WithTimeout(ctx, latePatience)
	b, err := l.reader.Next(call, lateRecords, fetchBytes)
	cancel()
	if err == nil && b.Next <= from {
		err = errors.New("the broker has nothing there")
	}
	if err != nil {
		l.close()
		l.failed++
		l.after = time.Now().Add(p.e.o.Pause(l.failed))
		switch {
		case ctx.Err() != nil:
		case stays(err):
			l.err = err
		default:
			p.note(&p.state.lateProblem, fmt.Errorf("cannot read again what was passed over: %w", err))
		}
		return
	}
	l.failed = 0
	p.note(&p.state.lateProblem, nil)
	p.prepareLate(&b, front)
}

// prepareLate makes items of what was read and lies before what the writer has reached.
func (p *partition) prepareLate(b *kafka.Batch, front int64) {
	l := &p.late
	var reading sync.WaitGroup
	for _, r := range b.Records {
		if r.Offset >= front || !p.asides.isBehind(&r) {
			continue
		}
		if len(l.items) == 0 {
			p.state.readsLate(r.Time)
		}
		it := &item{record: r, next: r.Offset + 1, size: sizeOf(&r), late: true}
		l.items = append(l.items, it)
		reading.Go(func() { p.e.prepare(it, p.partitions(), p.line) })
	}
	reading.Wait()
	l.at = min(b.Next, front)
	l.items = append(l.items, &item{empty: true, next: l.at, size: overhead, late: true})
	if b.Next > front {
		l.close() // it is too far
	}
}
