// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// limited starts a server with n messages, one UID in three left out, that keeps limits.
func limited(t *testing.T, n int, l *testkit.Limits) *testkit.Fake {
	t.Helper()
	f := testkit.StartFake(t, nil)
	for i := range n {
		f.Add(fmt.Sprintf("Message-ID: <%d@example.org>\r\nSubject: %d\r\n\r\ntext\r\n", i, i), "")
		if i%2 == 1 {
			f.Lock()
			f.UIDNext++
			f.Unlock()
		}
	}
	f.Limited(l)
	return f
}

// limits are the ways in which servers answer for a part.
func limits() map[string]*testkit.Limits {
	return map[string]*testkit.Limits{
		"none":                               {},
		"announced, the newest":              {PerCommand: 100, Announce: true},
		"announced, and refused":             {PerCommand: 100, Announce: true, Refuse: true},
		"silent, the newest":                 {PerCommand: 100},
		"silent, the oldest":                 {PerCommand: 100, Oldest: true},
		"silent, less than a FETCH of texts": {PerCommand: 60},
		"a window that UIDONLY opens":        {PerCommand: 100, Announce: true, Window: 100, UIDOnly: true},
	}
}

// TestPastIsReadWholeInSlices: whatever a server answers one command for, all messages are
// read, each once, in the same order, by commands whose number grows with that of messages.
func TestPastIsReadWholeInSlices(t *testing.T) {
	sizes := testkit.Rounds(t, 2, 1)
	t.Parallel()
	for _, n := range []int{500, 5000}[:sizes] {
		for name, l := range limits() {
			t.Run(fmt.Sprint(n, " messages, limit ", name), func(t *testing.T) {
				t.Parallel()
				f := limited(t, n, l)
				r, h := readPast(t, only(f), HistoryOptions{}, nil, nil)
				var got, want []uint32
				for _, a := range arrivals(r.all()) {
					if string(a.Raw) == "" {
						t.Fatalf("UID %d came without its text", a.UID)
					}
					got = append(got, a.UID)
				}
				f.Lock()
				for _, m := range f.Messages {
					want = append(want, m.UID)
				}
				f.Unlock()
				if !slices.Equal(got, want) {
					t.Errorf("%d messages were read, want %d: %v …", len(got), n, got[:min(9, len(got))])
				}
				if hidden := h.Status().Looks; len(hidden) > 0 && hidden[inbox].Hidden != 0 {
					t.Errorf("%+v are said to be hidden", hidden)
				}
				// A search, a FETCH of flags and one of texts for each slice, and some more.
				f.Lock()
				defer f.Unlock()
				for command, most := range map[string]int{"UID SEARCH": n/60 + 3, "UID FETCH": 6*(n/60+1) + 3} {
					if c := l.Commands[command]; c > most {
						t.Errorf("%d commands %s, want %d at most", c, command, most)
					}
				}
			})
		}
	}
}

// TestNothingVanishesWhenLimitsBegin: a server that shows all its messages begins to keep
// limits while it is watched. Nothing is reported as vanished, the new message is, and
// what the owner does delete is again when all is shown.
func TestNothingVanishesWhenLimitsBegin(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]testkit.Limits{
		"silent, the newest": {PerCommand: 100},
		"silent, the oldest": {PerCommand: 100, Oldest: true},
		"hidden":             {PerCommand: 100, Hidden: 300},
		"all hidden":         {Hidden: 500},
		"a window":           {Window: 100},
		"UIDONLY":            {PerCommand: 100, Window: 100, UIDOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &testkit.Limits{UIDOnly: begin.UIDOnly}
			f := limited(t, 500, l)
			o := only(f)
			r := startSource(t, o)
			_, from := r.await("the end of the backlog", 0, cursorOf(inbox, 751))
			f.Lock()
			l.PerCommand, l.Oldest, l.Hidden, l.Window = begin.PerCommand, begin.Oldest, begin.Hidden, begin.Window
			f.Unlock()
			f.Bye("see you") // all is compared after the next login
			testkit.Until(t, func() bool { return f.Connections() > 1 && r.source.Status().Connected }, "no second connection")
			f.Lock()
			deleted := f.Messages[450].UID
			f.Messages = slices.Delete(f.Messages, 450, 451)
			l.Hidden = min(l.Hidden, len(f.Messages))
			f.Unlock()
			if begin.UIDOnly {
				f.Tell("* VANISHED %d", deleted)
			} else {
				f.Tell("* 1 EXPUNGE")
			}
			if begin.Hidden < 500 {
				uid := f.Add("Subject: new\r\n\r\n", "")
				f.Lock()
				f.Messages[len(f.Messages)-1].Date = ""
				f.Unlock()
				f.Tell("* %d EXISTS", 500)
				r.await("the new message", from, arrivalOf(inbox, uid))
			}
			f.Lock()
			l.PerCommand, l.Hidden, l.Window = 0, 0, 0
			f.Unlock()
			f.Bye("see you again")
			gone, _ := r.await("what was deleted", from, func(e ingest.Event) bool {
				_, ok := e.(ingest.Vanished)
				return ok
			})
			if v := gone.(ingest.Vanished); !slices.Equal(v.UIDs, []uint32{deleted}) {
				t.Errorf("%d messages vanished, want UID %d alone", len(v.UIDs), deleted)
			}
		})
	}
}
