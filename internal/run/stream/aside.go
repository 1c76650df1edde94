// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

// asides are the accounts of a partition that have more records waiting than they may, and
// whose records are therefore passed over at first and read again later. An account depends
// on its own records alone, in their order. So the moment when this happens changes no
// decision, and it may differ from run to run.
//
// The reader passes records over. The writer notes that an account is set aside when it comes
// to the first of those, and reads them again when it is their turn; see late. Safe for
// concurrent use.
type asides struct {
	limit int // how many records of an account may wait; below 1: any number

	mu      sync.Mutex
	waiting map[string]int          // records that were read and the writer has not come to, by key
	passing map[string]int          // stretches of passed records that it has not come to, by key
	all     map[string]*store.Aside // set aside, by key
	behind  int64                   // what was read again up to here
	front   int64                   // what the writer has reached
	epoch   int32                   // of the leader that took what is before front
}

// passed is a stretch of records of one account that were passed over.
type passed struct {
	key        string
	from, last int64 // offsets
	records    int64
}

func newAsides(limit int, at store.LogPosition) *asides {
	a := &asides{limit: limit, waiting: map[string]int{}, passing: map[string]int{}, all: map[string]*store.Aside{}, behind: at.Behind, front: at.Next, epoch: at.Epoch}
	for _, one := range at.Aside {
		a.all[strings.TrimPrefix(one.Account, kafka.AccountPrefix)] = &one
	}
	return a
}

// passes reports whether a record is passed over, and if so adds it to those that were
// since the last item.
func (a *asides) passes(r *kafka.Record, since *[]passed) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.mustPass(r.Key) {
		a.waiting[string(r.Key)]++
		return false
	}
	for i := range *since {
		if p := &(*since)[i]; p.key == string(r.Key) {
			p.last = r.Offset
			p.records++
			return true
		}
	}
	key := string(r.Key)
	a.passing[key]++
	*since = append(*since, passed{key, r.Offset, r.Offset, 1})
	return true
}

// mustPass is passes, while mu is held. Once a record of an account was passed over, so
// are those behind it: an account's records keep their order.
func (a *asides) mustPass(key []byte) bool {
	if a.all[string(key)] != nil || a.passing[string(key)] > 0 {
		return true
	}
	if a.limit < 1 || a.waiting[string(key)] < a.limit || kafka.ValidKey(key) != nil {
		return false
	}
	n := len(a.all)
	for k := range a.passing {
		if a.all[k] == nil {
			n++
		}
	}
	return n < store.MostAside
}

// reach notes that the writer has come to an item of the reader, and reports whether
// the item's account is set aside, so that its record must be passed over too.
func (a *asides) reach(it *item) (aside bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range it.passed {
		a.add(p)
		take(a.passing, p.key)
	}
	if !it.empty {
		key := string(it.record.Key)
		take(a.waiting, key)
		if aside = a.all[key] != nil; aside {
			a.add(passed{key, it.record.Offset, it.record.Offset, 1})
		}
	}
	a.front = it.next
	if it.epoch > 0 {
		a.epoch = it.epoch
	}
	return aside
}

// take takes one away.
func take(of map[string]int, key string) {
	if of[key]--; of[key] <= 0 {
		delete(of, key)
	}
}

// add sets an account aside, or notes that more of it was passed over. mu is held.
func (a *asides) add(p passed) {
	one := a.all[p.key]
	if one == nil {
		if len(a.all) == 0 {
			a.behind = p.from
		}
		one = &store.Aside{Account: kafka.AccountPrefix + p.key, From: p.from}
		a.all[p.key] = one
	}
	one.Last = p.last
	one.Records += p.records
}

// catchUp notes that the writer has come to an item that was read again. What was passed
// over of an account before that, if it was the last, was all: the account is among the
// others again. An error means that the item is none that was passed over.
func (a *asides) catchUp(it *item) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !it.empty {
		one := a.all[string(it.record.Key)]
		if one == nil || it.record.Offset < max(one.From, a.behind) || it.record.Offset > one.Last {
			return fmt.Errorf("a record of account %s%s was read again and not passed over before", kafka.AccountPrefix, it.record.Key)
		}
		one.Records--
	}
	a.behind = max(a.behind, it.next)
	maps.DeleteFunc(a.all, func(_ string, one *store.Aside) bool { return one.Last < a.behind })
	return nil
}

// position is what is reached, by both.
func (a *asides) position() store.LogPosition {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := store.LogPosition{Next: a.front, Epoch: a.epoch}
	for _, key := range slices.Sorted(maps.Keys(a.all)) {
		at.Aside = append(at.Aside, *a.all[key])
	}
	if len(at.Aside) > 0 {
		at.Behind = a.behind
	}
	return at
}

// isBehind reports whether a record is one that was passed over.
func (a *asides) isBehind(r *kafka.Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.all[string(r.Key)]
	return one != nil && r.Offset >= one.From
}

// stretch returns from where to read again, and what the writer has reached; some: an account is
// set aside.
func (a *asides) stretch() (from, front int64, some bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.behind, a.front, len(a.all) > 0
}

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
