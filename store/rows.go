// SPDX-License-Identifier: Apache-2.0

// Long: the rows of an account's state are read side by side, as no two fields of one may
// share a number.

package store

import (
	"math"

	"github.com/hinged/hinged/model"
)

// The records below are the rows of an account's state. They are written as
// CBOR in its core deterministic encoding (RFC 8949, section 4.2.1) with the
// integer keys given in the tags; a number, once released, keeps its meaning.
//
// A field that holds a moment of the account clock is of type Moment: the
// digest leaves those out, since two runs over the same mail see the same
// changes at different moments. So it does with fields tagged digest:"-".

// MessageKey identifies a message within its account: the first 16 bytes of the
// SHA-256 of its content. Equal content is the same message wherever it lies.
type MessageKey [16]byte

// ID is a 64-bit hash of a Message-ID, a sender's address or a thread.
type ID uint64

// Outcome is what was decided of a message at its arrival.
type Outcome uint8

// The outcomes.
const (
	Undecided Outcome = iota // own mail and mail of excluded folders
	DecidedOrdinary
	DecidedUnsure
	DecidedImportant
)

func (o Outcome) String() string {
	switch o {
	case DecidedImportant:
		return "important"
	case DecidedUnsure:
		return "unsure"
	case DecidedOrdinary:
		return "ordinary"
	default:
		return "undecided"
	}
}

// Source says where a label came from.
type Source uint8

// The sources of labels, weakest first save for the last three; a label never displaces
// one of a stronger source. See Outranks.
const (
	SourceNone        Source = iota
	SourceProvisional        // nothing was done with it for some hours: taken back when something is
	SourceSilence            // nothing was done with it for the silence period
	SourceAnswered           // the owner answered it
	SourceMoved              // the owner moved it to or from Junk or Trash, or deleted it unread
	SourceJunk               // the owner set or cleared $Junk
	SourceFlagged            // the owner starred it
	SourceMark               // the owner set or removed the mark
	SourceExplicit           // the owner said so on the command line, or an archive's label; as strong as SourceMark
	SourceMuted              // the owner muted it ($Muted); as strong as SourceJunk
	SourceForwarded          // the owner passed it on; weaker than SourceAnswered
	SourceRead               // the owner read and kept it; as strong as SourceSilence
	SourceLetter             // the owner answered a letter of ours about it; as strong as SourceJunk
	SourceFound              // a flag that it had when it was first seen, perhaps the owner's; as strong as SourceSilence
)

// Outranks reports whether a label from s is stronger than one from o.
func (s Source) Outranks(o Source) bool { return s.rank() > o.rank() }

func (s Source) rank() Source {
	switch s {
	case SourceExplicit:
		s = SourceMark // both are the owner's word, of which the last holds
	case SourceMuted, SourceLetter:
		s = SourceJunk
	case SourceForwarded:
		return 2*SourceSilence + 1
	case SourceRead, SourceFound:
		s = SourceSilence
	}
	return 2 * s
}

func (s Source) String() string {
	return [...]string{"none", "provisional", "silence", "answered", "moved", "junk", "flagged", "mark", "explicit", "muted", "forwarded", "read", "letter", "found"}[min(s, SourceFound)]
}

