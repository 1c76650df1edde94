// SPDX-License-Identifier: Apache-2.0

package deadletters

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/ingest/kafka"
)

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
