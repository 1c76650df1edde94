// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"fmt"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/stream"
)

// GetStatus says how every account is doing.
var GetStatus = looking("status", func(ctx context.Context, h Host) (Status, error) { return h.Status(ctx) })

// Status is what `hinged status` shows, and its --json.
type Status struct {
	Running  bool            `json:"running"`          // whether a daemon answered; false: read from the store
	PID      int             `json:"pid,omitempty"`    // the process number of the daemon
	Version  string          `json:"version"`          // of the program that answered
	Accounts []AccountStatus `json:"accounts"`         // in order of name; those of a stream only while they are few
	Stream   *stream.Status  `json:"stream,omitempty"` // Stream is how the accounts are doing whose mail comes through Kafka.
}

// AccountStatus is one account's part. Every number is of committed state.
type AccountStatus struct {
	Account string `json:"account"` // its name
	Doing   string `json:"doing"`   // Doing says in one sentence what it is doing.
	// InSnapshot: it is still in the snapshot that its partition was taken over
	// with, and none of the numbers are here.
	InSnapshot  bool       `json:"in_snapshot,omitempty"`
	Warnings    []string   `json:"warnings"`               // Warnings say in words what the owner should look into.
	Connected   bool       `json:"connected"`              // whether the mail server answers now
	Paused      bool       `json:"paused"`                 // Paused: the owner has switched the account off; `hinged resume` ends it.
	PausedSince *time.Time `json:"paused_since,omitempty"` // PausedSince is when.
	// ConsentNeeded: the provider of the mail takes no token until the owner logs in
	// there again.
	ConsentNeeded bool   `json:"consent_needed"`
	Problem       string `json:"problem,omitempty"` // Problem says in words what is wrong; "" when all is well.
	Reconnects    int    `json:"reconnects"`        // connections made after the first
	Remaining     int    `json:"remaining"`         // Remaining counts messages that wait to be read for the first time.

	Messages uint64 `json:"messages"` // seen, own ones included
	Decided  uint64 `json:"decided"`  // messages decided; own ones and those of excluded mailboxes are not
	Unsure   uint64 `json:"unsure"`   // of those decided, the unsure

	Important     uint64 `json:"learnt_important"`             // lessons that said important
	Ordinary      uint64 `json:"learnt_ordinary"`              // lessons that said ordinary
	NeedImportant int    `json:"need_important"`               // important lessons before anything is decided
	NeedOrdinary  int    `json:"need_ordinary"`                // ordinary lessons before anything is decided
	Pending       int    `json:"pending_labels"`               // labels that wait for the settle window to end
	CleanUps      uint64 `json:"labels_withdrawn_as_clean_up"` // labels that taught nothing, as too many came at once
	Waiting       int    `json:"waiting_for_silence"`          // messages without a label, which silence will make ordinary

	Mistakes       uint64  `json:"mistakes"`        // lessons on which the score was on the wrong side of 0, or 0
	Updates        uint64  `json:"updates"`         // lessons that moved the weights
	HingeLoss      float64 `json:"hinge_loss"`      // summed over all lessons
	Judged         int     `json:"judged"`          // messages decided whose label is known by now
	WrongDecisions uint64  `json:"wrong_decisions"` // false alarms and missed together
	FalseAlarms    uint64  `json:"false_alarms"`    // decided important, learnt as ordinary
	Missed         uint64  `json:"missed"`          // learnt as important, not decided so

	Threshold float64 `json:"threshold"`          // the score above which a message is important
	Weights   int     `json:"weights"`            // features with a weight
	Supports  int     `json:"supports,omitempty"` // examples of a kernel learner, which has no such weights

	Rules []RuleStatus `json:"rules,omitempty"` // the owner's rules in force; the first that matches decides
	// RulesOfTopic: they came as records of a topic, and stand in for those of the
	// configuration.
	RulesOfTopic bool `json:"rules_of_topic,omitempty"`

	MarksIntended  int    `json:"marks_intended"`  // marks committed, not yet confirmed by the server
	MarksConfirmed uint64 `json:"marks_confirmed"` // marks that the server has confirmed, since the first start
	MarksRefused   uint64 `json:"marks_refused"`   // marks that the owner took off
	MarksUndone    uint64 `json:"marks_undone"`    // marks that hinged took back when the owner asked for that
	Shadow         string `json:"shadow"`          // auto, on or off, as configured
	Marking        string `json:"marking"`         // Marking says in words whether marks are set, and if not, what is missing.
	InShadow       bool   `json:"in_shadow"`       // decisions are recorded, nothing is marked
	// EndOfShadow says in words what would end the shadow; "" when there is none
	// or only the configuration can.
	EndOfShadow string         `json:"end_of_shadow,omitempty"`
	Standing    StandingStatus `json:"standing"` // how good the decisions are

	LastArrival *time.Time `json:"last_arrival,omitempty"` // when the newest message arrived
	LastLesson  *time.Time `json:"last_lesson,omitempty"`  // when something was learnt last

	Mailboxes []MailboxStatus `json:"mailboxes"` // those watched, in order of name
}

// RuleStatus is one of the owner's rules.
type RuleStatus struct {
	Match  string  `json:"match"`  // such as from:ann@example.org
	Label  string  `json:"label"`  // important or ordinary: always
	Weight float64 `json:"weight"` // of the feature that it asks for
}

func rulesOf(f *filter.Filter) (out []RuleStatus, ofTopic bool) {
	rules, ofTopic := f.Rules()
	for _, r := range rules {
		out = append(out, RuleStatus{r.Match, r.Label.String(), f.Alone().Get(featurize.IndexOf(r.Match))})
	}
	return out, ofTopic
}