// Account is the one row of counters and clocks.
type Account struct {
	Clock       Moment  `cbor:"1,keyasint,omitempty"`            // running maximum of event times
	ClockDay    int32   `cbor:"2,keyasint,omitempty" digest:"-"` // last day the owner was active, days since 1970 in the account's time zone; not in the digest
	ActiveDays  uint32  `cbor:"3,keyasint,omitempty" digest:"-"` // days on which the owner was active; not in the digest
	Messages    uint64  `cbor:"4,keyasint,omitempty"`            // messages seen, own ones included
	Decided     uint64  `cbor:"5,keyasint,omitempty"`
	Important   uint64  `cbor:"6,keyasint,omitempty"` // lessons learnt with that label
	Ordinary    uint64  `cbor:"7,keyasint,omitempty"`
	Mistakes    uint64  `cbor:"8,keyasint,omitempty"`
	Updates     uint64  `cbor:"9,keyasint,omitempty"`
	HingeLoss   float64 `cbor:"10,keyasint,omitempty"`
	Unsure      uint64  `cbor:"13,keyasint,omitempty"` // decided unsure
	Marked      uint64  `cbor:"14,keyasint,omitempty"` // marks confirmed on the server
	Refused     uint64  `cbor:"15,keyasint,omitempty"` // marks that the owner removed
	LedgerNext  uint64  `cbor:"16,keyasint,omitempty"` // number of the next ledger entry
	Scores      uint64  `cbor:"17,keyasint,omitempty"` // scores ever put into the window Recent
	Labels      uint64  `cbor:"18,keyasint,omitempty"` // labels ever put into the window Labelled
	LastLesson  Moment  `cbor:"19,keyasint,omitempty"`
	LastArrival Moment  `cbor:"20,keyasint,omitempty"`
	Displaced   float64 `cbor:"21,keyasint,omitempty"` // D: summed norm of changes of w that are no lesson's step, Projected aside
	MaxNorm     float64 `cbor:"22,keyasint,omitempty"` // R: the greatest ‖x‖ learnt from
	Bulk        uint64  `cbor:"27,keyasint,omitempty"` // labels withdrawn because they were a clean-up
	Owed        float64 `cbor:"26,keyasint,omitempty"` // marks that a budget still allows; negative: set too many

	// CalledShare is the share of the messages decided by their score alone that were
	// called important, an exponentially weighted mean; 0 to 1. Calls are those since
	// CallsSince, which are not in it yet, and CallsImportant those of them that were
	// called important.
	CalledShare    float64 `cbor:"30,keyasint,omitempty"`
	CallsSince     Moment  `cbor:"31,keyasint,omitempty"` // 0: none was decided so
	Calls          uint32  `cbor:"32,keyasint,omitempty"`
	CallsImportant uint32  `cbor:"33,keyasint,omitempty"`

	Paused      bool   `cbor:"28,keyasint,omitempty"` // switched off by the owner
	PausedSince Moment `cbor:"29,keyasint,omitempty"`
	// Restored: the account came out of a backup or an export once, so that not
	// every mark of its own is in the ledger.
	Restored bool `cbor:"50,keyasint,omitempty"`
	// Undone counts marks that were taken back because the owner asked for that.
	Undone uint64 `cbor:"51,keyasint,omitempty"`

	// Proven: marks were set once it could be told how often they would be right.
	Proven bool `cbor:"40,keyasint,omitempty"`
	// ProvenAt is when Proven became true.
	ProvenAt Moment `cbor:"65,keyasint,omitempty"`
	// HeardDay and HeardSeq are ActiveDays and Messages when the owner's last
	// word was learnt; silence is none.
	HeardDay uint32 `cbor:"41,keyasint,omitempty" digest:"-"`
	HeardSeq uint64 `cbor:"42,keyasint,omitempty" digest:"-"`
	// UnheardDays counts the days on which the owner changed keywords that mean
	// nothing to us, since the last word was learnt; UnheardDay is ActiveDays on the
	// last of them, UnheardFlag the last keyword.
	UnheardDays uint32 `cbor:"90,keyasint,omitempty" digest:"-"`
	UnheardDay  uint32 `cbor:"91,keyasint,omitempty" digest:"-"`
	UnheardFlag string `cbor:"92,keyasint,omitempty" digest:"-"`
	// Awaited is since when a lesson is awaited: since the first arrival that was no
	// backlog, or since lessons were last taken back.
	Awaited Moment `cbor:"93,keyasint,omitempty" digest:"-"`
	// Strangers counts marks that were taken for another program's.
	Strangers uint64 `cbor:"43,keyasint,omitempty" digest:"-"`
	// StrangerAt is when the last of them was seen; Twins counts those that another
	// hinged set.
	StrangerAt Moment `cbor:"94,keyasint,omitempty" digest:"-"`
	Twins      uint64 `cbor:"95,keyasint,omitempty" digest:"-"`
	// TwinMarks are flags that appeared together with a companion keyword that this
	// account did not set: another hinged marks with them. Canonical.
	TwinMarks []string `cbor:"97,keyasint,omitempty" digest:"-"`
	// Hasty is by how much more marks came at the pace of a program than otherwise, at
	// least 0; HastyAt is when the last of them did.
	Hasty   uint32 `cbor:"110,keyasint,omitempty"`
	HastyAt Moment `cbor:"111,keyasint,omitempty"`
	// Uncounted: the row of a sender was dropped from whose messages lessons were learnt,
	// so that nobody knows how many were of a sender without a row.
	Uncounted bool `cbor:"98,keyasint,omitempty"`
	// CleanUp is the last one.
	CleanUp CleanUp `cbor:"96,keyasint,omitzero" digest:"-"`
	// HistoryFrom is where the reading of the mailbox's past began; 0: it was not
	// read, or all of it.
	HistoryFrom Moment `cbor:"44,keyasint,omitempty"`

	// EarlyNext is the number of the next feedback that has to wait for its message.
	EarlyNext uint64 `cbor:"60,keyasint,omitempty"`
	// Projected is the summed norm of the changes of w that keep it to the rules.
	// RuledSince: after so many lessons the rules were what they are now, and no
	// projection onto others followed.
	Projected  float64 `cbor:"82,keyasint,omitempty"`
	RuledSince uint64  `cbor:"83,keyasint,omitempty"`
	// Kernel is what a kernel learner keeps beside State.Supports.
	Kernel model.KernelTally `cbor:"70,keyasint,omitzero"`
	// WindowNext is the number of the next lesson of State.Window, Replayed that of the
	// next step of a dual learner's replay, and Dual what its ceiling needs.
	WindowNext uint64          `cbor:"72,keyasint,omitempty"`
	Replayed   uint64          `cbor:"73,keyasint,omitempty"`
	Dual       model.DualTally `cbor:"74,keyasint,omitzero"`
	// Reading counts what the owner read, and what not. ReadRun are the messages
	// that were read last, at once.
	Reading Reading `cbor:"76,keyasint,omitzero"`
	ReadRun ReadRun `cbor:"77,keyasint,omitzero" digest:"-"`
	// LastActive is when the owner was last seen to be active.
	LastActive Moment `cbor:"75,keyasint,omitempty"`
	// Anew counts how often learning began anew, for another kernel.
	Anew uint32 `cbor:"71,keyasint,omitempty"`

	// Entries counts the entries of the journal, ever. What was learnt after the first
	// Reach.Entries of them can be taken back; NextReach is what Reach will be when enough
	// entries, or enough time, lie behind that.
	Entries   uint64 `cbor:"100,keyasint,omitempty" digest:"-"`
	Reach     Reach  `cbor:"101,keyasint,omitzero" digest:"-"`
	NextReach Reach  `cbor:"102,keyasint,omitzero" digest:"-"`
	// Rewrites counts the requests to take something back that were carried out, which stand
	// in no journal.
	Rewrites uint64 `cbor:"103,keyasint,omitempty" digest:"-"`

	SentDay   int32  `cbor:"23,keyasint,omitempty" digest:"-"` // day that SentToday counts; not in the digest
	SentToday uint32 `cbor:"24,keyasint,omitempty" digest:"-"` // marks intended on that day; not in the digest
}

