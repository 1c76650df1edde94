// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// askTwin is Ask as its comment has it: all messages, sorted.
func askTwin(w *world, n int, since store.Moment) []store.MessageKey {
	w.t.Helper()
	st := w.f.State()
	var all []store.MessageKey
	for _, key := range st.Messages.Keys() {
		m, _ := st.Messages.Get(key)
		k := store.MessageKey([]byte(key))
		spoken := m.Pending.Label != 0
		switch m.Source {
		case store.SourceAnswered, store.SourceMoved, store.SourceJunk, store.SourceFlagged, store.SourceMark, store.SourceExplicit:
			spoken = true
		}
		switch ingest.Role(m.Role) {
		case ingest.RoleSent, ingest.RoleDrafts, ingest.RoleJunk, ingest.RoleTrash:
			continue
		}
		if m.Arrived >= since && m.Outcome != store.Undecided && !m.Own && m.Rule == 0 && !spoken {
			all = append(all, k)
		}
	}
	far := func(k store.MessageKey) (float64, uint64) {
		x, err := w.features.Features(k)
		if err != nil {
			w.t.Fatal(err)
		}
		m, _ := st.Messages.Get(string(k[:]))
		return math.Abs(w.f.Score(x) - w.f.Counts().Threshold), m.Seq
	}
	var best []store.MessageKey
	for len(all) > 0 && len(best) < n {
		at := 0
		for i := range all {
			a, first := far(all[i])
			b, then := far(all[at])
			if a < b || a == b && first < then {
				at = i
			}
		}
		best = append(best, all[at])
		all = slices.Delete(all, at, at+1)
	}
	return best
}

// TestAskFindsWhatTeachesMost plays a mailbox with all that may happen to a message,
// and asks now and then: as the twin says, the same after a restart, and nothing that
// was answered before.
func TestAskFindsWhatTeachesMost(t *testing.T) {
	o := testOptions()
	o.Threshold = DefaultOptions().Threshold
	o.SilenceCalendar = true
	w := newWorld(t, o)
	w.apply(&Ruled{At: w.moment(), Rules: []Rule{{Match: "from:boss@example.com", Label: model.Important}}})
	rng := rand.New(rand.NewPCG(3, 4))
	answered := map[store.MessageKey]bool{}
	var letters []letter
	asked, ruled := 0, 0
	for i := range 300 {
		from := []string{"boss@example.com", owner, "ann@example.com", "bob@example.com", "news@example.net"}[rng.IntN(5)]
		box := []string{"INBOX", "INBOX", "INBOX", "Junk", "Keep"}[rng.IntN(5)]
		if from == owner {
			box = "Sent"
		}
		l, r := w.deliver(box, mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("word%d thing%d", rng.IntN(6), rng.IntN(40))))
		if r.Decision != nil && r.Decision.Rule != nil {
			ruled++
		}
		letters = append(letters, l)
		w.now = w.now.Add(time.Duration(rng.IntN(120)) * time.Minute)
		switch about := rng.IntN(len(letters)); rng.IntN(8) {
		case 0:
			w.flag(letters[about], `\Answered`)
		case 1:
			w.flag(letters[about], `\Flagged`)
		case 2:
			letters[about] = w.move(letters[about], []string{"Junk", "Trash", "Keep"}[rng.IntN(3)], `\Seen`)
		case 3:
			w.wait(time.Minute)
		}
		n, since := rng.IntN(5), w.moment().Add(-time.Duration(rng.IntN(72))*time.Hour)
		got, err := w.f.Ask(n, since)
		if err != nil {
			t.Fatal(err)
		}
		if want := askTwin(w, n, since); !slices.Equal(got.Messages, want) {
			t.Fatalf("after %d messages got %x, want %x", i+1, got.Messages, want)
		}
		again, err := New(w.f.State(), w.features)
		if err != nil {
			t.Fatal(err)
		}
		if after, err := again.Ask(n, since); err != nil || !slices.Equal(after.Messages, got.Messages) {
			t.Fatalf("after a restart got %x, %v, want %x", after.Messages, err, got.Messages)
		}
		all, err := w.f.Ask(1000, since)
		if sum := all.TeachNothing + all.Ruled + all.Labelled + all.Lost + len(all.Messages); err != nil || sum != all.Seen {
			t.Fatalf("%d of %+v are accounted for, %v", sum, all, err)
		}
		if i%3 > 0 {
			continue
		}
		for _, k := range got.Messages {
			if answered[k] {
				t.Fatalf("message %x was answered before", k)
			}
			answered[k] = true
			asked++
			if w.f.SpokenOf(k) {
				t.Fatalf("something was said of message %x", k)
			}
			w.apply(&Labelled{At: w.moment(), Message: k, Label: model.Label(1 - 2*rng.IntN(2))})
			if !w.f.SpokenOf(k) {
				t.Fatalf("nothing was said of message %x", k)
			}
		}
	}
	if asked < 50 || ruled < 20 {
		t.Errorf("only %d messages were asked about, and %d decided by the rule", asked, ruled)
	}
}

// TestWhatIsNeverAskedAbout has one message of each kind.
func TestWhatIsNeverAskedAbout(t *testing.T) {
	w := newWorld(t, testOptions())
	w.apply(&Ruled{At: w.moment(), Rules: []Rule{{Match: "from:boss@example.com", Label: model.Important}}})
	since := w.moment()
	put := func(box, from string, flags ...string) letter {
		l, _ := w.deliver(box, mail(fmt.Sprint(len(w.journal), "@x"), from, owner, fmt.Sprint("words ", len(w.journal))), flags...)
		return l
	}
	put("Sent", owner)
	put("Drafts", owner)
	put("Junk", "ann@example.com")
	put("Trash", "ann@example.com")
	w.move(put("INBOX", "ann@example.com"), "Trash", `\Seen`)
	put("INBOX", "boss@example.com")
	put("INBOX", "ann@example.com", `\Flagged`)
	told := put("INBOX", "ann@example.com")
	w.apply(&Labelled{At: w.moment(), Message: told.key, Label: model.Ordinary})
	delete(w.features, put("INBOX", "ann@example.com").key)
	w.f.latest.features = nil
	quiet := put("INBOX", "ann@example.com")
	before, _ := store.Digest(w.f.State())
	q, err := w.f.Ask(100, since)
	if err != nil || len(q.Messages) != 1 || q.Messages[0] != quiet.key ||
		q.Seen != 10 || q.TeachNothing != 5 || q.Ruled != 1 || q.Labelled != 2 || q.Lost != 1 {
		t.Errorf("got %+v, %v", q, err)
	}
	if after, _ := store.Digest(w.f.State()); after != before {
		t.Error("asking changed the state")
	}
	if q, err := w.f.Ask(100, since.Add(time.Hour)); err != nil || q.Seen != 0 {
		t.Errorf("of later mail: got %+v, %v", q, err)
	}
}
