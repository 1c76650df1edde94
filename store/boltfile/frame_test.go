// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"testing"
)

// A frame gives back what is in it, under its own kind and key alone.
func TestAFrameHoldsItsPayload(t *testing.T) {
	for _, payload := range [][]byte{nil, {0}, bytes.Repeat([]byte("payload"), 100)} {
		framed := frame(nil, frameRedo, key64(1), payload)
		if got, err := unframe(frameRedo, key64(1), framed); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("a frame gives back %x, %v; want %x", got, err, payload)
		}
		if _, err := unframe(frameJournal, key64(1), framed); err == nil {
			t.Error("a frame of another kind is accepted")
		}
		if _, err := unframe(frameRedo, key64(2), framed); err == nil {
			t.Error("a frame of another key is accepted")
		}
	}
	if _, err := unframe(frameRedo, key64(1), []byte{1, 2}); err == nil {
		t.Error("a frame without its checksum is accepted")
	}
}