// Settings are what the owner or their configuration chose, encoded by the filter. They have a
// row of their own, as that of the account is in every redo record.
type Settings struct {
	Options []byte `cbor:"1,keyasint,omitempty"` // empty before the first event
	// Ruled: the owner's rules came as an event, and are Rules; else they are those of the
	// options.
	Ruled bool   `cbor:"2,keyasint,omitempty"`
	Rules []byte `cbor:"3,keyasint,omitempty"`
}

// Reach is how far back something can be taken back: to where so many journal entries had
// been applied, by when the account's clock stood at Clock. It moves with events alone, so
// whether a request can be carried out does not depend on when anything was committed.
type Reach struct {
	Entries uint64 `cbor:"1,keyasint,omitempty"`
	Clock   Moment `cbor:"2,keyasint,omitempty"`
}

// Sender is what the account remembers of one address, from earlier mail only.
type Sender struct {
	Received uint32 `cbor:"1,keyasint,omitempty"`  // messages from it
	Answered uint32 `cbor:"2,keyasint,omitempty"`  // of those, how many the owner answered
	Written  uint32 `cbor:"3,keyasint,omitempty"`  // messages of the owner to it
	Seq      uint64 `cbor:"4,keyasint"`            // Account.Messages at the last change: the least goes first when full
	Lessons  uint32 `cbor:"10,keyasint,omitempty"` // learnt from its messages and not taken back
	// Uncounted: the row may have been dropped before, so that more lessons were perhaps
	// learnt from its messages.
	Uncounted bool `cbor:"11,keyasint,omitempty"`
	// What the owner did with messages from it that are counted by what that was: see Handling.
	Read     uint32 `cbor:"12,keyasint,omitempty"`
	Binned   uint32 `cbor:"13,keyasint,omitempty"`
	Unread   uint32 `cbor:"14,keyasint,omitempty"`
	Wanted   uint32 `cbor:"15,keyasint,omitempty"`
	Unwanted uint32 `cbor:"16,keyasint,omitempty"`
	// Home is whose the name is, where the row is that of a name and not of an address. Firm: a
	// sender whom the owner trusts has it.
	Home ID   `cbor:"17,keyasint,omitempty"`
	Firm bool `cbor:"18,keyasint,omitempty"`
}

