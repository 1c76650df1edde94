// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sealed makes a batch of records that are encoded already.
func sealed(attributes int16, count int32, records []byte) []byte {
	b := make([]byte, batchHead, batchHead+len(records))
	binary.BigEndian.PutUint32(b[8:], uint32(batchHead-12+len(records)))
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], uint16(attributes))
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	b = append(b, records...)
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// bomb makes a batch of a record whose value is n zeros and of one that is small,
// compressed as tightly as can be.
func bomb(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	head := []byte{0, 0, 0, 1} // attributes, time, offset, no key
	head = binary.AppendVarint(head, int64(n))
	write := func(b []byte) {
		if _, err := z.Write(b); err != nil {
			tb.Fatal(err)
		}
	}
	write(binary.AppendVarint(nil, int64(len(head)+n+1)))
	write(head)
	zeros := make([]byte, 1<<20)
	for left := n; left > 0; left -= len(zeros) {
		write(zeros[:min(left, len(zeros))])
	}
	write([]byte{0}) // no headers
	write([]byte{2 * 8, 0, 0, 2, 1, 2 * 2, 'o', 'k', 0})
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return sealed(4, 2, out.Bytes())
}

func TestAZstdBombCostsNoMemory(t *testing.T) {
	const n = 256 << 20
	data := bomb(t, n)
	if len(data) > 1<<20 {
		t.Fatalf("the bomb has %d bytes and would not fit into a topic", len(data))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := openBatch(data, new(decoders))
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	first, err := b.next(16 << 20)
	if err != nil || first.Dropped != (Dropped{Value: n}) || first.Value != nil {
		t.Fatalf("got %d bytes, dropped %+v, %v", len(first.Value), first.Dropped, err)
	}
	second, err := b.next(16 << 20)
	runtime.ReadMemStats(&after)
	if err != nil || string(second.Value) != "ok" || second.Offset != 1 {
		t.Errorf("what follows is %+v, %v", second, err)
	}
	// All that was ever allocated, not only what is held at once.
	if used := after.TotalAlloc - before.TotalAlloc; used > 48<<20 {
		t.Errorf("%d MB were allocated for a bomb of %d MB", used>>20, n>>20)
	}
}

func TestABlockOfSnappyThatBoastsIsRefusedAndReservesNothing(t *testing.T) {
	huge := append(binary.AppendUvarint(nil, 4<<30-2), 0, 1, 2, 3)
	frame := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for name, data := range map[string][]byte{
		"one block":           huge,
		"a block in a frame":  append(append(bytes.Clone(frame), 0, 0, 0, byte(len(huge))), huge...),
		"a frame of 2 GB":     append(bytes.Clone(frame), 0x7f, 0xff, 0xff, 0xff, 1, 2, 3),
		"a frame of no bytes": append(bytes.Clone(frame), 0, 0, 0, 0),
		"half a length":       append(bytes.Clone(frame), 0, 0),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := openBatch(sealed(2, 1, data), new(decoders))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.next(1000); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %v, want %v", name, err, ErrCorrupt)
		}
		b.close()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
			t.Errorf("%s: %d bytes were reserved", name, used)
		}
	}
}

func TestSnappyOfEveryClientIsRead(t *testing.T) {
	t.Parallel()
	want := bytes.Repeat([]byte("mail and more mail; "), 10_000)
	framed := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for part := range slices.Chunk(want, 32<<10) {
		block := snappy.Encode(nil, part)
		framed = append(binary.BigEndian.AppendUint32(framed, uint32(len(block))), block...)
	}
	for _, data := range [][]byte{framed, snappy.Encode(nil, want)} {
		if got, err := io.ReadAll(newSnappyReader(data)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
		}
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte{2 * 8, 0, 0, 0, 1, 2 * 2, 'o', 'k', 0}, int16(0), int32(1))
	f.Add(bomb(f, 1000)[batchHead:], int16(4), int32(2))
	f.Add([]byte{2, 0}, int16(1), int32(1))
	f.Add(snappy.Encode(nil, []byte{2 * 8, 0, 0, 0, 1, 2 * 2, 'o', 'k', 0}), int16(2), int32(1))
	f.Fuzz(func(t *testing.T, records []byte, attributes int16, count int32) {
		data := sealed(attributes, count, records)
		whole, rest, ok, err := cutBatch(append(data, 1, 2, 3))
		if err != nil || !ok || !bytes.Equal(whole, data) || len(rest) != 3 {
			t.Fatalf("cut off %d of %d bytes, %v", len(whole), len(data), err)
		}
		b, err := openBatch(whole, new(decoders))
		for err == nil && b.left > 0 {
			var r Record
			if r, err = b.next(1000); err == nil && len(r.Value) > 1000 {
				t.Fatalf("a value of %d bytes", len(r.Value))
			}
		}
		if b != nil {
			b.close()
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want %v", err, ErrCorrupt)
		}
		// One bit, and it is no longer what was sent.
		data[len(data)-1] ^= 1
		if _, err := openBatch(data, new(decoders)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a flipped bit gave %v", err)
		}
	})
}

func FuzzFetchResponse(f *testing.F) {
	f.Add(make([]byte, 60), int16(4))
	f.Add(append(make([]byte, 10), 0, 0, 0, 1, 0, 0, 0, 0, 0, 1), int16(11))
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		r := &kmsg.FetchResponse{Version: version}
		if err := parseAnswer(body, r); err != nil {
			return
		}
		if of, _, err := partitionOf(r); err == nil && of != nil && len(of.RecordBatches) > len(body) {
			t.Fatal("more records than bytes")
		}
	})
}
