// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// stream plays n messages in which important says what each one is, and labels
// them at once. It returns how many marks were asked for.
func (w *world) stream(seed uint64, n int, from func(i int) string, important func(i int, from, words string) bool) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	words := strings.Fields("urgent newsletter invoice lunch kernel patch holiday meeting")
	for i := range n {
		w.now = w.now.Add(time.Hour)
		sender, text := from(i), words[rng.IntN(len(words))]+" "+words[rng.IntN(len(words))]
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("s%d-%d@x", seed, i), sender, owner, fmt.Sprintf("%s %d", text, i)))
		label := model.Ordinary
		if important(i, sender, text) {
			label = model.Important
		}
		decided := len(w.marks)
		w.apply(&Labelled{At: w.moment(), Message: l.key, Label: label})
		w.marks = w.marks[:min(decided, len(w.marks))] // those of the owner's word are set in any case
	}
}

func person(rng *rand.Rand) func(int) string {
	return func(int) string { return fmt.Sprintf("person%d@example.com", rng.IntN(8)) }
}

// write has the owner write to an address.
func (w *world) write(to string) {
	w.t.Helper()
	w.deliver("Sent", mail("to-"+to, owner, to, "hello"))
}

func autoOptions() Options {
	o := testOptions()
	o.MinImportant, o.MinOrdinary = 20, 20
	o.Threshold = DefaultOptions().Threshold
	return o
}

func TestShadowEndsOnceTheDecisionsBeatTheBaselines(t *testing.T) {
	w := newWorld(t, autoOptions())
	for _, to := range []string{"person1@example.com", "person2@example.com"} {
		w.write(to)
	}
	urgent := func(_ int, _, words string) bool { return strings.Contains(words, "urgent") }
	rng := rand.New(rand.NewPCG(1, 1))
	for i := 0; w.f.InShadow(); i++ {
		if len(w.marks) > 0 {
			t.Fatalf("%d marks asked for in shadow", len(w.marks))
		}
		if a := w.f.State().Account; i > 40 {
			t.Fatalf("still in shadow after %d important and %d ordinary labels: %s", a.Important, a.Ordinary, w.f.Marking())
		}
		w.stream(uint64(100+i), 10, person(rng), urgent)
	}
	a, s := w.f.State().Account, w.f.Standing()
	if a.Important < 20 || a.Ordinary < 20 || !s.Beats() {
		t.Errorf("ended with %d important and %d ordinary labels, %+v", a.Important, a.Ordinary, s)
	}
	if got := w.f.Marking(); !strings.HasPrefix(got, "yes: ") {
		t.Errorf("Marking says %q", got)
	}
	w.stream(7, 30, person(rng), urgent)
	if len(w.marks) == 0 {
		t.Error("nothing was marked after the shadow")
	}

	// Once ended it stays ended, and says so when it is of no use any more.
	w.stream(8, 2500, person(rng), func(_ int, from, _ string) bool {
		return from == "person1@example.com" || from == "person2@example.com"
	})
	if w.f.Standing().Beats() || w.f.InShadow() {
		t.Errorf("beats the baselines: %v; in shadow: %v; want neither", w.f.Standing().Beats(), w.f.InShadow())
	}
	if got := w.f.Warnings(); len(got) != 1 || !strings.Contains(got[0], "of little use now") {
		t.Errorf("the warnings are %q", got)
	}

	// The owner brings it back; auto then begins anew.
	o := w.f.Options()
	o.Shadow = ShadowOn
	w.apply(&Configured{At: w.moment(), Options: o})
	o.Shadow = ShadowAuto
	w.apply(&Configured{At: w.moment(), Options: o})
	if !w.f.InShadow() {
		t.Error("after shadow on, auto did not begin anew")
	}
	o.Shadow = ShadowOff
	w.apply(&Configured{At: w.moment(), Options: o})
	if w.f.InShadow() {
		t.Error("the owner's word did not end the shadow")
	}
}

