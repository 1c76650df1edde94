// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	kafkago "github.com/segmentio/kafka-go"
)

// kafka-go writes a batch field by field into a streaming compressor. Of zstd that
// is one that keeps 16 MB for what it may refer back to, where a batch has less than
// 1 MB, and that the next garbage collection may throw away. So batches are encoded
// here, and compressed in one piece.

// plains are buffers for records before they are compressed.
var plains = sync.Pool{New: func() any { return new([]byte) }}

// mostPlain is up to which size such a buffer is kept: that of a full batch.
const mostPlain = 2 << 20

// newZstd returns what compresses batches. It may be used by several goroutines.
// Batches of decisions come out no larger at the fastest level than at the next.
func newZstd() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

// encodeBatch makes one batch (see batch) of the records at places, of which there
// must be one at least. now is the timestamp of those that have none.
func (c *Client) encodeBatch(records []Record, places []int, compression kafkago.Compression, now time.Time) ([]byte, error) {
	times := func(at int) int64 {
		if t := records[at].Time; !t.IsZero() {
			return t.UnixMilli()
		}
		return now.UnixMilli()
	}
	first := times(places[0])
	last, size := first, 0
	for _, at := range places {
		last = max(last, times(at))
		size += records[at].size()
	}
	if compression == 0 {
		head := make([]byte, batchHead, batchHead+size)
		return sealBatch(appendRecords(head, records, places, first, times), 0, len(places), first, last), nil
	}
	head := make([]byte, batchHead, batchHead+size/4)
	plain := plains.Get().(*[]byte)
	defer func() {
		if cap(*plain) <= mostPlain {
			plains.Put(plain)
		}
	}()
	*plain = appendRecords((*plain)[:0], records, places, first, times)
	if compression == kafkago.Zstd {
		return sealBatch(c.zstd.EncodeAll(*plain, head), compression, len(places), first, last), nil
	}
	out := bytes.NewBuffer(head)
	w := compression.Codec().NewWriter(out)
	if _, err := w.Write(*plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return sealBatch(out.Bytes(), compression, len(places), first, last), nil
}

// appendRecords appends the records at places, in their order.
func appendRecords(b []byte, records []Record, places []int, first int64, times func(at int) int64) []byte {
	var body, rest []byte
	for i, at := range places {
		r := &records[at]
		body = append(body[:0], 0) // attributes: none are defined
		body = binary.AppendVarint(body, times(at)-first)
		body = binary.AppendVarint(body, int64(i))
		body = appendField(body, r.Key)
		rest = binary.AppendVarint(rest[:0], int64(len(r.Headers)))
		for _, h := range r.Headers {
			rest = binary.AppendVarint(rest, int64(len(h.Key)))
			rest = append(rest, h.Key...)
			rest = appendField(rest, h.Value)
		}
		// A value may be large and is copied once.
		var length [binary.MaxVarintLen64]byte
		value := length[:binary.PutVarint(length[:], int64(len(r.Value)))]
		if r.Value == nil {
			value = length[:binary.PutVarint(length[:], -1)]
		}
		b = binary.AppendVarint(b, int64(len(body)+len(value)+len(r.Value)+len(rest)))
		b = append(b, body...)
		b = append(b, value...)
		b = append(b, r.Value...)
		b = append(b, rest...)
	}
	return b
}

// appendField appends bytes with their length in front; nil is not the same as
// empty.
func appendField(b, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(field))), field...)
}

// sealBatch fills in the head of a batch, the first batchHead bytes of b. What it
// leaves at 0 is for the broker to fill in.
func sealBatch(b []byte, compression kafkago.Compression, records int, first, last int64) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], ^uint32(0)) // epoch of the leader: not known
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], uint16(compression))
	binary.BigEndian.PutUint32(b[23:], uint32(records-1))
	binary.BigEndian.PutUint64(b[27:], uint64(first))
	binary.BigEndian.PutUint64(b[35:], uint64(last))
	// No producer, epoch and sequence: it is not idempotent.
	for i := 43; i < 57; i++ {
		b[i] = 0xff
	}
	binary.BigEndian.PutUint32(b[57:], uint32(records))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}
