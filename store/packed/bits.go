// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"encoding/binary"
	"math/bits"
)

// Ascending numbers are written as the gaps between them, less 1, each as a Golomb-Rice
// code: what lies above its low bits as so many ones and a zero, then the low bits. A gap
// with mostOnes of those or more is mostOnes ones and then all of its bits.
const mostOnes = 15

// lowBits is how many low bits a gap has between n numbers below bound that are spread evenly:
// those of ln 2 of the mean.
func lowBits(n int, bound uint64) int { return bits.Len64(bound / 10 * 7 / uint64(max(n, 1))) }

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

// ascending appends numbers below bound.
func (w *bitWriter) ascending(numbers []uint64, bound uint64) {
	low, next := lowBits(len(numbers), bound), uint64(0)
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

// bitReader reads what a bitWriter wrote.
type bitReader struct {
	data []byte
	at   int // bits read
}

// peek returns the next 64 bits, with zeros behind the last.
func (r *bitReader) peek() uint64 {
	from, over := r.at>>3, r.at&7
	if from+9 <= len(r.data) {
		return binary.BigEndian.Uint64(r.data[from:])<<over | uint64(r.data[from+8])>>(8-over)
	}
	var rest [9]byte
	copy(rest[:], r.data[min(from, len(r.data)):])
	return binary.BigEndian.Uint64(rest[:])<<over | uint64(rest[8])>>(8-over)
}

// ascending reads numbers below bound, and reports whether they were there.
func (r *bitReader) ascending(into []uint64, bound uint64) bool {
	low, width, next := lowBits(len(into), bound), bits.Len64(bound), uint64(0)
	for i := range into {
		word := r.peek()
		ones := bits.LeadingZeros64(^word)
		gap := uint64(ones)<<low | word<<(ones+1)>>(64-low)
		if ones < mostOnes {
			r.at += ones + 1 + low
		} else {
			gap = word << mostOnes >> (64 - width)
			r.at += mostOnes + width
		}
		if next += gap; next >= bound {
			return false
		}
		into[i] = next
		next++
	}
	return r.at <= 8*len(r.data)
}

// rest returns what follows the bits, and reports whether zeros filled the last byte up.
func (r *bitReader) rest() ([]byte, bool) {
	end := (r.at + 7) / 8
	over := r.at & 7
	return r.data[end:], over == 0 || r.data[end-1]<<over == 0
}
