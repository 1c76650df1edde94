// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store/boltfile"
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
			l, err := do(ctx, b, desk.Label, "", ask)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%+v", l))
		}
		d, err := digestsOf(ctx, b)
		if err != nil {
			t.Fatal(err)
		}
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
	c, err := control.Dial(ctx, filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	live := play(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	dir, _, stop := prepare()
	stop()
	off, err := OpenStore(filepath.Join(dir, "store.db"), "test", boltfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if still := play(off); still != live {
		t.Fatalf("the daemon said\n%s\nthe store says\n%s", live, still)
	}
	if v, err := do(ctx, off, desk.Verify, "", desk.VerifyRequest{}); err != nil || !v.OK {
		t.Fatalf("verify: %+v, %v", v, err)
	}
	for _, want := range []string{"Learnt:2 Known:1 Sent:0 Refused:1", "Learnt:3 Known:0 Sent:0 Refused:0", "Learnt:1 Known:0 Sent:0 Refused:1", "owner's own mail", "New:true"} {
		if !strings.Contains(live, want) {
			t.Errorf("the answers lack %q:\n%s", want, live)
		}
	}
}

func TestALessonTellsTheScoresAroundIt(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	ctx := context.Background()
	before, err := do(ctx, d, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<m2@x>"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := do(ctx, d, desk.Label, "", desk.LabelRequest{Label: "important", Messages: []desk.Message{{Name: "<m2@x>"}}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := do(ctx, d, desk.Explain, "", desk.ExplainRequest{Message: desk.Message{Name: "<m2@x>"}})
	if err != nil {
		t.Fatal(err)
	}
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
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	until(t, d, "two lessons", func(a desk.AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	if _, err := do(context.Background(), d, desk.Label, "", desk.LabelRequest{Label: "ordinary", Messages: []desk.Message{fromBoss(1)}}); err != nil {
		t.Fatal(err)
	}
	st, err := d.store.Load("me")
	if err != nil {
		t.Fatal(err)
	}
	if st.Account.Ordinary != 2 || st.Account.Messages != 3 {
		t.Fatalf("the store has %+v", st.Account)
	}
}
