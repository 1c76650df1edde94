// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// visit is one mailbox selected on one connection.
type visit struct {
	s         *Source
	session   *session
	mailbox   *mailbox
	data      *goimap.SelectData
	condstore bool // the mailbox keeps MODSEQs (RFC 7162, section 3.1.2.2)
	readOnly  bool
	fresh     bool  // nothing was synchronised since the SELECT
	first     bool  // when it was opened, where the mailbox's backlog ends was not known
	window    int64 // see mailbox
	absent    bool  // when it was opened, the last look at the mailbox was long ago
	stored    bool  // a flag was asked for by the request at hand, of a message unchanged since storedAt
	storedAt  uint64
}

// open selects the mailbox, read-only by EXAMINE, and finds out whether what is
// known of it still holds.
func (s *Source) open(ctx context.Context, sess *session, b *mailbox, readOnly bool) (*visit, error) {
	sess.begin()
	data, err := sess.client.Select(b.name, &goimap.SelectOptions{
		ReadOnly:  readOnly,
		CondStore: sess.has(goimap.CapCondStore),
	}).Wait()
	sess.guard.end()
	if err != nil {
		return nil, sess.fail(selecting(readOnly)+" "+b.name, err)
	}
	sess.takeHints() // whatever they said, it is part of what follows
	if data.UIDValidity == 0 {
		return nil, sess.broken("mailbox %s has no UIDVALIDITY", b.name)
	}
	v := &visit{
		s: s, session: sess, mailbox: b, data: data, readOnly: readOnly, fresh: true,
		condstore: sess.has(goimap.CapCondStore) && data.HighestModSeq != 0,
		absent:    wallClock().Sub(b.lookedAt) > s.o.moment,
	}
	if v.window, err = sess.window(b, data.NumMessages); err != nil {
		return nil, err
	}
	return v, v.adopt(ctx)
}

// selecting is the command that opens a mailbox.
func selecting(readOnly bool) string {
	if readOnly {
		return "EXAMINE"
	}
	return "SELECT"
}

// adopt brings the mailbox in line with what SELECT said.
func (v *visit) adopt(ctx context.Context) error {
	b, d := v.mailbox, v.data
	switch {
	case b.validity == 0:
		b.unbounded = true
	case b.validity != d.UIDValidity:
		v.s.log.Warn("mailbox has a new UIDVALIDITY: reading it again from the start", keyMailbox, b.name, keyValidity, d.UIDValidity)
		b.void()
		b.opened = false
		// What lies in it now is no news, even where its content is not known any
		// more: better a mark too few than a folder full of them.
		b.unbounded = true
	case d.UIDNext != 0 && uint32(d.UIDNext) < b.next:
		// Not allowed, but so it is after a server was restored from an old backup:
		// UIDs will be given out again.
		v.s.log.Warn("mailbox was set back to an earlier state: comparing all of it", keyMailbox, b.name)
		b.next = uint32(d.UIDNext)
		b.forgetModSeqs()
	case v.condstore && d.HighestModSeq < b.modseq:
		b.forgetModSeqs() // likewise
	case !v.condstore:
		b.forgetModSeqs()
	}
	if b.validity != d.UIDValidity {
		b.validity = d.UIDValidity
		if v.condstore {
			// This SELECT came before any FETCH of flags, so changes up to here are
			// part of what will be fetched.
			b.modseq = d.HighestModSeq
		}
	}
	b.seen = 0
	if v.first = b.unbounded; v.first {
		// What the state does not know of was perhaps reported before, and perhaps
		// marked, and the mark taken off again: not to be marked.
		b.backlog = max(b.backlog, uint32(d.UIDNext), 1)
		b.cursor = ingest.Cursor{} // to be reported in any case
		b.unbounded = d.UIDNext == 0
	}
	if b.opened {
		return nil
	}
	b.opened = true
	var flags []string
	keywords := v.readOnly && len(d.PermanentFlags) == 0 // EXAMINE need not say
	for _, f := range d.PermanentFlags {
		if f == goimap.FlagWildcard {
			keywords = true
		} else {
			flags = append(flags, string(f))
		}
	}
	err := v.s.emit(ctx, ingest.MailboxOpened{
		Mailbox: b.name, Role: b.role, UIDValidity: b.validity,
		Keywords: keywords, Flags: ingest.CanonicalFlags(flags), Labels: v.session.has(gmailExtensions),
	})
	if err != nil {
		return err
	}
	if b.unbounded {
		return nil // a survey will tell
	}
	return v.progress(ctx)
}

