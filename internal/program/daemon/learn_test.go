// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

func fromBoss(n int) desk.Message {
	return desk.Message{Name: fmt.Sprint("file ", n), Content: new(mail(1000+n, "boss@example.com", fmt.Sprint("urgent file ", n)))}
}

// TestLearningThroughTheSocketAndTheStoreAreTheSame: same reports, same state.
func TestLearningThroughTheSocketAndTheStoreAreTheSame(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	asks := []desk.LabelRequest{
		{Label: "ordinary", Messages: []desk.Message{{Name: "<m1@x>"}, fromBoss(1), {Name: "<nobody@x>"}, fromBoss(1)}},
		{Label: "important", Messages: []desk.Message{fromBoss(1), fromBoss(2), {Name: "m2@x"}}},
		{Label: "important", Messages: []desk.Message{{Name: "own", Content: new([]byte("From: " + owner + "\n\nhi\n"))}, {Name: "empty", Content: new([]byte{})}}},
	}
	play := func(b answerer) string {
		t.Helper()
		var out []string
		for _, ask := range asks {
			l := must(t, b, desk.Label, ask)
			out = append(out, fmt.Sprintf("%+v", l))
		}
		d, err := digestsOf(ctx, b)
		testkit.OK(t, err)
		return strings.Join(out, "\n") + fmt.Sprint(d)
	}
	prepare := func() (dir string, d *Daemon, stop func()) {
		dir = t.TempDir()
		s := newScript()
		d, stop = start(t, dir, s)
		teach(s)
		until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
		return dir, d, stop
	}

	dir, _, _ := prepare()
	live := play(dialled(t, dir))
	dir, _, stop := prepare()
	stop()
	off := stored(t, dir)
	if still := play(off); still != live {
		t.Fatalf("the daemon said\n%s\nthe store says\n%s", live, still)
	}
	sound(t, off)
	for _, want := range []string{"Learnt:2 Known:1 Sent:0 Refused:1", "Learnt:3 Known:0 Sent:0 Refused:0", "Learnt:1 Known:0 Sent:0 Refused:1", "owner's own mail", "New:true"} {
		if !strings.Contains(live, want) {
			t.Errorf("the answers lack %q:\n%s", want, live)
		}
	}
}

func TestALessonTellsTheScoresAroundIt(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	before := must(t, d, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "<m2@x>"}})
	out := must(t, d, desk.Label, desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: "<m2@x>"}}})
	after := must(t, d, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: "<m2@x>"}})
	l := out.Lessons[0]
	// The score before is without the earlier lesson, which called it ordinary.
	if l.Before <= before.Score || l.After != after.Score || l.After <= l.Before || l.Mistake != (l.Before <= 0) || l.New {
		t.Fatalf("got %+v; the scores were %v and %v", l, before.Score, after.Score)
	}
	if after.Label != "important" || after.Source != "explicit" {
		t.Fatalf("learnt as %s by %s", after.Label, after.Source)
	}
}

// TestWhatWasLearntIsOnTheDiskWhenItIsSaid: killed right after the answer, the
// store has the lesson.
func TestWhatWasLearntIsOnTheDiskWhenItIsSaid(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	must(t, d, desk.Label, desk.LabelRequest{Label: "ordinary", Messages: []desk.Message{fromBoss(1)}})
	st, err := d.store.Load("me")
	testkit.OK(t, err)
	if st.Account.Ordinary != 2 || st.Account.Messages != 3 {
		t.Fatalf("the store has %+v", st.Account)
	}
}

// asked runs a daemon whose account has learnt a little and got so many messages that
// nobody has said anything of.
func asked(t *testing.T, o filter.Options, n int) *Daemon {
	t.Helper()
	s := newScript()
	s.events = make(chan ingest.Event, n+100)
	d, _ := launch(t, options(t.TempDir(), from("me", o, s)), nil)
	teach(s)
	for i := range n {
		from := []string{"boss@example.com", "news@example.net", "ann@example.org", "bob@example.org"}[i%4]
		words := []string{"urgent offer", "newsletter matter", "lunch", "offer lunch urgent", "holiday"}[i%5]
		s.events <- arrival(uint32(10+i), mail(10+i, from, fmt.Sprint(words, " ", i%7)))
	}
	until(t, d, "all messages", func(a desk.AccountStatus) bool { return a.Messages == uint64(n)+2 })
	return d
}

