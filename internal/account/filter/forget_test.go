// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// remembered is what the state tells of messages, senders and threads, without
// the running numbers, which tell of nobody.
func remembered(f *filter.Filter) string {
	st, s := f.State(), strings.Builder{}
	for _, k := range st.Messages.Keys() {
		m, _ := st.Messages.Get(k)
		fmt.Fprintf(&s, "message %x: id %x from %x label %v lessons %d\n", k, m.ID, m.Sender, m.Label, m.Lessons)
	}
	for _, k := range st.Senders.Keys() {
		row, _ := st.Senders.Get(k)
		row.Seq = 0
		fmt.Fprintf(&s, "sender %x: %+v\n", k, row)
	}
	for _, k := range st.Threads.Keys() {
		row, _ := st.Threads.Get(k)
		row.Seq = 0
		fmt.Fprintf(&s, "thread %x: %+v\n", k, row)
	}
	for _, k := range st.IDs.Keys() {
		row, _ := st.IDs.Get(k)
		row.Seq = 0
		fmt.Fprintf(&s, "id %x: %+v\n", k, row)
	}
	for _, k := range st.Ledger.Keys() {
		row, _ := st.Ledger.Get(k)
		fmt.Fprintf(&s, "mark on %x\n", row.Message)
	}
	return s.String()
}

var (
	unnamed = regexp.MustCompile(`(?m)^thread \w+|Thread:\d+|Written:\d+`)
	threads = regexp.MustCompile(`(?m)^: .*\n`)
)

// difference lists the lines that two texts do not share.
func difference(got, want string) (diff string) {
	for prefix, pair := range map[string][2]string{"too much: ": {got, want}, "missing: ": {want, got}} {
		there := map[string]bool{}
		for _, line := range strings.Split(pair[1], "\n") {
			there[line] = true
		}
		for _, line := range strings.Split(pair[0], "\n") {
			if !there[line] {
				diff += prefix + line + "\n"
			}
		}
	}
	return diff
}

// play gives two worlds the same life, the second without the messages that leave
// says: their arrivals and all that is said of them.
func play(t *testing.T, o filter.Options, seed uint64, leave func(from string, at time.Time) bool) (all, twin *world) {
	all, twin = newWorld(t, o), newWorld(t, o)
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range 150 {
		person := rng.IntN(6)
		from := fmt.Sprintf("person%d@example.com", person)
		headers := []string{}
		if i > 20 && rng.IntN(2) == 0 { // in a thread of this person's own
			headers = append(headers, fmt.Sprintf("References: <root%d@x>", person))
		}
		id := fmt.Sprintf("m%d@x", i)
		if i < 6 {
			person, from, id = i, fmt.Sprintf("person%d@example.com", i), fmt.Sprintf("root%d@x", i)
		}
		raw := mail(id, from, owner, fmt.Sprintf("word%d thing%d", rng.IntN(5), rng.IntN(9)), headers...)
		label := model.Label(1 - 2*rng.IntN(2))
		reply := rng.IntN(4) == 0
		for _, w := range []*world{all, twin} {
			w.now = w.now.Add(time.Minute)
			gone := w == twin && leave(from, w.now)
			if !gone {
				l, _ := w.deliver("INBOX", raw)
				if i%3 > 0 {
					w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: label})
				}
			}
			if reply && (!gone || !leave(owner, w.now)) {
				w.deliver("Sent", mail(fmt.Sprintf("own%d@x", i), owner, "list@example.net", fmt.Sprintf("reply %d", i),
					fmt.Sprintf("In-Reply-To: <%s>", id), fmt.Sprintf("References: <root%d@x>", person)))
			}
		}
	}
	return all, twin
}

// weighed is what was learnt, without the windows of scores: those of what stays
// are as they were given.
func weighed(f *filter.Filter) string {
	a := f.State().Account
	weights, _ := store.Digest(f.State())
	return fmt.Sprintln(weights, a.Important, a.Ordinary, a.Mistakes, a.Updates, a.HingeLoss, a.MaxNorm, a.Displaced, a.Labels, a.LastLesson)
}

// wantLearntFromNothing learns the lessons that are kept once more, the plain way.
func (w *world) wantLearntFromNothing() {
	w.t.Helper()
	weights := model.NewWeights(0)
	learner, err := model.NewLinear(w.f.Options().Learner, weights)
	testkit.OK(w.t, err)
	for i, l := range w.past {
		x, err := w.features.Features(l.Message)
		testkit.OK(w.t, err)
		if !l.Learnt() {
			continue
		}
		if u := learner.Learn(model.Lesson{Vector: x.Vector(), Label: l.Label, Weight: l.Weight}); u.Score != l.Score || u.Step != l.Step {
			w.t.Fatalf("lesson %d says score %v and step %v, learnt anew they are %v and %v", i, l.Score, l.Step, u.Score, u.Step)
		}
	}
	if !reflect.DeepEqual(weights.Sorted(), w.f.State().Weights.Sorted()) {
		w.t.Fatal("the weights are not those that the lessons lead to")
	}
}

