// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// taughtWorld is a world that knows some mail, half of it important, and a few messages about
// which nothing was said.
func taughtWorld(t *testing.T, o filter.Options) (*world, []letter) {
	o.Shadow = filter.ShadowOn // so that no mark is ours
	w := newWorld(t, o)
	w.takes = true
	w.teach()
	var letters []letter
	for i := range 6 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("t%d@x", i), fmt.Sprintf("p%d@example.com", i%3), owner, fmt.Sprintf("watches offer %d", i)))
		letters = append(letters, l)
	}
	w.wait(2 * time.Minute)
	return w, letters
}

// TestWhatIsTakenBackWasNeverSaid plays two accounts: one whose owner does something and takes it
// back, at once or days later, and one whose owner never did.
func TestWhatIsTakenBackWasNeverSaid(t *testing.T) {
	learners := kernelOptions()
	learners["dual"] = testOptions()
	for _, kind := range []model.Kind{model.KindPerceptron, model.KindMargin, model.KindPassiveAggressive} {
		o := testOptions()
		o.Learner.Kind = kind
		learners[string(kind)] = o
	}
	noRefusal := func(w *world) { w.f.NoRefusals() }
	for name, c := range map[string]struct {
		do, back func(w *world, l letter) letter
		after    func(w *world)
	}{
		"a star":     {do: func(w *world, l letter) letter { w.flag(l, `\Flagged`); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }},
		"$Junk":      {do: func(w *world, l letter) letter { w.flag(l, "$Junk"); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }},
		"$Muted":     {do: func(w *world, l letter) letter { w.flag(l, "$Muted"); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }},
		"\\Answered": {do: func(w *world, l letter) letter { w.flag(l, `\Answered`); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }},
		"\\Deleted":  {do: func(w *world, l letter) letter { w.flag(l, `\Deleted`); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }},
		// That a mark went is remembered: it is never set by us on this message.
		"a mark of the owner's": {do: func(w *world, l letter) letter { w.flag(l, "$Important"); return l }, back: func(w *world, l letter) letter { w.flag(l); return l }, after: noRefusal},
		"to Junk":               {do: func(w *world, l letter) letter { return w.move(l, "Junk") }, back: func(w *world, l letter) letter { return w.move(l, "INBOX") }},
		"to Trash":              {do: func(w *world, l letter) letter { return w.move(l, "Trash") }, back: func(w *world, l letter) letter { return w.move(l, "INBOX") }},
		"a star and a mark": {do: func(w *world, l letter) letter {
			w.flag(l, `\Flagged`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Flagged`, "$Important")
			return l
		}, back: func(w *world, l letter) letter { w.flag(l, "$Important"); w.flag(l); return l }, after: noRefusal},
	} {
		for learner, o := range learners {
			for _, later := range []time.Duration{30 * time.Second, 2 * time.Minute, 2 * time.Hour} {
				if learner != "dual" && later != 2*time.Minute {
					continue
				}
				t.Run(fmt.Sprint(name, " ", learner, " ", later), func(t *testing.T) {
					w, letters := taughtWorld(t, o)
					twin, _ := taughtWorld(t, o)
					w.lessons = nil
					back := make([]letter, len(letters))
					for i, l := range letters {
						back[i] = c.do(w, l)
					}
					w.wait(later)
					if learnt := len(w.lessons) > 0; learnt != (later > 5*time.Minute || later > time.Minute && name != "\\Deleted") && name != "a star and a mark" {
						t.Fatalf("%d lessons before it is taken back", len(w.lessons))
					}
					for i := range back {
						back[i] = c.back(w, back[i])
					}
					w.wait(time.Minute)
					w.wait(time.Minute)
					if n := w.f.Status.Counts().Pending; n != 0 {
						t.Errorf("%d are pending", n)
					}
					twin.now = w.now
					twin.apply(&filter.Ticked{At: twin.moment()})
					wantSameLearning(t, w, twin, back, letters)
					if c.after != nil {
						c.after(w)
					}
					// It goes on as the other does.
					for i := range 20 {
						for _, w := range []*world{w, twin} {
							l, _ := w.deliver("INBOX", mail(fmt.Sprintf("on%d@x", i), "p1@example.com", owner, fmt.Sprintf("watches urgent %d", i)))
							w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Label(1 - 2*(i%2))})
						}
					}
					wantSameLearning(t, w, twin, back, letters)
				})
			}
		}
	}
}

// wantSameLearning compares what two worlds have learnt, of what is in the digest, and what they
// know of messages and senders.
func wantSameLearning(t *testing.T, w, twin *world, mine, theirs []letter) {
	t.Helper()
	if got, want := learnt(w.f), learnt(twin.f); got != want {
		t.Fatalf("learnt\n%.120s\nwant\n%.120s", got, want)
	}
	for i := range mine {
		got, want := w.row(mine[i]), twin.row(theirs[i])
		got.Seen, got.SilenceFrom, got.Heard = want.Seen, want.SilenceFrom, want.Heard // moments
		if got.Role = want.Role; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("message %d is\n%+v\nwant\n%+v", i, got, want)
		}
	}
	for _, k := range twin.f.State().Senders.Keys() {
		got, _ := w.f.State().Senders.Get(k)
		if want, _ := twin.f.State().Senders.Get(k); got != want {
			t.Fatalf("a sender is %+v, want %+v", got, want)
		}
	}
	if got, want := w.f.State().Account, twin.f.State().Account; got.Reading != want.Reading || got.Dual != want.Dual || got.WindowNext != want.WindowNext || got.Refused != want.Refused {
		t.Fatalf("the account is\n%+v\nwant\n%+v", got, want)
	}
}

// To take our mark off is a correction. To put it back takes that back, and teaches nothing
// either.
func TestAMarkOfOursThatIsPutBackWasNeverTakenOff(t *testing.T) {
	for _, later := range []time.Duration{30 * time.Second, time.Hour} {
		w := newWorld(t, testOptions())
		w.takes = true
		w.teach()
		l, m := w.marked(1)
		w.read(l)
		before, state := learnt(w.f), fmt.Sprintf("%+v", w.f.State().Account.Refused)
		w.flag(l, `\Seen`)
		w.wantLedger(m.ID, store.MarkRefused)
		w.wait(later)
		w.read(l)
		w.wait(2 * time.Minute)
		if got := learnt(w.f); got != before {
			t.Errorf("after %v it has learnt\n%.300s\nwant\n%.300s", later, got, before)
		}
		refused, _ := w.f.Ledger().Refusals.Refused(l.key, w.row(l).ID)
		if ours := later < time.Minute; ours {
			w.wantLedger(m.ID, store.MarkConfirmed)
			if got := fmt.Sprintf("%+v", w.f.State().Account.Refused); got != state || refused {
				t.Errorf("%s marks refused, want %s; a refusal: %v", got, state, refused)
			}
		} else if w.wantLedger(m.ID, store.MarkRefused); !refused {
			t.Error("the refusal is gone")
		}
	}
}

// What else the owner has said of a message stands, or comes to stand.
func TestWhatElseWasSaidStandsWhenSomethingIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *world, l letter)
		want string
	}{
		"starred, answered, star off": {func(w *world, l letter) {
			w.flag(l, `\Flagged`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Flagged`, `\Answered`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Answered`)
		}, "important by answered"},
		"answered, starred, star off": {func(w *world, l letter) {
			w.flag(l, `\Answered`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Flagged`, `\Answered`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Answered`)
		}, "important by answered"},
		"answered and starred, star off at once": {func(w *world, l letter) {
			w.flag(l, `\Answered`)
			w.flag(l, `\Flagged`, `\Answered`)
			w.wait(time.Second)
			w.flag(l, `\Answered`)
		}, "important by answered"},
		"answered by mail, starred, star off": {func(w *world, l letter) {
			w.flag(l, `\Flagged`)
			w.wait(2 * time.Minute)
			w.deliver("Sent", mail("own@x", owner, "p0@example.com", "re: watches", "In-Reply-To: <t0@x>"))
			w.wait(2 * time.Minute)
			w.flag(l)
		}, "important by answered"},
		"starred, junked, star off, junk off": {func(w *world, l letter) {
			w.flag(l, "$Muted")
			w.wait(2 * time.Minute)
			w.flag(l, "$Muted", `\Flagged`)
			w.wait(2 * time.Minute)
			w.flag(l, `\Flagged`)
			w.wait(2 * time.Minute)
			w.flag(l)
		}, "none by none"},
		"junked, and starred within the minute": {func(w *world, l letter) {
			w.flag(l, "$Junk")
			w.wait(2 * time.Minute)
			w.flag(l)
			w.wait(10 * time.Second)
			w.flag(l, `\Flagged`)
		}, "important by flagged"},
		"taken back and meant after all": {func(w *world, l letter) {
			w.flag(l, `\Flagged`)
			w.wait(2 * time.Minute)
			w.flag(l)
			w.wait(10 * time.Second)
			w.flag(l, `\Flagged`)
		}, "important by flagged"},
	} {
		t.Run(name, func(t *testing.T) {
			w, letters := taughtWorld(t, testOptions())
			c.do(w, letters[0])
			for range 3 {
				w.wait(time.Minute)
			}
			row := w.row(letters[0])
			label := "none"
			if row.Label != 0 {
				label = row.Label.String()
			}
			if got := label + " by " + row.Source.String(); got != c.want || row.Pending.Label != 0 {
				t.Errorf("it is %s, pending %+v, want %s", got, row.Pending, c.want)
			}
		})
	}
}

// TestTakingBackInAnyOrder plays a random life of a few messages, restarted and replayed, that
// ends with everything taken back: nothing of it is learnt.
func TestTakingBackInAnyOrder(t *testing.T) {
	total := 0
	for seed := range uint64(40) {
		o := testOptions()
		o.Bulk = 3
		w, letters := taughtWorld(t, o)
		twin, _ := taughtWorld(t, o)
		w.restart = seed%2 == 0
		before := learnt(w.f)
		rng := rand.New(rand.NewPCG(seed, 1))
		flags := make([][]string, len(letters))
		at := slices.Clone(letters)
		for range 40 {
			i := rng.IntN(len(at))
			switch rng.IntN(4) {
			case 0:
				w.wait(time.Duration(rng.IntN(100)) * time.Second)
			case 1:
				to := []string{"Junk", "INBOX"}[rng.IntN(2)]
				if at[i].place.Mailbox != to {
					at[i] = w.move(at[i], to, flags[i]...)
				}
			default:
				f := []string{`\Flagged`, "$Junk", "$Muted", `\Answered`}[rng.IntN(4)]
				if n := slices.Index(flags[i], f); n >= 0 {
					flags[i] = slices.Delete(flags[i], n, n+1)
				} else {
					flags[i] = append(flags[i], f)
				}
				w.flag(at[i], flags[i]...)
			}
		}
		for i := range at {
			w.flag(at[i])
			if at[i].place.Mailbox != "INBOX" {
				at[i] = w.move(at[i], "INBOX")
			}
		}
		for range 4 {
			w.wait(time.Minute)
		}
		total += w.takenBack
		if got := learnt(w.f); got != before {
			t.Errorf("seed %d: learnt\n%.120s\nwant\n%.120s", seed, got, before)
			continue
		}
		twin.now = w.now
		twin.apply(&filter.Ticked{At: twin.moment()})
		wantSameLearning(t, w, twin, at, letters)
		wantSameDigest(t, "replayed", w.f, w.replayed())
	}
	if total < 100 {
		t.Errorf("%d lessons were taken back; there must be more for this test to mean anything", total)
	}
}

// A star found after an absence is taken back like any other.
func TestAFoundStarIsTakenBack(t *testing.T) {
	w := newWorld(t, testOptions())
	w.takes = true
	w.teach()
	before := learnt(w.f)
	l, _ := w.arrived("INBOX", mail("found@x", "a@example.com", owner, "cheap watches"), filter.Arrived{Seen: w.moment().Add(time.Hour), Away: true}, `\Flagged`)
	w.teaches(2*time.Minute, "found", "important by found")
	w.flag(l)
	w.wait(2 * time.Minute)
	if got := w.row(l); got.Label != 0 || w.takenBack != 1 {
		t.Errorf("it is %v by %v, %d taken back; learnt before: %.100s", got.Label, got.Source, w.takenBack, before)
	}
}

// Where a star is the mark, a message that we marked and that the owner moves to Junk and back
// is starred by us: what is taken back leaves no star of the owner's behind.
func TestAStarOfOursIsNoWordOfTheOwners(t *testing.T) {
	o := testOptions()
	o.Marks = []string{`\Flagged`}
	w := newWorld(t, o)
	w.takes = true
	w.teach()
	l, r := w.deliver("INBOX", mail("ours@x", "a@example.com", owner, "watches"))
	for _, m := range r.Marks {
		w.done(m)
	}
	if len(r.Marks) != 1 {
		t.Fatalf("%d marks", len(r.Marks))
	}
	l = w.move(l, "Junk", `\Flagged`)
	w.wait(2 * time.Minute)
	l = w.move(l, "INBOX", `\Flagged`)
	for range 3 {
		w.wait(2 * time.Minute)
	}
	if row := w.row(l); row.Label != 0 || w.takenBack != 1 {
		t.Errorf("it is %v by %v, %d lessons taken back", row.Label, row.Source, w.takenBack)
	}
}
