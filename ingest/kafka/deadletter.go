// SPDX-License-Identifier: Apache-2.0

package kafka

import (
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
	// HeaderDropped says that the value is not the original one, which was too
	// large to be kept or to be produced, and how many bytes there were.
	HeaderDropped = "x-hinged-dropped"
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
	if r.TooLarge > 0 {
		out.Headers = append(out.Headers, Header{HeaderDropped, strconv.AppendInt(nil, r.TooLarge, 10)})
	}
	return out
}

// DropValue returns a dead letter without its value and without the headers that
// are not ours, for a broker that finds it too large (ErrTooLarge): what it was
// and where it is in the input topic can still be told.
func DropValue(dead Record) Record {
	size := int64(dead.size())
	kept := dead.Headers[:0:0]
	for _, h := range dead.Headers {
		if strings.HasPrefix(h.Key, headerPrefix) && h.Key != HeaderDropped {
			kept = append(kept, h)
		}
	}
	dead.Value = nil
	dead.Headers = append(kept, Header{HeaderDropped, strconv.AppendInt(nil, size, 10)})
	if len(dead.Key) > maxKey {
		dead.Key, dead.Partition = nil, 0
	}
	return dead
}
