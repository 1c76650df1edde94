// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/store"
)

// A partition is taken over again at most mostDamaged times within damagedWithin because its file
// was damaged. More than that is the disk's fault, and each time leaves a file that was set aside.
const (
	mostDamaged   = 3
	damagedWithin = 24 * time.Hour
)

// damaged reports whether an error says that the partition's own file is damaged.
func (p *partition) damaged(err error) bool { return errors.Is(err, store.ErrDamaged) }

// mendable reports whether a partition that ended with an error may be able to go on by itself.
func (p *partition) mendable(err error) bool { return lost(err) || p.damaged(err) }

// mend makes it possible to begin again after an error for which mendable is true; otherwise it
// says why the partition must stop. It tries until it can tell.
func (p *partition) mend(ctx context.Context, cause error) error {
	if p.damaged(cause) {
		return p.setAside(ctx, cause)
	}
	return p.beginAnew(ctx, cause)
}

// setAside sets the partition's damaged file aside. Then the partition begins as on an empty disk:
// from its newest snapshot, or from the start of its log, or it stops.
func (p *partition) setAside(ctx context.Context, cause error) error {
	if n := p.e.damagedLately(p.id.Number); n >= mostDamaged {
		return fmt.Errorf("%w. The partition was taken over again %d times within a day because its file was damaged: look at the disk, then start hinged again", cause, n)
	}
	p.state.anew()
	for n := 1; ; n++ {
		file, err := p.e.o.Files.SetAside(p.id)
		if err == nil {
			p.trouble(nil)
			p.e.noteDamaged(p.id.Number)
			p.log.Error("the partition's file is damaged and was set aside; the partition is taken over again, the others continue", "moved_to", file, "error", cause)
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", cause, err)
		}
		p.trouble(fmt.Errorf("%w; can't set the file aside, trying again: %w", cause, err))
		if err := p.pause(ctx, n); err != nil {
			return err
		}
	}
}

// damagedLately is how many times a partition was taken over again within damagedWithin because
// its file was damaged.
func (e *Engine) damagedLately(partition int32) int {
	now := e.o.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.damaged[partition] = slices.DeleteFunc(e.damaged[partition], func(at time.Time) bool { return now.Sub(at) >= damagedWithin })
	return len(e.damaged[partition])
}

// noteDamaged notes that the file of a partition was set aside.
func (e *Engine) noteDamaged(partition int32) {
	now := e.o.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.damaged[partition] = append(e.damaged[partition], now)
}
