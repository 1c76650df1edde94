// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const (
	validity = 1
	day      = 24 * time.Hour
	evening  = 20 * time.Hour // after midnight UTC: the owner answers questions
	// afterwards is for how long the play goes on after the last arrival.
	afterwards = day
	// slips is of how many answers to questions one is wrong.
	slips = 33
)

// how says how lives are played.
type how struct {
	options   filter.Options // but for the owner's addresses
	prior     store.PackedVector
	questions int  // how many the owner answers each evening, of mail of the last day
	atFirst   int  // how many they answer when the past is read, of all mail
	live      int  // how many arrivals are judged
	filed     bool // the owner's own folder is watched, too
	book      bool // the owner has an address book: see player.addresses
}

// settled is how an account with some settings, beside the defaults, plays lives; see
// config.Judging.Set.
func settled(settings ...string) (how, error) {
	j := config.DefaultAccount().Judging
	if _, err := j.Set(settings); err != nil {
		return how{}, err
	}
	weights, err := cli.PriorWeights(&j)
	return how{options: cli.JudgingOptions(&j, nil), prior: weights}, err
}

// verdict is what is judged of one message that came to INBOX.
type verdict struct {
	mail          int // index into Mail
	at            time.Time
	day           int // days since the start, from 0
	kind          string
	wanted        bool
	marked        bool
	score         float64
	decided       bool // important, whether or not a mark was set
	correspondent bool // the owner had written to its sender
}

// played is what came of a play.
type played struct {
	start     time.Time // of the live part
	verdicts  []*verdict
	firstMark int // day of the first mark, from 0; -1: there was none
	questions int
	takenOff  int
	filter    *filter.Filter       // as it is at the end
	vectors   map[int]model.Vector // of what was decided, by index into Mail
}

// player plays one life. All events are those that `hinged bootstrap` and the daemon would
// have given to the filter. After an error nothing happens any more.
type player struct {
	*how
	*opened
	played
	vectors filter.Memory
	letters []*letter // as Mail; nil: not in this mailbox yet
	at      map[filter.Place]*letter
	uids    map[string]uint32
	first   int // index into Mail of the first message that comes
	next    int // index into steps
	now     time.Time
	hour    time.Time // the next full one
	started bool      // the past is over
	modseq  uint64
	wrong   []*letter // with wrong marks that the owner takes off when they next read
	err     error
}

// play plays a life with a past of so many arrivals, or all that there are.
func (h *how) play(o *opened, past int) (*played, error) {
	if len(o.arrived) < h.live {
		return nil, fmt.Errorf("%d messages come, too few for %d", len(o.arrived), h.live)
	}
	p := h.player(o, past)
	p.until(p.start)
	p.bootstrap()
	p.until(o.Mail[o.arrived[len(o.arrived)-1]].At.Add(afterwards))
	return &p.played, p.err
}

// player is one before whom nothing has happened.
func (h *how) player(o *opened, past int) *player {
	begin := len(o.arrived) - h.live
	p := &player{
		how: h, opened: o, vectors: filter.Memory{}, letters: make([]*letter, len(o.Mail)),
		at: map[filter.Place]*letter{}, uids: map[string]uint32{}, first: o.arrived[max(0, begin-past)],
		played: played{start: o.Mail[o.arrived[begin]].At.Add(-time.Second), firstMark: -1, vectors: map[int]model.Vector{}},
	}
	p.hour = p.start.Truncate(time.Hour).Add(time.Hour)
	p.filter, p.err = filter.New(store.NewState(), p.vectors)
	p.tell(&filter.Configured{Options: o.options}, -1)
	p.tell(&filter.Primed{Weights: h.prior}, -1)
	if e := p.filter.People.BookOf(p.addresses()); h.book && e != nil {
		p.tell(e, -1)
	}
	return p
}

// addresses are those to which the owner ever wrote before the live part, whether or not that is in
// the past that is read.
func (p *player) addresses() (all []string) {
	for i, m := range p.Mail {
		if m.Folder == persons.Sent && m.At.Before(p.start) {
			all = append(all, p.read[i].To...)
		}
	}
	return all
}

// until has everything happen in its order that happens before end.
func (p *player) until(end time.Time) {
	for ; p.next < len(p.steps) && p.steps[p.next].at.Before(end) && p.err == nil; p.next++ {
		s := p.steps[p.next]
		p.ticks(s.at)
		if s.mail >= p.first {
			p.take(s)
		}
	}
	p.ticks(end)
}

// ticks has the full hours up to a moment go by.
func (p *player) ticks(end time.Time) {
	for ; p.started && !p.hour.After(end); p.hour = p.hour.Add(time.Hour) {
		p.tick(p.hour)
	}
}

