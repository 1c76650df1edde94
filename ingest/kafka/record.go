// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Header is one header of a record. Names may repeat.
type Header struct {
	Key   string
	Value []byte
}

// ByKey as a Record's Partition means: where the key puts it.
const ByKey int32 = -1

// Record is one record of a topic, read or to be produced.
type Record struct {
	Partition int32 // ByKey when produced: Partition of its key
	Offset    int64 // when read; ignored when produced
	Epoch     int32 // when read: of the leader that took it; see Client.EpochEnd
	// Time is the timestamp, in whole milliseconds. The zero time when produced
	// means the moment at which it is sent.
	Time time.Time
	Key  []byte // nil: none
	// Value is nil for a tombstone, which is not the same as an empty value.
	Value   []byte
	Headers []Header
	// Dropped says what was not kept when the record was read: a value above
	// Options.MaxRecord, a key above 1 MiB, or all headers, if they take more than
	// 1 MiB or are more than 10,000. Each part is kept or not by itself.
	Dropped Dropped
}

// Dropped counts the bytes of the parts of a record that were left out; 0: the part
// is whole.
type Dropped struct{ Key, Value, Headers int64 }

// Bytes is how many were left out of all parts.
func (d Dropped) Bytes() int64 { return d.Key + d.Value + d.Headers }

// Parts names the parts that were left out, in the order key, value, headers.
func (d Dropped) Parts() []string {
	var out []string
	for _, part := range []struct {
		name  string
		bytes int64
	}{{"key", d.Key}, {"value", d.Value}, {"headers", d.Headers}} {
		if part.bytes > 0 {
			out = append(out, part.name)
		}
	}
	return out
}

// Header returns the value of the first header of that name.
func (r Record) Header(name string) (value []byte, ok bool) {
	for _, h := range r.Headers {
		if h.Key == name {
			return h.Value, true
		}
	}
	return nil, false
}

// encode returns the record for the client library. There, too, nil is not the same as empty.
func (r *Record) encode() kafkago.Record {
	out := kafkago.Record{Time: r.Time}
	if r.Key != nil {
		out.Key = kafkago.NewBytes(r.Key)
	}
	if r.Value != nil {
		out.Value = kafkago.NewBytes(r.Value)
	}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, kafkago.Header(h))
	}
	return out
}

// size estimates how many bytes the record takes in a batch.
func (r Record) size() int {
	n := 32 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// Partition returns where a key belongs among n partitions: murmur2, as the Java
// client does it by default. Other clients must be told to (librdkafka:
// partitioner=murmur2_random). n must be above 0.
func Partition(key []byte, n int32) int32 {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return int32(kafkago.Murmur2Balancer{Consistent: true}.Balance(kafkago.Message{Key: key}, all...))
}
