package daemon

import (
	"context"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Status is what `hinged status` shows, and its --json.
type Status struct {
	Running  bool            `json:"running"` // whether a daemon answered; false: read from the store
	PID      int             `json:"pid,omitempty"`
	Version  string          `json:"version"`
	Accounts []AccountStatus `json:"accounts"`
}

// AccountStatus is one account's part. Every number is of committed state.
type AccountStatus struct {
	Account   string `json:"account"`
	Connected bool   `json:"connected"`
	// Problem says in words what is wrong; "" when all is well.
	Problem    string `json:"problem,omitempty"`
	Reconnects int    `json:"reconnects"`
	// Remaining counts messages that wait to be read for the first time.
	Remaining int `json:"remaining"`

	Messages uint64 `json:"messages"` // seen, own ones included
	Decided  uint64 `json:"decided"`
	Unsure   uint64 `json:"unsure"`

	Important     uint64 `json:"learnt_important"` // lessons
	Ordinary      uint64 `json:"learnt_ordinary"`
	NeedImportant int    `json:"need_important"` // lessons before anything is decided
	NeedOrdinary  int    `json:"need_ordinary"`
	Pending       int    `json:"pending_labels"` // wait for the settle window
	CleanUps      uint64 `json:"labels_withdrawn_as_clean_up"`
	Waiting       int    `json:"waiting_for_silence"` // messages without a label

	Mistakes       uint64  `json:"mistakes"`
	Updates        uint64  `json:"updates"`
	HingeLoss      float64 `json:"hinge_loss"`
	WrongDecisions uint64  `json:"wrong_decisions"`
	FalseAlarms    uint64  `json:"false_alarms"`
	Missed         uint64  `json:"missed"`

	Threshold float64 `json:"threshold"`
	Weights   int     `json:"weights"`

	MarksIntended  int    `json:"marks_intended"` // committed, not yet confirmed
	MarksConfirmed uint64 `json:"marks_confirmed"`
	MarksRefused   uint64 `json:"marks_refused"` // removed by the owner
	Shadow         string `json:"shadow"`
	// Marking says in words whether marks are set, and if not, what is missing.
	Marking string `json:"marking"`

	LastArrival *time.Time `json:"last_arrival,omitempty"`
	LastLesson  *time.Time `json:"last_lesson,omitempty"`

	Mailboxes []MailboxStatus `json:"mailboxes"`
}

// MailboxStatus is the position in one mailbox.
type MailboxStatus struct {
	Mailbox       string `json:"mailbox"`
	Role          string `json:"role"`
	UIDValidity   uint32 `json:"uidvalidity"`
	UIDNext       uint32 `json:"uidnext"`
	HighestModSeq uint64 `json:"highest_modseq"`
	Messages      int    `json:"messages"` // known places
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
	if p := a.currentProblem(); p != "" {
		s.Problem = p
	}
	return s
}

// summarise reads the numbers of an account from its filter.
func summarise(name string, f *filter.Filter) AccountStatus {
	st, o := f.State(), f.Options()
	acc := st.Account
	c := f.Counts()
	s := AccountStatus{
		Account: name, Messages: acc.Messages, Decided: acc.Decided, Unsure: acc.Unsure,
		Important: acc.Important, Ordinary: acc.Ordinary,
		NeedImportant: o.MinImportant, NeedOrdinary: o.MinOrdinary,
		Pending: c.Pending, CleanUps: acc.Bulk, Waiting: c.Waiting,
		Mistakes: acc.Mistakes, Updates: acc.Updates, HingeLoss: acc.HingeLoss,
		WrongDecisions: acc.FalseAlarms + acc.Missed, FalseAlarms: acc.FalseAlarms, Missed: acc.Missed,
		Threshold: c.Threshold, Weights: st.Weights.Len(),
		MarksIntended: c.Intended, MarksConfirmed: acc.Marked, MarksRefused: acc.Refused,
		Shadow: string(o.Shadow), Marking: f.Marking(),
		LastArrival: timeOf(acc.LastArrival), LastLesson: timeOf(acc.LastLesson),
		Mailboxes: []MailboxStatus{},
	}
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
	Account string `json:"account"`
	Model   string `json:"model"`
	State   string `json:"state"`
}

// Part is one feature's share of a score.
type Part struct {
	Name   string  `json:"feature"`
	Group  string  `json:"group"`
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
	Amount float64 `json:"amount"`
}

// Explanation is what `hinged explain` shows of one message.
type Explanation struct {
	Account   string     `json:"account"`
	Message   string     `json:"message"` // its key, in hexadecimal
	Arrived   *time.Time `json:"arrived,omitempty"`
	Outcome   string     `json:"outcome"`
	Reason    string     `json:"reason"`
	ScoreThen float64    `json:"score_at_arrival"`
	Threshold float64    `json:"threshold_at_arrival"`
	Label     string     `json:"label,omitempty"`
	Source    string     `json:"label_source,omitempty"`
	Score     float64    `json:"score"` // with the weights as they are now
	Now       float64    `json:"threshold"`
	Parts     []Part     `json:"parts"` // by descending |amount|; their sum is Score
}

// Classified is what `hinged classify` says of one message.
type Classified struct {
	File      string   `json:"file,omitempty"`
	Outcome   string   `json:"outcome"`
	Reason    string   `json:"reason"`
	Score     float64  `json:"score"`
	Threshold float64  `json:"threshold"`
	Defects   []string `json:"defects,omitempty"`
	Parts     []Part   `json:"parts,omitempty"`
}

// Verified is what `hinged verify` found.
type Verified struct {
	// Problems are what the store's own check found, in words.
	Problems []string         `json:"problems"`
	Accounts []VerifiedReplay `json:"accounts"`
	OK       bool             `json:"ok"`
}

// VerifiedReplay compares one account's state with a replay of its journal.
type VerifiedReplay struct {
	Account  string `json:"account"`
	From     uint64 `json:"journal_from"` // first entry replayed
	End      uint64 `json:"journal_end"`  // one past the last
	State    Digest `json:"state"`
	Replayed Digest `json:"replayed"`
	Equal    bool   `json:"equal"`
	Problem  string `json:"problem,omitempty"`
}

func partsOf(ex filter.Explanation) []Part {
	out := make([]Part, 0, len(ex.Parts))
	for _, c := range ex.Parts {
		name := c.Name
		if c.Index == model.Affine {
			name = "(always there)"
		}
		out = append(out, Part{Name: name, Group: c.Group.String(), Value: c.Value, Weight: c.Weight, Amount: c.Amount})
	}
	return out
}
