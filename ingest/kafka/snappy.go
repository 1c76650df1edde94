// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
)

// xerialMagic begins what Java clients write: it is followed by two version
// numbers, and then by blocks, each with its length in front. Other clients
// write one block and nothing around it.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// snappyRatio bounds what a byte of snappy can become: a copy takes three bytes
// and gives 64 at most (google/snappy, format_description.txt).
const snappyRatio = 22

// snappyReader reads what a batch holds, block by block. kafka-go's own reserves
// whatever a block says of itself, 4 GB if it likes, and keeps that for later.
type snappyReader struct {
	framed bool
	in     []byte // what follows
	out    []byte // what is left of the last block
	buffer []byte // where it was decoded
}

func newSnappyReader(data []byte) *snappyReader {
	const head = 16
	if len(data) >= head && bytes.HasPrefix(data, xerialMagic) {
		return &snappyReader{framed: true, in: data[head:]}
	}
	return &snappyReader{in: data}
}

func (s *snappyReader) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if len(s.in) == 0 {
			return 0, io.EOF
		}
		if err := s.block(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

func (s *snappyReader) block() error {
	block := s.in
	s.in = nil
	if s.framed {
		if len(block) < 4 {
			return io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(block))
		if block = block[4:]; n > int64(len(block)) {
			return io.ErrUnexpectedEOF
		}
		block, s.in = block[:n], block[n:]
	}
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return fmt.Errorf("a block of snappy: %w", err)
	}
	if int64(n) > snappyRatio*int64(len(block)) {
		return fmt.Errorf("a block of snappy cannot become %d bytes from %d", n, len(block))
	}
	s.buffer, err = snappy.Decode(s.buffer[:cap(s.buffer)], block)
	s.out = s.buffer
	if err != nil {
		s.out = nil
		return fmt.Errorf("a block of snappy: %w", err)
	}
	return nil
}