// there is what lies in the watched folders, in the order in which its past is read.
func (p *player) there() []*letter {
	list := slices.DeleteFunc(slices.Clone(p.letters), func(l *letter) bool { return l == nil || !p.watches(l.folder) })
	slices.SortFunc(list, func(a, b *letter) int {
		return cmp.Or(cmp.Compare(a.at.Unix(), b.at.Unix()), cmp.Compare(a.folder, b.folder), cmp.Compare(a.uid, b.uid))
	})
	return list
}

// bootstrap reads the mailbox as it is.
func (p *player) bootstrap() {
	p.now = p.start
	p.expunge()
	now := store.MomentOf(p.now)
	for _, f := range folders {
		if p.watches(f) {
			p.tell(&filter.Opened{At: now, Mailbox: f, UIDValidity: validity, Role: roles[f]}, -1)
		}
	}
	for _, l := range p.there() {
		e := p.arrival(l)
		e.Backlog, e.Away = true, true
		p.tell(e, l.mail)
	}
	for _, f := range folders {
		if next := p.uids[f] + 1; p.watches(f) {
			p.tell(&filter.Reached{Mailbox: f, UIDValidity: validity, UIDNext: next, HighestModSeq: p.modseq, BacklogBefore: next}, -1)
		}
	}
	p.tell(&filter.Ticked{At: now}, -1)
	p.ask(p.atFirst, 0)
	p.started = true
}

// watches reports whether the daemon sees what is in a folder: where the configuration names
// no folders, it is those whose role is not RoleOther.
func (p *player) watches(folder string) bool {
	return folder != "" && (roles[folder] != ingest.RoleOther || p.filed)
}

// arrival is the event of a message that is found where it lies, as the daemon makes it.
func (p *player) arrival(l *letter) *filter.Arrived {
	dated := l.read.Received
	if dated.IsZero() {
		dated = l.read.Date
	}
	if dated.IsZero() || dated.After(l.at) {
		dated = l.at
	}
	return &filter.Arrived{
		At: store.MomentOf(l.at), Seen: store.MomentOf(p.now), Dated: max(1, store.MomentOf(dated)), ModSeq: p.modseq,
		Place: l.place(), Flags: slices.Clone(l.flags), Meta: filter.NewMeta(l.read), Message: l.read,
	}
}

// What the acts do.
var (
	moves = map[persons.Do]string{
		persons.Delete: persons.Trash, persons.ToArchive: persons.Archive, persons.ToFolder: persons.Filed, persons.ToJunk: persons.Junk, persons.Rescue: persons.Inbox,
	}
	flags = map[persons.Do]string{persons.Read: `\Seen`, persons.Star: `\Flagged`, persons.Answer: `\Answered`, persons.Forward: "$Forwarded"}
)

// take has one step happen, the next one.
func (p *player) take(s step) {
	p.now = s.at
	if s.act < 0 {
		p.modseq++
		p.arrive(s.mail)
		return
	}
	do := p.Mail[s.mail].Acts[s.act].Do
	// The same act at the same moment is one command.
	if b := p.steps[p.next-1]; b.act < 0 || !b.at.Equal(s.at) || p.Mail[b.mail].Acts[b.act].Do != do {
		p.modseq++
	}
	if do == persons.Read {
		p.takeOff()
	}
	l := p.letters[s.mail]
	to, moves := moves[do]
	switch {
	case l == nil || l.folder == "" || l.folder == to: // it is gone, or there
	case moves:
		p.vanish(l, to)
		if p.started && p.watches(to) {
			p.tell(p.arrival(l), l.mail)
		}
	case do == persons.Unstar:
		p.flag(l, l.without(flags[persons.Star]))
	default:
		p.flag(l, l.with(flags[do]))
	}
}

func (p *player) arrive(i int) {
	m := &p.Mail[i]
	l := &letter{mail: i, at: m.At, read: p.read[i]}
	p.letters[i] = l
	if m.Folder == persons.Sent {
		l.flags = []string{`\seen`}
	}
	p.put(l, m.Folder)
	if !p.started {
		return
	}
	if m.Folder == persons.Inbox {
		l.v = &verdict{mail: i, at: m.At, day: int(m.At.Sub(p.start) / day), kind: m.Kind, wanted: m.Wanted}
		p.verdicts = append(p.verdicts, l.v)
	}
	p.tell(p.arrival(l), i)
}

// flag gives a letter these flags.
func (p *player) flag(l *letter, flags []string) {
	if l.flags = flags; p.started && p.watches(l.folder) {
		p.tell(&filter.Flagged{At: store.MomentOf(p.now), Place: l.place(), Flags: slices.Clone(flags), ModSeq: p.modseq}, -1)
	}
}

