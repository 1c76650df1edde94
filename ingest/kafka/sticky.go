// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
)

// sticky deals the partitions out so that each member keeps what it has, as far
// as all get as many, give or take one. A partition that moves has all its
// accounts restored by its new owner; kafka-go's own ways to deal go by the
// names of the members, which are random, so that one who joins moves nearly all.
// Safe for concurrent use.
type sticky struct {
	settings   *settings // nil: none
	mu         sync.Mutex
	said       <-chan struct{} // closed when the settings are others than UserData told last
	generation int32
	held       []int32
	dealt      int32 // partitions that were there when we last dealt them out; -1 once dealtOut told
}

// has notes what a generation gave us.
func (s *sticky) has(g Generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation, s.held = g.ID, slices.Clone(g.Partitions)
}

// dealtOut returns how many partitions this member dealt out since the last call, 0 if the
// topic was missing; -1 if another member did.
func (s *sticky) dealtOut() int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.dealt
	s.dealt = -1
	return n
}

// ProtocolName names the way; members that do not all know it take another.
func (*sticky) ProtocolName() string { return "hinged-sticky" }

// stickyHead is the length of a digest of the settings and of a generation.
const stickyHead = len(digest{}) + 4

// UserData tells the digest of our settings, and the member that deals what we have, and since
// which generation: of two that claim a partition the later one has it.
func (s *sticky) UserData() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d digest
	if s.settings != nil {
		d, s.said = s.settings.get()
	}
	b := binary.BigEndian.AppendUint32(d[:], uint32(s.generation))
	for _, p := range s.held {
		b = binary.BigEndian.AppendUint32(b, uint32(p))
	}
	return b, nil
}

// AssignGroups deals the partitions of the topics out. Of several topics, which
// do not occur, each is dealt out by itself.
func (s *sticky) AssignGroups(members []kafkago.GroupMember, partitions []kafkago.Partition) kafkago.GroupMemberAssignments {
	s.mu.Lock()
	s.dealt = int32(len(partitions))
	s.mu.Unlock()
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b kafkago.GroupMember) int { return cmp.Compare(a.ID, b.ID) })
	of := map[string][]int{}
	for _, p := range partitions {
		of[p.Topic] = append(of[p.Topic], p.ID)
	}
	out := kafkago.GroupMemberAssignments{}
	for _, m := range members {
		out[m.ID] = map[string][]int{}
	}
	for _, topic := range slices.Sorted(maps.Keys(of)) {
		var takers []kafkago.GroupMember
		for _, m := range members {
			if slices.Contains(m.Topics, topic) {
				takers = append(takers, m)
			}
		}
		slices.Sort(of[topic])
		for i, dealt := range deal(takers, of[topic]) {
			out[takers[i].ID][topic] = dealt
		}
	}
	return out
}

// deal deals ascending partitions out among members, in their order.
func deal(members []kafkago.GroupMember, partitions []int) [][]int {
	if len(members) == 0 {
		return nil
	}
	// Who has each partition, by the latest claim; of two of one generation, which
	// cannot be, the first.
	owner, since := map[int]int{}, map[int]int32{}
	for i, m := range members {
		if len(m.UserData) < stickyHead {
			continue
		}
		generation := int32(binary.BigEndian.Uint32(m.UserData[len(digest{}):]))
		for b := m.UserData[stickyHead:]; len(b) >= 4; b = b[4:] {
			p := int(binary.BigEndian.Uint32(b))
			if at, claimed := since[p]; !claimed || generation > at {
				owner[p], since[p] = i, generation
			}
		}
	}
	has := make([][]int, len(members))
	var free []int
	for _, p := range partitions {
		if i, ok := owner[p]; ok {
			has[i] = append(has[i], p)
		} else {
			free = append(free, p)
		}
	}
	// Those who have most may have one more than the others.
	least, more := len(partitions)/len(members), len(partitions)%len(members)
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(has[b]), len(has[a])) })
	quota := make([]int, len(members))
	for rank, i := range order {
		quota[i] = least
		if rank < more {
			quota[i]++
		}
		if over := len(has[i]) - quota[i]; over > 0 {
			free = append(free, has[i][quota[i]:]...)
			has[i] = has[i][:quota[i]]
		}
	}
	slices.Sort(free)
	for i := range has {
		n := quota[i] - len(has[i])
		has[i] = append(has[i], free[:n]...)
		free = free[n:]
		slices.Sort(has[i])
	}
	return has
}
