// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
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
