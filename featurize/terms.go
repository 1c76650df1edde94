// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// term is one feature of a message. It has no pointer, so that the garbage collector need not
// look at the hundreds of every message.
type term struct {
	index model.Index
	start uint32 // of its name, in the names
	size  uint16
	value uint16 // a whole number, so that sums of squares are exact; in the vector times the factor of its group
	group Group
}

// valueOf returns the value of a feature of that group and name: 1, or 2. Within its
// group, what a patch touches says more than each word of the subject; whom a message is
// sent to, and its shape together with its place, more than each other fact about sender
// and thread (docs/results.md).
func valueOf(g Group, name []byte) uint16 {
	if g == Subject && bytes.HasPrefix(name, []byte("path:")) ||
		g == Social && (bytes.HasPrefix(name, []byte("shape:")) || bytes.HasPrefix(name, []byte("to:"))) {
		return 2
	}
	return 1
}

// collector gathers the features of one message, each once. Its memory is
// reused from message to message: the table of slots is cleared by counting up
// the generation, not by writing to it. Each message begins with few slots, which stay
// in the processor's nearest cache, and takes more of them as it needs them.
type collector struct {
	slots      []slot // in use, a power of two of them
	room       []slot // all that there are; slots is its beginning
	generation uint32
	terms      []term
	names      []byte
	name       []byte   // the candidate: prefix, then word
	ends       []uint32 // of sorted
	limit      int
	keep       bool // names
}

type slot struct {
	index      model.Index
	generation uint32
}

// firstSlots are enough for three of four messages.
const firstSlots = 1024

func (c *collector) reset(limit int, keep bool) {
	if c.room == nil {
		c.room = make([]slot, firstSlots)
	}
	c.slots = c.room[:firstSlots]
	c.nextGeneration()
	c.terms, c.names = c.terms[:0], c.names[:0]
	c.limit, c.keep = limit, keep
}

// nextGeneration empties the table.
func (c *collector) nextGeneration() {
	c.generation++
	if c.generation == 0 { // wrapped: stale slots would look current
		clear(c.room)
		c.generation = 1
	}
}

// add notes the feature prefix+word.
func (c *collector) add(g Group, prefix, word string) {
	c.name = append(append(c.name[:0], prefix...), word...)
	c.commit(g)
}

// addBytes is add for a word that lies in a buffer.
func (c *collector) addBytes(g Group, prefix string, word []byte) {
	c.name = append(append(c.name[:0], prefix...), word...)
	c.commit(g)
}

// commit notes the feature whose name is in c.name.
func (c *collector) commit(g Group) {
	if len(c.name) > math.MaxUint16 {
		c.name = c.name[:math.MaxUint16]
	}
	index := model.FoldIndex(xxhash.Sum64(c.name))
	mask := len(c.slots) - 1
	at := int(index) & mask
	for c.slots[at].generation == c.generation {
		if c.slots[at].index == index {
			return
		}
		at = (at + 1) & mask
	}
	if len(c.terms) >= c.limit {
		return
	}
	c.slots[at] = slot{index, c.generation}
	t := term{index: index, value: valueOf(g, c.name), group: g}
	if c.keep {
		t.start, t.size = uint32(len(c.names)), uint16(len(c.name))
		c.names = append(c.names, c.name...)
	}
	c.terms = append(c.terms, t)
	if 2*len(c.terms) > len(c.slots) {
		c.grow()
	}
}

func (c *collector) grow() {
	n := 2 * len(c.slots)
	if n > len(c.room) {
		c.room = make([]slot, n)
	}
	c.slots = c.room[:n]
	c.nextGeneration()
	mask := len(c.slots) - 1
	for _, t := range c.terms {
		at := int(t.index) & mask
		for c.slots[at].generation == c.generation {
			at = (at + 1) & mask
		}
		c.slots[at] = slot{t.index, c.generation}
	}
}

// content returns a copy of what was gathered, by ascending index. It is sorted
// here, where many goroutines read mail, and not by Freeze, which one goroutine
// alone calls for an account.
func (c *collector) content() Content {
	return Content{terms: c.sorted(), names: string(c.names)}
}

// sorted returns a copy of the terms by ascending index. Indices are hashes, so their
// high bits spread the terms evenly over as many buckets as there are terms, and what is
// left to sort within a bucket is next to nothing. That takes a fifth of the time of
// sorting by comparison (docs/results.md). Words that were chosen to meet in one bucket
// cost no more than sorting by comparison does.
func (c *collector) sorted() []term {
	out := make([]term, len(c.terms))
	low := max(0, model.IndexBits-bits.Len(uint(len(c.terms))))
	buckets := 1 << (model.IndexBits - low)
	c.ends = slices.Grow(c.ends[:0], buckets)[:buckets]
	clear(c.ends)
	for i := range c.terms {
		c.ends[c.terms[i].index>>low]++
	}
	from := uint32(0)
	for b, n := range c.ends {
		c.ends[b] = from
		from += n
	}
	for i := range c.terms {
		to := &c.ends[c.terms[i].index>>low]
		out[*to] = c.terms[i]
		*to++
	}
	from = 0
	for _, to := range c.ends {
		if to > from+1 {
			sortTerms(out[from:to])
		}
		from = to
	}
	return out
}

// sortTerms sorts terms by ascending index, few of them by insertion.
func sortTerms(terms []term) {
	const few = 12
	if len(terms) > few {
		slices.SortFunc(terms, func(a, b term) int { return cmp.Compare(a.index, b.index) })
		return
	}
	for i := 1; i < len(terms); i++ {
		t, at := terms[i], i
		for ; at > 0 && terms[at-1].index > t.index; at-- {
			terms[at] = terms[at-1]
		}
		terms[at] = t
	}
}
