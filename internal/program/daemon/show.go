// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"encoding/hex"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// most marks whose confirmation is awaited, to be shown with it.
const mostAwaited = 1000

// shows tells Options.Show what an account does, once that is committed. The zero value
// tells nobody.
type shows struct {
	show   func(desk.Shown)
	scored func(desk.Scored) // nil: decisions are not reported
	// awaited are the messages whose marks the server has not confirmed, by the number
	// of the mark.
	awaited map[uint64]desk.Shown
	// resumed are marks that an earlier run of the program meant to set: the first of
	// each message.
	resumed map[uint64]bool
	barred  bool // need of consent was shown last, and not yet its end
}

// showConsent shows that consent is needed when that begins, and when it ends.
func (a *account) showConsent() {
	s, deed := a.source.Status(), desk.DeedConsented
	if a.shows.show == nil || s.ConsentNeeded == a.shows.barred || !s.ConsentNeeded && !s.Connected {
		return
	}
	if a.shows.barred = s.ConsentNeeded; a.shows.barred {
		deed = desk.DeedBarred
	}
	a.shows.show(desk.Shown{Account: a.opts.Name, Deed: deed, Message: desk.AboutConsent, Why: []string{a.opts.mend()}})
}

// mend says what an owner has to do whose consent is needed.
func (o *AccountOptions) mend() string {
	if o.Consent == "" {
		return "log in with your mail provider again"
	}
	return "run `" + o.Consent + "`"
}

// intents are the marks that the source has to set or to take back at its start.
func (a *account) intents() []ingest.MarkRequest {
	if a.alone {
		return a.filter.Ledger().Undo.Requests()
	}
	a.resume(a.filter.Ledger().Intents())
	return a.filter.Ledger().Intents()
}

// resume has the confirmation of marks shown that were not confirmed when the source
// last ran. What their messages were about is not known any more where that was in
// another process.
func (a *account) resume(intents []ingest.MarkRequest) {
	a.shows.resumed = map[uint64]bool{}
	if a.shows.show == nil {
		return
	}
	seen := map[string]bool{}
	for _, s := range a.shows.awaited {
		seen[s.Message] = true
	}
	for _, r := range intents {
		e, ok := a.filter.State().Ledger.Get(store.LedgerKey(r.ID))
		if key := hexOf(e.Message); ok && !r.Clear && !seen[key] {
			seen[key], a.shows.resumed[r.ID] = true, true
		}
	}
}

// resumed is what is shown of a mark that an earlier run of the program meant to set.
func (a *account) resumed(id uint64) (desk.Shown, bool) {
	e, ok := a.filter.State().Ledger.Get(store.LedgerKey(id))
	if !ok || !a.shows.resumed[id] {
		return desk.Shown{}, false
	}
	s := desk.Shown{Account: a.opts.Name, Deed: desk.DeedMarked, Message: hexOf(e.Message)}
	if m, ok := a.filter.State().Messages.Get(string(e.Message[:])); ok {
		s.Score, s.Threshold, s.Probability = m.Score, m.Threshold, float64(m.Probability)
	}
	if x, err := a.work.Features(e.Message); err == nil {
		s.From = words.GistOf(x).From
	}
	return s, true
}

func (a *account) noteScored(r *filter.Result, took time.Duration) {
	if a.shows.scored == nil || r.Decision == nil || r.Decision.Outcome == store.Undecided {
		return
	}
	s := desk.Scored{Account: a.opts.Name, Outcome: r.Decision.Outcome.String(), Took: took}
	a.notes = append(a.notes, func() { a.shows.scored(s) })
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
	s := desk.Shown{Account: a.opts.Name, Deed: desk.DeedOrdinary, Message: hexOf(d.Message), Score: d.Score, Threshold: d.Threshold, From: m.FromName, Subject: m.Subject}
	if len(m.From) > 0 && (s.From == "" || !m.Vouched) {
		s.From = m.From[0]
	}
	if d.Outcome != store.DecidedOrdinary {
		s.Why = a.reasons(arrived, r)
	}
	switch {
	case d.Outcome == store.DecidedUnsure:
		s.Deed = desk.DeedUnsure
	case d.Outcome == store.DecidedImportant && len(r.Marks) > 0:
		if a.shows.awaited == nil || len(a.shows.awaited) >= mostAwaited {
			a.shows.awaited = map[uint64]desk.Shown{}
		}
		s.Deed = desk.DeedMarked
		a.shows.awaited[r.Marks[0].ID] = s
		return
	case d.Outcome == store.DecidedImportant:
		s.Deed = desk.DeedImportant
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
	why := words.ReasonsOf(r.Features, a.filter.Explainer.Parts(r.Features), a.filter.People.Correspondence(e.Meta.From), false)
	return words.Texts(why.For)
}

func (a *account) showMark(m ingest.MarkResult) {
	if a.shows.show != nil && m.Clear && m.Outcome == ingest.MarkDone {
		e, _ := a.filter.State().Ledger.Get(store.LedgerKey(m.ID))
		s := desk.Shown{Account: a.opts.Name, Deed: desk.DeedUndone, Message: hexOf(e.Message)}
		a.notes = append(a.notes, func() { a.shows.show(s) })
		return
	}
	s, ok := a.shows.awaited[m.ID]
	if !ok && a.shows.show != nil && !m.Clear {
		s, ok = a.resumed(m.ID)
	}
	if !ok || m.Clear {
		return
	}
	if m.Outcome == ingest.MarkConflict {
		return // it is tried again
	}
	delete(a.shows.awaited, m.ID)
	delete(a.shows.resumed, m.ID)
	if m.Outcome != ingest.MarkDone {
		s.Deed, s.Why = desk.DeedImportant, []string{"not marked: " + cmp.Or(m.Detail, "it is not there any more")}
	}
	a.notes = append(a.notes, func() { a.shows.show(s) })
}

// showLessons notes what was learnt. The subject is gone; what the account keeps of its
// words is shown instead.
func (a *account) showLessons(r *filter.Result) {
	if a.shows.show == nil {
		return
	}
	zero := a.filter.Options().Learner.Zero
	for _, l := range r.Lessons {
		if !l.Learnt() {
			continue
		}
		s := desk.Shown{Account: a.opts.Name, Deed: desk.DeedLearnt, Message: hexOf(l.Message), Label: l.Label.String(), Source: l.Source.String()}
		s.Score, s.Mistake, s.Loss = l.Score, zero.Mistake(l.Label, l.Score), model.HingeLoss(l.Label, l.Score)
		if called := l.Outcome == store.DecidedImportant; called != (l.Label == model.Important) && l.Outcome != store.DecidedUnsure {
			s.Deed = desk.DeedCorrected
		}
		if l.Source <= store.SourceSilence {
			s.Deed = desk.DeedSilence
		} else if x, err := a.work.Features(l.Message); err == nil {
			gist := words.GistOf(x)
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

func hexOf(k store.MessageKey) string { return hex.EncodeToString(k[:]) }