// vanish takes a letter out of its folder into another, of which nobody is told yet.
func (p *player) vanish(l *letter, to string) {
	from, uid := l.folder, l.uid
	p.put(l, to)
	l.binned = p.now
	if p.started && p.watches(from) {
		p.tell(&filter.Vanished{At: store.MomentOf(p.now), Mailbox: from, UIDValidity: validity, UIDs: []uint32{uid}}, -1)
	}
}

// expunge empties Trash of what lay there long enough, as the server does.
func (p *player) expunge() {
	for _, l := range p.letters {
		if l != nil && l.folder == persons.Trash && p.TrashKept > 0 && p.now.Sub(l.binned) >= p.TrashKept {
			p.vanish(l, "")
		}
	}
}

// tick is a full hour.
func (p *player) tick(now time.Time) {
	p.now = now
	p.expunge()
	p.tell(&filter.Ticked{At: store.MomentOf(now)}, -1)
	if now.Sub(now.Truncate(day)) == evening {
		p.ask(p.how.questions, store.MomentOf(now.Add(-28*day)))
	}
}

// ask has the owner answer so many questions about mail that came at since or later.
func (p *player) ask(n int, since store.Moment) {
	if n == 0 || p.err != nil {
		return
	}
	var q filter.Questions
	q, p.err = p.filter.Messages.Ask(n, since)
	for _, k := range q.Messages {
		l := p.letters[slices.IndexFunc(p.letters, func(l *letter) bool { return l != nil && store.MessageKey(l.read.Key) == k })]
		label := model.Ordinary
		if p.Mail[l.mail].Wanted != (chance(l, "slip")%slips == 0) {
			label = model.Important
		}
		p.played.questions++
		l.told = true
		p.tell(&filter.Labelled{At: store.MomentOf(p.now), Message: k, Label: label}, -1)
	}
}

// chance is the number by which it is decided whether something happens to a letter, the same
// in each play.
func chance(l *letter, what string) uint64 { return xxhash.Sum64(append(l.read.Key[:], what...)) }

// tell gives an event to the filter and carries out what comes of it. i is the message that
// arrived; -1: none.
func (p *player) tell(e filter.Event, i int) {
	if p.err != nil {
		return
	}
	var r filter.Result
	r, p.err = p.filter.Apply(e)
	if d := r.Decision; d != nil && r.Features != nil && i >= 0 {
		p.vectors.Keep(d.Message, r.Features, false)
		p.played.vectors[i] = r.Features.Vector()
		if v := p.letters[i].v; v != nil {
			v.score, v.decided, v.correspondent = d.Score, d.Outcome == store.DecidedImportant, d.Correspondent
		}
	}
	for _, m := range r.Marks {
		p.mark(m)
	}
}

// mark does what was asked of the mail server.
func (p *player) mark(m ingest.MarkRequest) {
	s := &filter.Settled{At: store.MomentOf(p.now), Ledger: m.ID, Outcome: ingest.MarkGone}
	place := m.Place
	if m.Clear {
		s.Cleared = &place
	}
	if l := p.at[place]; l != nil && m.CopyTo == "" {
		for _, flag := range []string{m.Flag, m.Also} {
			switch {
			case flag == "":
			case m.Clear:
				l.flags = l.without(flag)
			default:
				l.flags = l.with(flag)
			}
		}
		if !m.Clear {
			p.count(l)
		}
		p.modseq++
		s.Outcome, s.Flags = ingest.MarkDone, slices.Clone(l.flags)
	}
	p.tell(s, -1)
}

// count notes a mark. What the owner has called important themselves is no merit of hinged's.
func (p *player) count(l *letter) {
	if l.v == nil || l.told || l.v.marked {
		return
	}
	l.v.marked = true
	if p.firstMark < 0 {
		p.firstMark = int(p.now.Sub(p.start) / day)
	}
	if !l.v.wanted && float64(chance(l, "takes off")%1000) < p.TakesOff*1000 {
		p.wrong = append(p.wrong, l)
	}
}

// takeOff has the owner, who reads, take wrong marks off.
func (p *player) takeOff() {
	wrong := p.wrong
	p.wrong = nil
	for _, l := range wrong {
		if l.folder != persons.Inbox {
			continue
		}
		p.takenOff++
		p.flag(l, l.with(`\Seen`)) // in one step it would be taken for the doing of a program
		p.modseq++
		for _, mark := range p.opened.options.Marks {
			p.flag(l, l.without(mark))
		}
	}
}
