// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/filter/past"
	"github.com/hinged/hinged/internal/words"

	"github.com/hinged/hinged/store"
)

// The limits of package words.
const (
	deafDays    = 14
	unheardDays = 5
	idleTime    = 30 * 24 * time.Hour
)

func TestTheOwnerIsWarnedWhenLearningHasStopped(t *testing.T) {
	o := testOptions()
	o.Shadow = filter.ShadowOn // or the mark below might be ours
	w := newWorld(t, o)
	star := func() {
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		w.flag(l, `\Flagged`)
		w.wait(time.Minute)
	}
	days := func(n int, act func()) {
		for range n {
			w.now = w.now.Add(24 * time.Hour)
			act()
		}
	}
	read := func() { // activity that says nothing
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		w.flag(l, `\Seen`)
	}
	days(30, star)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("warned of %q", got)
	}
	days(deafDays-1, read)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("warned too early: %q", got)
	}
	days(1, read)
	if got := words.Warnings(w.f); len(got) != 1 || !strings.HasPrefix(got[0], "hinged learns from your silence alone") {
		t.Errorf("after %d deaf days the warnings are %q", deafDays, got)
	}
	days(1, star)
	if got := words.Warnings(w.f); len(got) != 0 {
		t.Errorf("still warned of %q", got)
	}
	w.paced("at once", filter.ManyHasty, time.Second)
	if got := words.Warnings(w.f); len(got) != 1 || !strings.HasPrefix(got[0], "another program") {
		t.Errorf("after a program's marks the warnings are %q", got)
	}
}

// warned fails the test unless the warnings are one that contains want, or none where
// want is "".
func (w *world) warned(when, want string) {
	w.t.Helper()
	got := words.Warnings(w.f)
	if want == "" && len(got) == 0 || want != "" && len(got) == 1 && strings.Contains(got[0], want) {
		return
	}
	w.t.Errorf("%s the warnings are %q, want %q", when, got, want)
}

// A keyword that the owner sets day after day, and that is no mark, is named.
func TestKeywordsThatTeachNothingAreNamed(t *testing.T) {
	w := newWorld(t, testOptions())
	daily := func(n int, flags ...string) {
		for range n {
			w.now = w.now.Add(24 * time.Hour)
			l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
			w.now = w.now.Add(time.Hour)
			w.flag(l, flags...)
			w.flag(l, append(flags, `\Seen`)...) // the same day counts once
		}
	}
	daily(unheardDays-1, "$label5")
	w.warned("a day before", "")
	daily(1, "$label5")
	w.warned("on the last day", "on 5 days you set or removed keywords that hinged doesn't know (the last: $label5)")
	daily(1, `\Flagged`)
	w.wait(time.Minute)
	w.warned("after a star", "")
	daily(2*unheardDays, `\Seen`, "$Forwarded", "NonJunk", "$MDNSent", "$Hinged")
	w.warned("after flags that programs set", "")
}

func TestMailWithoutAnyLessonIsToldOf(t *testing.T) {
	o := testOptions()
	o.SilenceDays = 0 // or silence would be a lesson
	w := newWorld(t, o)
	arrive := func() letter {
		l, _ := w.deliver("INBOX", mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		return l
	}
	idle := func(when, words string) {
		t.Helper()
		w.now = w.now.Add(idleTime - time.Minute)
		w.wait(0)
		w.warned(when+", without mail", "")
		arrive()
		w.warned(when+", a minute too early", "")
		w.now = w.now.Add(time.Minute)
		arrive()
		w.warned(when, words)
	}
	first := arrive()
	idle("of a new account", "mail came for 30 days, hinged learnt nothing, and hinged saw nothing that you did with your mail")
	w.flag(first, `\Flagged`)
	w.wait(time.Minute)
	w.warned("after a lesson", "")
	lesson := w.f.State().Account.LastLesson
	w.now = lesson.Time()
	idle("after the last lesson", "mail came for 30 days, hinged learnt nothing")
	w.flag(arrive(), `\Seen`)
	w.warned("of an owner who reads", "hinged saw no answer, star, mark, junk or deletion of yours")

	// What was taken back is no reason to warn.
	if _, err := past.Rewrite(w.f, &past.UnlearnRequested{At: w.moment(), Since: lesson}, w); err != nil {
		t.Fatal(err)
	}
	if got := w.f.State().Account.LastLesson; got >= lesson {
		t.Fatalf("the lesson of %d was not taken back, but that of %d", lesson, got)
	}
	w.warned("after an undo", "")

	w = newWorld(t, testOptions())
	arrive()
	w.apply(&filter.Paused{At: w.moment()})
	w.f.State().Account.LastArrival = store.MomentOf(w.now.Add(2 * idleTime))
	w.warned("while paused", "")
}

// Old mail that is read at the first start says nothing of how long hinged has waited.
func TestOldMailIsNoTimeWithoutLessons(t *testing.T) {
	w := newWorld(t, testOptions())
	for uid := range uint32(3) {
		w.now = w.now.Add(idleTime)
		m := w.reader.Read(mail(fmt.Sprint(w.now), "a@example.com", owner, "lunch"))
		w.apply(&filter.Arrived{At: w.moment(), Place: placeAt("INBOX", w.validity["INBOX"], 99+uid), Backlog: true, Meta: filter.NewMeta(m), Message: m})
	}
	w.warned("after old mail", "")
}