// gmailExtensions is the capability of Gmail, and of no other server
// (https://developers.google.com/workspace/gmail/imap/imap-extensions).
const gmailExtensions goimap.Cap = "X-GM-EXT-1"

// progress reports the position, if it moved.
func (v *visit) progress(ctx context.Context) error {
	c := v.mailbox.position()
	if c == v.mailbox.cursor {
		return nil
	}
	if err := v.s.emit(ctx, c); err != nil {
		return err
	}
	v.mailbox.cursor = c
	return nil
}

// sync finds out everything that happened since the last time.
func (v *visit) sync(ctx context.Context, h hints) error {
	if v.fresh {
		if err := v.survey(ctx, uint32(v.data.UIDNext)); err != nil {
			return err
		}
		v.fresh = false
		v.mailbox.looked(v.session)
		v.s.noteLook(v.mailbox, false)
		return nil
	}
	// Arrivals first: someone may be waiting for their mark.
	if h&hintExists != 0 {
		if err := v.arrivals(ctx); err != nil {
			return err
		}
	}
	if h&hintSurvey != 0 || h&hintExpunged != 0 {
		if err := v.survey(ctx, 0); err != nil {
			return err
		}
	} else if h&hintFlags != 0 {
		if err := v.changes(ctx); err != nil {
			return err
		}
	}
	return v.progress(ctx)
}

