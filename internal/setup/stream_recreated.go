// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/hinged/hinged/ingest/kafka"
	recovery "github.com/hinged/hinged/internal/stream"
	"github.com/hinged/hinged/store"
)

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
		s.add(OK, streamName, "topic id", "", "%s has the id %s; %s of it in the store", input, id, count(known, "position"))
	}
}
