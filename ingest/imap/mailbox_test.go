// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// TestCompareAgainstPlainSets checks the walk over ranges against sets of
// numbers, in 3,000 random mailboxes.
func TestCompareAgainstPlainSets(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 3000 {
		limit, shown := uint32(1+rnd.IntN(40)), uint32(rnd.IntN(20))
		b := newMailbox("INBOX", ingest.RoleInbox)
		knownSet, existingSet := map[uint32]bool{}, map[uint32]bool{}
		var existing uidRanges
		for uid := uint32(1); uid <= limit; uid++ {
			if rnd.IntN(3) > 0 {
				knownSet[uid] = true
				b.note(uid, nil, 0)
			}
			if rnd.IntN(3) > 0 {
				existingSet[uid] = true
				existing = existing.add(uid, uid)
			}
		}
		vanished, unknown, _ := b.compare(existing, uint64(shown))
		var wantVanished, gotUnknown, wantUnknown, gotKept, wantKept []uint32
		for uid := uint32(1); uid <= limit; uid++ {
			switch {
			case knownSet[uid] && !existingSet[uid] && uid >= shown:
				wantVanished = append(wantVanished, uid)
			case knownSet[uid]:
				wantKept = append(wantKept, uid)
			case existingSet[uid]:
				wantUnknown = append(wantUnknown, uid)
			}
		}
		for _, r := range unknown {
			for uid := r.first; uid <= r.last; uid++ {
				gotUnknown = append(gotUnknown, uid)
			}
		}
		for _, e := range b.entries {
			gotKept = append(gotKept, e.uid)
		}
		if !slices.Equal(vanished, wantVanished) || !slices.Equal(gotUnknown, wantUnknown) || !slices.Equal(gotKept, wantKept) {
			t.Fatalf("round %d: vanished %v (want %v), unknown %v (want %v), kept %v (want %v)",
				round, vanished, wantVanished, gotUnknown, wantUnknown, gotKept, wantKept)
		}
		// Cutting in two keeps every UID, in order.
		n := rnd.IntN(10)
		head, tail := unknown.cut(n)
		if head.len() != min(int64(n), unknown.len()) || head.len()+tail.len() != unknown.len() {
			t.Fatalf("round %d: %v cut at %d is %v and %v", round, unknown, n, head, tail)
		}
		at := uint32(rnd.IntN(40))
		head, tail = unknown.before(at)
		if len(head) > 0 && head[len(head)-1].last >= at || len(tail) > 0 && tail[0].first < at || head.len()+tail.len() != unknown.len() {
			t.Fatalf("round %d: %v before %d is %v and %v", round, unknown, at, head, tail)
		}
	}
}

func TestSearchResultsThatCannotBeTrueAreRefused(t *testing.T) {
	t.Parallel()
	const star = 0
	for _, c := range []struct {
		name   string
		found  goimap.NumSet
		exists uint32
		ok     bool
	}{
		{"nothing", nil, 5, true},
		{"some", goimap.UIDSet{{Start: 1, Stop: 3}, {Start: 7, Stop: 7}}, 4, true},
		{"at the limit", goimap.UIDSet{{Start: 100, Stop: 100}}, 1, true},
		{"beyond the limit", goimap.UIDSet{{Start: 101, Stop: 101}}, 1, false},
		{"more than there are", goimap.UIDSet{{Start: 1, Stop: 5}}, 4, false},
		{"to the star", goimap.UIDSet{{Start: 1, Stop: star}}, 100, false},
		{"zero", goimap.UIDSet{{Start: 0, Stop: 5}}, 100, false},
		{"overlapping", goimap.UIDSet{{Start: 1, Stop: 5}, {Start: 5, Stop: 6}}, 100, false},
		{"sequence numbers", goimap.SeqSet{{Start: 1, Stop: 2}}, 100, false},
	} {
		if _, ok := ranges(c.found, 100, c.exists); ok != c.ok {
			t.Errorf("%s: accepted is %v, want %v", c.name, ok, c.ok)
		}
	}
}

func TestOptionsListEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{
		Address: "mail.example.org:993", Username: "owner",
		Password: func(context.Context) (string, error) { return "", nil },
	}, nil); err != nil {
		t.Errorf("the least that is needed gave %v", err)
	}
	_, err := New(Options{
		Address: "mail.example.org", TLS: "ssl", Auth: "cram-md5",
	}, nil)
	if err == nil {
		t.Fatal("nothing was found wrong")
	}
	for _, word := range []string{"address", "ssl", "cram-md5", "username", "password"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("nothing about %s in:\n%v", word, err)
		}
	}
}

func TestValidFlagTakesAtomsAndTheFlagsThatCanMark(t *testing.T) {
	t.Parallel()
	for _, f := range []string{"$Important", "$label1", `\Flagged`, `\Important`, "hinged-Mark", "a]b"[:1]} {
		if err := ValidFlag(f); err != nil {
			t.Errorf("%q: %v", f, err)
		}
	}
	for _, f := range []string{"", `\`, "Has Space", "(", "a{", "100%", "*", `a"b`, `a\b`, "a]", "tab\t", "nul\x00", "é", `\Seen`, `\Deleted`, `\Recent`, "a\r\nb"} {
		if ValidFlag(f) == nil {
			t.Errorf("%q is taken", f)
		}
	}
}
