// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/bench/mailbox/life"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/pipeline"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// roles are what the folders are for. Where a configuration names none, the daemon watches
// those whose role is not RoleOther.
var roles = map[string]ingest.Role{
	life.Inbox: ingest.RoleInbox, life.Sent: ingest.RoleSent, life.Junk: ingest.RoleJunk,
	life.Trash: ingest.RoleTrash, life.Archive: ingest.RoleArchive, life.Filed: ingest.RoleOther,
}

// folders are the names of roles, in the order in which a server lists them.
var folders = []string{life.Archive, life.Filed, life.Inbox, life.Junk, life.Sent, life.Trash}

const (
	validity = 1
	day      = 24 * time.Hour
	// evening is when the owner answers questions, after midnight UTC.
	evening = 20 * time.Hour
	// afterwards is for how long the play goes on after the last arrival.
	afterwards = day
	// slips is of how many answers to questions one is wrong.
	slips = 33
)

// how says how lives are played.
type how struct {
	options   filter.Options // but for the owner's addresses
	prior     store.PackedVector
	questions int // how many the owner answers each evening; 0: none
	live      int // how many arrivals are judged
	filed     bool
}

// opened is a life with its messages read, which several plays share.
type opened struct {
	*life.Life
	options filter.Options
	read    []*featurize.Message
	arrived []int // indexes into Mail of what others wrote
	steps   []step
}

// step is one thing that happens: the arrival of a message, or the owner's act on one.
type step struct {
	at   time.Time
	mail int // index into Mail
	act  int // index into its Acts; -1: it arrives
}

// open reads the messages of a life.
func (h *how) open(l *life.Life) (*opened, error) {
	o := &opened{Life: l, options: h.options}
	o.options.Featurize.Owner = l.Owner
	reader, err := pipeline.NewPool(1).Reader(o.options.Featurize)
	if err != nil {
		return nil, err
	}
	for i := range l.Mail {
		m := &l.Mail[i]
		if i > 0 && m.At.Before(l.Mail[i-1].At) {
			return nil, fmt.Errorf("message %d comes before message %d", i, i-1)
		}
		read, err := reader.Read(context.Background(), m.Raw)
		if err != nil {
			return nil, err
		}
		o.read = append(o.read, read)
		if m.Folder != life.Sent {
			o.arrived = append(o.arrived, i)
		}
		o.steps = append(o.steps, step{m.At, i, -1})
		for n, a := range m.Acts {
			o.steps = append(o.steps, step{a.At, i, n})
		}
	}
	slices.SortStableFunc(o.steps, func(a, b step) int { return a.at.Compare(b.at) })
	return o, nil
}

// letter is one message where it lies in the mailbox.
type letter struct {
	mail   *life.Mail
	read   *featurize.Message
	folder string // "": it is gone
	uid    uint32
	flags  []string // canonical
	binned time.Time
	told   bool     // the owner has answered a question about it
	v      *verdict // nil: it is not judged
}

// verdict is what is judged of one message that came to INBOX.
type verdict struct {
	mail          int // index into Mail
	at            time.Time
	day           int // days since the start, from 0
	kind          string
	wanted        bool
	marked        bool
	correspondent bool // the owner had written to its sender
	asked         bool
}

// played is what came of a play.
type played struct {
	start     time.Time
	first     int // index into Mail of the first message of the past
	verdicts  []*verdict
	firstMark int // day of the first mark, from 0; -1: there was none
	questions int
	takenOff  int
	filter    *filter.Filter       // as it is at the end
	vectors   map[int]model.Vector // by index into Mail: what was decided
}

// player plays one life. All events are those that `hinged bootstrap` and the daemon would
// have given to the filter.
type player struct {
	*how
	*opened
	filter  *filter.Filter
	vectors filter.Packed
	letters []*letter // as Mail; nil: not in this mailbox yet
	at      map[filter.Place]*letter
	uids    map[string]uint32
	now     time.Time
	live    bool
	modseq  uint64
	wrong   []*letter // with wrong marks that the owner takes off when they next read
	out     played
}

