// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// livePast is the share of a stream that Live reads as the past unless Play.Past says
// how much. It is read as `hinged bootstrap` reads a mailbox. What comes then is judged.
const livePast = 0.7

// Of so many wrong marks the owner takes one off.
const oneWrongMarkIn = 5

const (
	liveInbox = "INBOX"
	liveSent  = "Sent"
)

// LiveResult is what the owner saw in a live play. The other figures of the result are
// also about the messages after the past.
type LiveResult struct {
	Past      int     `json:"past"`       // messages read as the past, including the owner's own
	Marked    int     `json:"marked"`     // number of messages marked
	Right     int     `json:"right"`      // number of marked messages that were important
	Precision float64 `json:"precision"`  // share of the marked messages that were important
	Recall    float64 `json:"recall"`     // share of the important messages that were marked
	F1        float64 `json:"f1"`         // f1 of the marks
	TakenOff  int     `json:"taken_off"`  // number of marks that the owner removed
	InShadow  int     `json:"in_shadow"`  // number of messages judged before the shadow ended
	Claimed   float64 `json:"claimed"`    // precision that `status` reports for the marks at the end
	FirstMark int     `json:"first_mark"` // number of the first marked message, counted from 1; 0 if none was marked
}

// live is the mailbox and the owner of a live play. The owner reads all mail when
// they write, answers as the stream says, and takes one wrong mark in five off within
// a day; which one a hash decides. That mail is marked, read and left alone teaches
// what it teaches live.
type live struct {
	past     int // messages of the stream
	most     int // messages to judge; 0: all
	answered answers
	n        int // messages taken so far
	uids     map[string]uint32
	letters  map[store.MessageKey]*liveLetter
	unread   []store.MessageKey
	acts     liveActs
	decided  int // messages judged, after the past
	marks    filter.Tally
	r        LiveResult
}

// liveLetter is one message in the inbox.
type liveLetter struct {
	place filter.Place
	flags []string
}

// liveAct takes the mark off a message.
type liveAct struct {
	at  store.Moment
	key store.MessageKey
}

type liveActs []liveAct

func (a liveActs) Len() int           { return len(a) }
func (a liveActs) Less(i, j int) bool { return a[i].at < a[j].at }
func (a liveActs) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *liveActs) Push(x any)        { *a = append(*a, x.(liveAct)) }
func (a *liveActs) Pop() any {
	last := len(*a) - 1
	act := (*a)[last]
	*a = (*a)[:last]
	return act
}

func (p *Play) newLive(known answers, total int) (*live, error) {
	past := p.Past
	if past == 0 {
		past = int(livePast * float64(total))
	}
	if past >= total {
		return nil, fmt.Errorf("%w: the past has %d messages, but there are only %d in all", ErrPlay, past, total)
	}
	return (&live{past: past, most: p.Judge, answered: known}).afresh(), nil
}

// afresh returns l as it was before the first message.
func (l *live) afresh() *live {
	return &live{
		past: l.past, most: l.most, answered: l.answered, uids: map[string]uint32{},
		letters: map[store.MessageKey]*liveLetter{},
	}
}

// enter has j judge a live play.
func (j *judge) enter(l *live) error {
	j.live = l
	return l.open(j.filter)
}

// over reports whether all messages that were to be judged are.
func (l *live) over() bool { return l != nil && l.most > 0 && l.decided >= l.most }

// TakesOff reports whether the owner of a live play takes a wrong mark off this
// message, and how long after its arrival.
func TakesOff(k store.MessageKey) (after time.Duration, does bool) {
	hash := xxhash.Sum64(k[:])
	return time.Duration(hash / oneWrongMarkIn % uint64(24*time.Hour)), hash%oneWrongMarkIn == 0
}

// open gives the filter the two mailboxes.
func (l *live) open(f *filter.Filter) error {
	for name, role := range map[string]ingest.Role{liveInbox: ingest.RoleInbox, liveSent: ingest.RoleSent} {
		if _, err := f.Apply(&filter.Opened{Mailbox: name, UIDValidity: 1, Role: role}); err != nil {
			return err
		}
	}
	return nil
}

