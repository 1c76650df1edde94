// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// mostChunk bounds what a chunk may hold once it is unpacked: one row that is larger
// than chunkSize has a chunk of its own.
const mostChunk = 64 << 20

// frameChunkOf appends the framed chunk that holds a record to dst. Rows of one table
// resemble each other, and three states of an account are kept, so chunks are compressed: by
// S2 (its block format, "better"), which makes them smaller than zstd does at its fastest, in
// two thirds of the time, and unpacks them in half of it (docs/results.md).
func frameChunkOf(dst, name, record []byte) []byte {
	return frame(dst, framePacked, name, s2.EncodeBetter(nil, record))
}

// unframeChunk returns the record in a framed chunk. It uses the room of dst.
func unframeChunk(name, value, dst []byte) ([]byte, error) {
	packed, err := unframe(framePacked, name, value)
	if err != nil {
		if record, other := unframeOldChunk(name, value, dst); other == nil {
			return record, nil
		}
		return nil, err
	}
	size, err := s2.DecodedLen(packed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("unpacking: %w", err)
	case size > mostChunk:
		return nil, errors.New("unpacking: the chunk is too large")
	}
	record, err := s2.Decode(dst[:cap(dst)], packed)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return record, nil
}

// unframeOldChunk is unframeChunk for chunks of files from before S2.
func unframeOldChunk(name, value, dst []byte) ([]byte, error) {
	plain, err := unframe(frameChunk, name, value)
	if err == nil {
		return append(dst[:0], plain...), nil
	}
	packed, err := unframe(frameZstd, name, value)
	if err != nil {
		return nil, err
	}
	return unzstd().DecodeAll(packed, dst[:0])
}

var unzstd = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostChunk))
	if err != nil {
		panic(fmt.Sprintf("boltfile: %v", err)) // the options contradict each other
	}
	return d
})
