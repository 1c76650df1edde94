// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/reason"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Deed says what the daemon did.
type Deed uint8

// The deeds.
const (
	DeedMarked    Deed = iota // a mark is on the message: the server has confirmed it
	DeedImportant             // decided important, and not marked
	DeedUnsure
	DeedOrdinary
	DeedLearnt    // from what the owner did
	DeedCorrected // likewise, against the decision at arrival
	DeedSilence   // learnt from the owner's silence
)

// Shown is one thing that the daemon did, for the owner's eyes: it has words of the mail.
// Whoever gets it shows it and keeps nothing of it.
type Shown struct {
	Account string
	Deed    Deed
	// From is the sender's name, or the address where there is none or the name is
	// not vouched for. "" where words are not kept.
	From string
	// Subject is the decoded subject; of a deed of learning words of it, perhaps in
	// another order than there.
	Subject string
	Label   string   // learnt: important or ordinary
	Source  string   // learnt: what the owner did, as store.Source names it
	Why     []string // what speaks for it, or why there is no mark, in words
}

// most marks whose confirmation is awaited, to be shown with it.
const mostAwaited = 1000

// shows tells Options.Show what an account does, once that is committed. The zero value
// tells nobody.
type shows struct {
	show func(Shown)
	// awaited are the messages whose marks the server has yet to confirm, by the number
	// of the mark.
	awaited map[uint64]Shown
}

// showDecision notes a decision about the message of e. Mail that was there before the
// first start is shown only where it is marked.
func (a *account) showDecision(e filter.Event, r *filter.Result) {
	arrived, ok := e.(*filter.Arrived)
	if a.shows.show == nil || !ok || r.Decision == nil || arrived.Message == nil {
		return
	}
	if arrived.Backlog && len(r.Marks) == 0 {
		return
	}
	m, d := arrived.Message, r.Decision
	s := Shown{Account: a.opts.Name, Deed: DeedOrdinary, From: m.FromName, Subject: m.Subject}
	if len(m.From) > 0 && (s.From == "" || m.Doubtful) {
		s.From = m.From[0]
	}
	if d.Outcome != store.DecidedOrdinary {
		s.Why = a.reasons(arrived, r)
	}
	switch {
	case d.Outcome == store.DecidedUnsure:
		s.Deed = DeedUnsure
	case d.Outcome == store.DecidedImportant && len(r.Marks) > 0:
		if a.shows.awaited == nil || len(a.shows.awaited) >= mostAwaited {
			a.shows.awaited = map[uint64]Shown{}
		}
		s.Deed = DeedMarked
		a.shows.awaited[r.Marks[0].ID] = s
		return
	case d.Outcome == store.DecidedImportant:
		s.Deed = DeedImportant
		if d.Reason != store.ReasonThreshold && d.Reason != store.ReasonRule {
			s.Why = []string{"not marked: " + d.Reason.String()}
		}
	}
	a.notes = append(a.notes, func() { a.shows.show(s) })
}

// reasons are what speaks for the message of e, in words.
func (a *account) reasons(e *filter.Arrived, r *filter.Result) []string {
	if rule := r.Decision.Rule; rule != nil {
		return []string{"your rule " + rule.Match}
	}
	why := reason.Of(r.Features, a.filter.Parts(r.Features), a.filter.Correspondence(e.Meta.From), false)
	return reason.Texts(why.For)
}

// showMark notes what became of a mark.
func (a *account) showMark(m ingest.MarkResult) {
	s, ok := a.shows.awaited[m.ID]
	if !ok || m.Clear {
		return
	}
	if m.Outcome == ingest.MarkConflict {
		return // it is tried again
	}
	delete(a.shows.awaited, m.ID)
	if m.Outcome != ingest.MarkDone {
		s.Deed, s.Why = DeedImportant, []string{"not marked: " + cmp.Or(m.Detail, "it is not there any more")}
	}
	a.notes = append(a.notes, func() { a.shows.show(s) })
}

// showLessons notes what was learnt. The subject is gone; what the account keeps of its
// words is shown instead.
func (a *account) showLessons(r *filter.Result) {
	if a.shows.show == nil {
		return
	}
	for _, l := range r.Lessons {
		if !l.Learnt() {
			continue
		}
		s := Shown{Account: a.opts.Name, Deed: DeedLearnt, Label: l.Label.String(), Source: l.Source.String()}
		if called := l.Outcome == store.DecidedImportant; called != (l.Label == model.Important) && l.Outcome != store.DecidedUnsure {
			s.Deed = DeedCorrected
		}
		if l.Source <= store.SourceSilence {
			s.Deed = DeedSilence
		} else if x, err := a.work.Features(l.Message); err == nil {
			gist := x.Gist()
			s.From = gist.From
			for i, word := range gist.Subject {
				if i > 0 {
					s.Subject += " "
				}
				s.Subject += word
			}
		}
		a.notes = append(a.notes, func() { a.shows.show(s) })
	}
}
