// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
)

// The base and the next base of an account have most rows in common. So when the base moves
// on, its chunks are compressed once more, by zstd with all records of the next base as the
// dictionary: what both have takes next to nothing. A chunk of that kind has the generation of
// the next base in front, 8 bytes. The two stay together: both change when the base moves on,
// or when a Rewrite drops them.

// mostAgainst bounds the bytes of records of a saved state that is compressed with another, or
// that another is compressed with, since both are held in memory then.
const mostAgainst = 2 << 20

// leastDictionary is how long a dictionary must be: zstd begins with offsets of up to 8.
const leastDictionary = 64

// dictionaryID is what zstd calls the dictionary. A reader has one at a time.
const dictionaryID = 1

var (
	errAgainstShort = errors.New("the chunk is too short to say what it was compressed with")
	errAgainstOther = errors.New("the chunks of a saved state were compressed with several others")
	errAgainstChain = errors.New("what the chunk was compressed with was compressed so, too")
)

// difference unpacks the chunks that were compressed with one saved state.
type difference struct {
	generation uint64 // of that state
	decoder    *zstd.Decoder
}

// unpackAgainst returns what is in the payload of a chunk that was compressed with another
// saved state, in the reader's room.
func (r *chunkReader) unpackAgainst(payload []byte) ([]byte, error) {
	if len(payload) < 8 {
		return r.room, errAgainstShort
	}
	generation := binary.BigEndian.Uint64(payload)
	switch {
	case r.account == nil:
		return r.room, errAgainstChain
	case r.against == nil:
		records, _, err := recordsOf(r.account, generation)
		if err != nil {
			return r.room, err
		}
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostChunk), zstd.WithDecoderDictRaw(dictionaryID, records))
		if err != nil {
			return r.room, err
		}
		r.against = &difference{generation, decoder}
	case r.against.generation != generation:
		return r.room, errAgainstOther
	}
	return r.against.decoder.DecodeAll(payload[8:], r.room[:0])
}

// recordsOf returns all records of a saved state, one after the other, and where each ends. It
// must not have been compressed with another.
func recordsOf(account *bolt.Bucket, generation uint64) (records []byte, ends []int, err error) {
	b, err := savedBucket(account, generation)
	if err != nil {
		return nil, nil, err
	}
	chunks := chunkReader{kind: framePacked}
	for n := uint32(0); ; n++ {
		value := b.Get(key32(n))
		if value == nil {
			return records, ends, nil
		}
		record, err := chunks.record(chunkName(generation, n), value)
		if err != nil {
			return nil, nil, damage("chunk %d of snapshot %d: %w", n, generation, err)
		}
		records = append(records, record...)
		ends = append(ends, len(records))
	}
}

// packAgainst compresses the chunks of a saved state with another, unless there is no such
// state, both are one, or one is too large.
func packAgainst(account *bolt.Bucket, of, with SavedState) error {
	if of.Generation == 0 || with.Generation == 0 || of.Generation == with.Generation || max(of.Bytes, with.Bytes) > mostAgainst {
		return nil
	}
	records, ends, err := recordsOf(account, of.Generation)
	if err != nil {
		return err
	}
	dictionary, _, err := recordsOf(account, with.Generation)
	if err != nil {
		return err
	}
	if len(dictionary) < leastDictionary {
		return nil
	}
	// A match may be as far away as the beginning of the dictionary.
	window := max(1<<bits.Len(uint(len(dictionary)+len(records))), zstd.MinWindowSize)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window), zstd.WithEncoderDictRaw(dictionaryID, dictionary))
	if err != nil {
		return err
	}
	b, err := savedBucket(account, of.Generation)
	if err != nil {
		return err
	}
	b.FillPercent = 1
	from := 0
	for n, end := range ends {
		name := chunkName(of.Generation, uint32(n))
		packed := encoder.EncodeAll(records[from:end], nil)
		if err := b.Put(key32(uint32(n)), frame(nil, frameAgainst, name, key64(with.Generation), packed)); err != nil {
			return err
		}
		from = end
	}
	return nil
}
