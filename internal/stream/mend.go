// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hinged/hinged/store"
)

// mostDamaged is how many damaged files of a partition may lie there for it to be taken over once
// more. More than that is the disk's fault.
const mostDamaged = 3

// mend makes it possible to begin again after an error for which broken is true; otherwise it
// says why the partition must stop. It tries until it can tell.
func (p *partition) mend(ctx context.Context, cause error) error {
	if errors.Is(cause, store.ErrDamaged) {
		return p.setAside(ctx, cause)
	}
	return p.beginAnew(ctx, cause)
}

// setAside sets the partition's damaged file aside. Then the partition begins as on an empty disk:
// from its newest snapshot, or from the start of its log, or it stops.
func (p *partition) setAside(ctx context.Context, cause error) error {
	if all := p.e.o.Files.Damaged()[p.id]; len(all) >= mostDamaged {
		return fmt.Errorf("%w. There are %d files of the partition that were damaged before: look at the disk, delete them, then start hinged again: %s", cause, len(all), strings.Join(all, ", "))
	}
	p.state.anew()
	for n := 1; ; n++ {
		file, err := p.e.o.Files.SetAside(p.id)
		if err == nil {
			p.trouble(nil)
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
