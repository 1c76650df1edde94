// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"io"
	"slices"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// A message on which connections break again and again must not hold up those
// behind it: it is reported without its text once it was to blame for maxBlame, and
// without its flags, too, after twice that.
// A server that says no or breaks the protocol over it will do so again, so
// three times are enough; a lost connection may be the network's fault.
const (
	blameServer = 4
	blameLost   = 1
	maxBlame    = 12
)

// bareTries is how often a message is asked for whose text does not come.
const bareTries = 3

// fetch is session.fetchListed in the mailbox.
func (v *visit) fetch(listed uidRanges, o goimap.FetchOptions, text textReader, each func(fetched) error) error {
	return v.session.fetchListed(listed, 1, o, text, func(got fetched) error {
		got.size = max(got.size, int64(len(got.raw)))
		return each(got)
	})
}

// readText reads a text into one buffer of its size, and never beyond MaxBytes.
func (v *visit) readText(literal goimap.LiteralReader) ([]byte, error) {
	size := literal.Size()
	if size > v.s.o.MaxBytes {
		return nil, v.session.broken("a text of %d bytes came where %d were asked for", size, v.s.o.MaxBytes)
	}
	v.session.guard.extend(size+lineBudget, v.session.patience())
	raw := make([]byte, size)
	if _, err := io.ReadFull(literal, raw); err != nil {
		return nil, textError{v.session.fail("read a message", err)}
	}
	return raw, nil
}

// bodyItems asks for everything that an arrival holds. Peek leaves \Seen alone. Only
// of a message that is too large a part is asked for: not every server gets the
// answer to that right.
func (v *visit) bodyItems(large bool) goimap.FetchOptions {
	return goimap.FetchOptions{
		Flags: true, InternalDate: true, RFC822Size: true, ModSeq: v.condstore,
		BodySection: []*goimap.FetchItemBodySection{text(large, v.s.o.MaxBytes)},
	}
}

// text is the text of a message, or the first most bytes of a large one.
func text(large bool, most int64) *goimap.FetchItemBodySection {
	section := &goimap.FetchItemBodySection{Peek: true}
	if large {
		section.Partial = &goimap.SectionPartial{Offset: 0, Size: most}
	}
	return section
}

