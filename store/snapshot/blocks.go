// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"github.com/hinged/hinged/store/boltfile"
)

// logCut says how a log of numbered entries is cut into blocks, each of them
// some chunks of its own. A block has unit or a larger power of blockRadix times
// as many numbers, at most unit·blockRadix^blockLevels, and begins at a multiple
// of its size. So a log that has grown consists of the blocks that it had, but
// for the small ones at its end, and one whose beginning was cut off of those
// that it had, but for the first ones. What is left at the end, less than a
// unit, is no block.
type logCut struct {
	log  boltfile.Log
	item byte
	unit uint64
}

const (
	blockRadix  = 4
	blockLevels = 2
)

// The units make some 40 KB each of what an ordinary message brings.
var (
	cutRedo     = logCut{boltfile.RedoLog, itemRedo, 16}
	cutJournal  = logCut{boltfile.JournalLog, itemJournal, 128}
	cutLessons  = logCut{boltfile.LessonLog, itemLesson, 256}
	cutFeatures = logCut{boltfile.FeatureLog, itemFeatures, 16}
	cutNames    = logCut{boltfile.NameLog, itemNames, 16}
)

// blocks hands the blocks of the numbers from first to end, end excluded, to fn
// in order and returns where the rest begins that is no block. Sizes are counted
// from origin.
func (l logCut) blocks(origin, first, end uint64, fn func(from, to uint64) error) (rest uint64, err error) {
	for at := first; ; {
		size := l.unit
		if over := (at - origin) % size; over != 0 {
			size -= over // up to where a block may begin
		} else {
			for range blockLevels {
				if next := size * blockRadix; (at-origin)%next == 0 && at+next <= end {
					size = next
				}
			}
		}
		if at+size > end {
			return at, nil
		}
		if err := fn(at, at+size); err != nil {
			return at, err
		}
		at += size
	}
}
