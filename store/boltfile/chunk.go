// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
)

// mostChunk bounds what a chunk may hold once it is unpacked: one row that is larger
// than chunkSize has a chunk of its own.
const mostChunk = 64 << 20

// frameChunkOf appends the framed chunk that holds a record to dst. Rows of one table
// resemble each other, and two or three states of an account are kept, so chunks are
// compressed: by S2 (its block format, "better"), which makes them smaller than zstd does at
// its fastest, in two thirds of the time, and unpacks them in half of it (docs/results.md).
func frameChunkOf(dst, name, record []byte) []byte {
	return frame(dst, framePacked, name, s2.EncodeBetter(nil, record))
}

// chunkReader reads framed chunks, one after the other.
type chunkReader struct {
	kind byte   // of the chunk before: the next is likely to be alike
	room []byte // what chunks are unpacked into
	// account is the account that the chunks are of, and against how those are unpacked that
	// were compressed with another saved state of it.
	account *bolt.Bucket
	against *difference
}

// leave lets go of what is of one saved state.
func (r *chunkReader) leave() { r.account, r.against = nil, nil }

// chunkKinds are what a chunk may be.
var chunkKinds = []byte{frameChunk, framePacked, frameAgainst, frameZstd}

// record returns the record in a framed chunk. It holds until the next one is read, and as
// long as value does.
func (r *chunkReader) record(name, value []byte) ([]byte, error) {
	payload, err := unframe(r.kind, name, value)
	for i := 0; err != nil && i < len(chunkKinds); i++ {
		if kind := chunkKinds[i]; kind != r.kind {
			var other error
			if payload, other = unframe(kind, name, value); other == nil {
				r.kind, err = kind, nil
			}
		}
	}
	switch {
	case err != nil:
		return nil, err
	case r.kind == frameChunk:
		return payload, nil
	case r.kind == frameAgainst:
		r.room, err = r.unpackAgainst(payload)
	case r.kind == frameZstd:
		r.room, err = unzstd().DecodeAll(payload, r.room[:0])
	default:
		r.room, err = unpacked(payload, r.room)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return r.room, nil
}

// unpacked returns what packed holds, in room if it fits.
func unpacked(packed, room []byte) ([]byte, error) {
	size, err := s2.DecodedLen(packed)
	switch {
	case err != nil:
		return nil, err
	case size > mostChunk:
		return nil, errors.New("the chunk is too large")
	}
	return s2.Decode(room[:cap(room)], packed)
}

var unzstd = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostChunk))
	if err != nil {
		panic(fmt.Sprintf("boltfile: %v", err)) // the options contradict each other
	}
	return d
})