// play plays a life with a past of so many arrivals.
func (h *how) play(o *opened, past int) (*played, error) {
	if len(o.arrived) < past+h.live {
		return nil, fmt.Errorf("%s has %d arrivals, too few for %d and a past of %d", o.Person, len(o.arrived), h.live, past)
	}
	begins := len(o.arrived) - h.live
	p := &player{
		how: h, opened: o, vectors: filter.Packed{}, letters: make([]*letter, len(o.Mail)),
		at: map[filter.Place]*letter{}, uids: map[string]uint32{},
	}
	p.out = played{
		start: o.Mail[o.arrived[begins]].At.Add(-time.Second), first: o.arrived[begins-past],
		firstMark: -1, vectors: map[int]model.Vector{},
	}
	var err error
	if p.filter, err = filter.New(store.NewState(), p.vectors); err != nil {
		return nil, err
	}
	for _, e := range []filter.Event{&filter.Configured{Options: o.options}, &filter.Primed{Weights: h.prior}} {
		if err := p.tell(e, -1); err != nil {
			return nil, err
		}
	}
	p.out.filter = p.filter
	return &p.out, p.run()
}

// run has everything happen in its order.
func (p *player) run() error {
	i := 0
	for ; i < len(p.steps) && p.steps[i].at.Before(p.out.start); i++ {
		if s := p.steps[i]; s.mail >= p.out.first {
			if err := p.take(s, i); err != nil {
				return err
			}
		}
	}
	if err := p.expunge(p.out.start); err != nil {
		return err
	}
	if err := p.bootstrap(); err != nil {
		return err
	}
	p.live = true
	end := p.Mail[p.arrived[len(p.arrived)-1]].At.Add(afterwards)
	hour := p.out.start.Truncate(time.Hour)
	for {
		next := end
		if i < len(p.steps) && p.steps[i].at.Before(end) {
			next = p.steps[i].at
		}
		for hour = hour.Add(time.Hour); !hour.After(next); hour = hour.Add(time.Hour) {
			if err := p.tick(hour); err != nil {
				return err
			}
		}
		hour = hour.Add(-time.Hour)
		if next.Equal(end) {
			return nil
		}
		if s := p.steps[i]; s.mail >= p.out.first {
			if err := p.take(s, i); err != nil {
				return err
			}
		}
		i++
	}
}

// bootstrap reads the mailbox as it is.
func (p *player) bootstrap() error {
	p.now = p.out.start
	now := store.MomentOf(p.now)
	for _, f := range folders {
		if !p.watches(f) {
			continue
		}
		if err := p.tell(&filter.Opened{At: now, Mailbox: f, UIDValidity: validity, Role: roles[f]}, -1); err != nil {
			return err
		}
	}
	var there []int
	for i, l := range p.letters {
		if l != nil && p.watches(l.folder) {
			there = append(there, i)
		}
	}
	slices.SortFunc(there, func(i, j int) int {
		a, b := p.letters[i], p.letters[j]
		return cmp.Or(cmp.Compare(a.mail.At.Unix(), b.mail.At.Unix()), cmp.Compare(a.folder, b.folder), cmp.Compare(a.uid, b.uid))
	})
	for _, i := range there {
		e := p.arrival(p.letters[i], p.out.start)
		e.Backlog, e.Away = true, true
		if err := p.tell(e, i); err != nil {
			return err
		}
	}
	for _, f := range folders {
		if next := p.uids[f] + 1; p.watches(f) {
			if err := p.tell(&filter.Reached{Mailbox: f, UIDValidity: validity, UIDNext: next, HighestModSeq: p.modseq, BacklogBefore: next}, -1); err != nil {
				return err
			}
		}
	}
	return p.tell(&filter.Ticked{At: now}, -1)
}

// watches reports whether the daemon sees what is in a folder.
func (p *player) watches(folder string) bool {
	return folder != "" && (roles[folder] != ingest.RoleOther || p.filed)
}

// arrival is the event of a message that is found where it lies, as the daemon makes it.
func (p *player) arrival(l *letter, seen time.Time) *filter.Arrived {
	at, dated := l.mail.At, l.read.Received
	if dated.IsZero() {
		dated = l.read.Date
	}
	if dated.IsZero() || dated.After(at) {
		dated = at
	}
	return &filter.Arrived{
		At: store.MomentOf(at), Seen: store.MomentOf(seen), Dated: max(1, store.MomentOf(dated)), ModSeq: p.modseq,
		Place: l.place(), Flags: slices.Clone(l.flags), Meta: filter.NewMeta(l.read), Message: l.read,
	}
}