// Reading counts messages by what the owner did with them: the last ones, some hundreds.
type Reading struct {
	Read   uint32 `cbor:"1,keyasint,omitempty"` // read by themselves, and kept
	Done   uint32 `cbor:"4,keyasint,omitempty"` // read, and thrown away before long
	Passed uint32 `cbor:"2,keyasint,omitempty"` // left unread while newer mail was read, or thrown away unread
	Newest uint64 `cbor:"3,keyasint,omitempty"` // Message.Seq of the newest that was read
}

// ReadRun are messages that were read at once: by one command, or within a settle window.
type ReadRun struct {
	Batch ID           `cbor:"1,keyasint,omitempty"` // the command that read the last; 0: not known
	Since Moment       `cbor:"2,keyasint,omitempty"` // when the first was read, or, where they are many, the last; 0: not seen live
	Keys  []MessageKey `cbor:"3,keyasint,omitempty"` // while they are few
	Many  bool         `cbor:"4,keyasint,omitempty"` // too many to have been read one by one
}

// Handling is what the owner did with a message, as far as their next messages from the same
// sender are judged by it. A message has one; what is said outranks what is done.
type Handling uint8

// What an owner does with a message.
const (
	HandledNothing  Handling = iota // nothing that is known
	HandledRead                     // read and kept
	HandledBinned                   // deleted or archived unread
	HandledUnread                   // left unread while newer mail was read
	HandledWanted                   // starred, marked, or called important
	HandledUnwanted                 // the mark taken off, junk, muted, or called ordinary
	HandledDone                     // read, and deleted before long
)

// Handled returns where messages that were handled so are counted; nil: nowhere.
func (s *Sender) Handled(what Handling) *uint32 {
	switch what {
	case HandledRead:
		return &s.Read
	case HandledBinned:
		return &s.Binned
	case HandledUnread:
		return &s.Unread
	case HandledWanted:
		return &s.Wanted
	case HandledUnwanted:
		return &s.Unwanted
	default:
		return nil
	}
}

// Thread is what the account remembers of one thread.
type Thread struct {
	Messages uint32 `cbor:"1,keyasint,omitempty"`
	ByOwner  uint32 `cbor:"2,keyasint,omitempty"`
	Answered uint32 `cbor:"3,keyasint,omitempty"` // messages of others in it that the owner answered
	Since    uint32 `cbor:"4,keyasint,omitempty"` // messages since the owner's last
	Seq      uint64 `cbor:"5,keyasint"`
}

// KnownID is what the account remembers of one Message-ID.
type KnownID struct {
	Thread   ID         `cbor:"1,keyasint,omitempty"`
	Sender   ID         `cbor:"2,keyasint,omitempty"`
	Message  MessageKey `cbor:"3,keyasint,omitempty"`
	Seq      uint64     `cbor:"4,keyasint"`
	Own      bool       `cbor:"5,keyasint,omitempty"`
	Answered bool       `cbor:"6,keyasint,omitempty"`
	// Doubtful: nobody vouches for Sender, of whom nothing was counted.
	Doubtful bool `cbor:"7,keyasint,omitempty"`
	// Credited is the sender for whom the answer was counted, if that is another one or
	// Sender is Doubtful: the owner answered another message with this Message-ID.
	Credited ID `cbor:"8,keyasint,omitempty"`
}