// arrival makes the event of a message: of the past with the flags that a mailbox
// shows when its past is over.
func (l *live) arrival(m read, meta filter.Meta, at store.Moment) *filter.Arrived {
	box := liveInbox
	if m.message.FromOwner {
		box = liveSent
	}
	l.uids[box]++
	e := &filter.Arrived{
		At: at, Meta: meta, Message: m.message,
		Place: filter.Place{Mailbox: box, UIDValidity: 1, UID: l.uids[box]},
	}
	if l.n++; l.n <= l.past {
		e.Backlog = true
		e.Flags = []string{`\Seen`}
		if by := l.answered[xxhash.Sum64String(m.message.MessageID)]; by > 0 && by <= l.past {
			e.Flags = append(e.Flags, `\Answered`)
		}
		e.Flags = ingest.CanonicalFlags(e.Flags)
	}
	return e
}

// takeLive plays one message, and before it what the owner did until then.
func (j *judge) takeLive(m read, at store.Moment) error {
	l := j.live
	for len(l.acts) > 0 && l.acts[0].at <= at {
		act := heap.Pop(&l.acts).(liveAct)
		letter := l.letters[act.key]
		l.r.TakenOff++
		// Read first; in one step it would be taken for the doing of a program.
		read := ingest.CanonicalFlags(append(slices.Clone(letter.flags), `\Seen`))
		letter.flags = []string{`\seen`}
		for _, flags := range [][]string{read, letter.flags} {
			if err := j.tell(&filter.Flagged{At: act.at, Place: letter.place, Flags: flags}); err != nil {
				return err
			}
		}
	}
	e := l.arrival(m, j.heard.meta(m.message), at)
	got, err := j.filter.Apply(e)
	if err != nil {
		return err
	}
	if got.Decision != nil {
		j.forget()
		j.features.Keep(got.Decision.Message, got.Features, false)
	}
	if err := j.learnt(got, store.MessageKey{}, nil); err != nil {
		return err
	}
	if m.message.FromOwner && m.message.Says != featurize.SaysAutomatic {
		return j.readAll(at)
	}
	if got.Decision == nil {
		return nil
	}
	label := j.truth.label(m.message, m.mail)
	j.evenings.note(got.Decision.Message, label)
	if e.Backlog {
		return nil
	}
	l.letters[e.Meta.Key] = &liveLetter{e.Place, e.Flags}
	l.unread = append(l.unread, e.Meta.Key)
	j.r.Features += int64(got.Features.Len())
	j.note(got.Decision, label)
	j.sort(got.Decision, got.Features, m.message.Vouched, label)
	return j.mark(got.Decision.Message, got.Marks, at, label)
}

// mark sets the marks that were asked for, and judges whether it was right to.
func (j *judge) mark(k store.MessageKey, marks []ingest.MarkRequest, at store.Moment, label model.Label) error {
	l := j.live
	l.decided++
	l.marks.Count(len(marks) > 0, label == model.Important, 1)
	if j.filter.Line().InShadow() {
		l.r.InShadow++
	}
	if len(marks) == 0 {
		return nil
	}
	letter := l.letters[k]
	for _, m := range marks {
		letter.flags = ingest.CanonicalFlags(append(slices.Clone(letter.flags), m.Flag))
		if err := j.tell(&filter.Settled{At: at, Ledger: m.ID, Outcome: ingest.MarkDone, Flags: letter.flags}); err != nil {
			return err
		}
	}
	if l.r.Marked++; l.r.FirstMark == 0 {
		l.r.FirstMark = l.decided
	}
	if after, does := TakesOff(k); does && label == model.Ordinary {
		heap.Push(&l.acts, liveAct{at.Add(after), k})
	}
	return nil
}

// readAll has the owner read everything that has come since they last did.
func (j *judge) readAll(at store.Moment) error {
	l := j.live
	for _, k := range l.unread {
		letter := l.letters[k]
		letter.flags = ingest.CanonicalFlags(append(slices.Clone(letter.flags), `\Seen`))
		if err := j.tell(&filter.Flagged{At: at, Place: letter.place, Flags: letter.flags}); err != nil {
			return err
		}
	}
	l.unread = l.unread[:0]
	return nil
}

// tell gives an event to the filter and notes what was learnt.
func (j *judge) tell(e filter.Event) error {
	got, err := j.filter.Apply(e)
	if err != nil {
		return err
	}
	return j.learnt(got, store.MessageKey{}, (*featurize.Features)(nil))
}

// result adds up.
func (l *live) result(f *filter.Filter) *LiveResult {
	r := l.r
	r.Past = min(l.past, l.n)
	r.Right = l.marks.Hits
	r.Precision, r.Recall, r.F1 = l.marks.Precision(), l.marks.Recall(), l.marks.F1()
	r.Claimed = f.Status.Judgement().Decisions.Precision()
	return &r
}
