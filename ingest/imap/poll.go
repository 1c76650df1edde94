// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"maps"
	"slices"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// stamp is what STATUS says of a mailbox. While it stays the same, so did the
// mailbox, flags included where the server has CONDSTORE.
type stamp struct {
	validity, next, messages uint32
	modseq                   uint64
}

// includes reports whether who has looked at a mailbox knows of all that STATUS tells.
func (known stamp) includes(now stamp) bool {
	return now.next <= known.next && now.messages == known.messages && (known.modseq == 0 || now.modseq <= known.modseq)
}

// poller serves the connection on which every mailbox but INBOX is watched.
type poller struct {
	s       *Source
	watched []*mailbox
	last    map[string]stamp // what STATUS said before the last synchronisation
	missing map[string]bool  // mailboxes that were asked for and are not there; told once
	copied  map[uint64]bool  // requests for which a copy may have been made already
}

// watch looks at the mailboxes in turn until ctx is done.
func (p *poller) watch(ctx context.Context, sess *session) error {
	s := p.s
	if err := p.discover(ctx, sess); err != nil {
		return err
	}
	if err := p.round(ctx, sess, true, false); err != nil {
		return err
	}
	sess.onSync()
	poll := time.NewTicker(s.o.PollInterval)
	defer poll.Stop()
	recheck := time.NewTicker(s.o.RecheckInterval)
	defer recheck.Stop()
	for {
		if err := p.marks(ctx, sess); err != nil {
			return err
		}
		w := waiter{s: s, sess: sess, marks: s.otherMarks, recheck: recheck.C, end: poll.C}
		w.wait(ctx)
		if w.err != nil {
			return w.err
		}
		var err error
		switch w.reason {
		case endTime:
			if err = p.round(ctx, sess, false, false); err == nil {
				err = p.remindInbox(sess)
			}
		case endRecheck:
			if err = p.discover(ctx, sess); err == nil {
				err = p.round(ctx, sess, true, true)
			}
		case endHint: // a mark; or a server that speaks unasked, which is no matter
			sess.takeHints()
		}
		if err != nil {
			return err
		}
	}
}

// discover finds out which mailboxes there are to watch.
func (p *poller) discover(ctx context.Context, sess *session) error {
	list, err := sess.list(ctx)
	if err != nil {
		return err
	}
	p.watched = nil
	for _, l := range list {
		if p.s.watches(l.name, l.role) && !(p.s.idle && l.name == inbox) {
			b := p.s.mailbox(l.name, l.role)
			if !b.opened {
				delete(p.last, l.name) // it has another role, which is to be told
			}
			p.watched = append(p.watched, b)
		}
	}
	if _, err := p.s.otherGrew(sess, list); err != nil {
		return err
	}
	watch := slices.Concat(p.s.o.Mailboxes, slices.Sorted(maps.Values(p.s.o.Roles)))
	for _, name := range p.newlyMissing(watch, list) {
		p.s.log.Warn("a mailbox to watch doesn't exist", keyMailbox, name)
	}
	for _, name := range p.newlyMissing(p.s.o.Exclude, list) {
		p.s.log.Warn("a mailbox to leave out doesn't exist", keyMailbox, name)
	}
	return nil
}

// mostUnwatched is of how many mailboxes it is asked whether mail was put there.
const mostUnwatched = 100

