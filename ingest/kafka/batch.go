// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"
	kafkago "github.com/segmentio/kafka-go"
)

// codecs are the compressions that we produce, by their name.
var codecs = map[Compression]kafkago.Compression{
	None: 0, Gzip: kafkago.Gzip, Snappy: kafkago.Snappy, LZ4: kafkago.Lz4, Zstd: kafkago.Zstd,
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	// batchHead is the length of what stands before the records of a batch.
	batchHead = 61
	// maxWindow is how far back a zstd stream may refer: what Java's decoder allows.
	// It bounds the memory of reading one.
	maxWindow = 128 << 20
	// maxText bounds the key of a record, and all its headers together, in bytes;
	// maxHeaders their number. A key is an account of 200 bytes or the name of a chunk.
	maxText    = 1 << 20
	maxHeaders = 10_000
)

// batch is one record batch (format 2, https://kafka.apache.org/documentation/#recordbatch),
// read as a stream: of its records only the one asked for is in memory.
type batch struct {
	first, last   int64 // offsets; some in between may be missing
	time          int64 // of the first record, Unix milliseconds
	maxTime       int64 // the greatest, and that of every record if appendTime
	producer      int64
	epoch         int32 // of the leader that took it
	attributes    int16
	left          int32 // records not read yet
	r             *bufio.Reader
	close         func()
	pendingLength int64 // of the next record, when it was looked at already; -1: not
}

func (b *batch) transactional() bool { return b.attributes&(1<<4) != 0 }
func (b *batch) control() bool       { return b.attributes&(1<<5) != 0 }
func (b *batch) appendTime() bool    { return b.attributes&(1<<3) != 0 }

// cutBatch takes the first batch off data. ok is false when data holds no whole
// one: a broker may cut the last one off.
func cutBatch(data []byte) (whole, rest []byte, ok bool, err error) {
	if len(data) < 17 {
		return nil, nil, false, nil
	}
	if magic := data[16]; magic != 2 {
		return nil, nil, false, fmt.Errorf("%w: record format %d; only 2 (Kafka 0.11) is read", ErrCorrupt, magic)
	}
	length := int64(int32(binary.BigEndian.Uint32(data[8:])))
	if length < batchHead-12 {
		return nil, nil, false, fmt.Errorf("%w: a batch of %d bytes", ErrCorrupt, length)
	}
	if int64(len(data)) < 12+length {
		return nil, nil, false, nil
	}
	return data[:12+length], data[12+length:], true, nil
}

// batchTime is the timestamp of the first record of what cutBatch returned.
func batchTime(data []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(data[27:]))).UTC()
}

// keptWindow is up to which window a decoder is kept for the next batch: what
// encoders use but at their slowest levels. The decoder holds that much memory.
const keptWindow = 16 << 20

// decoders are kept from batch to batch, since a new one is large.
type decoders struct{ zstd *zstd.Decoder }

// open returns a reader of what data holds, and what to do at its end.
func (d *decoders) open(data []byte) (io.Reader, func(), error) {
	z := d.zstd
	d.zstd = nil
	if z == nil {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
	}
	if err := z.Reset(bytes.NewReader(data)); err != nil {
		z.Close()
		return nil, nil, err
	}
	return z, func() {
		var head zstd.Header
		if err := head.Decode(data); err == nil && head.WindowSize <= keptWindow {
			d.zstd = z
		} else {
			z.Close()
		}
	}, nil
}

// openBatch begins to read what cutBatch returned. The batch must be closed.
func openBatch(data []byte, d *decoders) (*batch, error) {
	if sum := binary.BigEndian.Uint32(data[17:]); crc32.Checksum(data[21:], castagnoli) != sum {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrCorrupt)
	}
	b := &batch{
		first:         int64(binary.BigEndian.Uint64(data)),
		attributes:    int16(binary.BigEndian.Uint16(data[21:])),
		time:          int64(binary.BigEndian.Uint64(data[27:])),
		maxTime:       int64(binary.BigEndian.Uint64(data[35:])),
		epoch:         int32(binary.BigEndian.Uint32(data[12:])) + 1,
		producer:      int64(binary.BigEndian.Uint64(data[43:])),
		left:          int32(binary.BigEndian.Uint32(data[57:])),
		close:         func() {},
		pendingLength: -1,
	}
	b.last = b.first + int64(int32(binary.BigEndian.Uint32(data[23:])))
	if b.first < 0 || b.last < b.first || b.left < 0 {
		return nil, fmt.Errorf("%w: offsets %d to %d, %d records", ErrCorrupt, b.first, b.last, b.left)
	}
	var r io.Reader = bytes.NewReader(data[batchHead:])
	switch compression := kafkago.Compression(b.attributes & 7); compression {
	case 0:
	case kafkago.Zstd:
		var err error
		if r, b.close, err = d.open(data[batchHead:]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	case kafkago.Snappy:
		r = newSnappyReader(data[batchHead:])
	default:
		codec := compression.Codec()
		if codec == nil {
			return nil, fmt.Errorf("%w: compression %d is unknown", ErrCorrupt, b.attributes&7)
		}
		z := codec.NewReader(r)
		r, b.close = z, func() { _ = z.Close() } // it was only read
	}
	b.r = bufio.NewReaderSize(r, 16<<10)
	return b, nil
}