// recheck compares everything, trusting nothing that the server told before. It
// opens the mailbox anew, since a search or a fetch shows what the session was
// told, and SELECT what is there.
func (v *visit) recheck(ctx context.Context) (*visit, error) {
	v, err := v.s.open(ctx, v.session, v.mailbox, v.readOnly)
	if err != nil {
		return nil, err
	}
	if err := v.sync(ctx, 0); err != nil {
		return nil, err
	}
	if v.condstore { // or all flags were compared already
		if err := v.allFlags(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// survey compares the UIDs that exist with those known, reports what vanished, what
// changed, and then what was never reported. After a SELECT next is what it said, else 0.
func (v *visit) survey(ctx context.Context, next uint32) error {
	b := v.mailbox
	exists := v.data.NumMessages
	if !v.fresh {
		exists = v.exists()
	}
	existing, missing, err := v.session.existing(1, exists, 0)
	if err != nil {
		return err
	}
	v.noteShown(existing, missing)
	if next == 0 && v.fresh {
		next = 1
		if n := len(existing); n > 0 {
			next = existing[n-1].last + 1
		}
		if b.unbounded {
			b.backlog, b.unbounded = max(b.backlog, next), false
		}
	}
	b.shown = b.shownFrom(existing, v.exists())
	vanished, unknown, unread := b.compare(existing, b.shown)
	if err := v.gone(ctx, vanished, unread); err != nil {
		return err
	}
	if err := v.changes(ctx); err != nil {
		return err
	}
	if err := v.fetchAll(ctx, unknown); err != nil {
		return err
	}
	b.next = max(b.next, next)
	return v.progress(ctx)
}

// gone reports what vanished, among it messages that were unread, and whether it may lie in a
// mailbox that is not watched.
func (v *visit) gone(ctx context.Context, uids []uint32, unread bool) error {
	if len(uids) == 0 {
		return nil
	}
	e := ingest.Vanished{Mailbox: v.mailbox.name, UIDValidity: v.mailbox.validity, UIDs: uids, Unclear: v.away()}
	if unread && !e.Unclear {
		list, err := v.session.list(ctx)
		if err != nil {
			return err
		}
		if e.Unclear, err = v.s.otherGrew(v.session, list); err != nil {
			return err
		}
	}
	return v.s.emit(ctx, e)
}

// exists is how many messages the mailbox has now.
func (v *visit) exists() uint32 { return v.session.exists() }

func (s *session) exists() uint32 {
	if m := s.client.Mailbox(); m != nil {
		return m.NumMessages
	}
	return 0
}

// search returns the UIDs, none above limit, of the messages in the selected mailbox, of
// which there are exists, that fit the criteria: those that came with a no to a command
// over too many messages, too.
func (s *session) search(criteria *goimap.SearchCriteria, limit, exists uint32) (uidRanges, error) {
	var opts *goimap.SearchOptions
	if s.has(goimap.CapESearch) {
		opts = &goimap.SearchOptions{ReturnAll: true}
	}
	s.guard.begin(s.o.CommandTimeout, s.patience(), commandBudget+12*int64(exists))
	s.guard.amending(plainDates)
	found, err := s.client.UIDSearch(criteria, opts).Wait()
	s.guard.amending(nil)
	s.guard.end()
	if err != nil {
		err = s.fail("UID SEARCH", err)
	}
	if err != nil && !overLimit(err) {
		return nil, err
	}
	r, ok := ranges(found.All, limit, max(exists, s.exists()))
	if !ok {
		return nil, s.broken("a search for UIDs up to %d among %d messages found others or more", limit, exists)
	}
	return r, err
}

// quotedDate is a date of a search as the client library writes it.
var quotedDate = regexp.MustCompile(`"(\d{1,2}-[A-Z][a-z]{2}-\d{4})"`)

// plainDates takes the quotes off the dates of a command: both forms are allowed (RFC
// 9051, section 9), but QUIRK: Apache James 3.8 knows only the plain one.
func plainDates(command []byte) []byte { return quotedDate.ReplaceAll(command, []byte("$1")) }

// quotedFields are names of header fields as the client library writes them.
var quotedFields = regexp.MustCompile(`HEADER\.FIELDS \(("[A-Za-z-]+" ?)+\)`)

// plainFields takes the quotes off them, as other programs write them. QUIRK: some servers
// take the quotes for part of the names.
func plainFields(command []byte) []byte {
	return quotedFields.ReplaceAllFunc(command, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte{'"'}, nil) })
}

// changes reports the flags that changed.
func (v *visit) changes(ctx context.Context) error {
	b := v.mailbox
	if !v.condstore || b.modseq == 0 {
		if err := v.allFlags(ctx); err != nil {
			return err
		}
		if v.condstore {
			b.modseq = v.data.HighestModSeq // said before these flags were read
			b.seen = 0
		}
		return nil
	}
	if v.fresh && v.data.HighestModSeq == b.modseq {
		return nil
	}
	top, err := v.flags(ctx, b.modseq)
	if err != nil {
		return err
	}
	// Of what this answer said, only what the one before had seen already, or the
	// SELECT before it, is sure to be complete: see mailbox.
	if v.fresh {
		b.modseq = max(b.modseq, v.data.HighestModSeq)
	}
	b.modseq = max(b.modseq, b.seen)
	b.seen = max(top, b.modseq)
	return nil
}

// allFlags reads every flag.
func (v *visit) allFlags(ctx context.Context) error {
	_, err := v.flags(ctx, 0)
	return err
}

// flags reads the flags of the known messages, of those alone that changed
// after since if that is not 0, reports those that differ from what is known,
// and returns the highest MODSEQ met.
func (v *visit) flags(ctx context.Context, since uint64) (top uint64, err error) {
	b := v.mailbox
	if len(b.entries) == 0 {
		return 0, nil
	}
	var came []uint32
	each := func(got fetched) error {
		came = append(came, got.uid)
		top = max(top, got.modseq)
		if !got.hasFlags {
			return nil
		}
		if _, _, known := b.known(got.uid); !known {
			v.session.hint(hintSurvey) // it exists, yet was never reported
			return nil
		}
		return v.changed(ctx, got)
	}
	o := goimap.FetchOptions{Flags: true, ModSeq: v.condstore, ChangedSince: since}
	limit := v.session.limit
	if since > 0 || limit == 0 {
		v.session.beginFor(len(b.entries))
		err = v.session.fetch(goimap.UIDSet{{Start: 1, Stop: goimap.UID(b.top())}}, o, nil, each)
		if err == nil && since > 0 && (limit == 0 || len(came) < limit) || err != nil && !overLimit(err) {
			return top, err
		}
	}
	slices.Sort(came)
	return top, v.session.fetchListed(b.listed().without(came), 1, o, nil, each)
}

// away reports whether what is found now may have happened while no connection
// was looking: this one has not yet compared the whole mailbox, and the last look by
// another was not just now.
func (v *visit) away() bool { return v.mailbox.live != v.session && v.absent }

// looked notes that this connection, which has compared the mailbox whole, knows of
// everything up to now.
func (b *mailbox) looked(sess *session) {
	b.live, b.lookedAt = sess, wallClock()
}

// wallClock is the time without Go's monotonic reading, which stands still while the
// machine sleeps.
func wallClock() time.Time { return time.Now().Round(0) }

// changed notes the flags of a known message and reports them if they are news.
func (v *visit) changed(ctx context.Context, got fetched) error {
	before, _, _ := v.mailbox.known(got.uid)
	if known, changed := v.mailbox.note(got.uid, got.flags, got.modseq); !known || !changed {
		return nil
	}
	place := v.mailbox.place(got.uid)
	if differ(before, got.flags) {
		v.s.queueOf(v.mailbox.name).noteChange(place)
	}
	return v.s.emit(ctx, ingest.FlagsChanged{Place: place, Flags: slices.Clone(got.flags), Away: v.away(), ModSeq: got.modseq})
}
