// SPDX-License-Identifier: Apache-2.0

// Package deadletters lists the dead letters of a stream.
package deadletters

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
)

// Letter is a dead letter: a record that could not be used.
type Letter struct {
	// ID names the letter: the partition and the offset that the record had, and the
	// first digits of a hash of it.
	ID string `json:"id"`
	// Account is the key of the record; "" if it has none.
	Account string `json:"account"`
	// Reason is the word for why it could not be used, as in the header x-hinged-reason.
	Reason kafka.Reason `json:"reason"`
	// Detail says the same in a sentence.
	Detail string `json:"detail"`
	// Topic is the topic that the record was in.
	Topic string `json:"topic"`
	// Partition is the partition that it was in.
	Partition int32 `json:"partition"`
	// Offset is the offset that it had there.
	Offset int64 `json:"offset"`
	// Bytes is the size of its value.
	Bytes int `json:"bytes"`
	// Since is when it became a dead letter.
	Since time.Time `json:"since"`

	at place // in the topic of dead letters
}

// place is where a record is in the topic of dead letters.
type place struct {
	partition int32
	offset    int64
}

// letterOf reads a dead letter; false: the record is none.
func letterOf(r *kafka.Record) (l Letter, ok bool) {
	reason, ok := r.Header(kafka.HeaderReason)
	if !ok {
		return l, false
	}
	detail, _ := r.Header(kafka.HeaderDetail)
	topic, _ := r.Header(kafka.HeaderTopic)
	partition, err := number(r, kafka.HeaderPartition, 32)
	if err != nil {
		return l, false
	}
	offset, err := number(r, kafka.HeaderOffset, 64)
	if err != nil {
		return l, false
	}
	l = Letter{
		Account: string(r.Key), Reason: kafka.Reason(reason), Detail: string(detail), Topic: string(topic), Partition: int32(partition), Offset: offset,
		Bytes: len(r.Value), Since: r.Time, at: place{r.Partition, r.Offset},
	}
	// A crash can repeat a letter, and another topic of that name can have another
	// record in its place.
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %q %q", l.Topic, l.Partition, l.Offset, r.Key, r.Value)
	for _, header := range original(r.Headers) {
		fmt.Fprintf(h, " %q %q", header.Key, header.Value)
	}
	l.ID = fmt.Sprintf("%d/%d-%s", l.Partition, l.Offset, hex.EncodeToString(h.Sum(nil)[:4]))
	return l, true
}

func number(r *kafka.Record, header string, bits int) (int64, error) {
	text, _ := r.Header(header)
	return strconv.ParseInt(string(text), 10, bits)
}

// original returns the headers that are not ours.
func original(all []kafka.Header) (out []kafka.Header) {
	for _, h := range all {
		if !strings.HasPrefix(strings.ToLower(h.Key), "x-hinged-") {
			out = append(out, h)
		}
	}
	return out
}
