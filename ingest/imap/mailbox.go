// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// entry is what the source knows of one reported message.
type entry struct {
	modseq uint64 // as of the flags; 0: not known
	uid    uint32
	flags  uint32 // index into mailbox.sets
}

// mailbox is what the source knows of one mailbox, across connections. The
// goroutine that watches the mailbox owns it.
type mailbox struct {
	name string
	role ingest.Role

	opened bool // MailboxOpened was reported in this run

	live     *session  // the connection on which it was last compared whole
	lookedAt time.Time // up to when that connection knew of everything, by the wall clock

	validity uint32
	next     uint32 // Cursor.UIDNext
	backlog  uint32 // Cursor.BacklogBefore

	// unbounded: where the backlog ends is not known yet. All that is there when that is
	// found out belongs to it: a new mailbox, a new UIDVALIDITY, or Known.Restored.
	unbounded bool

	// modseq is where the next CHANGEDSINCE starts: everything up to it was
	// reported. seen is the highest MODSEQ of the last CHANGEDSINCE alone. It
	// becomes modseq only after one more: a change that was made while the answer
	// was under way may have put a line with a high MODSEQ into it and another
	// one's older change outside.
	modseq, seen uint64

	cursor ingest.Cursor // the last one reported

	entries []entry // ascending by UID
	sets    [][]string
	index   map[string]uint32 // of sets, by their flags joined

	// How many messages the server shows, how many it has beyond those it opens the mailbox
	// with, and how many of the latter are in no answer.
	messages, window, missing int64
	shown                     uint64 // see shownFrom

	// A message on which connections broke in a row, and how much it is to blame.
	suspect uint32
	blame   int
}

func newMailbox(name string, role ingest.Role) *mailbox {
	return &mailbox{name: name, role: role, next: 1, index: map[string]uint32{}}
}

// restore takes over what the store remembers.
func (b *mailbox) restore(k ingest.Known) {
	b.validity, b.next, b.modseq, b.backlog = k.UIDValidity, max(k.UIDNext, 1), k.HighestModSeq, k.BacklogBefore
	b.unbounded = k.Restored
	b.entries = make([]entry, 0, len(k.Flags))
	for uid, flags := range k.Flags {
		b.entries = append(b.entries, entry{uid: uid, flags: b.intern(ingest.CanonicalFlags(flags))})
	}
	slices.SortFunc(b.entries, func(x, y entry) int { return int(int64(x.uid) - int64(y.uid)) })
	b.cursor = b.position()
}

// void forgets everything that UIDs were the names of. What is there now is not
// backlog: it was there before, under other UIDs, or it is new.
func (b *mailbox) void() {
	b.next, b.modseq, b.seen, b.backlog = 1, 0, 0, 1
	b.entries, b.sets = nil, nil
	b.index = map[string]uint32{}
	b.cursor = ingest.Cursor{}
	b.suspect, b.blame = 0, 0
}

// forgetModSeqs has every flag compared again: the MODSEQs known are not those of the
// mailbox any more.
func (b *mailbox) forgetModSeqs() {
	b.modseq, b.seen = 0, 0
	for i := range b.entries {
		b.entries[i].modseq = 0
	}
}

func (b *mailbox) position() ingest.Cursor {
	return ingest.Cursor{
		Mailbox: b.name, UIDValidity: b.validity, UIDNext: b.next,
		HighestModSeq: b.modseq, BacklogBefore: b.backlog,
	}
}

func (b *mailbox) place(uid uint32) ingest.Place {
	return ingest.Place{Mailbox: b.name, UIDValidity: b.validity, UID: uid}
}

// intern returns the index of flags, which are canonical. A mailbox of any size
// has few different sets of flags.
func (b *mailbox) intern(flags []string) uint32 {
	key := strings.Join(flags, " ")
	if i, ok := b.index[key]; ok {
		return i
	}
	i := uint32(len(b.sets))
	b.sets = append(b.sets, flags)
	b.index[key] = i
	return i
}

// at returns where uid is in entries, or would go.
func (b *mailbox) at(uid uint32) (int, bool) {
	n := len(b.entries)
	if n == 0 || b.entries[n-1].uid < uid { // arrivals come in order
		return n, false
	}
	i := sort.Search(n, func(i int) bool { return b.entries[i].uid >= uid })
	return i, b.entries[i].uid == uid
}

// known returns the flags and the MODSEQ of a reported message.
func (b *mailbox) known(uid uint32) (flags []string, modseq uint64, ok bool) {
	i, ok := b.at(uid)
	if !ok {
		return nil, 0, false
	}
	return b.sets[b.entries[i].flags], b.entries[i].modseq, true
}

// listed returns the messages that are known and that the server shows.
func (b *mailbox) listed() (r uidRanges) {
	for _, e := range b.entries {
		if b.missing > 0 || uint64(e.uid) >= b.shown {
			r = r.add(e.uid, e.uid)
		}
	}
	return r
}

// note records the flags of a message and reports whether they are news: the
// message was known with others.
func (b *mailbox) note(uid uint32, flags []string, modseq uint64) (known, changed bool) {
	i, ok := b.at(uid)
	set := b.intern(flags)
	if !ok {
		b.entries = slices.Insert(b.entries, i, entry{uid: uid, flags: set, modseq: modseq})
		return false, false
	}
	e := &b.entries[i]
	changed = e.flags != set
	e.flags = set
	if modseq != 0 {
		e.modseq = modseq
	}
	return true, changed
}

// top is the highest UID that may be known.
func (b *mailbox) top() uint32 {
	top := b.next - 1
	if n := len(b.entries); n > 0 {
		top = max(top, b.entries[n-1].uid)
	}
	return top
}

// compare walks the UIDs that exist beside those known. It takes the vanished
// out of entries and returns them and those not yet reported, both ascending.
// Entries below shown are left alone: the server may hide them. unread: a vanished
// message was not \Seen.
func (b *mailbox) compare(existing uidRanges, shown uint64) (vanished []uint32, unknown uidRanges, unread bool) {
	kept := b.entries[:0]
	i := 0
	keepUntil := func(uid uint64) { // entries below uid exist no more
		for ; i < len(b.entries) && uint64(b.entries[i].uid) < uid; i++ {
			if uint64(b.entries[i].uid) < shown {
				kept = append(kept, b.entries[i])
			} else {
				vanished = append(vanished, b.entries[i].uid)
				unread = unread || !ingest.HasFlag(b.sets[b.entries[i].flags], `\Seen`)
			}
		}
	}
	for _, r := range existing {
		keepUntil(uint64(r.first))
		from := uint64(r.first)
		for ; i < len(b.entries) && b.entries[i].uid <= r.last; i++ {
			if uid := uint64(b.entries[i].uid); uid > from {
				unknown = unknown.add(uint32(from), uint32(uid-1))
			}
			from = uint64(b.entries[i].uid) + 1
			kept = append(kept, b.entries[i])
		}
		if from <= uint64(r.last) {
			unknown = unknown.add(uint32(from), r.last)
		}
	}
	keepUntil(1 << 32)
	b.entries = kept
	return vanished, unknown, unread
}
