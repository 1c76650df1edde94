// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"github.com/hinged/hinged/store"
)

// ChunkID is the SHA-256 of what a chunk holds, before it is compressed: equal
// content has one ID, whoever compressed it.
type ChunkID [sha256.Size]byte

func (id ChunkID) String() string { return hex.EncodeToString(id[:]) }

// MaxChunk is the most bytes that a chunk has, compressed.
const MaxChunk = 900_000

// chunkContent is the most that a chunk holds before it is compressed. What does
// not compress comes out a little larger.
const chunkContent = 880_000

// cutEvery is how many bytes a chunk has on average. Where an item ends a chunk depends on that
// item alone, so that what grew at its end, or lost its beginning, has the same chunks in between.
const cutEvery = 48_000

// chunker cuts a sequence of items into chunks. An item is some fields, each after its length in
// 4 bytes; one may go on in the next chunk. It holds one chunk at a time.
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

// item appends an item.
func (c *chunker) item(fields ...[]byte) error {
	size := 0
	for _, field := range fields {
		size += len(field)
		if err := c.write(binary.BigEndian.AppendUint32(nil, uint32(len(field)))); err != nil {
			return err
		}
		if err := c.write(field); err != nil {
			return err
		}
	}
	if xxhash.Sum64(fields[len(fields)-1])%cutEvery < uint64(size) {
		return c.cut()
	}
	return nil
}

func (c *chunker) write(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), chunkContent-len(c.content))
		c.content = append(c.content, b[:n]...)
		if b = b[n:]; len(c.content) == chunkContent {
			if err := c.cut(); err != nil {
				return err
			}
		}
	}
	return nil
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

// end ends the sequence of items and returns the IDs of its chunks.
func (c *chunker) end() ([]ChunkID, error) {
	err := c.cut()
	ids := c.cutIDs
	c.cutIDs = nil
	return ids, err
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

// Unpack returns what a chunk holds, if that is what id says; ErrChunk, with the id, if
// not. It uses the room of dst. Safe for concurrent use, with a dst of one's own.
func Unpack(id ChunkID, packed, dst []byte) ([]byte, error) {
	if cap(dst) < chunkContent {
		dst = make([]byte, 0, chunkContent)
	}
	content, err := unpacking.DecodeAll(packed, dst[:0])
	if err != nil {
		return nil, fmt.Errorf("chunk %v: %w: %w", id, store.ErrChunk, err)
	}
	if ChunkID(sha256.Sum256(content)) != id {
		return nil, fmt.Errorf("chunk %v: %w: %w", id, store.ErrChunk, errOtherContent)
	}
	return content, nil
}

// chunkReader reads what a list of chunks holds, in order.
type chunkReader struct {
	get     func(ChunkID) ([]byte, error)
	ids     []ChunkID // those that are left
	content []byte    // room for one chunk
	rest    []byte    // of it
	failed  error     // why a chunk could not be read
}

func (r *chunkReader) Read(p []byte) (n int, err error) {
	for len(r.rest) == 0 {
		if len(r.ids) == 0 {
			return 0, io.EOF
		}
		id := r.ids[0]
		packed, err := r.get(id)
		if err != nil {
			r.failed = fmt.Errorf("chunk %v: %w", id, err)
			return 0, r.failed
		}
		if r.content, r.failed = Unpack(id, packed, r.content); r.failed != nil {
			return 0, r.failed
		}
		r.ids, r.rest = r.ids[1:], r.content
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// eachItem hands the items of some chunks to fn, each with so many fields, which are valid until
// fn returns. ErrChunk if they end within one.
func eachItem(get func(ChunkID) ([]byte, error), ids []ChunkID, fields int, fn func([][]byte) error) error {
	r := chunkReader{get: get, ids: ids}
	err := items(&r, fields, fn)
	return cmp.Or(r.failed, err) // which may look like an end
}

func items(from io.Reader, fields int, fn func([][]byte) error) error {
	r := bufio.NewReader(from)
	room, item := make([]bytes.Buffer, fields), make([][]byte, fields)
	for {
		if _, err := r.Peek(1); errors.Is(err, io.EOF) {
			return nil
		}
		for i := range item {
			room[i].Reset()
			err := field(r, &room[i])
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = fmt.Errorf("%w: it ends within an item", store.ErrChunk)
			}
			if err != nil {
				return err
			}
			item[i] = room[i].Bytes()
		}
		if err := fn(item); err != nil {
			return err
		}
	}
}

// field reads one field, and takes no more memory than there is content.
func field(r io.Reader, into *bytes.Buffer) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	_, err := io.CopyN(into, r, int64(binary.BigEndian.Uint32(size[:])))
	return err
}
