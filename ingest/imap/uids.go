// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"sort"

	goimap "github.com/emersion/go-imap/v2"
)

// uidRange is a run of UIDs, both ends included.
type uidRange struct{ first, last uint32 }

// uidRanges are runs of UIDs, ascending and disjoint. They are walked, never
// expanded: "1:4000000000" is a dozen bytes from a hostile server.
type uidRanges []uidRange

func (r uidRanges) len() int64 {
	n := int64(0)
	for _, x := range r {
		n += int64(x.last) - int64(x.first) + 1
	}
	return n
}

// within returns how many UIDs of r are in other, too.
func (r uidRanges) within(other uidRanges) int64 {
	n := int64(0)
	for len(r) > 0 && len(other) > 0 {
		a, b := r[0], other[0]
		if first, last := max(a.first, b.first), min(a.last, b.last); first <= last {
			n += int64(last) - int64(first) + 1
		}
		if a.last < b.last {
			r = r[1:]
		} else {
			other = other[1:]
		}
	}
	return n
}

// rangesOf returns ascending UIDs as ranges.
func rangesOf(uids []uint32) (r uidRanges) {
	for _, uid := range uids {
		r = r.add(uid, uid)
	}
	return r
}

// set returns r for use in a command.
func (r uidRanges) set() goimap.UIDSet {
	set := make(goimap.UIDSet, len(r))
	for i, x := range r {
		set[i] = goimap.UIDRange{Start: goimap.UID(x.first), Stop: goimap.UID(x.last)}
	}
	return set
}

// add appends uid, which must be above all in r.
func (r uidRanges) add(first, last uint32) uidRanges {
	if n := len(r); n > 0 && r[n-1].last+1 == first {
		r[n-1].last = last
		return r
	}
	return append(r, uidRange{first, last})
}

// cut splits r after its first n UIDs.
func (r uidRanges) cut(n int) (head, tail uidRanges) {
	for i, x := range r {
		size := int64(x.last) - int64(x.first) + 1
		if int64(n) >= size {
			n -= int(size)
			continue
		}
		if n > 0 {
			head = append(head, r[:i]...)
			head = append(head, uidRange{x.first, x.first + uint32(n) - 1})
			tail = append(tail, uidRange{x.first + uint32(n), x.last})
			return head, append(tail, r[i+1:]...)
		}
		return r[:i:i], r[i:]
	}
	return r, nil
}

// before splits r before uid.
func (r uidRanges) before(uid uint32) (head, tail uidRanges) {
	n := int64(0)
	for _, x := range r {
		if x.first >= uid {
			break
		}
		n += int64(min(x.last, uid-1)) - int64(x.first) + 1
	}
	return r.cut(int(n))
}

// join appends other, all of which is above r, to r.
func (r uidRanges) join(other uidRanges) uidRanges {
	for _, x := range other {
		r = r.add(x.first, x.last)
	}
	return r
}

// has reports whether uid is in r.
func (r uidRanges) has(uid uint32) bool {
	i := sort.Search(len(r), func(i int) bool { return r[i].last >= uid })
	return i < len(r) && r[i].first <= uid
}

// without returns r less what came, which is ascending.
func (r uidRanges) without(came []uint32) (left uidRanges) {
	for _, x := range r {
		from := uint64(x.first)
		for ; len(came) > 0 && came[0] <= x.last; came = came[1:] {
			uid := uint64(came[0])
			if uid > from {
				left = left.add(uint32(from), came[0]-1)
			}
			from = max(from, uid+1)
		}
		if from <= uint64(x.last) {
			left = left.add(uint32(from), x.last)
		}
	}
	return left
}

// cover returns the one range that holds all of r, which is not empty, for use in a
// command.
func (r uidRanges) cover() goimap.UIDSet {
	return goimap.UIDSet{{Start: goimap.UID(r[0].first), Stop: goimap.UID(r[len(r)-1].last)}}
}

// ranges checks the answer to a search of UIDs 1 to top in a mailbox of exists
// messages and returns it. It reports false when the answer cannot be true.
func ranges(found goimap.NumSet, top uint32, exists uint32) (uidRanges, bool) {
	set, ok := found.(goimap.UIDSet)
	if !ok {
		return nil, found == nil
	}
	var out uidRanges
	for _, x := range set {
		first, last := uint32(x.Start), uint32(x.Stop)
		if first == 0 || last < first || last > top {
			return nil, false
		}
		if n := len(out); n > 0 && first <= out[n-1].last {
			return nil, false
		}
		out = out.add(first, last)
	}
	return out, out.len() <= int64(exists)
}
