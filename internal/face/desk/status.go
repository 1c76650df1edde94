// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
)

// GetStatus says how every account is doing.
var GetStatus = offer(Verb[None, Status]{
	Name: "status", do: func(ctx context.Context, h Host, _ string, _ None) (Status, error) { return h.Status(ctx) },
	API: &API{Summary: "How every account is doing that you may use", Reads: true, Figures: true, All: true},
})

// GetAccount says how one account is doing.
var GetAccount = offer(Verb[None, AccountStatus]{
	Name: "account", do: ofAccount(func(ctx context.Context, a Account, _ None) (AccountStatus, error) { return a.Status(ctx) }),
	API: &API{Summary: "How one account is doing", Reads: true, Figures: true},
})

// Status is what `hinged status` prints, also with --json.
type Status struct {
	Running   bool            `json:"running"`             // whether a daemon answered; if not, the status was read from the store
	PID       int             `json:"pid,omitempty"`       // process ID of the daemon
	Version   string          `json:"version"`             // version of the program that answered
	Warnings  []string        `json:"warnings"`            // Warnings say in words what the operator of the daemon should look into.
	Backups   *BackupStatus   `json:"backups,omitempty"`   // Backups is the status of the backups that the daemon makes by itself.
	Dashboard string          `json:"dashboard,omitempty"` // Dashboard is the address of the pages for a browser; absent if there are none.
	Accounts  []AccountStatus `json:"accounts"`            // accounts sorted by name; accounts of a stream only if there are few
	Stream    *stream.Status  `json:"stream,omitempty"`    // Stream is the status of the accounts whose mail comes through Kafka.
	Milter    *MilterStatus   `json:"milter,omitempty"`    // Milter is the status of the filter for a mail server; absent if there is none.
}

// MilterStatus is the status of the filter for a mail server, since the daemon started.
type MilterStatus struct {
	Socket      string            `json:"socket"`      // where it listens
	Connections int64             `json:"connections"` // open connections of mail servers
	Messages    map[string]uint64 `json:"messages"`    // messages by result; only those of decided got a header
}

// BackupStatus is the status of the backups that the daemon makes by itself.
type BackupStatus struct {
	Directory    string     `json:"directory"`         // directory of the backups
	EverySeconds float64    `json:"every_seconds"`     // time between two backups; 0 if none are made
	Kept         int        `json:"kept"`              // number of backups in the directory
	Newest       *time.Time `json:"newest,omitempty"`  // time of the newest backup
	File         string     `json:"file,omitempty"`    // file of the newest backup
	Problem      string     `json:"problem,omitempty"` // Problem says in words why the last backup failed; "" if it didn't.
}