func forgetOptions() filter.Options {
	o := testOptions()
	o.Settle, o.SilenceDays, o.Shadow = 0, 0, filter.ShadowOn
	return o
}

func TestForgettingGivesTheAccountThatNeverHeardOfIt(t *testing.T) {
	begin := newWorld(t, forgetOptions()).now
	for seed := range uint64(3) {
		half := begin.Add(time.Duration(40+20*seed) * time.Minute)
		for _, c := range []struct {
			name  string
			event func() *past.ForgetRequested
			leave func(from string, at time.Time) bool
		}{
			{"a sender", func() *past.ForgetRequested {
				return &past.ForgetRequested{Sender: filter.SenderOf("person2@example.com")}
			},
				func(from string, _ time.Time) bool { return from == "person2@example.com" }},
			{"all before", func() *past.ForgetRequested { return &past.ForgetRequested{Before: store.MomentOf(half)} },
				func(_ string, at time.Time) bool { return at.Before(half) }},
		} {
			t.Run(fmt.Sprint(c.name, " ", seed), func(t *testing.T) {
				o := forgetOptions()
				o.Dual.Window = 0 // what arrives has others replayed, forgotten or not
				all, twin := play(t, o, seed, c.leave)
				e := c.event()
				r := all.rewrite(e)
				if r.Lessons == 0 || r.Messages == 0 || r.Senders == 0 && e.Sender != 0 {
					t.Fatalf("forgotten: %d lessons, %d messages, %d senders", r.Lessons, r.Messages, r.Senders)
				}
				if got, want := weighed(all.f), weighed(twin.f); got != want && e.Before == 0 {
					t.Fatalf("learnt is\n%swant\n%s", got, want)
				}
				all.wantLearntFromNothing()
				got, want := remembered(all.f), remembered(twin.f)
				// Threads that were named after what is forgotten have other names, and how
				// often the owner had written somewhere is no fact of one message.
				got, want = unnamed.ReplaceAllString(got, ""), unnamed.ReplaceAllString(want, "")
				if e.Sender != 0 {
					// The owner's replies stay. They are in threads of their own in the twin,
					// where what they answer was not known when they came.
					got, want = threads.ReplaceAllString(got, ""), threads.ReplaceAllString(want, "")
				}
				if diff := difference(got, want); diff != "" {
					t.Fatal(diff)
				}
				got = remembered(all.f)
				for _, hash := range []store.ID{filter.SenderOf("person2@example.com"), filter.IDOf("root2@x")} {
					if e.Sender != 0 && (strings.Contains(got, fmt.Sprintf("%x", uint64(hash))) || strings.Contains(got, fmt.Sprint(uint64(hash)))) {
						t.Errorf("the hash %x is there still", uint64(hash))
					}
				}
				again := all.restarted()
				if !reflect.DeepEqual(again.Status.Counts(), all.f.Status.Counts()) || learnt(again) != learnt(all.f) {
					t.Fatal("after a restart it is another one")
				}
			})
		}
	}
}

func TestAForgottenMessageIsNeitherLearntFromNorMarkedForLyingThere(t *testing.T) {
	w := taught(t, testOptions())
	o := w.f.Options()
	o.Shadow = filter.ShadowOff
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	marked, request := w.urgent(1)
	w.done(request)
	refused, request := w.urgent(2)
	w.done(request)
	w.read(refused)
	w.flag(refused, `\Seen`)
	w.wait(time.Hour)
	w.lessons, w.marks = nil, nil
	r := w.rewrite(&past.ForgetRequested{At: w.moment(), Sender: filter.SenderOf("boss@example.com")})
	if r.Messages < 2 || r.Marks < 2 {
		t.Fatalf("forgotten: %d messages, %d marks", r.Messages, r.Marks)
	}
	st := w.f.State()
	for _, l := range []letter{marked, refused} {
		if _, ok := st.Messages.Get(string(l.key[:])); ok {
			t.Error("the message is known")
		}
	}
	if row, ok := st.Refusals.Get(filter.IDOf("urgent1@x").Key()); !ok || !row.Ours {
		t.Errorf("that a mark is on it is not known: %+v %v", row, ok)
	}
	if row, ok := st.Refusals.Get(filter.IDOf("urgent2@x").Key()); !ok || row.Ours {
		t.Errorf("its refusal is not known: %+v %v", row, ok)
	}
	// What becomes of them where they lie says nothing.
	w.flag(marked, "$Important", `\Seen`, `\Flagged`)
	w.done(request)
	w.wait(time.Hour)
	// Elsewhere they are new. The mark is no word of the owner's, and none is set.
	w.move(marked, "Keep", "$Important")
	w.move(refused, "Keep")
	w.teaches(time.Hour, "after it was forgotten")
	if len(w.marks) != 0 {
		t.Errorf("marks asked for: %+v", w.marks)
	}
}