// Pending is a label that has not yet stood for the settle window.
type Pending struct {
	Label  model.Label `cbor:"1,keyasint,omitempty"` // 0: none
	Source Source      `cbor:"2,keyasint,omitempty"`
	Since  Moment      `cbor:"3,keyasint,omitempty"`
	// Single: it was given to this message alone, however many others came with it.
	Single bool `cbor:"4,keyasint,omitempty" digest:"-"`
	// Batch names the command that changed the message, with all that it changed;
	// 0: not known.
	Batch ID `cbor:"5,keyasint,omitempty" digest:"-"`
	// Back: the label is learnt, and to be taken back.
	Back bool `cbor:"6,keyasint,omitempty"`
}

// CleanUp is a group of alike labels that were dropped because they were too many to
// be opinions; the zero value is none.
type CleanUp struct {
	Label  model.Label `cbor:"1,keyasint,omitempty"`
	Source Source      `cbor:"2,keyasint,omitempty"`
	Batch  ID          `cbor:"3,keyasint,omitempty"`
	Last   Moment      `cbor:"4,keyasint,omitempty"` // when the last label of it was given
}

// Message is what the account remembers of one message.
type Message struct {
	Seq       uint64  `cbor:"1,keyasint"` // its number in order of arrival, from 1
	ID        ID      `cbor:"2,keyasint,omitempty"`
	Sender    ID      `cbor:"3,keyasint,omitempty"`
	Arrived   Moment  `cbor:"4,keyasint,omitempty"`
	Outcome   Outcome `cbor:"5,keyasint,omitempty"`
	Score     float64 `cbor:"6,keyasint,omitempty"`
	Threshold float64 `cbor:"7,keyasint,omitempty"`
	// Probability is how likely it was important, by its score; 0: too little was known to say.
	Probability float32     `cbor:"71,keyasint,omitempty"`
	Label       model.Label `cbor:"8,keyasint,omitempty"` // last label learnt, 0: none
	Source      Source      `cbor:"9,keyasint,omitempty"`
	Pending     Pending     `cbor:"10,keyasint,omitempty"`
	Reason      Reason      `cbor:"11,keyasint,omitempty"` // why the outcome is not the threshold's alone
	// SilenceFrom is Account.ActiveDays when waiting for silence began, plus 1; 0
	// when silence is not waited for. Not in the digest: it tells moments.
	SilenceFrom uint32 `cbor:"12,keyasint,omitempty" digest:"-"`
	// Quiet says what the owner's silence of the first hours is to teach.
	Quiet Quiet `cbor:"16,keyasint,omitempty"`
	// Replayed is Account.Replayed when it was decided.
	Replayed uint64 `cbor:"18,keyasint,omitempty"`
	// Seen: the owner has read it.
	Seen bool `cbor:"17,keyasint,omitempty"`
	// Role is the ingest.Role of the mailbox where its latest copy appeared.
	Role uint8 `cbor:"13,keyasint,omitempty"`
	// Copies counts its places.
	Copies uint32 `cbor:"14,keyasint,omitempty"`
	// Own: the owner wrote it. Claimed: From says so, and nobody vouches for it.
	Own     bool `cbor:"15,keyasint,omitempty"`
	Claimed bool `cbor:"19,keyasint,omitempty"`
	// Above: its score alone called it important. Correspondent: the owner had
	// written to its sender before it came.
	Above         bool `cbor:"20,keyasint,omitempty"`
	Correspondent bool `cbor:"21,keyasint,omitempty"`
	// Lessons counts those learnt from it and not taken back.
	Lessons uint32 `cbor:"30,keyasint,omitempty"`
	// Unlearnt is a label that was taken back with what was learnt of it: seen once
	// more on a copy it is nothing new.
	Unlearnt model.Label `cbor:"31,keyasint,omitempty"`
	// LeftAlone: it bore a mark of ours, and nothing was done with it; or it was sent to many,
	// read and kept. That teaches nothing, and yet it counts as ordinary.
	LeftAlone bool `cbor:"32,keyasint,omitempty"`
	// Rule is the index of the feature that the rule asks for which decided it; 0:
	// none did. Vouched: the owner's server vouched for the address in From.
	Rule    model.Index `cbor:"60,keyasint,omitempty"`
	Vouched bool        `cbor:"61,keyasint,omitempty"`
	// Topic is that of featurize.Message, for what others wrote.
	Topic ID `cbor:"62,keyasint,omitempty"`
	// Personal is that of featurize.Message.
	Personal bool `cbor:"63,keyasint,omitempty"`
	// Lookalike: a server found it forged, or its sender uses names that are known from
	// elsewhere.
	Lookalike bool `cbor:"67,keyasint,omitempty"`
	// Domain is a hash of the domain in From; 0: it came through a list, or there is none.
	// Passed is featurize.Guise.Passed.
	Domain ID   `cbor:"68,keyasint,omitempty"`
	Passed bool `cbor:"69,keyasint,omitempty"`
	// Handled is what its sender's row counts it as.
	Handled Handling `cbor:"64,keyasint,omitempty"`
	// Together: it was marked as read with many others at once, or before it was first seen.
	// ReadAt is when it was read, where that is what is waited for from then on.
	Together bool   `cbor:"65,keyasint,omitempty" digest:"-"`
	ReadAt   Moment `cbor:"66,keyasint,omitempty"`
	// Heard are the flags that a copy of it was seen with, as far as they say anything
	// of the message, and that were not seen to be taken off: a copy that brings them
	// along says nothing new. Canonical.
	Heard []string `cbor:"70,keyasint,omitempty"`
	// NoAnswer: it answers nobody. What others wrote comes from a program (featurize.Message), what
	// the owner did only passes something on. Asks is that of featurize.Message, for what the owner wrote.
	NoAnswer bool `cbor:"73,keyasint,omitempty"`
	Asks     bool `cbor:"74,keyasint,omitempty"`
	// Done is Account.Messages when the owner said that nothing is left to answer; 0: never.
	Done uint64 `cbor:"75,keyasint,omitempty"`
	// Came is when it came, by its source, where that was before Arrived, and at most a week; else 0.
	Came Moment `cbor:"76,keyasint,omitempty"`
	// Foreign: the flags that it was first seen with may not have been the owner's.
	Foreign bool `cbor:"72,keyasint,omitempty"`
}

