// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"time"
)

const (
	// batchTime is after how long a batch is closed even if more waits, or after as long as
	// the last commit took, up to mostBatchTime: else a commit that is slow, such as one of an
	// account with many weights or on a busy machine, would be for ever fewer records.
	batchTime     = 75 * time.Millisecond
	mostBatchTime = 400 * time.Millisecond
	// A batch of nothing but what was passed over before is closed after a quarter of as long
	// as the last batch took to be committed, within these bounds: other accounts wait for the
	// commit if their mail comes meanwhile.
	leastBehindTime = 250 * time.Microsecond
	mostBehindTime  = 20 * time.Millisecond
	// share is how many items of other accounts go before one that was passed over, if
	// both are ready.
	share = 7
)

// ready returns the item that is to be applied next, if one is ready: that which comes in
// order goes before what was passed over, but not for ever.
func (p *partition) ready(ctx context.Context) *item {
	if p.inRow >= share {
		if it := p.nextLate(ctx); it != nil {
			p.inRow = 0
			return it
		}
	}
	if it := p.intake.poll(); it != nil {
		p.inRow++
		return it
	}
	p.inRow = 0
	return p.nextLate(ctx)
}

// await waits for the first item of a batch, and gives signs of life meanwhile. It returns nil
// when there will be none, or ctx is done.
func (p *partition) await(ctx context.Context) *item {
	it := p.again
	p.again = nil
	for it == nil {
		if it = p.ready(ctx); it != nil {
			break
		}
		if p.intake.closed || p.late.err != nil {
			return nil
		}
		var again <-chan time.Time // reading again failed, and is tried once more
		if _, _, some := p.asides.stretch(); some {
			again = time.After(time.Until(p.late.after))
		}
		select {
		case next, open := <-p.intake.order():
			p.intake.comes(next, open)
		case it = <-p.intake.head:
			p.intake.head = nil
		case <-again:
		case <-p.asked:
		case <-ctx.Done():
			return nil
		}
	}
	return it
}

// more returns the next item of a batch; nil if the batch is to be closed, or ctx is done.
func (p *partition) more(ctx context.Context, began time.Time) *item {
	b := &p.batch
	if p.again != nil || b.records >= p.e.o.BatchRecords || b.bytes+b.value >= p.e.o.BatchBytes || p.cache.full() || time.Since(began) >= max(batchTime, min(p.took, mostBatchTime)) {
		return nil
	}
	if !p.intake.waits() {
		spent := time.Since(began) >= min(max(p.took/4, leastBehindTime), mostBehindTime)
		if b.ordinary > 0 || spent {
			return nil
		}
	}
	if it := p.ready(ctx); it != nil {
		return it
	}
	if p.intake.head == nil {
		return nil
	}
	select {
	case it := <-p.intake.head:
		p.intake.head = nil
		return it
	case <-ctx.Done():
		return nil
	}
}

// step applies an item and those that wait behind it, up to the bounds of a batch. It
// returns false when ctx is done.
func (p *partition) step(ctx context.Context, it *item) (more bool, err error) {
	p.batch = batch{}
	for began := time.Now(); it != nil; it = p.more(ctx, began) {
		if err := p.apply(ctx, it); err != nil {
			return false, err
		}
	}
	return ctx.Err() == nil, nil
}
