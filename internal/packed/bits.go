// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter appends numbers of so many bits to out, the highest bit first.
type bitWriter struct {
	out  []byte
	held uint64
	n    int // bits held, fewer than 32 between calls
}

// put appends the lowest n bits of v, which has no others; n is at most 56.
func (w *bitWriter) put(v uint64, n int) {
	if n > 32 {
		w.put(v>>32, n-32)
		v, n = v&(1<<32-1), 32
	}
	w.held, w.n = w.held<<n|v, w.n+n
	if w.n >= 32 {
		w.n -= 32
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(w.held>>w.n))
	}
}

// flush fills the last byte up with zeros and returns all of them.
func (w *bitWriter) flush() []byte {
	for ; w.n > 0; w.n -= 8 {
		w.out = append(w.out, byte(w.held<<(64-w.n)>>56))
	}
	w.n = 0
	return w.out
}

// peek returns 64 bits of data from bit at on, with zeros behind the last.
func peek(data []byte, at int) uint64 {
	from, over := at>>3, at&7
	if from+9 <= len(data) {
		return binary.BigEndian.Uint64(data[from:])<<over | uint64(data[from+8])>>(8-over)
	}
	var rest [9]byte
	copy(rest[:], data[min(from, len(data)):])
	return binary.BigEndian.Uint64(rest[:])<<over | uint64(rest[8])>>(8-over)
}

// Ascending numbers are written as the gaps between them, less 1, each as a Golomb-Rice
// code: what lies above its low bits as so many ones and a zero, then the low bits. A gap
// with mostOnes of those or more is mostOnes ones and then all of its bits.
const mostOnes = 15

// bestLow returns with how many low bits the numbers take the least room, and how many
// bits that is. bound is above all of them.
func bestLow(numbers []uint64, bound uint64) (low, size int) {
	width := bits.Len64(bound)
	mean := bits.Len64(bound / uint64(max(len(numbers), 1)))
	size = -1
	for k := max(mean-2, 0); k <= min(mean, width); k++ {
		total, next := 0, uint64(0)
		for _, n := range numbers {
			if ones := (n - next) >> k; ones < mostOnes {
				total += int(ones) + 1 + k
			} else {
				total += mostOnes + width
			}
			next = n + 1
		}
		if size < 0 || total < size {
			low, size = k, total
		}
	}
	return low, size
}

// putAscending appends numbers below bound with the given low bits.
func putAscending(w *bitWriter, numbers []uint64, bound uint64, low int) {
	next := uint64(0)
	for _, n := range numbers {
		gap := n - next
		if ones := gap >> low; ones < mostOnes {
			w.put(1<<(ones+1)-2, int(ones)+1)
			w.put(gap&(1<<low-1), low)
		} else {
			w.put(1<<mostOnes-1, mostOnes)
			w.put(gap, bits.Len64(bound))
		}
		next = n + 1
	}
}

// ascending reads what putAscending wrote. The zero value has no numbers.
type ascending struct {
	data  []byte
	at    int // bits read
	low   int
	width int // of bound
	bound uint64
	next  uint64 // the least that the next number can be
	left  int    // numbers to come
	bad   bool
}

// take returns the next number; ok is false behind the last one, and when something is
// wrong, which is told by end.
func (a *ascending) take() (n uint64, ok bool) {
	if a.left == 0 || a.bad {
		return 0, false
	}
	a.left--
	word := peek(a.data, a.at)
	ones := bits.LeadingZeros64(^word)
	if ones < mostOnes {
		n = a.next + uint64(ones)<<a.low + word<<(ones+1)>>(63-a.low)>>1
		a.at += ones + 1 + a.low
	} else {
		gap := word << mostOnes >> (64 - a.width)
		a.bad = gap>>a.low < mostOnes // it has a shorter form
		n = a.next + gap
		a.at += mostOnes + a.width
	}
	if n >= a.bound || a.at > 8*len(a.data) {
		a.bad = true
	}
	a.next = n + 1
	return n, !a.bad
}

// end reports whether the numbers were all there was, but for zeros up to a byte.
func (a *ascending) end() bool {
	if a.bad || a.left > 0 || (a.at+7)/8 != len(a.data) {
		return false
	}
	over := a.at & 7
	return over == 0 || a.data[len(a.data)-1]<<over == 0
}