// Quiet is what the silence about a message is waited for, long before it is final.
type Quiet uint8

// What is waited for.
const (
	QuietNothing Quiet = iota
	QuietHours         // for a provisional label
	QuietDays          // as it is marked, for one that weighs less
	QuietUnknown       // nothing: it was final, and nobody knows what it said
)

// Reason tells why a decision or the absence of a mark is not the threshold's
// doing alone.
type Reason uint8

// The reasons.
const (
	ReasonThreshold Reason = iota
	ReasonTooFewLabels
	ReasonBand    // within the unsure band
	ReasonRefused // the owner once removed the mark from it
	ReasonBudget  // the day's budget was spent
	ReasonBacklog // it was there before hinged was
	ReasonShadow  // shadow mode
	ReasonOwner   // the owner has marked it already, or said no
	ReasonDuplicate
	ReasonHandedOver // the owner handed it over with a label; it has no place
	ReasonRule       // a rule of the owner's
	ReasonOld        // it was older than Options.MarkWithin when it was found
	ReasonRead       // the owner had read it before it was found
	ReasonClaimed    // From says that the owner wrote it, and nobody vouches for that
	ReasonLookalike  // its sender may not be who it seems to be
	ReasonStranger   // its sender is new
)

func (r Reason) String() string {
	return [...]string{"threshold", "too few labels yet", "within the unsure band",
		"the owner removed this mark before", "daily budget spent", "was there before the first start", "shadow",
		"the owner had labelled it", "another copy was decided before", "handed over with a label", "rule",
		"it was old when it was found", "it had been read before it was found", "it claims to be from the owner",
		"its sender may not be who it seems to be", "its sender is new"}[min(r, ReasonStranger)]
}