func (l *letter) place() filter.Place {
	return filter.Place{Mailbox: l.folder, UIDValidity: validity, UID: l.uid}
}

// take has one step happen, the i-th of all.
func (p *player) take(s step, i int) error {
	m := &p.Mail[s.mail]
	p.now = s.at
	if s.act < 0 {
		p.modseq++
		return p.arrive(s.mail)
	}
	l, do := p.letters[s.mail], m.Acts[s.act].Do
	if !p.together(s, i) {
		p.modseq++
	}
	if do == life.Read {
		if err := p.takeOff(s.at); err != nil {
			return err
		}
	}
	if l == nil || l.folder == "" {
		return nil // it is gone
	}
	if to, moves := map[life.Do]string{
		life.Delete: life.Trash, life.ToArchive: life.Archive, life.ToFolder: life.Filed, life.ToJunk: life.Junk, life.Rescue: life.Inbox,
	}[do]; moves {
		return p.move(l, s.mail, to, s.at)
	}
	flag := map[life.Do]string{
		life.Read: `\Seen`, life.Star: `\Flagged`, life.Unstar: `\Flagged`, life.Answer: `\Answered`, life.Forward: "$Forwarded",
	}[do]
	if do == life.Unstar {
		return p.flag(l, without(l.flags, flag), s.at)
	}
	return p.flag(l, append(slices.Clone(l.flags), flag), s.at)
}

// together reports whether a step is of one command with the one before: the same act at
// the same moment.
func (p *player) together(s step, i int) bool {
	if i == 0 {
		return false
	}
	b := p.steps[i-1]
	return b.act >= 0 && b.at.Equal(s.at) && p.Mail[b.mail].Acts[b.act].Do == p.Mail[s.mail].Acts[s.act].Do
}

func without(flags []string, flag string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == ingest.CanonicalFlag(flag) })
}

// put puts a letter into a folder, as the newest there.
func (p *player) put(l *letter, folder string) {
	delete(p.at, l.place())
	p.uids[folder]++
	l.folder, l.uid = folder, p.uids[folder]
	p.at[l.place()] = l
}

func (p *player) arrive(i int) error {
	m := &p.Mail[i]
	l := &letter{mail: m, read: p.read[i]}
	p.letters[i] = l
	if m.Folder == life.Sent {
		l.flags = []string{`\seen`}
	}
	p.put(l, m.Folder)
	if !p.live {
		return nil
	}
	if m.Folder == life.Inbox {
		l.v = &verdict{mail: i, at: m.At, day: int(m.At.Sub(p.out.start) / day), kind: m.Kind, wanted: m.Wanted}
		p.out.verdicts = append(p.out.verdicts, l.v)
	}
	return p.tell(p.arrival(l, m.At), i)
}

// flag gives a letter these flags.
func (p *player) flag(l *letter, flags []string, at time.Time) error {
	l.flags = ingest.CanonicalFlags(flags)
	if !p.live || !p.watches(l.folder) {
		return nil
	}
	return p.tell(&filter.Flagged{At: store.MomentOf(at), Place: l.place(), Flags: slices.Clone(l.flags), ModSeq: p.modseq}, -1)
}

func (p *player) move(l *letter, i int, to string, at time.Time) error {
	if l.folder == to {
		return nil
	}
	if err := p.vanish(l, at); err != nil {
		return err
	}
	p.put(l, to)
	l.binned = time.Time{}
	if to == life.Trash {
		l.binned = at
	}
	if !p.live || !p.watches(to) {
		return nil
	}
	return p.tell(p.arrival(l, at), i)
}

func (p *player) vanish(l *letter, at time.Time) error {
	if !p.live || !p.watches(l.folder) {
		return nil
	}
	return p.tell(&filter.Vanished{At: store.MomentOf(at), Mailbox: l.folder, UIDValidity: validity, UIDs: []uint32{l.uid}}, -1)
}

// expunge empties Trash of what lay there long enough, as the server does.
func (p *player) expunge(now time.Time) error {
	if p.TrashKept == 0 {
		return nil
	}
	for _, l := range p.letters {
		if l == nil || l.folder != life.Trash || now.Sub(l.binned) < p.TrashKept {
			continue
		}
		if err := p.vanish(l, now); err != nil {
			return err
		}
		delete(p.at, l.place())
		l.folder = ""
	}
	return nil
}