// AccountStatus is the status of one account. Every number is about committed state.
type AccountStatus struct {
	Account string `json:"account"` // name of the account
	Doing   string `json:"doing"`   // Doing says in one sentence what the account is doing.
	// InSnapshot reports whether the account's state is still in the snapshot from which
	// its partition was taken over. None of the numbers are available then.
	InSnapshot    bool       `json:"in_snapshot,omitempty"`
	Warnings      []string   `json:"warnings"`               // Warnings say in words what the owner should look into.
	Connected     bool       `json:"connected"`              // whether the mail server responds at present
	Paused        bool       `json:"paused"`                 // Paused reports whether the owner has paused the account; `hinged resume` ends the pause.
	PausedSince   *time.Time `json:"paused_since,omitempty"` // PausedSince is when the pause began.
	ConsentNeeded bool       `json:"consent_needed"`         // ConsentNeeded reports whether the mail provider accepts no token until the owner logs in there again.
	// LoginRefused reports whether the mail server refuses the login until somebody
	// steps in: a wrong password, none at all, or no way to log in that both sides know.
	LoginRefused bool       `json:"login_refused"`
	Problem      string     `json:"problem,omitempty"`    // Problem says in words what is wrong; "" if nothing is.
	DownSince    *time.Time `json:"down_since,omitempty"` // DownSince is when the connection to the mail server was lost; absent while there is one.
	Reconnects   int        `json:"reconnects"`           // number of connections after the first one
	Remaining    int        `json:"remaining"`            // Remaining counts messages that have not been read yet.

	Messages uint64 `json:"messages"` // messages seen, including the owner's own
	Decided  uint64 `json:"decided"`  // messages decided; the owner's own and those in excluded mailboxes are not decided
	Unsure   uint64 `json:"unsure"`   // decided messages that were unsure

	Important uint64 `json:"learnt_important"` // lessons with the label important
	Ordinary  uint64 `json:"learnt_ordinary"`  // lessons with the label ordinary
	// KnownImportant is how many messages are known to be important, of those that the
	// threshold is judged by; in shadow the first marks come with need_important of them.
	KnownImportant int        `json:"known_important"`
	NeedImportant  int        `json:"need_important,omitempty"`     // absent once marks are set
	Pending        int        `json:"pending_labels"`               // labels whose settle window has not ended yet
	SettledBy      *time.Time `json:"settled_by,omitempty"`         // SettledBy is when the last of them counts unless the owner takes it back; absent without any.
	CleanUps       uint64     `json:"labels_withdrawn_as_clean_up"` // labels that taught nothing because too many arrived at once
	Waiting        int        `json:"waiting_for_silence"`          // messages without a label; silence will make them ordinary
	Unknown        uint64     `json:"unknown"`                      // messages about which silence said nothing: personal letters that were read and kept

	Reading ReadingStatus `json:"reading"` // what is learnt from what the owner reads

	Mistakes  uint64  `json:"mistakes"`   // lessons whose score was on the wrong side of 0, or exactly 0
	Updates   uint64  `json:"updates"`    // lessons that moved the weights
	HingeLoss float64 `json:"hinge_loss"` // hinge loss summed over all lessons

	Threshold float64 `json:"threshold"`          // a message with a higher score is important
	Weights   int     `json:"weights"`            // number of features with a weight
	Supports  int     `json:"supports,omitempty"` // number of examples that a kernel learner keeps instead of weights

	Rules []RuleStatus `json:"rules,omitempty"` // the owner's rules in force; the first that matches decides
	// RulesOfTopic reports whether the rules came as records of a topic. Such rules
	// replace those of the configuration.
	RulesOfTopic bool `json:"rules_of_topic,omitempty"`

	LedgerEntries  int    `json:"ledger_entries"`  // messages of which the ledger knows marks that were set or intended
	MarksIntended  int    `json:"marks_intended"`  // marked messages that the server has not confirmed yet
	MarksConfirmed uint64 `json:"marks_confirmed"` // marks that the server has confirmed since the first start
	MarksRefused   uint64 `json:"marks_refused"`   // marks that the owner removed
	MarksUndone    uint64 `json:"marks_undone"`    // marks that hinged removed at the owner's request
	Shadow         string `json:"shadow"`          // the configured value: auto, on or off
	Marking        string `json:"marking"`         // Marking says in words whether marks are set and, if not, what is missing.
	InShadow       bool   `json:"in_shadow"`       // whether hinged only records decisions and sets no marks
	// EndOfShadow says in words what would end the shadow; "" if there is no shadow or
	// only the configuration can end it.
	EndOfShadow string `json:"end_of_shadow,omitempty"`
	Questions   int    `json:"questions"` // Questions is how many messages of the last four weeks a label would teach something about; 0 during a pause. See Invitation.
	// WouldMark counts, in shadow, the messages of late that hinged would have marked, without
	// those that the owner called ordinary since.
	WouldMark   int       `json:"would_mark,omitempty"`
	WouldMarked []string  `json:"would_marked,omitempty"` // keys of the newest of them, in hexadecimal
	Judgement   Judgement `json:"judgement"`              // how good the decisions are
	// Withheld counts the messages of the last seven days that are important and were left
	// unmarked, or were not decided, by the reason, the most frequent first.
	Withheld []Withheld `json:"withheld,omitempty"`

	LastArrival *time.Time `json:"last_arrival,omitempty"` // arrival of the newest message
	LastLesson  *time.Time `json:"last_lesson,omitempty"`  // time of the last lesson

	AddressBook *AddressBookStatus `json:"address_book,omitempty"` // AddressBook is what is known of the owner's address book; absent without one.

	Mailboxes []MailboxStatus `json:"mailboxes"` // the watched mailboxes, sorted by name
}