// Place is one copy of a message on the server.
type Place struct {
	Message MessageKey `cbor:"1,keyasint"`
	// Flags as last handled, canonical (lower case, sorted); what they taught is
	// learnt or pending.
	Flags []string `cbor:"2,keyasint,omitempty"`
	// Own are those of Flags that somebody else set on this very copy of a message
	// on which the ledger has the same mark.
	Own []string `cbor:"3,keyasint,omitempty"`
	// Letter is the Message-ID of a letter of ours that asks something; 0: it is none.
	Letter ID `cbor:"4,keyasint,omitempty"`
}

// Mailbox is the position in one mailbox. What the server chose freely
// (UIDVALIDITY, MODSEQ) is not in the digest: a lower MODSEQ costs a re-read,
// never correctness.
type Mailbox struct {
	UIDValidity   uint32 `cbor:"1,keyasint" digest:"-"`
	UIDNext       uint32 `cbor:"2,keyasint"` // every message below it was handled
	HighestModSeq uint64 `cbor:"3,keyasint,omitempty" digest:"-"`
	// Role is the mailbox's ingest.Role.
	Role uint8 `cbor:"4,keyasint,omitempty"`
	// BacklogBefore is the UIDNEXT that the mailbox had when it was first opened;
	// 0: not known yet, or there was no backlog.
	BacklogBefore uint32 `cbor:"5,keyasint,omitempty"`
	// RestoredBefore: a mark on a message below it may have been set by a daemon
	// whose state is lost, so that it is nobody's word. RestoredPending until the
	// source has said where the mailbox ends.
	RestoredBefore uint32 `cbor:"6,keyasint,omitempty"`
	// Labels: it is one label of several that a message may have; see
	// ingest.MailboxOpened.
	Labels bool `cbor:"7,keyasint,omitempty"`
}

// RestoredPending is the RestoredBefore of a mailbox that was not opened since
// its account came out of a backup or an export.
const RestoredPending = math.MaxUint32

// LedgerState is how far a mark has come.
type LedgerState uint8

// The states of a ledger entry.
const (
	MarkIntended  LedgerState = iota + 1 // committed; the STORE may or may not have happened
	MarkConfirmed                        // re-read and seen
	MarkAbandoned                        // could not be set: message gone, keyword refused, or the owner was first
	MarkRefused                          // the owner removed it
	MarkUndoing                          // to be taken back; that may or may not have happened
	MarkUndone                           // taken back by us
	CopyGone                             // a copy that is not where it was put any more
	LetterSending                        // a letter of ours is about to be put into a mailbox, or is there
	LetterSent                           // it is there, or was
	LetterUnsent                         // it could not be put there
)

func (s LedgerState) String() string {
	return [...]string{"", "intended", "confirmed", "abandoned", "refused", "undoing", "undone", "gone", "sending", "sent", "unsent"}[min(s, LetterUnsent)]
}

// LedgerEntry records one mark that we set, or meant to set; or a letter that we wrote.
type LedgerEntry struct {
	Message     MessageKey  `cbor:"1,keyasint"`
	ID          ID          `cbor:"2,keyasint,omitempty"` // of the Message-ID
	Mailbox     string      `cbor:"3,keyasint"`
	UIDValidity uint32      `cbor:"4,keyasint" digest:"-"` // not in the digest
	UID         uint32      `cbor:"5,keyasint"`
	Keyword     string      `cbor:"6,keyasint"`
	Prior       bool        `cbor:"7,keyasint,omitempty"` // the keyword was there before: never ours to take back
	State       LedgerState `cbor:"8,keyasint"`
	Score       float64     `cbor:"9,keyasint,omitempty"`
	Threshold   float64     `cbor:"10,keyasint,omitempty"`
	Intended    Moment      `cbor:"11,keyasint,omitempty"`
	Settled     Moment      `cbor:"12,keyasint,omitempty"`
	// Undo is when the owner asked to have it taken back; 0: never. A mark that was
	// not in sight then, or moved away before its turn, stays confirmed until it
	// turns up.
	Undo Moment `cbor:"13,keyasint,omitempty"`
	// Cleared: since then it was taken back from one copy of the message at least.
	Cleared bool `cbor:"14,keyasint,omitempty"`
	// Companion is the keyword that is set together with it, where the mailbox keeps
	// keywords; "": none.
	Companion string `cbor:"15,keyasint,omitempty"`
	// Bare: the companion alone is to be taken back, wherever it is on the message; the
	// mark is not ours any more, or not there.
	Bare bool `cbor:"17,keyasint,omitempty"`
	// Tries is how often in a row the message changed before the mark could be set, or
	// taken back. It stays where a mark was given up for that.
	Tries uint8 `cbor:"16,keyasint,omitempty"`
	// ModSeq is the highest that is known of the message when the mark was intended; 0: none. A
	// higher one means that it was changed since, perhaps by us.
	ModSeq uint64 `cbor:"25,keyasint,omitempty" digest:"-"`
	// CopyTo is the mailbox for a copy of the message, as the options call it; then there
	// is no Keyword. Copied is where the copy is.
	CopyTo string `cbor:"20,keyasint,omitempty"`
	Copied Copied `cbor:"21,keyasint,omitzero" digest:"-"`
	// Letter is the Message-ID of a letter that we put into a mailbox; then the entry is
	// about no mark. "": it is about a mark.
	Letter string `cbor:"22,keyasint,omitempty"`
	// Asks is the message that the letter asks about, and Answer what the owner did with the
	// letter last: important, ordinary, or 0.
	Asks   MessageKey  `cbor:"23,keyasint,omitzero"`
	Answer model.Label `cbor:"24,keyasint,omitempty"`
}

