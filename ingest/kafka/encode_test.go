// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
)

// anyRecords are records of every shape, with and without each of their parts.
func anyRecords(rng *rand.Rand, n int) (records []Record, places []int) {
	some := func() []byte {
		switch rng.IntN(4) {
		case 0:
			return nil
		case 1:
			return []byte{}
		default:
			return noise(1 + rng.IntN(1<<rng.IntN(12)))
		}
	}
	for i := range n {
		r := Record{Key: some(), Value: some()}
		if rng.IntN(3) > 0 {
			r.Time = time.UnixMilli(1_600_000_000_000 + rng.Int64N(1e9)).UTC()
		}
		for range rng.IntN(3) {
			r.Headers = append(r.Headers, Header{Key: string(some()), Value: some()})
		}
		records = append(records, r)
		if rng.IntN(3) > 0 || i == n-1 {
			places = append(places, i)
		}
	}
	return records, places
}

// TestABatchIsWhatKafkaGoWouldWrite: without compression, byte for byte.
func TestABatchIsWhatKafkaGoWouldWrite(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	now := time.UnixMilli(1_700_000_000_000)
	c := new(Client)
	for range 200 {
		records, places := anyRecords(rng, 1+rng.IntN(20))
		var theirs []protocol.Record
		for _, at := range places {
			r := protocol.Record{Time: records[at].Time}
			if r.Time.IsZero() {
				r.Time = now
			}
			if k := records[at].Key; k != nil {
				r.Key = protocol.NewBytes(k)
			}
			if v := records[at].Value; v != nil {
				r.Value = protocol.NewBytes(v)
			}
			for _, h := range records[at].Headers {
				r.Headers = append(r.Headers, protocol.Header(h))
			}
			theirs = append(theirs, r)
		}
		var want bytes.Buffer
		set := protocol.RecordSet{Version: 2, Records: protocol.NewRecordReader(theirs...)}
		if _, err := set.WriteTo(&want); err != nil {
			t.Fatal(err)
		}
		got, err := c.encodeBatch(records, places, 0, now)
		if err != nil {
			t.Fatal(err)
		}
		const length = 4 // which the request writes in front
		if !bytes.Equal(got, want.Bytes()[length:]) {
			t.Fatalf("got\n%x, want\n%x", got, want.Bytes()[length:])
		}
	}
}

func TestABatchIsReadBackWithEachCompression(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	now := time.UnixMilli(1_700_000_000_000).UTC()
	z, err := newZstd()
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{zstd: z}
	for name, compression := range codecs {
		var d decoders
		for range 50 {
			records, places := anyRecords(rng, 1+rng.IntN(30))
			data, err := c.encodeBatch(records, places, compression, now)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			whole, rest, ok, err := cutBatch(data)
			if err != nil || !ok || len(rest) > 0 {
				t.Fatalf("%s: no whole batch: %v", name, err)
			}
			b, err := openBatch(whole, &d)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if int(b.left) != len(places) || b.last != int64(len(places)-1) {
				t.Fatalf("%s: %d records up to %d, want %d", name, b.left, b.last, len(places))
			}
			greatest := int64(0)
			for i, at := range places {
				got, err := b.next(1 << 20)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				want := records[at]
				want.Offset = int64(i)
				if want.Time.IsZero() {
					want.Time = now
				}
				greatest = max(greatest, want.Time.UnixMilli())
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: got %+v, want %+v", name, got, want)
				}
			}
			if b.maxTime != greatest {
				t.Errorf("%s: the greatest timestamp is %d, want %d", name, b.maxTime, greatest)
			}
			b.close()
		}
	}
}