func TestForgettingOneMessageLeavesItsSenderAndThread(t *testing.T) {
	w := newWorld(t, forgetOptions())
	var letters []letter
	for i := range 4 {
		l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), "a@example.com", owner, fmt.Sprint("words ", i), "References: <m0@x>"))
		w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Important})
		letters = append(letters, l)
	}
	w.deliver("Sent", mail("own@x", owner, "a@example.com", "an answer", "In-Reply-To: <m3@x>", "References: <m0@x>"))
	r := w.rewrite(&past.ForgetRequested{At: w.moment(), ID: filter.IDOf("m3@x")})
	if r.Lessons != 1 || r.Messages != 1 || r.Senders != 0 {
		t.Fatalf("forgotten: %d lessons, %d messages, %d senders", r.Lessons, r.Messages, r.Senders)
	}
	if r := w.rewrite(&past.ForgetRequested{At: w.moment(), Key: letters[0].key}); r.Lessons != 1 {
		t.Fatalf("forgotten: %d lessons", r.Lessons)
	}
	st := w.f.State()
	if s, _ := st.Senders.Get(filter.SenderOf("a@example.com").Key()); s.Received != 2 || s.Answered != 0 || s.Written != 1 || s.Lessons != 2 {
		t.Errorf("the sender is %+v", s)
	}
	if th, ok := st.Threads.Get(filter.IDOf("m1@x").Key()); !ok || th.Messages != 3 || th.ByOwner != 1 || th.Answered != 0 || th.Since != 0 {
		t.Errorf("the thread is %+v", th)
	}
	if st.Threads.Len() != 1 {
		t.Errorf("there are %d threads", st.Threads.Len())
	}
	if r := w.rewrite(&past.ForgetRequested{At: w.moment(), ID: filter.IDOf("m3@x")}); r.Changed {
		t.Error("it was known still")
	}
}

// FuzzRewriting plays a storm, takes something back in its midst, and goes on.
func FuzzRewriting(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, uint16(30*i), byte(i))
	}
	f.Fuzz(func(t *testing.T, seed uint64, ago uint16, kind byte) {
		o := testOptions()
		o.Limits.Weights, o.Limits.Messages = 300, 150
		w := newWorld(t, o)
		w.undos = seed%2 == 0
		for range 2 {
			w.storm(seed, 120)
			moment := w.moment().Add(-time.Duration(ago) * time.Hour)
			e := []past.RewriteRequest{
				&past.UnlearnRequested{At: w.moment(), Since: moment}, &past.ForgetRequested{At: w.moment(), Before: moment},
				&past.ForgetRequested{At: w.moment(), Sender: filter.SenderOf(fmt.Sprintf("person%d@example.com", ago%8))},
				&past.ForgetRequested{At: w.moment(), ID: filter.IDOf(fmt.Sprintf("m%d@x", ago%120))},
			}[kind%4]
			r := w.rewrite(e)
			again := w.restarted()
			got, want := w.f.Status.Counts(), again.Status.Counts()
			maps.DeleteFunc(got.Places, func(_ string, n int) bool { return n == 0 })
			if !reflect.DeepEqual(got, want) || learnt(w.f) != learnt(again) {
				t.Fatalf("after a restart it is another one: %+v, %+v", got, want)
			}
			if once := w.rewrite(e); once.Changed && once.Lessons > 0 {
				t.Fatalf("a second time %d lessons, the first time %d", once.Lessons, r.Lessons)
			}
			lessons := 0
			for _, k := range w.f.State().Messages.Keys() {
				m, _ := w.f.State().Messages.Get(k)
				if lessons += int(m.Lessons); (m.Label == 0) != (m.Lessons == 0) {
					t.Fatalf("%d lessons, and the label is %v", m.Lessons, m.Label)
				}
			}
			seed += 1000
			w.marks = nil
		}
		if _, err := w.f.Apply(&filter.Ticked{At: w.moment() + 1}); err != nil {
			t.Fatal(err)
		}
	})
}
