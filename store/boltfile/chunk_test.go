// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// A chunk is read as it was written, by this version or an earlier one, and whatever room
// there is for it.
func TestChunksOfEveryVersionAreRead(t *testing.T) {
	name := []byte("name")
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	for _, record := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("some rows "), 5000)} {
		for version, value := range map[string][]byte{
			"plain": frame(nil, frameChunk, name, record),
			"zstd":  frame(nil, frameZstd, name, e.EncodeAll(record, nil)),
			"S2":    frameChunkOf(nil, name, record),
		} {
			for _, room := range [][]byte{nil, make([]byte, 10), make([]byte, 0, 100_000)} {
				r := chunkReader{kind: framePacked, room: room}
				got, err := r.record(name, value)
				if err != nil || !bytes.Equal(got, record) {
					t.Errorf("%s: %d bytes come back as %d, %v", version, len(record), len(got), err)
				}
			}
		}
	}
}

// A chunk that is cut, garbled, or would unpack to more than a chunk may have gives an error.
func TestABadChunkIsRefused(t *testing.T) {
	name, record := []byte("name"), bytes.Repeat([]byte("some rows "), 50)
	packed := s2.EncodeBetter(nil, record)
	for what, value := range map[string][]byte{
		"empty":             nil,
		"cut":               frameChunkOf(nil, name, record)[:20],
		"of another":        frameChunkOf(nil, []byte("other"), record),
		"not S2":            frame(nil, framePacked, name, []byte{5, 0xff, 0xff}),
		"not zstd":          frame(nil, frameZstd, name, packed),
		"no length":         frame(nil, framePacked, name, nil),
		"cut before framed": frame(nil, framePacked, name, packed[:len(packed)-3]),
		"too large":         frame(nil, framePacked, name, append([]byte{0x81, 0x80, 0x80, 0x20}, packed[2:]...)), // mostChunk + 1
	} {
		if got, err := new(chunkReader).record(name, value); err == nil {
			t.Errorf("%s: gives %d bytes", what, len(got))
		}
	}
}

// What was compressed with another saved state is refused if that is not there, is not whole,
// or was compressed so itself.
func TestABadDifferenceIsRefused(t *testing.T) {
	for what, payload := range map[string][]byte{
		"empty": nil,
		"short": key64(1)[:7],
		"alone": append(key64(1), 0x28, 0xb5, 0x2f, 0xfd),
	} {
		name := []byte("name")
		if got, err := new(chunkReader).record(name, frame(nil, frameAgainst, name, payload)); err == nil {
			t.Errorf("%s: gives %d bytes", what, len(got))
		}
	}
}
