// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// mostChunk bounds what a chunk may hold once it is unpacked: one row that is larger
// than chunkSize has a chunk of its own.
const mostChunk = 64 << 20

// packers compress chunks of saved states: rows of one table resemble each other, and
// three states of an account are kept. Both may be used by several goroutines.
var packers = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	must(err)
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostChunk))
	must(err)
	return e, d
})

// must stands where an error would mean that the options above contradict each other.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("boltfile: %v", err))
	}
}

// frameChunkOf appends the framed chunk that holds a record to dst.
func frameChunkOf(dst, name, record []byte) []byte {
	e, _ := packers()
	return frame(dst, framePacked, name, e.EncodeAll(record, nil))
}

// unframeChunk returns the record in a framed chunk. It uses the room of dst.
func unframeChunk(name, value, dst []byte) ([]byte, error) {
	packed, err := unframe(framePacked, name, value)
	if err != nil {
		plain, other := unframe(frameChunk, name, value)
		if other != nil {
			return nil, err
		}
		return append(dst[:0], plain...), nil
	}
	_, d := packers()
	record, err := d.DecodeAll(packed, dst[:0])
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return record, nil
}