// varint reads a zigzag varint and says how many bytes it took.
func (b *batch) varint() (v int64, n int64, err error) {
	var u uint64
	for shift := uint(0); shift < 64; shift += 7 {
		c, err := b.r.ReadByte()
		if err != nil {
			return 0, n, noEOF(err)
		}
		n++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), n, nil
		}
	}
	return 0, n, fmt.Errorf("%w: a number of more than 64 bits", ErrCorrupt)
}

// noEOF: within a batch the end comes too early.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// length returns the size of the next record in bytes, without reading it.
func (b *batch) length() (int64, error) {
	if b.pendingLength < 0 {
		v, _, err := b.varint()
		if err != nil {
			return 0, err
		}
		if v < 0 {
			return 0, fmt.Errorf("%w: a record of %d bytes", ErrCorrupt, v)
		}
		b.pendingLength = v
	}
	return b.pendingLength, nil
}

// next reads the next record. A part of it that is larger than we keep is passed
// over, and Dropped tells its size: a value of more than most bytes, or a key or
// headers beyond maxText and maxHeaders.
func (b *batch) next(most int64) (Record, error) {
	length, err := b.length()
	if err != nil {
		return Record{}, err
	}
	b.pendingLength = -1
	b.left--
	f := &recordReader{batch: b, remain: length}
	var rec Record
	f.discard(1) // attributes of the record: none are defined
	at, delta := f.number(), f.number()
	rec.Offset = b.first + delta
	rec.Time = time.UnixMilli(b.time + at).UTC()
	if b.appendTime() {
		rec.Time = time.UnixMilli(b.maxTime).UTC()
	}
	rec.Key = f.bytes(maxText, &rec.Dropped.Key)
	rec.Value = f.bytes(most, &rec.Dropped.Value)
	rec.Headers = f.headers(&rec.Dropped.Headers)
	if f.err == nil && f.remain != 0 {
		f.err = fmt.Errorf("%w: %d bytes left over", ErrCorrupt, f.remain)
	}
	if f.err != nil {
		return Record{}, fmt.Errorf("record at offset %d: %w", rec.Offset, f.err)
	}
	return rec, nil
}

// recordReader reads the fields of one record. The first error stays.
type recordReader struct {
	*batch
	remain int64 // bytes of the record that are not read yet
	err    error
}

func (f *recordReader) number() int64 {
	if f.err != nil {
		return 0
	}
	v, n, err := f.varint()
	if f.remain -= n; err == nil && f.remain < 0 {
		err = fmt.Errorf("%w: a field runs over the end of its record", ErrCorrupt)
	}
	f.err = err
	return v
}

// headers reads the headers, which are what is left of the record. Of too many or
// too large ones none is kept.
func (f *recordReader) headers(dropped *int64) (all []Header) {
	n := f.number()
	switch {
	case f.err != nil:
		return nil
	case n < 0 || n > f.remain: // each takes two bytes at least
		f.err = fmt.Errorf("%w: %d headers in %d bytes", ErrCorrupt, n, f.remain)
		return nil
	case n > maxHeaders || f.remain > maxText:
		*dropped = f.remain
		f.discard(f.remain)
		return nil
	}
	var none int64
	for ; n > 0 && f.err == nil; n-- {
		name := f.bytes(maxText, &none)
		all = append(all, Header{Key: string(name), Value: f.bytes(maxText, &none)})
	}
	return all
}

// bytes reads a field that is preceded by its length; -1 gives nil. A longer one
// than most is passed over, and dropped tells its length.
func (f *recordReader) bytes(most int64, dropped *int64) []byte {
	n := f.number()
	switch {
	case f.err != nil || n == -1:
		return nil
	case n < 0 || n > f.remain:
		f.err = fmt.Errorf("%w: a field of %d bytes where %d are left", ErrCorrupt, n, f.remain)
		return nil
	case n > most:
		*dropped = n
		f.discard(n)
		return nil
	}
	v := make([]byte, n)
	if _, err := io.ReadFull(f.r, v); err != nil {
		f.err = noEOF(err)
		return nil
	}
	f.remain -= n
	return v
}

func (f *recordReader) discard(n int64) {
	if f.err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, f.r, n); err != nil {
		f.err = noEOF(err)
	}
	f.remain -= n
}
