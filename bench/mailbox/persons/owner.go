// SPDX-License-Identifier: Apache-2.0

package persons

import (
	"math/rand/v2"
	"sort"
	"time"
)

// habits are how an owner treats mail. Shares are 0 to 1.
type habits struct {
	hours     []float64 // when the owner looks into the mailbox, on the clock, in order
	skipsDay  float64   // share of sessions left out
	answers   float64   // factor on how often a kind of mail is answered
	wait      float64   // hours until an answer, at the median
	opens     float64   // of unwanted machine mail, how much is opened
	opensAll  bool      // opens everything
	marksAll  bool      // the mail program marks everything as read on arrival
	stars     float64   // of wanted mail
	bins      float64   // of unwanted mail, deleted in the session that saw it
	cleans    float64   // of unwanted mail left, deleted at the next clean-up
	cleanDays float64   // days between two clean-ups
	clears    float64   // of what is unread then, marked as read at a clean-up
	archives  float64   // of read mail that stays
	files     float64   // of wanted machine mail
	forwards  float64   // of wanted mail that isn't answered
	noise     float64   // contrary acts
	takesOff  float64   // of wrong marks
	trash     float64   // days until the server empties Trash; 0: never
}

// arrival says what the owner's acts depend on.
type arrival struct {
	kind   string
	wanted bool
	liked  bool    // opened although it needs no mark
	person bool    // somebody wrote it
	answer float64 // how often such mail is answered
	junk   bool    // unasked for: spam, phishing
}

// timetable makes the sessions and the clean-ups of a life.
func (w *world) timetable(r *rand.Rand) {
	for day := w.begin; day.Before(w.end.AddDate(0, 0, 30)); day = day.AddDate(0, 0, 1) {
		for _, h := range w.h.hours {
			if r.Float64() < w.h.skipsDay {
				continue
			}
			w.sessions = append(w.sessions, day.Add(time.Duration((h+0.7*r.NormFloat64()*0.5)*float64(time.Hour))))
		}
	}
	sort.Slice(w.sessions, func(i, j int) bool { return w.sessions[i].Before(w.sessions[j]) })
	for i := 0; i < len(w.sessions); {
		w.cleanups = append(w.cleanups, w.sessions[i].Add(10*time.Minute))
		next := w.sessions[i].AddDate(0, 0, max(1, int(w.h.cleanDays*(0.5+r.Float64()))))
		i = sort.Search(len(w.sessions), func(k int) bool { return w.sessions[k].After(next) })
	}
}

// after returns the first of times that is after t, or t and a day if there is none.
func after(times []time.Time, t time.Time) time.Time {
	i := sort.Search(len(times), func(k int) bool { return times[k].After(t) })
	if i == len(times) {
		return t.Add(24 * time.Hour)
	}
	return times[i]
}

// handle decides what the owner does with a message that came to INBOX at at. It returns the
// acts in order of time, and when the owner answers (zero: never).
func (w *world) handle(r *rand.Rand, m arrival, at time.Time) (acts []Act, answered time.Time) {
	do := func(t time.Time, d Do) { acts = append(acts, Act{At: t, Do: d}) }
	h := w.h
	if h.marksAll {
		do(at.Add(time.Duration(2+r.IntN(50))*time.Second), Read)
	}
	seen := after(w.sessions, at.Add(time.Minute))
	seen = seen.Add(time.Duration(r.IntN(900)) * time.Second)
	contrary := r.Float64() < h.noise
	open := w.openShare(m)
	if contrary {
		open = 1 - open
	}
	opened := r.Float64() < open
	put := 0.15
	if !m.wanted {
		put = 0.35
	}
	when := seen
	if opened {
		for r.Float64() < put { // put off
			when = after(w.sessions, when).Add(time.Duration(r.IntN(900)) * time.Second)
		}
		if !h.marksAll {
			do(when, Read)
		}
	}
	if m.junk && !contrary && r.Float64() < 0.55 {
		do(when.Add(8*time.Second), ToJunk)
		return acts, answered
	}
	last := when
	if opened && r.Float64() < m.answer*h.answers {
		t := when.Add(4 * time.Minute)
		if r.Float64() < 0.6 {
			delay := time.Duration(h.wait * 1.6 * r.ExpFloat64() * float64(time.Hour))
			if r.IntN(8) == 0 {
				delay *= 8 // forgotten for days
			}
			t = after(w.sessions, when.Add(delay)).Add(time.Duration(r.IntN(1200)) * time.Second)
		}
		answered, last = t, t
		do(t, Answer)
	}
	star := 0.002
	if m.wanted {
		star = h.stars
	}
	if opened && r.Float64() < star {
		do(when.Add(20*time.Second), Star)
		if r.Float64() < 0.2 { // done with it
			do(after(w.sessions, last.Add(40*time.Hour)), Unstar)
		}
	}
	w.tidy(r, m, opened, contrary, last, do)
	return w.order(acts), answered
}

// order sorts acts and ends them with the move that ends a message, or with the life.
func (w *world) order(acts []Act) []Act {
	sort.SliceStable(acts, func(i, j int) bool { return acts[i].At.Before(acts[j].At) })
	for i, a := range acts {
		if a.At.After(w.end) {
			return acts[:i]
		}
		if a.Do == Delete || a.Do == ToJunk || a.Do == ToArchive || a.Do == ToFolder {
			return acts[:i+1]
		}
	}
	return acts
}

// openShare is how likely the owner opens a message.
func (w *world) openShare(m arrival) float64 {
	switch {
	case w.h.opensAll:
		return 1
	case m.wanted && m.person:
		return 0.97
	case m.wanted:
		return 0.9
	case m.liked:
		return 0.75
	case m.person:
		return 0.7
	case m.junk:
		return 0.15
	}
	return w.h.opens
}

// tidy is where a message ends: deleted, archived, filed, or left where it is.
func (w *world) tidy(r *rand.Rand, m arrival, opened, contrary bool, last time.Time, do func(time.Time, Do)) {
	h := w.h
	soon := last.Add(time.Duration(5+r.IntN(60)) * time.Second)
	sweep := after(w.cleanups, last.Add(6*time.Hour)).Add(time.Duration(r.IntN(40)) * time.Second)
	keep := m.wanted != contrary
	switch {
	case keep && r.Float64() < h.files && !m.person:
		do(soon, ToFolder)
	case keep && opened && r.Float64() < h.archives:
		do(sweep, ToArchive)
	case keep:
		if r.Float64() < 0.06 {
			do(sweep.AddDate(0, 0, 20), Delete)
		}
	case m.person && r.Float64() < 0.5: // kept for politeness' sake
		if opened && r.Float64() < h.archives {
			do(sweep, ToArchive)
		}
	case r.Float64() < h.bins:
		do(soon, Delete)
	case r.Float64() < h.cleans:
		do(sweep, Delete)
	case opened && r.Float64() < h.archives:
		do(sweep, ToArchive)
	case !opened && !h.marksAll && r.Float64() < h.clears:
		do(sweep, Read) // "mark all as read"
	}
}