// tick is a full hour.
func (p *player) tick(now time.Time) error {
	p.now = now
	if err := p.expunge(now); err != nil {
		return err
	}
	if err := p.tell(&filter.Ticked{At: store.MomentOf(now)}, -1); err != nil {
		return err
	}
	if p.questions == 0 || now.Sub(now.Truncate(day)) != evening {
		return nil
	}
	q, err := p.filter.Ask(p.questions, store.MomentOf(now.Add(-day)))
	if err != nil {
		return err
	}
	for _, k := range q.Messages {
		l := p.letterOf(k)
		if l == nil {
			continue
		}
		label := model.Ordinary
		if l.mail.Wanted != (hashOf(k, "slip")%slips == 0) {
			label = model.Important
		}
		p.out.questions++
		if l.told = true; l.v != nil {
			l.v.asked = true
		}
		if err := p.tell(&filter.Labelled{At: store.MomentOf(now), Message: k, Label: label}, -1); err != nil {
			return err
		}
	}
	return nil
}

// letterOf returns the letter with a key; nil if there is none.
func (p *player) letterOf(k store.MessageKey) *letter {
	for _, l := range p.letters {
		if l != nil && store.MessageKey(l.read.Key) == k {
			return l
		}
	}
	return nil
}

// hashOf is the chance by which something is done with a message, the same in each play.
func hashOf(k store.MessageKey, what string) uint64 {
	return xxhash.Sum64(append(slices.Clone(k[:]), what...))
}

// tell gives an event to the filter and carries out what comes of it. i is the message that
// it is about; -1: none.
func (p *player) tell(e filter.Event, i int) error {
	r, err := p.filter.Apply(e)
	if err != nil {
		return err
	}
	if d := r.Decision; d != nil && r.Features != nil {
		p.vectors[d.Message] = r.Features.Pack()
		if i >= 0 {
			p.out.vectors[i] = r.Features.Vector()
		}
		if i >= 0 && p.letters[i].v != nil {
			p.letters[i].v.correspondent = d.Correspondent
		}
	}
	for _, m := range r.Marks {
		if err := p.mark(m); err != nil {
			return err
		}
	}
	return nil
}

// mark does what was asked of the mail server.
func (p *player) mark(m ingest.MarkRequest) error {
	s := &filter.Settled{At: store.MomentOf(p.now), Ledger: m.ID, Outcome: ingest.MarkGone}
	place := filter.PlaceOf(m.Place)
	if m.Clear {
		s.Cleared = &place
	}
	l := p.at[place]
	if l != nil && m.CopyTo == "" {
		s.Outcome = ingest.MarkDone
		flags := without(without(l.flags, m.Flag), m.Also)
		if !m.Clear {
			flags = append(flags, m.Flag)
			if m.Also != "" {
				flags = append(flags, m.Also)
			}
			p.count(l)
		}
		p.modseq++
		l.flags = ingest.CanonicalFlags(flags)
		s.Flags = slices.Clone(l.flags)
	}
	return p.tell(s, -1)
}

// count notes a mark. What the owner has called important themselves is none of hinged's.
func (p *player) count(l *letter) {
	if l.v == nil || l.told || l.v.marked {
		return
	}
	l.v.marked = true
	if p.out.firstMark < 0 {
		p.out.firstMark = int(p.now.Sub(p.out.start) / day)
	}
	if !l.v.wanted && float64(hashOf(l.read.Key, "takes off")%1000) < p.TakesOff*1000 {
		p.wrong = append(p.wrong, l)
	}
}

// takeOff has the owner, who reads, take wrong marks off.
func (p *player) takeOff(at time.Time) error {
	wrong := p.wrong
	p.wrong = nil
	for _, l := range wrong {
		if l.folder != life.Inbox {
			continue
		}
		p.out.takenOff++
		// Read first; in one step it would be taken for the doing of a program.
		if err := p.flag(l, append(slices.Clone(l.flags), `\Seen`), at); err != nil {
			return err
		}
		flags := l.flags
		for _, mark := range p.opened.options.Marks {
			flags = without(flags, mark)
		}
		p.modseq++
		if err := p.flag(l, flags, at); err != nil {
			return err
		}
	}
	return nil
}
