// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/hinged/hinged/store"
)

// ChunkID is the SHA-256 of what a chunk holds, before it is compressed: equal
// content has one ID, whoever compressed it.
type ChunkID [sha256.Size]byte

func (id ChunkID) String() string { return hex.EncodeToString(id[:]) }

// ChunkError says which chunk it is that does not hold what its ID says. It wraps
// ErrChunk.
type ChunkError struct {
	ID  ChunkID
	Err error
}

func (e *ChunkError) Error() string {
	return fmt.Sprintf("chunk %v: %v: %v", e.ID, store.ErrChunk, e.Err)
}

func (e *ChunkError) Unwrap() []error { return []error{store.ErrChunk, e.Err} }

// MaxChunk is the most bytes that a chunk has, compressed.
const MaxChunk = 900_000

// chunkContent is the most that a chunk holds before it is compressed. What does
// not compress comes out a little larger.
const chunkContent = 880_000

// A chunk holds, after a byte that says so, items one after another:
//
//	kind byte, uvarint a, uvarint b, uvarint n, n bytes of content
//
// a and b say which item of its kind it is. An item that is larger than a chunk
// goes on in the next one of the list, which begins with the same a and b, with
// contFlag set in the kind, and with the number of bytes that are left of it.
const (
	chunkVersion byte = 1
	contFlag     byte = 0x80

	itemHead     byte = 'h' // accountHead, at the end of the last chunk of a state
	itemManifest byte = 's' // of snapshot a
	itemRecord   byte = 'c' // number b of snapshot a
	itemRedo     byte = 'r' // of commit a
	itemJournal  byte = 'j' // number a
	itemLesson   byte = 'l' // number a
	itemFeatures byte = 'f' // number b of commit a
	itemNames    byte = 'n' // of those features
	itemAccount  byte = 'a' // accountRef, of a manifest
)

// chunker cuts items into chunks. It holds one chunk at a time.
type chunker struct {
	put     func(ChunkID, []byte) error
	known   map[ChunkID]struct{} // need not be put
	encoder *zstd.Encoder
	content []byte
	packed  []byte
	cutIDs  []ChunkID // of the chunks cut since they were last taken
}

func newChunker(put func(ChunkID, []byte) error) (*chunker, error) {
	// One goroutine and the same options always, so that equal content is equal
	// bytes. Weights and features hardly compress: a higher level finds nothing
	// more in them.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	return &chunker{put: put, known: map[ChunkID]struct{}{}, encoder: encoder, content: make([]byte, 0, chunkContent)}, nil
}

// item appends an item, in a chunk of its own if it does not fit into this one.
func (c *chunker) item(kind byte, a, b uint64, content []byte) error {
	const header = 2 + 3*binary.MaxVarintLen64
	if len(c.content)+header+len(content) > chunkContent {
		if err := c.cut(); err != nil {
			return err
		}
	}
	for {
		if len(c.content) == 0 {
			c.content = append(c.content, chunkVersion)
		}
		c.content = append(c.content, kind)
		c.content = binary.AppendUvarint(c.content, a)
		c.content = binary.AppendUvarint(c.content, b)
		c.content = binary.AppendUvarint(c.content, uint64(len(content)))
		piece := min(len(content), chunkContent-len(c.content))
		c.content = append(c.content, content[:piece]...)
		if content = content[piece:]; len(content) == 0 {
			return nil
		}
		if err := c.cut(); err != nil {
			return err
		}
		kind |= contFlag
	}
}

// cut ends the chunk begun, if there is one.
func (c *chunker) cut() error {
	if len(c.content) == 0 {
		return nil
	}
	id := ChunkID(sha256.Sum256(c.content))
	c.cutIDs = append(c.cutIDs, id)
	if _, ok := c.known[id]; !ok {
		c.packed = c.encoder.EncodeAll(c.content, c.packed[:0])
		if len(c.packed) > MaxChunk {
			return fmt.Errorf("chunk %v has %d bytes", id, len(c.packed))
		}
		if err := c.put(id, c.packed); err != nil {
			return fmt.Errorf("chunk %v: %w", id, err)
		}
		c.known[id] = struct{}{}
	}
	c.content = c.content[:0]
	return nil
}

