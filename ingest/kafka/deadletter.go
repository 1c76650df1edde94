// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"slices"
	"strconv"
	"strings"
)

// The headers that a dead letter has beside those of the record.
const (
	HeaderReason    = "x-hinged-reason" // a Reason
	HeaderDetail    = "x-hinged-detail" // the same for people
	HeaderTopic     = "x-hinged-topic"
	HeaderPartition = "x-hinged-partition"
	HeaderOffset    = "x-hinged-offset"
	// HeaderDropped says that something was too large to be kept or to be produced,
	// and how many bytes were left out.
	HeaderDropped = "x-hinged-dropped"
	// HeaderDroppedParts says what was left out: key, value or headers, in this order,
	// with commas between them. What it doesn't name is as it was.
	HeaderDroppedParts = "x-hinged-dropped-parts"
)

const headerPrefix = "x-hinged-"

// DeadLetter makes the record of the dead-letters topic for a record of topic
// that was refused: its key, value and headers as they were, and headers that say
// why and where it was found. Headers that look like ours are replaced: they are
// from an earlier time in which it was refused. The bytes depend on nothing else.
func DeadLetter(topic string, r Record, why Refusal) Record {
	out := Record{Partition: ByKey, Key: r.Key, Value: r.Value}
	if len(r.Key) == 0 {
		// By its key it could be anywhere; so it is in the first.
		out.Partition = 0
	}
	for _, h := range r.Headers {
		if !strings.HasPrefix(strings.ToLower(h.Key), headerPrefix) {
			out.Headers = append(out.Headers, h)
		}
	}
	out.Headers = append(out.Headers,
		Header{HeaderReason, []byte(why.Reason)},
		Header{HeaderDetail, []byte(why.Detail)},
		Header{HeaderTopic, []byte(topic)},
		Header{HeaderPartition, strconv.AppendInt(nil, int64(r.Partition), 10)},
		Header{HeaderOffset, strconv.AppendInt(nil, r.Offset, 10)},
	)
	out.Dropped = r.Dropped
	out.sayDropped()
	return out
}

// sayDropped puts the headers about what was left out at the end.
func (r *Record) sayDropped() {
	r.Headers = slices.DeleteFunc(r.Headers, func(h Header) bool { return h.Key == HeaderDropped || h.Key == HeaderDroppedParts })
	if n := r.Dropped.Bytes(); n > 0 {
		r.Headers = append(r.Headers,
			Header{HeaderDropped, strconv.AppendInt(nil, n, 10)},
			Header{HeaderDroppedParts, []byte(strings.Join(r.Dropped.Parts(), ","))})
	}
}

// Shrink makes a dead letter smaller for a broker that finds it too large
// (ErrTooLarge): first it goes without the headers that are not ours, so that the
// value stays, and then without its value. What it was and where it is in the input
// topic can still be told. It returns false if there is nothing more to leave out.
func Shrink(dead Record) (Record, bool) {
	ours, others := dead.Headers[:0:0], int64(0)
	for _, h := range dead.Headers {
		if strings.HasPrefix(h.Key, headerPrefix) {
			ours = append(ours, h)
		} else {
			others += int64(len(h.Key) + len(h.Value))
		}
	}
	switch {
	case others > 0:
		dead.Headers, dead.Dropped.Headers = ours, dead.Dropped.Headers+others
	case len(dead.Key) > maxKey: // the account of nobody
		dead.Dropped.Key += int64(len(dead.Key))
		dead.Key, dead.Partition = nil, 0
	case len(dead.Value) > 0:
		dead.Dropped.Value += int64(len(dead.Value))
		dead.Value = nil
	default:
		return dead, false
	}
	dead.sayDropped()
	return dead, true
}
