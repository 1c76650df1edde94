package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/store"
)

func fromBoss(n int) Handed {
	return Handed{Name: fmt.Sprint("file ", n), Content: mail(1000+n, "boss@example.com", fmt.Sprint("urgent file ", n)), HasContent: true}
}

// TestLearningThroughTheSocketAndTheStoreAreTheSame: same reports, same state.
func TestLearningThroughTheSocketAndTheStoreAreTheSame(t *testing.T) {
	ctx := context.Background()
	asks := []Teach{
		{Label: "ordinary", Messages: []Handed{{Name: "<m1@x>"}, fromBoss(1), {Name: "<nobody@x>"}, fromBoss(1)}},
		{Label: "important", Messages: []Handed{fromBoss(1), fromBoss(2), {Name: "m2@x"}}},
		{Label: "important", Messages: []Handed{{Name: "own", Content: []byte("From: " + owner + "\n\nhi\n"), HasContent: true}, {Name: "empty", HasContent: true}}},
	}
	play := func(b Backend) string {
		t.Helper()
		var out []string
		for _, ask := range asks {
			l, err := b.Learn(ctx, "", ask)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%+v", l))
		}
		d, err := b.Digests(ctx)
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
		until(t, d, "two lessons", func(a AccountStatus) bool { return a.Important+a.Ordinary == 2 })
		return dir, d, stop
	}

	dir, _, _ := prepare()
	c, err := Dial(ctx, filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	live := play(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	dir, _, stop := prepare()
	stop()
	off, err := OpenOffline(filepath.Join(dir, "store.db"), "test", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer off.Close()
	if still := play(off); still != live {
		t.Fatalf("the daemon said\n%s\nthe store says\n%s", live, still)
	}
	if v, err := off.Verify(ctx); err != nil || !v.OK {
		t.Fatalf("verify: %+v, %v", v, err)
	}
	for _, want := range []string{"Learnt:2 Known:1 Sent:0 Refused:1", "Learnt:3 Known:0 Sent:0 Refused:0", "Learnt:1 Known:0 Sent:0 Refused:1", "owner's own mail", "New:true"} {
		if !strings.Contains(live, want) {
			t.Errorf("the answers lack %q:\n%s", want, live)
		}
	}
}

func TestALessonTellsTheScoresAroundIt(t *testing.T) {
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	until(t, d, "two lessons", func(a AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	ctx := context.Background()
	before, err := d.Explain(ctx, "", "<m2@x>")
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.Learn(ctx, "", Teach{Label: "important", Messages: []Handed{{Name: "<m2@x>"}}})
	if err != nil {
		t.Fatal(err)
	}
	after, err := d.Explain(ctx, "", "<m2@x>")
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
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	teach(s)
	until(t, d, "two lessons", func(a AccountStatus) bool { return a.Important+a.Ordinary == 2 })
	if _, err := d.Learn(context.Background(), "", Teach{Label: "ordinary", Messages: []Handed{fromBoss(1)}}); err != nil {
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
