package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/store"
)

// Status is what `hinged status` shows, and its --json.
type Status struct {
	Running  bool            `json:"running"`       // whether a daemon answered; false: read from the store
	PID      int             `json:"pid,omitempty"` // the process number of the daemon
	Version  string          `json:"version"`       // of the program that answered
	Accounts []AccountStatus `json:"accounts"`      // in order of name; those of a stream only while they are few
	// Stream is how the accounts are doing whose mail comes through Kafka.
	Stream *StreamStatus `json:"stream,omitempty"`
}

// AccountStatus is one account's part. Every number is of committed state.
type AccountStatus struct {
	Account string `json:"account"` // its name
	// Doing says in one sentence what it is doing.
	Doing string `json:"doing"`
	// InSnapshot: it is still in the snapshot that its partition was taken over
	// with, and none of the numbers are here.
	InSnapshot bool `json:"in_snapshot,omitempty"`
	// Warnings say in words what the owner should look into.
	Warnings  []string `json:"warnings"`
	Connected bool     `json:"connected"` // whether the mail server answers now
	// Paused: the owner has switched the account off; `hinged resume` ends it.
	Paused bool `json:"paused"`
	// PausedSince is when.
	PausedSince *time.Time `json:"paused_since,omitempty"`
	// Problem says in words what is wrong; "" when all is well.
	Problem    string `json:"problem,omitempty"`
	Reconnects int    `json:"reconnects"` // connections made after the first
	// Remaining counts messages that wait to be read for the first time.
	Remaining int `json:"remaining"`

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
	// Marking says in words whether marks are set, and if not, what is missing.
	Marking  string `json:"marking"`
	InShadow bool   `json:"in_shadow"` // decisions are recorded, nothing is marked
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

// statusPatience is how long status waits for the writer before it shows the
// numbers of last time: a disk that refuses must not hide that it does.
const statusPatience = 500 * time.Millisecond

// status gives the committed numbers and how the connection is doing.
func (a *account) status(ctx context.Context) AccountStatus {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	fresh := make(chan AccountStatus, 1)
	if err := a.do(ctx, func() error { fresh <- summarise(a.opts.Name, a.filter); return nil }); err == nil {
		s := <-fresh
		a.report.Store(&s)
	}
	s := *a.report.Load()
	src := a.source.Status()
	s.Connected, s.Reconnects, s.Remaining = src.Connected, src.Reconnects, src.Remaining
	s.Problem = src.Problem
	if s.Paused { // what the source last said is of before
		s.Connected, s.Remaining, s.Problem = false, 0, ""
	}
	if p := a.currentProblem(); p != "" {
		s.Problem = p
	}
	s.Warnings = slices.Clone(s.Warnings)
	s.connection()
	return s
}

// summarise reads the numbers of an account from its filter.
func summarise(name string, f *filter.Filter) AccountStatus {
	st, o := f.State(), f.Options()
	acc := st.Account
	c := f.Counts()
	s := AccountStatus{
		Account: name, Paused: acc.Paused, PausedSince: timeOf(acc.PausedSince),
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
		LastArrival: timeOf(acc.LastArrival), LastLesson: timeOf(acc.LastLesson),
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

func timeOf(m store.Moment) *time.Time {
	if m == 0 {
		return nil
	}
	t := m.Time()
	return &t
}

// Digest is what `hinged digest` prints of one account.
type Digest struct {
	Account string `json:"account"` // its name
	Model   string `json:"model"`   // of the weights, hexadecimal
	State   string `json:"state"`   // of the whole state, hexadecimal
	// InSnapshot: the account is still in the snapshot that its partition was taken
	// over with; the digests are empty.
	InSnapshot bool `json:"in_snapshot,omitempty"`
}

// Verified is what `hinged verify` found.
type Verified struct {
	// Problems are what the store's own check found, in words.
	Problems []string         `json:"problems"`
	Accounts []VerifiedReplay `json:"accounts"` // one replay each, in order of name
	OK       bool             `json:"ok"`       // nothing is wrong
}

// VerifiedReplay compares one account's state with a replay of its journal.
type VerifiedReplay struct {
	Account  string `json:"account"`           // its name
	From     uint64 `json:"journal_from"`      // first entry replayed
	End      uint64 `json:"journal_end"`       // one past the last
	State    Digest `json:"state"`             // the digests of what is committed
	Replayed Digest `json:"replayed"`          // the digests of what the replay gave
	Equal    bool   `json:"equal"`             // whether the two are the same
	Problem  string `json:"problem,omitempty"` // why the replay stopped
	// InSnapshot: some of the account is still in the snapshot that its partition was
	// taken over with, so that nothing was compared. That is nothing wrong.
	InSnapshot bool `json:"in_snapshot,omitempty"`
}

// StillInSnapshot says what that means and what ends it.
const StillInSnapshot = "still in the snapshot that its partition was taken over with; `hinged run` brings it in"