// MailboxStatus is the position in one mailbox.
type MailboxStatus struct {
	Mailbox       string `json:"mailbox"`        // its name
	Role          string `json:"role"`           // inbox, sent, junk, trash, archive, important, drafts or other
	UIDValidity   uint32 `json:"uidvalidity"`    // of IMAP; it changes when the server numbers the mailbox anew
	UIDNext       uint32 `json:"uidnext"`        // the lowest UID that was not read yet
	HighestModSeq uint64 `json:"highest_modseq"` // changes up to this number of IMAP CONDSTORE were seen; 0: the server has none
	Messages      int    `json:"messages"`       // messages known to be there
}

// Summarise reads the numbers of an account from its filter.
func Summarise(name string, f *filter.Filter) AccountStatus {
	st, o := f.State(), f.Options()
	acc := st.Account
	c := f.Counts()
	s := AccountStatus{
		Account: name, Paused: acc.Paused, PausedSince: TimeOf(acc.PausedSince),
		Messages: acc.Messages, Decided: acc.Decided, Unsure: acc.Unsure,
		Important: acc.Important, Ordinary: acc.Ordinary,
		NeedImportant: o.MinImportant, NeedOrdinary: o.MinOrdinary,
		Pending: c.Pending, CleanUps: acc.Bulk, Waiting: c.Waiting,
		Mistakes: acc.Mistakes, Updates: acc.Updates, HingeLoss: acc.HingeLoss,
		Judged: c.Judged, WrongDecisions: acc.FalseAlarms + acc.Missed, FalseAlarms: acc.FalseAlarms, Missed: acc.Missed,
		Threshold: c.Threshold, Weights: f.Size().Weights, Supports: f.Size().Supports,
		MarksIntended: c.Intended, MarksConfirmed: acc.Marked, MarksRefused: acc.Refused, MarksUndone: acc.Undone,
		Shadow: string(o.Shadow), Marking: f.Marking(),
		InShadow: f.InShadow(), EndOfShadow: f.EndOfShadow(), Standing: standingOf(f.Standing()), Warnings: f.Warnings(),
		LastArrival: TimeOf(acc.LastArrival), LastLesson: TimeOf(acc.LastLesson),
		Mailboxes: []MailboxStatus{},
	}
	s.Doing = doing(&s, f)
	s.Rules, s.RulesOfTopic = rulesOf(f)
	for _, name := range st.Boxes.Keys() {
		b, _ := st.Boxes.Get(name)
		s.Mailboxes = append(s.Mailboxes, MailboxStatus{
			Mailbox: name, Role: ingest.Role(b.Role).String(), UIDValidity: b.UIDValidity,
			UIDNext: b.UIDNext, HighestModSeq: b.HighestModSeq, Messages: c.Places[name],
		})
	}
	return s
}

// SummariseStreamed is Summarise for an account that has no mail server.
func SummariseStreamed(name string, f *filter.Filter) AccountStatus {
	a := Summarise(name, f)
	if a.InShadow {
		a.Doing = "in shadow: it decides and learns, and says of nothing that it is to be marked"
	} else if f.Trained() {
		a.Doing = "deciding, and learning"
	}
	return a
}

// StandingStatus compares the decisions with the baselines over the last labels,
// each message as it was judged when it arrived.
type StandingStatus struct {
	Labels    int     `json:"labels"`    // labels compared, at most 2,000
	Important int     `json:"important"` // of those, the important
	F1        float64 `json:"f1"`        // of the decisions; of those that would have been taken while too little was learnt
	Precision float64 `json:"precision"` // of the decisions
	Recall    float64 `json:"recall"`    // of the decisions
	// KnownCorrespondentsF1 is the F1 of calling important what comes from an
	// address that the owner had written to before. Never important has 0.
	KnownCorrespondentsF1 float64 `json:"known_correspondents_f1"`
	Beats                 bool    `json:"beats_baselines"` // whether F1 is better than both; a tie is not
}

func standingOf(s filter.Standing) StandingStatus {
	return StandingStatus{
		Labels: s.Labels, Important: s.Important, F1: s.Decisions.F1(), Precision: s.Decisions.Precision(),
		Recall: s.Decisions.Recall(), KnownCorrespondentsF1: s.Correspondents.F1(), Beats: s.Beats(),
	}
}

// doing says in one sentence what an account is at, from its numbers.
func doing(s *AccountStatus, f *filter.Filter) string {
	switch {
	case f.State().Account.Paused:
		return "paused: it reads nothing and marks nothing until you resume it"
	case s.Decided == 0 && s.Messages == 0:
		return "starting: it has seen no mail yet"
	case s.InShadow:
		return "in shadow: it decides and learns, and marks nothing"
	case !f.Trained():
		return "learning: it has not learnt enough to decide, so it marks nothing"
	case len(f.Options().Marks) == 0 && f.Options().CopyTo == "":
		return "deciding and learning; no mark is configured"
	}
	if n, long := f.Passed(); long {
		return fmt.Sprintf("marking and learning, but it found none of the last %d messages important", n)
	}
	return "marking important mail, and learning"
}

// NoteConnection adds to the sentence, and to the warnings, how the connection is.
func (s *AccountStatus) NoteConnection() {
	if s.Remaining > 0 {
		s.Doing += fmt.Sprintf("; it still has to read %d older messages", s.Remaining)
	}
	if !s.Connected && !s.Paused {
		why := ""
		if s.Problem != "" {
			why = ": " + s.Problem
		}
		s.Warnings = append([]string{"not connected to the mail server" + why}, s.Warnings...)
		if s.ConsentNeeded {
			s.Doing = "CONSENT NEEDED: log in with your mail provider again; hinged then continues by itself"
		}
	}
}