// otherGrew asks whether mail came into a mailbox that is not watched since the last call:
// what is gone from another may lie there. It is true if that is not known.
func (s *Source) otherGrew(sess *session, list []listed) (grew bool, err error) {
	s.mu.Lock()
	before := s.unwatched
	s.mu.Unlock()
	now := map[string]goimap.UID{}
	grew = before == nil
	for _, l := range list {
		if s.watches(l.name, l.role) || l.role == ingest.RoleDrafts {
			continue
		}
		if len(now) == mostUnwatched {
			return true, nil
		}
		sess.begin()
		d, err := sess.client.Status(l.name, &goimap.StatusOptions{UIDNext: true}).Wait()
		sess.guard.end()
		if err != nil && saidNo(err) == nil {
			return true, sess.fail("STATUS of "+l.name, err)
		}
		if err == nil { // or nobody puts mail there
			now[l.name] = d.UIDNext
			grew = grew || d.UIDNext == 0 || d.UIDNext != before[l.name]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unwatched = now
	return grew, nil
}

// newlyMissing returns the mailboxes of the configuration that the server doesn't have, each
// once in the run.
func (p *poller) newlyMissing(names []string, list []listed) (missing []string) {
	for _, name := range names {
		name = mailboxName(name)
		if p.missing[name] || slices.ContainsFunc(list, func(l listed) bool { return SameMailbox(name, l.name) }) {
			continue
		}
		if p.missing == nil {
			p.missing = map[string]bool{}
		}
		p.missing[name] = true
		missing = append(missing, name)
	}
	return missing
}

// round looks at every mailbox once, and into those that changed, or, when all
// is set, into each; flags says to compare every flag there.
func (p *poller) round(ctx context.Context, sess *session, all, flags bool) error {
	if len(p.watched) == 0 {
		return sess.noop() // or the server would hang up, and a mark wait for a login
	}
	for _, b := range p.watched {
		now, err := p.status(sess, b.name)
		if status, no := isStatus(err); no {
			// Deleted, renamed or out of reach. If it comes back as another, its
			// UIDVALIDITY will tell.
			if !p.missing[b.name] {
				p.s.log.Warn("can't examine a mailbox", keyMailbox, b.name, keyError, status)
			}
			continue
		}
		if err != nil {
			return err
		}
		if last, looked := p.last[b.name]; looked && !all && now == last {
			if b.live == sess {
				b.looked(sess)
			}
			p.s.noteLook(b, false)
			continue
		}
		if err := p.look(ctx, sess, b, flags); err != nil {
			return err
		}
		p.last[b.name] = now
		if err := p.marks(ctx, sess); err != nil {
			return err
		}
	}
	return nil
}

// remindInbox has the connection that idles on INBOX ask for news, if STATUS knows of some
// that it does not. QUIRK: on a busy machine Dovecot 2.3 can say nothing in IDLE of a
// message that came as the IDLE began, for as long as that lasts.
func (p *poller) remindInbox(sess *session) error {
	known := p.s.inboxKnown.Load()
	if known == nil {
		return nil // it has not looked yet
	}
	now, err := p.status(sess, inbox)
	if _, no := isStatus(err); no {
		return nil
	}
	if told := p.s.inboxTold.Load(); err != nil || told != nil && now == *told || known.includes(now) {
		return err
	}
	p.s.inboxTold.Store(&now)
	select {
	case p.s.inboxNews <- struct{}{}:
	default:
	}
	return nil
}

func (p *poller) status(sess *session, name string) (stamp, error) {
	if m := sess.client.Mailbox(); m != nil && mailboxName(m.Name) == name {
		// The server has no UNSELECT, and STATUS may tell of the mailbox as it was
		// opened (RFC 3501, section 6.3.10). Dovecot does until it hears a NOOP.
		if err := sess.noop(); err != nil {
			return stamp{}, err
		}
	}
	sess.begin()
	d, err := sess.client.Status(name, &goimap.StatusOptions{
		NumMessages: true, UIDNext: true, UIDValidity: true, HighestModSeq: sess.has(goimap.CapCondStore),
	}).Wait()
	sess.guard.end()
	if err != nil {
		return stamp{}, sess.fail("STATUS of "+name, err)
	}
	st := stamp{validity: d.UIDValidity, next: uint32(d.UIDNext), modseq: d.HighestModSeq}
	if d.NumMessages != nil {
		st.messages = *d.NumMessages
	}
	return st, nil
}

// look opens one mailbox read-only and finds out what changed; every flag is
// compared when flags is set.
func (p *poller) look(ctx context.Context, sess *session, b *mailbox, flags bool) error {
	v, err := p.s.open(ctx, sess, b, true)
	if _, no := isStatus(err); no {
		p.s.log.Warn("can't open a mailbox", keyMailbox, b.name, keyError, err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := v.sync(ctx, 0); err != nil {
		return err
	}
	if flags && v.condstore { // or they were compared already
		if err := v.allFlags(ctx); err != nil {
			return err
		}
	}
	return sess.unselect()
}

// marks carries out the requests for mailboxes other than INBOX, and for copies.
func (p *poller) marks(ctx context.Context, sess *session) error {
	for req := p.s.otherMarks.first(); req != nil; req = p.s.otherMarks.first() {
		carryOut := p.mark
		if req.CopyTo != "" {
			carryOut = p.copy
		}
		if err := carryOut(ctx, sess, req); err != nil {
			return err
		}
	}
	return nil
}

// mark carries out the request that heads the queue, and those behind it for the same
// mailbox, which is selected read-write for as long as they head it.
func (p *poller) mark(ctx context.Context, sess *session, req *queued) error {
	name := mailboxName(req.Place.Mailbox)
	b, known := p.s.mailboxes[name]
	if !known {
		b = newMailbox(name, ingest.RoleOther)
	}
	watched := slices.Contains(p.watched, b)
	if !watched {
		b.opened = true // nothing of it is reported but the marks
	}
	v, err := p.s.open(ctx, sess, b, false)
	if status, no := isStatus(err); no && (!status.passing() || req.failed >= maxFailed) {
		result := answer(req.MarkRequest, ingest.MarkGone, nil, status.Error())
		if status.passing() {
			result = req.givenUp()
		}
		if err := p.s.emit(ctx, result); err != nil {
			return err
		}
		p.s.otherMarks.done()
		return nil
	}
	if err != nil {
		return p.s.putOff(ctx, p.s.otherMarks, err)
	}
	if watched && b.live != sess {
		// What was not there when we last looked may have been set by our own hand before
		// a restart, or by somebody else since: it is reported before anything is set.
		if err := v.sync(ctx, 0); err != nil {
			return err
		}
	}
	if err := v.marks(ctx); err != nil {
		return err
	}
	delete(p.last, name) // what changed while it was open is looked at in the next round
	return sess.unselect()
}