// ReadingStatus says how much reading tells of what an owner wants.
type ReadingStatus struct {
	Tells float64 `json:"tells"` // from 0, nothing, to 1
	Words string  `json:"words"` // the same in words, with the reason
}

// AddressBookStatus says what is known of the owner's address book.
type AddressBookStatus struct {
	Addresses int        `json:"addresses"`               // addresses that are known from it
	Read      *time.Time `json:"read,omitempty"`          // Read is when the daemon last read all of it; absent if it has not yet since its start.
	Skipped   int        `json:"cards_skipped,omitempty"` // cards and addresses that could not be used
	Problem   string     `json:"problem,omitempty"`       // Problem says in words why it could not be read last; "" if it could.
}

// Words says that in a line.
func (b *AddressBookStatus) Words() string {
	s := fmt.Sprintf("%d %s of your address book", b.Addresses, plural(b.Addresses, "address", "addresses"))
	if b.Read != nil {
		s += ", read " + Moment(b.Read)
	}
	if b.Skipped > 0 {
		s += fmt.Sprintf("; %d cards could not be used", b.Skipped)
	}
	return s
}

// RuleStatus is one of the owner's rules.
type RuleStatus struct {
	Match  string  `json:"match"`  // the condition, such as from:ann@example.org
	Label  string  `json:"label"`  // label of every message that matches: important or ordinary
	Weight float64 `json:"weight"` // weight of the feature that the rule matches
}

func rulesOf(f *filter.Filter) (out []RuleStatus, ofTopic bool) {
	rules, ofTopic := f.Explainer.Rules()
	for _, r := range rules {
		out = append(out, RuleStatus{r.Match, r.Label.String(), f.Explainer.Alone().Get(featurize.IndexOf(r.Match))})
	}
	return out, ofTopic
}

// MailboxStatus is the status of one mailbox.
type MailboxStatus struct {
	Mailbox       string `json:"mailbox"`        // name of the mailbox
	Role          string `json:"role"`           // inbox, sent, junk, trash, archive, important, drafts or other
	UIDValidity   uint32 `json:"uidvalidity"`    // UIDVALIDITY of IMAP; it changes if the server renumbers the mailbox
	UIDNext       uint32 `json:"uidnext"`        // the lowest UID not read yet
	HighestModSeq uint64 `json:"highest_modseq"` // changes up to this number (IMAP CONDSTORE) were seen; 0 if the server doesn't support CONDSTORE
	Messages      int    `json:"messages"`       // number of messages known to be in the mailbox
	// LookedAt is when the mail server last answered about the mailbox; absent if it has not
	// since the daemon or its connection settings began.
	LookedAt  *time.Time `json:"looked_at,omitempty"`
	Listening bool       `json:"listening,omitempty"` // Listening reports whether the mail server tells of changes by itself since then.
}