// Copied is a copy of a message that we put into a mailbox.
type Copied struct {
	Mailbox     string `cbor:"1,keyasint,omitempty"`
	UIDValidity uint32 `cbor:"2,keyasint,omitempty"`
	UID         uint32 `cbor:"3,keyasint,omitempty"` // 0: the server did not say
	Sum         string `cbor:"4,keyasint,omitempty"` // see ingest.Copied
}

// Refusal remembers that the owner removed our mark from a message.
type Refusal struct {
	Seq uint64 `cbor:"1,keyasint"` // Account.Messages then
	At  Moment `cbor:"2,keyasint,omitempty"`
	// Ours: a mark that the message turns up with is nobody's word, for ours was on
	// it when it was forgotten.
	Ours bool `cbor:"3,keyasint,omitempty"`
}

// Early is feedback that came before its message and waits for it. Its number,
// from Account.EarlyNext, is its key; LedgerKey and LedgerNumber convert.
type Early struct {
	Message MessageKey  `cbor:"1,keyasint,omitempty"` // zero: it is named by ID
	ID      ID          `cbor:"2,keyasint,omitempty"` // of the Message-ID
	Label   model.Label `cbor:"3,keyasint"`
	Source  Source      `cbor:"4,keyasint"`
	Since   Moment      `cbor:"5,keyasint,omitempty"` // the account's clock when it came
	// Origin is where it came from. Not in the digest: the same feedback may come
	// by other ways.
	Origin Origin `cbor:"6,keyasint,omitempty" digest:"-"`
}

// Origin is the place of an input in the topic that it came from, and its bytes,
// so that it can be handed on as it was.
type Origin struct {
	Topic     string `cbor:"1,keyasint,omitempty"`
	Partition int32  `cbor:"2,keyasint,omitempty"`
	Offset    int64  `cbor:"3,keyasint,omitempty"`
	Record    []byte `cbor:"4,keyasint,omitempty"`
	Cut       bool   `cbor:"5,keyasint,omitempty"` // Record is only its beginning
}

// Support is one example of a kernel learner's combination, by the number of its
// slot.
type Support struct {
	Born   uint64       `cbor:"1,keyasint"` // how many joined before it
	Vector PackedVector `cbor:"2,keyasint"`
	Alpha  float64      `cbor:"3,keyasint"` // its coefficient
}

// Windowed is one of the last lessons of a dual learner. A message has one row at
// most, of the label that it has now.
type Windowed struct {
	Message MessageKey  `cbor:"1,keyasint"`
	Label   model.Label `cbor:"2,keyasint"`
	Weight  float64     `cbor:"3,keyasint"`
	Alpha   float64     `cbor:"4,keyasint,omitempty"` // see model.Dual
}

// Booked says that an address is in the owner's address book.
type Booked struct{}

// Prior are the weights that an account began with, before its first lesson.
type Prior struct {
	Weights PackedVector `cbor:"1,keyasint"`
}
