// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
)

// startShown runs a daemon over one scripted account that tells what it does, but for
// what it learns.
func startShown(t *testing.T, dir string, s *script) (shown chan desk.Shown, stop func()) {
	t.Helper()
	shown = make(chan desk.Shown, 100)
	o := options(dir, from("me", testOptions(), s))
	o.Show = func(s desk.Shown) {
		if s.Deed == desk.DeedMarked || s.Deed == desk.DeedImportant {
			shown <- s
		}
	}
	_, stop = launch(t, o, nil)
	return shown, stop
}

// A mark that was not confirmed when hinged ended is told of once the server has confirmed
// it, as others are, and once only.
func TestAMarkIsShownOnceItIsConfirmedAlsoAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newScript()
	marks := make(chan ingest.MarkRequest, 10)
	s.onMark = func(r ingest.MarkRequest) { marks <- r }
	shown, stop := startShown(t, dir, s)
	done := func(r ingest.MarkRequest) {
		s.events <- ingest.MarkResult{ID: r.ID, Place: r.Place, Outcome: ingest.MarkDone, Flags: []string{"$important"}}
	}
	await := func(what string) desk.Shown {
		t.Helper()
		select {
		case s := <-shown:
			return s
		case <-time.After(patience):
			t.Fatalf("%s was never shown", what)
		}
		return desk.Shown{}
	}
	teach(s)
	raw := mail(3, `"Your bank" <boss@example.com>`, "urgent thing") // a name that nobody vouches for
	s.events <- arrival(3, raw)
	done(<-marks)
	first := await("a mark")
	if first.Deed != desk.DeedMarked || first.Message != keyOf(t, raw) || first.Subject != "urgent thing" || first.From != "boss@example.com" {
		t.Errorf("shown is %+v", first)
	}
	later := mail(4, "boss@example.com", "urgent other thing")
	s.events <- arrival(4, later)
	unanswered := <-marks
	stop()

	s.events = make(chan ingest.Event, 100)
	shown, _ = startShown(t, dir, s)
	again := <-marks
	if again.ID != unanswered.ID {
		t.Fatalf("asked for mark %d again, want %d", again.ID, unanswered.ID)
	}
	s.events <- opened
	done(again)
	second := await("the mark of the earlier run")
	if second.Deed != desk.DeedMarked || second.Message != keyOf(t, later) || second.From != "boss@example.com" || second.Score <= second.Threshold {
		t.Errorf("after the restart, shown is %+v", second)
	}
	done(again) // some servers repeat themselves
	third := mail(5, "boss@example.com", "urgent third thing")
	s.events <- arrival(5, third)
	done(<-marks)
	if next := await("the next mark"); next.Message != keyOf(t, third) {
		t.Errorf("shown is %+v, want the next message: one mark was shown twice", next)
	}
}
