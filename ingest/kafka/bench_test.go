// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"testing"
)

// benchRecords are as large as mail, and as hard to compress.
func benchRecords(n int) []Record {
	all := noise(4096 * n)
	out := make([]Record, n)
	for i := range out {
		out[i] = Record{Key: []byte("k"), Value: all[i*4096 : (i+1)*4096]}
	}
	return out
}

// BenchmarkProduce: batches of 200 records of 4 KiB to one partition, acks=all.
func BenchmarkProduce(b *testing.B) {
	for _, compression := range []Compression{None, Zstd} {
		b.Run(string(compression), func(b *testing.B) {
			k := newBrokerFor(b)
			c := k.client(b, 1, func(o *Options) { o.Compression = compression })
			records := benchRecords(200)
			b.SetBytes(200 * 4096)
			for b.Loop() {
				produce(b, c, k.topics.Input, records)
			}
		})
	}
}

// BenchmarkRead: 100 MB in records of 4 KiB out of one partition.
func BenchmarkRead(b *testing.B) {
	for _, compression := range []Compression{None, Zstd} {
		b.Run(string(compression), func(b *testing.B) {
			k := newBrokerFor(b)
			c := k.client(b, 1, func(o *Options) { o.Compression = compression })
			const rounds = 125
			for range rounds {
				produce(b, c, k.topics.Input, benchRecords(200))
			}
			b.SetBytes(rounds * 200 * 4096)
			b.ReportAllocs()
			for b.Loop() {
				r := c.Read(k.topics.Input, TopicID{}, 0, 0)
				for r.Position() < rounds*200 {
					if _, err := r.Next(b.Context(), 500, 4<<20); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
