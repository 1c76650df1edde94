// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/s2"
)

// A chunk is read as it was written, whatever room there is for it.
func TestChunksAreRead(t *testing.T) {
	name := []byte("name")
	for _, record := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("some rows "), 5000)} {
		for _, room := range [][]byte{nil, make([]byte, 10), make([]byte, 0, 100_000)} {
			got, err := unframeChunk(name, chunkOf(name, record), room)
			if err != nil || !bytes.Equal(got, record) {
				t.Errorf("%d bytes come back as %d, %v", len(record), len(got), err)
			}
		}
	}
}

// A chunk that is cut, garbled, or would unpack to more than a chunk may have gives an error.
func TestABadChunkIsRefused(t *testing.T) {
	name, record := []byte("name"), bytes.Repeat([]byte("some rows "), 50)
	packed := s2.Encode(nil, record)
	for what, value := range map[string][]byte{
		"empty":             nil,
		"cut":               chunkOf(name, record)[:20],
		"of another":        chunkOf([]byte("other"), record),
		"not S2":            frame(nil, frameChunk, name, []byte{5, 0xff, 0xff}),
		"no length":         frame(nil, frameChunk, name, nil),
		"cut before framed": frame(nil, frameChunk, name, packed[:len(packed)-3]),
		"too large":         frame(nil, frameChunk, name, append([]byte{0x81, 0x80, 0x80, 0x20}, packed[2:]...)), // mostChunk + 1
	} {
		if got, err := unframeChunk(name, value, nil); err == nil {
			t.Errorf("%s: gives %d bytes", what, len(got))
		}
	}
}

func chunkOf(name, record []byte) []byte { return frame(nil, frameChunk, name, s2.Encode(nil, record)) }