// take returns the IDs of the chunks cut since it was last called.
func (c *chunker) take() []ChunkID {
	ids := c.cutIDs
	c.cutIDs = nil
	return ids
}

// unpacking decodes chunks. It may be used by several goroutines.
var unpacking = func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(chunkContent), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
}()

var errOtherContent = errors.New("it holds something else")

// Unpack returns what a chunk holds, if that is what id says; a [ChunkError] if
// not. It uses the room of dst. Safe for concurrent use, with a dst of one's own.
func Unpack(id ChunkID, packed, dst []byte) ([]byte, error) {
	if cap(dst) < chunkContent {
		dst = make([]byte, 0, chunkContent)
	}
	content, err := unpacking.DecodeAll(packed, dst[:0])
	if err != nil {
		return nil, &ChunkError{id, err}
	}
	if ChunkID(sha256.Sum256(content)) != id {
		return nil, &ChunkError{id, errOtherContent}
	}
	return content, nil
}

// chunkReader reads the items of a list of chunks in order.
type chunkReader struct {
	get     func(ChunkID) ([]byte, error)
	content []byte // room for one chunk
	// Of an item that goes on in the next chunk: the item, what was read of it, and
	// how many bytes are left.
	of     chunkItem
	joined []byte
	left   uint64
	// amid: what begins in a chunk that was not read is left out.
	amid bool
}

// chunkItem is one item. Its content is valid until the next one.
type chunkItem struct {
	kind    byte
	a, b    uint64
	content []byte
}

// read hands the items of one chunk to fn.
func (r *chunkReader) read(id ChunkID, fn func(chunkItem) error) error {
	packed, err := r.get(id)
	if err != nil {
		return fmt.Errorf("chunk %v: %w", id, err)
	}
	if r.content, err = Unpack(id, packed, r.content); err != nil {
		return err
	}
	if err := r.items(r.content, fn); err != nil {
		return fmt.Errorf("chunk %v: %w", id, err)
	}
	return nil
}

var errChunkShort = fmt.Errorf("%w: it ends within an item", store.ErrChunk)

func (r *chunkReader) items(content []byte, fn func(chunkItem) error) error {
	if len(content) == 0 || content[0] != chunkVersion {
		return fmt.Errorf("%w: its format is unknown to this version", store.ErrChunk)
	}
	for rest := content[1:]; len(rest) > 0; {
		kind := rest[0]
		rest = rest[1:]
		var numbers [3]uint64
		for i := range numbers {
			n, size := binary.Uvarint(rest)
			if size <= 0 {
				return errChunkShort
			}
			numbers[i], rest = n, rest[size:]
		}
		size := numbers[2]
		here := min(size, uint64(len(rest)))
		it := chunkItem{kind &^ contFlag, numbers[0], numbers[1], rest[:here]}
		rest = rest[here:]
		goesOn := kind&contFlag != 0
		switch {
		case goesOn && r.amid && r.left == 0:
			continue
		case goesOn != (r.left > 0), goesOn && (it.kind != r.of.kind || it.a != r.of.a || it.b != r.of.b || size != r.left):
			return fmt.Errorf("%w: it does not go on with the item that the one before ends with", store.ErrChunk)
		}
		if goesOn || here < size {
			if !goesOn {
				r.of, r.joined = it, r.joined[:0]
			}
			r.joined = append(r.joined, it.content...)
			if r.left = size - here; r.left > 0 {
				continue // and rest is empty
			}
			it.content = r.joined
		}
		if err := fn(it); err != nil {
			return err
		}
	}
	return nil
}

// end reports whether the last item was whole.
func (r *chunkReader) end() error {
	if r.left > 0 {
		return errChunkShort
	}
	return nil
}