// Summarise reads the numbers of an account from its filter.
func Summarise(name string, f *filter.Filter) AccountStatus {
	st, o := f.State(), f.Options()
	acc := st.Account
	c := f.Status.Counts()
	s := AccountStatus{
		Account: name, Paused: acc.Paused, PausedSince: TimeOf(acc.PausedSince),
		Messages: acc.Messages, Decided: acc.Decided, Unsure: acc.Unsure,
		Important: acc.Important, Ordinary: acc.Ordinary,
		KnownImportant: f.Line().Standing().Important,
		Pending:        c.Pending, SettledBy: TimeOf(c.Settled), CleanUps: acc.Bulk, Waiting: c.Waiting,
		Mistakes: acc.Mistakes, Updates: acc.Updates, HingeLoss: acc.HingeLoss,
		LedgerEntries: c.Entries, Threshold: c.Threshold, Weights: f.State().Weights.Len(), Supports: f.State().Supports.Len(),
		MarksIntended: c.Intended, MarksConfirmed: acc.Marked, MarksRefused: acc.Refused, MarksUndone: acc.Undone,
		Shadow: string(o.Shadow), Marking: words.Marking(f),
		InShadow: f.Line().InShadow(), EndOfShadow: words.EndOfShadow(f), Judgement: JudgementOf(f), Withheld: withheldOf(f), Warnings: words.Warnings(f),
		LastArrival: TimeOf(acc.LastArrival), LastLesson: TimeOf(acc.LastLesson),
		Mailboxes: []MailboxStatus{},
	}
	if n := st.Book.Len(); n > 0 {
		s.AddressBook = &AddressBookStatus{Addresses: n}
	}
	s.Unknown = uint64(c.Unknown)
	s.Reading.Tells, s.Reading.Words = words.Reading(f)
	s.Doing = doing(&s, f)
	if s.InShadow {
		s.NeedImportant = filter.FirstLabels
		s.noteWould(f)
	}
	if !acc.Paused {
		s.Questions = len(f.Messages.Askable(acc.Clock.Add(-AskDays * 24 * time.Hour)).Messages)
	}
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

// mostWould is of how many messages WouldMark is a count, and mostNamed how many are named.
const (
	mostWould = 1000
	mostNamed = 5
)

func (s *AccountStatus) noteWould(f *filter.Filter) {
	for _, k := range f.Messages.WouldMark(mostWould) {
		if m, _ := f.State().Messages.Get(string(k[:])); filter.Stands(&m) != store.DecidedImportant {
			continue
		}
		if s.WouldMark++; s.WouldMark <= mostNamed {
			s.WouldMarked = append(s.WouldMarked, hexKey(k))
		}
	}
}

// SummariseStreamed is Summarise for an account that has no mail server.
func SummariseStreamed(name string, f *filter.Filter) AccountStatus {
	a := Summarise(name, f)
	if a.InShadow {
		a.Doing = "in shadow: it decides and learns, and says of nothing that it is to be marked"
	} else if f.Line().Trained() {
		a.Doing = "deciding, and learning"
	}
	return a
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
	case !f.Line().Trained():
		return "learning: it has not learnt enough to decide, so it marks nothing"
	case len(f.Options().Marks) == 0 && f.Options().CopyTo == "":
		return "deciding and learning; no mark is configured"
	}
	if n, long := f.Status.Passed(); long {
		return fmt.Sprintf("marking and learning, but it found none of the last %d messages important", n)
	}
	return "marking important mail, and learning"
}

// NoteLooks notes when each mailbox was last looked at.
func (s *AccountStatus) NoteLooks(looks map[string]ingest.Look) {
	s.Mailboxes = slices.Clone(s.Mailboxes)
	for i := range s.Mailboxes {
		m := &s.Mailboxes[i]
		if l, ok := looks[m.Mailbox]; ok {
			m.LookedAt, m.Listening = &l.At, l.Listening
		}
	}
}

// NoteConnection adds to the sentence, and to the warnings, how the connection is. mend says
// what to do if consent is needed.
func (s *AccountStatus) NoteConnection(mend string) {
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
			s.Doing = "CONSENT NEEDED: " + mend + "; hinged then continues by itself"
		}
	}
}

// Kafka says how the stream is doing, in sentences: the first is what it does, the others
// are what waits and what is wrong. nil: there is no stream.
func (s *Status) Kafka() []string {
	t := s.Stream
	if t == nil {
		return nil
	}
	out := []string{t.Doing}
	if s.Running && !t.CaughtUp() {
		out = append(out, "waiting: "+t.Waits())
	}
	if t.Problem != "" {
		out = append(out, t.Problem)
	}
	for i := range t.Partitions {
		if p := t.Partitions[i].Problem; p != "" {
			out = append(out, p)
		}
	}
	return out
}