// A learner that can't beat knowing one's correspondents stays silent, however
// long it learns.
func TestALearnerThatOnlyKnowsYourCorrespondentsStaysSilent(t *testing.T) {
	w := newWorld(t, autoOptions())
	known := map[string]bool{"person1@example.com": true, "person5@example.com": true}
	for i := range 8 {
		if to := fmt.Sprintf("person%d@example.com", i); known[to] {
			w.write(to)
		}
	}
	rng := rand.New(rand.NewPCG(2, 2))
	w.stream(9, 2500, person(rng), func(_ int, from, _ string) bool { return known[from] })
	s := w.f.Standing()
	if len(w.marks) != 0 || !w.f.InShadow() {
		t.Fatalf("it marks (%d asked for): %+v", len(w.marks), s)
	}
	if s.Labels != windowSize || s.Correspondents.F1() != 1 {
		t.Errorf("the standing is %+v, want a window of %d in which correspondents are never wrong", s, windowSize)
	}
	if s.Decisions.F1() < 0.9 {
		t.Errorf("the learner has F1 %.2f: it should have learnt the correspondents, too, and only tie", s.Decisions.F1())
	}
	if got := w.f.Marking(); !strings.Contains(got, "knowing your correspondents alone: 1.00; it marks nothing until they are better") {
		t.Errorf("Marking says %q", got)
	}
	_, r := w.deliver("INBOX", mail("last@x", "person1@example.com", owner, "lunch"))
	if r.Decision.Outcome != store.DecidedImportant || r.Decision.Reason != store.ReasonShadow {
		t.Errorf("decided %+v; want important, in shadow", r.Decision)
	}
}

// What is kept of the standing is what the window of labels holds.
func TestStandingIsThatOfTheWindow(t *testing.T) {
	w := newWorld(t, autoOptions())
	w.write("person3@example.com")
	rng := rand.New(rand.NewPCG(4, 4))
	w.stream(10, windowSize+300, person(rng), func(i int, _, words string) bool { return strings.Contains(words, "lunch") == (i%9 != 0) })
	var want Standing
	w.f.State().Labelled.Each(func(_ uint32, s store.Scored) { want.count(&s, 1) })
	if got := w.f.Standing(); got != want {
		t.Errorf("kept %+v, the window holds %+v", got, want)
	}
	again, err := New(w.f.State(), w.features)
	if err != nil {
		t.Fatal(err)
	}
	if again.Standing() != w.f.Standing() {
		t.Errorf("after a restart %+v, before %+v", again.Standing(), w.f.Standing())
	}
}

// A share or a cost that the owner chose does not keep a good learner silent.
func TestAnOwnersBudgetDoesNotProlongTheShadow(t *testing.T) {
	for _, th := range []Threshold{{Mode: ModeBudget, Share: 0.01}, {Mode: ModeCost, Cost: 0.01}, {Mode: ModeCost, Cost: 50}} {
		o := autoOptions()
		o.Threshold = th
		w := newWorld(t, o)
		w.write("person1@example.com")
		rng := rand.New(rand.NewPCG(5, 5))
		w.stream(11, 600, person(rng), func(_ int, _, words string) bool { return strings.Contains(words, "urgent") })
		if w.f.InShadow() {
			t.Errorf("%s: still in shadow: %s", th.Mode, w.f.Marking())
		}
	}
}

// TestStatusSaysWhenNothingIsMarkedForLong, also after a restart, and stops to say so
// with the next mark.
func TestStatusSaysWhenNothingIsMarkedForLong(t *testing.T) {
	o := testOptions()
	o.Shadow = ShadowOff
	w := newWorld(t, o)
	w.teach()
	said := func() bool {
		t.Helper()
		_, long := w.f.Passed()
		f, err := New(w.f.State(), w.features)
		if err != nil {
			t.Fatal(err)
		}
		if n, again := f.Passed(); again != long || n != w.f.passed || f.judged != w.f.judged {
			t.Fatalf("after a restart %d passed, %+v judged; before it %d, %+v", n, f.judged, w.f.passed, w.f.judged)
		}
		words := strings.Contains(strings.Join(w.f.Warnings(), "\n"), "hinged has marked nothing for a long time: none of the last ")
		if words != long {
			t.Fatalf("long is %v, the warnings are %q", long, w.f.Warnings())
		}
		return long
	}
	for i := range 60 {
		// Half of what was judged is important, so 20 messages are too many; one was
		// taught.
		if got := said(); got != (i >= 19) {
			t.Fatalf("after %d messages: %v (%d passed)", i, got, w.f.passed)
		}
		w.deliver("INBOX", mail(fmt.Sprintf("q%d@x", i), "news@example.net", "list@example.net", fmt.Sprintf("newsletter number %d", i)))
	}
	w.urgent(99)
	if said() {
		t.Error("it says so after a mark")
	}
}

func TestTheEndOfTheShadowCountsWhatIsMissing(t *testing.T) {
	w := newWorld(t, autoOptions())
	a := &w.f.st.Account
	a.Ordinary = 20
	for have, want := range map[uint64]string{18: "2 more messages that you star, ", 19: "1 more message that you star, ", 20: "decisions that are better than that; "} {
		a.Important = have
		if got := w.f.EndOfShadow(); !strings.HasPrefix(got, want) {
			t.Errorf("with %d: %q, want %q", have, got, want)
		}
	}
}
