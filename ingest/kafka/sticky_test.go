// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
)

func TestPartitionsStayWhereTheyAreAsFarAsAllGetAsMany(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var partitions []kafkago.Partition
		for p := range 1 + rng.IntN(20) {
			partitions = append(partitions, kafkago.Partition{Topic: "mail", ID: p})
		}
		rng.Shuffle(len(partitions), func(i, j int) { partitions[i], partitions[j] = partitions[j], partitions[i] })
		group := map[string]*sticky{}
		owner := map[int]string{}
		for generation := int32(1); generation < 20; generation++ {
			// One joins or leaves, or nobody does.
			switch rng.IntN(3) {
			case 0:
				group[fmt.Sprint(rng.Uint64())] = new(sticky)
			case 1:
				if ids := slices.Sorted(maps.Keys(group)); len(ids) > 0 {
					delete(group, ids[rng.IntN(len(ids))])
				}
			}
			if len(group) == 0 {
				owner = map[int]string{}
				continue
			}
			var members []kafkago.GroupMember
			for id, s := range group {
				data, err := s.UserData()
				if err != nil {
					t.Fatal(err)
				}
				members = append(members, kafkago.GroupMember{ID: id, Topics: []string{"mail"}, UserData: data})
			}
			got := new(sticky).AssignGroups(members, partitions)
			now := map[int]string{}
			held := map[string]int{}
			for _, p := range owner {
				held[p]++
			}
			least, most := len(partitions)/len(group), (len(partitions)+len(group)-1)/len(group)
			for id, s := range group {
				mine := got[id]["mail"]
				if len(mine) < least || len(mine) > most || !slices.IsSorted(mine) {
					t.Fatalf("%d partitions among %d members: one has %v", len(partitions), len(group), mine)
				}
				g := Generation{ID: generation}
				kept := 0
				for _, p := range mine {
					if now[p] != "" {
						t.Fatalf("partition %d is dealt out twice", p)
					}
					if now[p] = id; owner[p] == id {
						kept++
					}
					g.Partitions = append(g.Partitions, int32(p))
				}
				if kept < min(held[id], least) {
					t.Fatalf("a member with %d kept %d, though it may have %d", held[id], kept, least)
				}
				s.has(g)
			}
			if len(now) != len(partitions) {
				t.Fatalf("%d of %d partitions are dealt out", len(now), len(partitions))
			}
			owner = now
		}
	}
}

func TestAMemberThatWasAwayDoesNotTakeItsPartitionsBack(t *testing.T) {
	t.Parallel()
	var zombie, owner sticky
	zombie.has(Generation{ID: 3, Partitions: []int32{0, 1, 2, 3}})
	owner.has(Generation{ID: 4, Partitions: []int32{0, 1, 2, 3}})
	var members []kafkago.GroupMember
	for id, s := range map[string]*sticky{"a": &zombie, "b": &owner, "c": new(sticky)} {
		data, err := s.UserData()
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, kafkago.GroupMember{ID: id, Topics: []string{"mail"}, UserData: data})
	}
	members = append(members, kafkago.GroupMember{ID: "d", Topics: []string{"another"}})
	var partitions []kafkago.Partition
	for p := range 4 {
		partitions = append(partitions, kafkago.Partition{Topic: "mail", ID: p})
	}
	got := new(sticky).AssignGroups(members, partitions)
	if fmt.Sprint(got) != "map[a:map[mail:[2]] b:map[mail:[0 1]] c:map[mail:[3]] d:map[]]" {
		t.Errorf("got %v", got)
	}
	if got := new(sticky).AssignGroups(nil, partitions); len(got) != 0 {
		t.Errorf("nobody got %v", got)
	}
}