// TestAnAnswerTeachesWhatWasForetold gives every answer that was tried on, to daemons that
// are alike, and counts what became of the other messages.
func TestAnAnswerTeachesWhatWasForetold(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*filter.Options){
		"dual":       func(*filter.Options) {},
		"perceptron": func(o *filter.Options) { o.Learner.Kind = model.KindPerceptron },
		"rules": func(o *filter.Options) {
			o.Rules = []filter.Rule{{Match: "from:ann@example.org", Label: model.Important}}
		},
		"kernel": func(o *filter.Options) {
			o.Learner.Kind, o.Kernel = model.KindPerceptron, filter.Kernel{Degree: 3, Budget: 1000}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			set(&o)
			changes := 0
			for _, label := range []string{"important", "ordinary"} {
				for nth := range 2 {
					d := asked(t, o, 60)
					before := must(t, d, desk.GetMessages, desk.MessagesRequest{Most: 200})
					q := must(t, d, desk.Ask, desk.AskRequest{Most: 2, Teach: true})
					if len(q.Questions) != 2 || len(q.Questions[nth].Teach) != 2 || q.Compared == 0 || q.Compared > len(before.Messages) {
						t.Fatalf("%+v", q)
					}
					question := q.Questions[nth]
					foretold := question.Teach[slices.IndexFunc(question.Teach, func(t desk.Teaching) bool { return t.Label == label })]
					ex := must(t, d, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: question.Message}})
					if c := ex.Corrections[slices.IndexFunc(ex.Corrections, func(c desk.Correction) bool { return c.Label == label })]; !near(c.Score, foretold.Score) {
						t.Errorf("%s: foretold is the score %v, explain has %v", label, foretold.Score, c.Score)
					}
					must(t, d, desk.Label, desk.LabelRequest{Label: label, Messages: []desk.Message{{Name: question.Message}}})
					after := map[string]float64{}
					for _, m := range must(t, d, desk.GetMessages, desk.MessagesRequest{Most: 200}).Messages {
						after[m.Message] = m.Score
					}
					above, below := 0, 0
					for _, m := range before.Messages {
						switch was, is := m.Score > q.Threshold, after[m.Message] > q.Threshold; {
						case m.Message == question.Message:
							if !near(after[m.Message], foretold.Score) {
								t.Errorf("%s: foretold is the score %v, it became %v", label, foretold.Score, after[m.Message])
							}
						case m.Rule != "":
						case is && !was:
							above++
						case was && !is:
							below++
						}
					}
					if above != foretold.Above || below != foretold.Below {
						t.Errorf("%s: %d came above and %d fell below, foretold was %+v", label, above, below, foretold)
					}
					changes += above + below
				}
			}
			if changes == 0 {
				t.Error("no answer changed anything: the test has tested nothing")
			}
		})
	}
}

func TestAnswersAreTriedOnTheLatestMessagesAlone(t *testing.T) {
	t.Parallel()
	d := asked(t, testOptions(), 250)
	if q := must(t, d, desk.Ask, desk.AskRequest{Most: 3, Teach: true}); q.Compared != 200 || len(q.Questions) != 3 {
		t.Errorf("tried on %d messages, %d questions", q.Compared, len(q.Questions))
	}
	q := must(t, d, desk.Ask, desk.AskRequest{Most: 3})
	if q.Compared != 0 || q.Questions[0].Teach != nil {
		t.Errorf("nobody asked for that: %+v", q)
	}
	if q := must(t, d, desk.Ask, desk.AskRequest{Most: 3, Since: time.Now().Add(time.Hour)}); len(q.Questions) != 0 || q.Why == "" {
		t.Errorf("of no mail: %+v", q)
	}
}