// sizes finds out which messages are too large to be asked for whole, of those listed, or
// if listed is nil of the n that may have come since. Those that are known already are in
// neither; top is the highest UID of all.
func (v *visit) sizes(listed uidRanges, n int) (small, large uidRanges, top uint32, err error) {
	var uids []uint32
	tooLarge := map[uint32]bool{}
	most := v.most(n)
	each := func(got fetched) error {
		uids = append(uids, got.uid)
		if len(uids) > most || got.uid == ^uint32(0) {
			return v.session.broken("a FETCH in %s gave UID %d as message %d of %d", v.mailbox.name, got.uid, len(uids), most)
		}
		tooLarge[got.uid] = got.size > v.s.o.MaxBytes
		return nil
	}
	if listed != nil {
		err = v.session.fetchListed(listed, 1, goimap.FetchOptions{RFC822Size: true}, nil, each)
	} else {
		v.session.beginFor(n)
		err = v.session.fetch(goimap.UIDSet{{Start: goimap.UID(v.mailbox.next), Stop: 0}}, goimap.FetchOptions{RFC822Size: true}, nil, each)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	slices.Sort(uids)
	for _, uid := range uids {
		top = uid
		switch _, _, known := v.mailbox.known(uid); {
		case known:
		case tooLarge[uid]:
			large = large.add(uid, uid)
		default:
			small = small.add(uid, uid)
		}
	}
	return small, large, top, nil
}

// arrivals reports the messages that came since the last time, when there are
// few: one command. Many are left to a survey, which counts them first.
func (v *visit) arrivals(ctx context.Context) error {
	b := v.mailbox
	lacks := func() int64 { return int64(v.exists()) - int64(len(b.entries)) }
	if v.session.limit > 0 || lacks() > int64(v.s.o.chunk) {
		return v.backfill(ctx)
	}
	top, err := v.fetchSet(ctx, nil, v.s.o.chunk)
	if err != nil {
		return err
	}
	if lacks() > b.missing {
		return v.backfill(ctx) // not all came
	}
	if top >= b.next {
		b.next = top + 1
	}
	return v.progress(ctx)
}

// backfill reports any number of new messages.
func (v *visit) backfill(ctx context.Context) error {
	b := v.mailbox
	fresh, _, err := v.session.existing(b.next, v.exists(), len(b.entries))
	if err != nil {
		return err
	}
	var unknown uidRanges
	for _, r := range fresh {
		from := r.first
		for i, _ := b.at(r.first); i < len(b.entries) && b.entries[i].uid <= r.last; i++ {
			if uid := b.entries[i].uid; uid > from {
				unknown = unknown.add(from, uid-1)
			}
			from = b.entries[i].uid + 1
		}
		if from <= r.last {
			unknown = unknown.add(from, r.last)
		}
	}
	return v.fetchAll(ctx, unknown)
}

// fetchAll reports the messages of r, a chunk at a time, the position after
// each, and carries out marks in between.
func (v *visit) fetchAll(ctx context.Context, r uidRanges) error {
	b := v.mailbox
	defer v.s.setRemaining(b.name, 0)
	for len(r) > 0 {
		v.s.setRemaining(b.name, r.len())
		n := v.s.o.chunk
		if b.blame > 0 {
			if head, _ := r.before(b.suspect); len(head) > 0 {
				n = int(min(int64(n), head.len())) // up to the suspect
			} else {
				n = 1 // the suspect alone
			}
		}
		chunk, rest := r.cut(n)
		first, last := chunk[0].first, chunk[len(chunk)-1].last
		fetch := v.fetchSet
		if b.blame >= maxBlame && first == b.suspect {
			fetch = v.textless
		}
		if _, err := fetch(ctx, chunk, int(chunk.len())); err != nil {
			v.blame(ctx, chunk, err)
			return err
		}
		if b.blame > 0 && last >= b.suspect {
			b.suspect, b.blame = 0, 0
		}
		r = rest
		b.next = max(b.next, last+1)
		if err := v.progress(ctx); err != nil {
			return err
		}
		if !v.readOnly {
			if err := v.marks(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// blame notes the message on which the connection broke: the first of the chunk
// that was not reported, since servers answer in order.
func (v *visit) blame(ctx context.Context, chunk uidRanges, err error) {
	weight := weightOf(ctx, err)
	if weight == 0 {
		return
	}
	b := v.mailbox
	for _, r := range chunk {
		for uid := uint64(r.first); uid <= uint64(r.last); uid++ {
			if _, _, known := b.known(uint32(uid)); known {
				continue
			}
			if b.suspect != uint32(uid) {
				b.suspect, b.blame = uint32(uid), 0
			}
			b.blame += weight
			return
		}
	}
}

// weightOf returns how much an error over a message says against it.
func weightOf(ctx context.Context, err error) int {
	status, no := isStatus(err)
	switch {
	case retryable(ctx, err) == stop, no && status.limited():
		return 0 // whatever the message, it would have come to this
	case no, isProtocol(err):
		return blameServer
	}
	return blameLost
}

// textless reports the one message of set, whose text cannot be fetched, so that it is
// decided from what is known of it: that it is there, and its flags. It returns an error as
// long as connections break over these as well, until the message is to blame for that, too.
func (v *visit) textless(ctx context.Context, _ uidRanges, _ int) (top uint32, err error) {
	b := v.mailbox
	got, there := fetched{uid: b.suspect}, b.blame >= 2*maxBlame
	if !there {
		got, there, err = v.session.fetchOne(b.suspect, goimap.FetchOptions{Flags: true, RFC822Size: true, ModSeq: v.condstore}, nil)
	}
	if err != nil || !there {
		return 0, err
	}
	v.s.log.Warn("can't fetch a message: reporting it without its text", keyMailbox, b.name, keyUID, b.suspect)
	return b.suspect, v.arrived(ctx, got)
}

// fetchSet reports the messages that are not known yet of those listed, or if that is nil
// of the n that may have come since, and returns the highest UID met. A message that was
// expunged meanwhile is missing from the answer, and that is all.
func (v *visit) fetchSet(ctx context.Context, listed uidRanges, n int) (top uint32, err error) {
	small, large, top, err := v.sizes(listed, n)
	if err != nil {
		return 0, err
	}
	for _, part := range []struct {
		uids  uidRanges
		large bool
	}{{small, false}, {large, true}} {
		if len(part.uids) == 0 {
			continue
		}
		if err := v.fetchTexts(ctx, part.uids, part.large); err != nil {
			return 0, err
		}
	}
	return top, nil
}

// most is how many messages may come in answer to a FETCH of n that is sent now: news of
// others may come between.
func (v *visit) most(n int) int { return max(n, int(min(v.exists(), 1<<30))) }

// fetchTexts is fetchSet for messages that are all large, or none.
func (v *visit) fetchTexts(ctx context.Context, uids uidRanges, large bool) error {
	var bare []uint32
	err := v.fetch(uids, v.bodyItems(large), v.readText, func(got fetched) error {
		if _, _, known := v.mailbox.known(got.uid); known {
			return v.changed(ctx, got)
		}
		if !got.hasRaw || !got.hasFlags {
			// A change of flags was announced before the answer proper, which the
			// client library then takes for a repetition and drops.
			bare = append(bare, got.uid)
			return nil
		}
		return v.arrived(ctx, got)
	})
	if err != nil {
		return err
	}
	for _, uid := range bare {
		got, there, err := v.askAgain(uid, large)
		if err == nil && there {
			err = v.arrived(ctx, got)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askAgain asks once more, and alone, for a message whose text did not come. A
// server that goes on without it has lost the text, or the message: then there is
// no text, or nothing at all.
func (v *visit) askAgain(uid uint32, large bool) (got fetched, there bool, err error) {
	for range bareTries {
		got, there, err = v.session.fetchOne(uid, v.bodyItems(large), v.readText)
		if err != nil || !there || got.hasRaw && got.hasFlags {
			break
		}
	}
	got.size = max(got.size, int64(len(got.raw)))
	return got, there, err
}

// arrived reports a message.
func (v *visit) arrived(ctx context.Context, got fetched) error {
	b := v.mailbox
	b.note(got.uid, got.flags, got.modseq)
	return v.s.emit(ctx, ingest.Arrival{
		Place: b.place(got.uid), Internal: got.internal, Flags: slices.Clone(got.flags),
		Raw: got.raw, Size: got.size, Backlog: got.uid < b.backlog, Away: v.away(), ModSeq: got.modseq,
	})
}

// isStatus reports whether the server merely said no, so that the connection
// lives.
func isStatus(err error) (*statusError, bool) {
	var status *statusError
	ok := errors.As(err, &status)
	return status, ok
}
