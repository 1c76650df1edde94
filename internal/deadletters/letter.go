// SPDX-License-Identifier: Apache-2.0

// Package deadletters lists the dead letters of a stream and plays them again: it puts
// their records into the input topic once more.
//
// What was played is written beside the letters, in their own topic, before and after:
//
//	intended: letter, run, where the input ended → the record in the input → done
//
// So a letter is played once, also if playing is interrupted at any moment: the next run
// finds what was intended and not done, and looks in the input, from where it ended then,
// whether the record got there. The client's producer is not transactional: a record that
// a broker takes up only after the next run has looked would be there twice. That takes a
// request that is on its way for longer than patience.
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

// The headers of what is written about letters, and of records that are played.
const (
	headerPlayed = "x-hinged-played" // the ID of the letter
	headerRun    = "x-hinged-run"    // which run of the program
	headerState  = "x-hinged-state"  // intended or done
	headerEnd    = "x-hinged-end"    // where the partition of the input ended before
)

// The values of headerState.
const (
	intended = "intended"
	done     = "done"
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
	// Played is when it was last put into the input again; absent if it never was.
	Played *time.Time `json:"played,omitempty"`
	// Unplayable says why it can't be put into the input again; "" if it can.
	Unplayable string `json:"unplayable,omitempty"`

	at       place // in the topic of dead letters
	key      []byte
	attempts []attempt // intended, and not known to be done
}

// place is where a record is in the topic of dead letters.
type place struct {
	partition int32
	offset    int64
}

// attempt is an intent to play a letter.
type attempt struct {
	on  time.Time
	end int64 // of the partition of the input, then
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
		Bytes: len(r.Value), Since: r.Time, at: place{r.Partition, r.Offset}, key: r.Key,
	}
	// A crash can repeat a letter, and another topic of that name can have another
	// record in its place.
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %d %q %q", l.Topic, l.Partition, l.Offset, r.Key, r.Value)
	for _, header := range original(r.Headers) {
		fmt.Fprintf(h, " %q %q", header.Key, header.Value)
	}
	l.ID = fmt.Sprintf("%d/%d-%s", l.Partition, l.Offset, hex.EncodeToString(h.Sum(nil)[:4]))
	if parts, ok := r.Header(kafka.HeaderDroppedParts); ok {
		l.Unplayable = fmt.Sprintf("it was too large: its %s was left out", strings.ReplaceAll(string(parts), ",", " and "))
	} else if kafka.ValidKey(r.Key) != nil {
		l.Unplayable = "its key is the name of no account"
	}
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

// Note is what is written about a letter.
func (l *Letter) note(run, state string, end int64) kafka.Record {
	return kafka.Record{Partition: l.at.partition, Key: l.key, Value: []byte(state), Headers: []kafka.Header{
		{Key: headerPlayed, Value: []byte(l.ID)}, {Key: headerRun, Value: []byte(run)},
		{Key: headerState, Value: []byte(state)}, {Key: headerEnd, Value: strconv.AppendInt(nil, end, 10)},
	}}
}
