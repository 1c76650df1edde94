// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// supportIndex finds, for each feature, the supports that have it: an inverted index
// (Kudo and Matsumoto 2003). What is common is split from what is rare (Goldberg
// and Elhadad 2008): a feature that more than one in commonShare supports have is
// a column of values by slot, without the slots' numbers, so that adding it up is
// one run through memory.
type supportIndex struct {
	names *Weights // Index → position in lists
	lists []postings
}

type postings struct {
	slots  []uint32 // of a rare feature, in no order
	values []float64
	column []float64 // of a common one, by slot; shorter than the slots where the rest is 0
	dense  bool
}

const (
	commonShare = 2
	fewSupports = 64 // below so many nothing is common
)

// dot adds x·x_s to out[s] for every slot s that shares a feature with x. Each out[s] is
// summed in feature order.
func (n *supportIndex) dot(x Vector, out []float64) {
	for _, f := range x {
		at, ok := n.names.Lookup(f.Index)
		if !ok {
			continue
		}
		p := &n.lists[int(at)]
		if p.dense {
			column := p.column
			part := out[:len(column)]
			for i, v := range column {
				part[i] += float64(f.Value * v)
			}
			continue
		}
		values := p.values
		for i, s := range p.slots {
			out[s] += float64(f.Value * values[i])
		}
	}
}

// sum returns Σ pull[s]·x_s over the supports' values of one feature. Rare features
// are added up in the order in which their supports are listed.
func (n *supportIndex) sum(i Index, pull []float64) (sum float64) {
	at, ok := n.names.Lookup(i)
	if !ok {
		return 0
	}
	p := &n.lists[int(at)]
	for slot, v := range p.column {
		sum += float64(pull[slot] * v)
	}
	for j, slot := range p.slots {
		sum += float64(pull[slot] * p.values[j])
	}
	return sum
}

// add enters the support in a slot; there are slots of them.
func (n *supportIndex) add(x Vector, slot, slots int) {
	for _, f := range x {
		at, ok := n.names.Lookup(f.Index)
		if !ok {
			at = float64(len(n.lists))
			n.names.Set(f.Index, at)
			n.lists = append(n.lists, postings{})
		}
		p := &n.lists[int(at)]
		if p.dense {
			p.put(slot, f.Value)
			continue
		}
		p.slots = append(p.slots, uint32(slot))
		p.values = append(p.values, f.Value)
		if slots >= fewSupports && len(p.slots)*commonShare > slots {
			p.dense = true
			for i, s := range p.slots {
				p.put(int(s), p.values[i])
			}
			p.slots, p.values = nil, nil
		}
	}
}

func (p *postings) put(slot int, value float64) {
	if missing := slot + 1 - len(p.column); missing > 0 {
		p.column = append(p.column, make([]float64, missing)...)
	}
	p.column[slot] = value
}

// remove takes the support out of its slot.
func (n *supportIndex) remove(x Vector, slot int) {
	for _, f := range x {
		at, ok := n.names.Lookup(f.Index)
		if !ok {
			continue
		}
		p := &n.lists[int(at)]
		if p.dense {
			p.column[slot] = 0
			continue
		}
		if i := slices.Index(p.slots, uint32(slot)); i >= 0 {
			last := len(p.slots) - 1
			p.slots[i], p.values[i] = p.slots[last], p.values[last]
			p.slots, p.values = p.slots[:last], p.values[:last]
		}
	}
}
