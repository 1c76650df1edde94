// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	recovery "github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
)

// The parts of docs/kafka-operation.md that say what to do.
const (
	whenStopped    = "docs/kafka-operation.md, “A partition is stopped”, says what to do"
	morePartitions = "Kafka can't take partitions away: docs/kafka-operation.md, “How many partitions”, says how to go on with new topics"
)

// counts tests that the numbers of partitions fit together, and are those with which
// accounts were begun.
func (s *streamCheck) counts(ctx context.Context) {
	t := s.k.Topics
	in := s.partitions[t.Input]
	for p, info := range s.kept {
		if info.Partitions != in && info.Partitions > 0 {
			s.add(Fail, streamName, "partitions", morePartitions,
				"%s has %s, and had %d when partition %d was begun: most accounts belong to another partition now, so hinged stops", t.Input, desk.Count(int(in), "partition"), info.Partitions, p)
			return
		}
	}
	n, ok := s.partitions[t.Snapshots]
	switch {
	case !ok:
	case n < in && s.begun(ctx):
		s.add(Fail, streamName, "partitions", morePartitions,
			"%s has %s and %s has %d, with snapshots in it: partitions were added to the input, and most accounts belong to another partition now, so hinged stops", t.Input, desk.Count(int(in), "partition"), t.Snapshots, n)
	case n != in:
		s.add(Fail, streamName, "partitions", "use another topic for snapshots, with as many partitions as the input",
			"%s has %s and %s has %d: each partition's state needs its place", t.Input, desk.Count(int(in), "partition"), t.Snapshots, n)
	default:
		s.add(OK, streamName, "partitions", "", "%s and %s have as many", t.Input, t.Snapshots)
	}
}

func (s *streamCheck) begun(ctx context.Context) bool {
	marks, err := s.client.Watermarks(ctx, s.k.Topics.Snapshots)
	for _, w := range marks {
		if w.End > 0 {
			return true
		}
	}
	return err != nil // to be on the safe side
}

// group tests that we may be of the group, and that its positions are in the log.
func (s *streamCheck) group(ctx context.Context) {
	fail := func(err error) {
		mend := "see what the brokers' log says of it"
		if kafka.IsDenied(err) {
			mend = s.grant("Read", "group "+s.k.Group)
		}
		s.add(Fail, streamName, "group", mend, "%v", err)
	}
	var committed map[int32]int64
	// The first time ever, a broker makes the topic behind groups and says that it is not
	// the one to ask.
	err := kafka.Insist(ctx, func() (err error) { committed, err = s.client.CommittedOffsets(ctx); return err })
	if err == nil {
		// To see the positions takes less of a right than to work on them.
		err = kafka.Insist(ctx, func() error { return s.client.MayJoin(ctx) })
	}
	if err != nil {
		fail(err)
		return
	}
	if members, err := s.client.OtherSettings(ctx); err == nil && len(members) > 0 {
		s.add(Warn, streamName, "group", "copy the file to all of them, and reload or restart those", "%s", recovery.OtherSettings(members))
	}
	marks, err := s.client.Watermarks(ctx, s.k.Topics.Input)
	if err != nil {
		fail(err)
		return
	}
	known := map[int32]int64{}
	maps.Copy(known, committed)
	for p, info := range s.kept { // the group's positions are a hint, and may be older
		known[p] = max(known[p], info.Next)
	}
	behind, good := int64(0), true
	for p, w := range marks {
		at, ok := known[int32(p)]
		switch {
		case s.others[int32(p)]: // the position is one of another log
			good = false
		case !ok:
			behind += w.End - w.First
		case at < w.First:
			good = false
			s.add(Fail, streamName, "group", whenStopped,
				"partition %d: hinged is to go on at offset %d, and the log begins at %d: %s were deleted before hinged decided about them", p, at, w.First, desk.Count(int(w.First-at), "record"))
		case at > w.End:
			good = false
			s.add(Fail, streamName, "group", whenStopped,
				"partition %d: hinged is to go on at offset %d, and the log ends at %d: it lost its end, or the topic was made anew", p, at, w.End)
		default:
			behind += w.End - at
		}
	}
	switch {
	case !good:
	case len(known) == 0:
		s.add(OK, streamName, "group", "", "%s has no positions yet; %s wait", s.k.Group, desk.Count(int(behind), "record"))
	default:
		s.add(OK, streamName, "group", "", "%s knows %s; %s wait", s.k.Group, desk.Count(len(known), "position"), desk.Count(int(behind), "record"))
	}
}

// running tells what a daemon on this machine says of its partitions.
func (s *streamCheck) running() {
	if s.status == nil || s.status.Stream == nil {
		return
	}
	for _, p := range s.status.Stream.Partitions {
		if p.Stopped {
			s.add(Fail, streamName, "running", whenStopped, "the daemon has stopped partition %d: %s", p.Partition, p.Problem)
		}
	}
}

// recreated tests that the input topic is the one that was read before, and not one of
// its name that was created since.
func (s *streamCheck) recreated(ctx context.Context) {
	input := s.k.Topics.Input
	id, err := s.client.TopicID(ctx, input)
	if err != nil {
		s.add(Fail, streamName, "topic id", "see what the brokers' log says of it", "%v", err)
		return
	}
	if id == (kafka.TopicID{}) {
		s.add(Warn, streamName, "topic id", "use Kafka 3.1 or newer", "the brokers tell no ids of topics: if somebody deletes %s and creates it again, hinged can't notice", input)
		return
	}
	if s.status != nil && s.status.Stream != nil { // the daemon knows better: see running
		for _, p := range s.status.Stream.Partitions {
			s.others[p.Partition] = p.Stopped
		}
		s.add(OK, streamName, "topic id", "", "%s has the id %s", input, id)
		return
	}
	r := &recovery.Recoverer{Broker: recovery.Client(s.client), Topics: kafka.Topics(s.k.Topics), Quick: true, Local: map[int32]store.LogPosition{}}
	for p, info := range s.kept {
		r.Local[p] = info.LogPosition
	}
	known := 0
	for p := range s.partitions[input] {
		if r.Local[p].TopicID == id {
			known++
			continue // whatever the snapshots are
		}
		if _, ok := s.partitions[s.k.Topics.Snapshots]; !ok {
			continue
		}
		switch err := r.Stopped(ctx, p); {
		case errors.Is(err, kafka.ErrRecreated):
			s.others[p] = true
			s.add(Fail, streamName, "topic id", fmt.Sprintf("hinged kafka recover %d shows what can be done; %s", p, whenStopped), "partition %d is stopped: %v", p, err)
		case err == nil && r.Local[p].TopicID != [16]byte{}:
			s.others[p] = true // it was recovered; the next start goes on from that
			s.add(OK, streamName, "topic id", "", "partition %d was recovered, and continues from there when hinged runs", p)
		}
	}
	if len(s.others) == 0 {
		s.add(OK, streamName, "topic id", "", "%s has the id %s; %s of it in the store", input, id, desk.Count(known, "position"))
	}
}
