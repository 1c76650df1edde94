// SPDX-License-Identifier: Apache-2.0

// Package deadletters lists the dead letters of a stream.
package deadletters

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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

// Listing is what `hinged kafka dead-letters` prints.
type Listing struct {
	// Topic is the topic of dead letters.
	Topic string `json:"topic"`
	// Letters are sorted by the topic, partition and offset of their records.
	Letters []Letter `json:"letters"`
	// Others counts the records in the topic that are no dead letters of hinged.
	Others int `json:"others"`
}

// Selection says which letters are meant. Of what is empty, all are.
type Selection struct {
	Topic  string       // of the records
	Reason kafka.Reason // why they could not be used
	IDs    []string     // an ID may be cut short, as long as it names one letter
}

// List reads the whole topic of dead letters. Of a letter that is there several times,
// as a crash can leave it, the first is listed. An ID that names no letter, or several, is
// an error.
func List(ctx context.Context, c *kafka.Client, s Selection) (Listing, error) {
	out := Listing{Topic: c.Options().Topics.DeadLetters, Letters: []Letter{}}
	ends, err := c.Watermarks(ctx, out.Topic)
	if err != nil {
		return out, fmt.Errorf("dead letters: %w", err)
	}
	all := map[string]*Letter{}
	for p, w := range ends {
		err := each(ctx, c, out.Topic, int32(p), w.First, w.End, func(r *kafka.Record) {
			l, ok := letterOf(r)
			switch {
			case !ok:
				out.Others++
			case all[l.ID] == nil:
				all[l.ID] = &l
			}
		})
		if err != nil {
			return out, fmt.Errorf("dead letters: %w", err)
		}
	}
	for _, l := range all {
		if (s.Topic == "" || l.Topic == s.Topic) && (s.Reason == "" || l.Reason == s.Reason) {
			out.Letters = append(out.Letters, *l)
		}
	}
	slices.SortFunc(out.Letters, func(a, b Letter) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.ID, b.ID))
	})
	out.Letters, err = named(out.Letters, s.IDs)
	return out, err
}

// named returns the letters that IDs name; all of them if there are none.
func named(all []Letter, ids []string) ([]Letter, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var out []Letter
	for _, id := range ids {
		var found []Letter
		for _, l := range all {
			if l.ID == id || strings.HasPrefix(l.ID, id+"-") || strings.Contains(id, "-") && strings.HasPrefix(l.ID, id) {
				found = append(found, l)
			}
		}
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("dead letters: there is no %s; an ID is like 3/1207, the partition and offset of the record", id)
		case 1:
			if !slices.ContainsFunc(out, func(l Letter) bool { return l.ID == found[0].ID }) {
				out = append(out, found[0])
			}
		default:
			return nil, fmt.Errorf("dead letters: %s names %d letters: %s and %s; say more of the one that you mean", id, len(found), found[0].ID, found[1].ID)
		}
	}
	return out, nil
}

// Read returns the record of a letter as it was in the input, without our headers.
func Read(ctx context.Context, c *kafka.Client, l *Letter) (r kafka.Record, err error) {
	found := false
	err = each(ctx, c, c.Options().Topics.DeadLetters, l.at.partition, l.at.offset, l.at.offset+1, func(one *kafka.Record) { r, found = *one, true })
	if err == nil && !found {
		err = fmt.Errorf("the letter %s is gone", l.ID)
	}
	if err != nil {
		return r, fmt.Errorf("dead letters: %w", err)
	}
	r.Headers = original(r.Headers)
	return r, nil
}

// each calls fn for the records of a partition from one offset to another, that
// excluded.
func each(ctx context.Context, c *kafka.Client, topic string, partition int32, from, to int64, fn func(*kafka.Record)) error {
	if from >= to {
		return nil
	}
	r := c.Read(topic, kafka.TopicID{}, partition, from)
	defer r.Close()
	for r.Position() < to {
		b, err := r.Next(ctx, 500, 4<<20)
		if err != nil {
			return err
		}
		for i := range b.Records {
			if b.Records[i].Offset < to {
				fn(&b.Records[i])
			}
		}
	}
	return nil
}
