// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// queue holds the mark requests for one connection, in the order asked.
type queue struct {
	mu    sync.Mutex
	list  []*queued
	off   map[*queued]struct{} // those of later
	added chan struct{}        // holds one when there may be requests
}

// queued is a request, and what came of it so far.
type queued struct {
	ingest.MarkRequest
	failed int    // how often it could not be answered
	why    string // the last time
	// changed: the flags of its message changed while it waited for later, so that whoever
	// asked may not want it any more.
	changed bool
}

func newQueue() *queue { return &queue{off: map[*queued]struct{}{}, added: make(chan struct{}, 1)} }

func (q *queue) push(r ingest.MarkRequest) { q.add(&queued{MarkRequest: r}) }

func (q *queue) add(r *queued) {
	q.mu.Lock()
	delete(q.off, r)
	q.list = append(q.list, r)
	q.mu.Unlock()
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// first returns the oldest request, or nil.
func (q *queue) first() *queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

// done drops the oldest request, which was answered or is put off.
func (q *queue) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.list = q.list[1:]; len(q.list) == 0 {
		q.list = nil
	}
}

// later has a request come to the end of the queue after a pause.
func (q *queue) later(r *queued, pause time.Duration) {
	q.mu.Lock()
	q.off[r] = struct{}{}
	q.mu.Unlock()
	time.AfterFunc(pause, func() { q.add(r) })
}

// noteChange notes that the flags at a place changed.
func (q *queue) noteChange(place ingest.Place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for r := range q.off {
		r.changed = r.changed || r.Place == place
	}
}

// maxFailed is how often a request may fail before it is given up: the server calls its
// trouble passing, or the connection breaks.
const maxFailed = 5

func (r *queued) givenUp() ingest.MarkResult {
	return answer(r.MarkRequest, ingest.MarkImpossible, nil, fmt.Sprintf("given up after %d attempts: %s", r.failed, r.why))
}

// putOff has the request that heads a queue, and that failed for this reason, carried out
// later: one message or one mailbox must not keep the others waiting. It returns nil if the
// connection can go on, else the reason.
//
// What the server said no to was not carried out, and waits four times as long each time.
// Where the connection broke, nobody knows. Then the request is carried out right after the
// next connection has compared the mailbox, and after the others: its owner must not have the
// time to say something else about a mark that is there already. A server that was asked too
// much says nothing about the request.
func (s *Source) putOff(ctx context.Context, q *queue, why error) error {
	r := q.first()
	status, no := isStatus(why)
	throttled := no && status.limited() && status.Code != "OVERQUOTA" // a mailbox may stay full
	if r == nil || throttled || retryable(ctx, why) == stop {
		return why
	}
	pause := s.o.markPause << min(2*r.failed, maxMarkShift)
	r.failed, r.why = r.failed+1, ingest.OneLine(why.Error())
	q.done()
	if no && r.failed < maxFailed {
		q.later(r, pause)
	} else {
		q.add(r) // to be carried out on the next connection, or to be given up
	}
	if no && !status.limited() {
		return nil
	}
	return why
}

// marks carries out the requests for this mailbox that head its queue. A
// request stays queued until its answer was handed over, so that a connection
// that breaks in between loses none.
func (v *visit) marks(ctx context.Context) error {
	q := v.s.queueOf(v.mailbox.name)
	select {
	case <-q.added: // seen
	default:
	}
	for {
		req := q.first()
		if req == nil || req.CopyTo != "" || mailboxName(req.Place.Mailbox) != v.mailbox.name {
			return nil
		}
		v.stored = false
		result, err := v.carryOut(ctx, req)
		if err != nil {
			if _, no := isStatus(err); !no && v.stored && v.storedAt > 0 { // without MODSEQs, the next attempt comes soon
				req.Again, req.ModSeq = true, v.storedAt
			}
			if err = v.s.putOff(ctx, q, err); err != nil {
				return err
			}
			continue
		}
		if err := v.s.emit(ctx, result); err != nil {
			return err
		}
		q.done()
	}
}

// carryOut answers a request as mark does, unless it failed too often, or its owner may have
// said something on the message in a pause: then whoever asked decides anew.
func (v *visit) carryOut(ctx context.Context, req *queued) (ingest.MarkResult, error) {
	if !req.changed && req.failed < maxFailed {
		return v.mark(ctx, req.MarkRequest)
	}
	got, there, err := v.reread(ctx, req.MarkRequest, false)
	switch {
	case err == nil && !there:
		return v.notThere(req.MarkRequest), nil
	case err == nil && req.changed && unsure(got, req.MarkRequest):
		return answer(req.MarkRequest, ingest.MarkUnsure, got.flags, whyUnsure), nil
	case err == nil && req.changed:
		return answer(req.MarkRequest, ingest.MarkConflict, got.flags, ""), nil
	case err == nil && asAsked(got.flags, req.MarkRequest): // carried out, and its answer lost
		return answer(req.MarkRequest, ingest.MarkDone, got.flags, ""), nil
	case req.failed < maxFailed:
		return ingest.MarkResult{}, err
	}
	return req.givenUp(), nil
}

// notThere answers a request whose message the server does not give. A mark may be there
// still if the server hides messages.
func (v *visit) notThere(req ingest.MarkRequest) ingest.MarkResult {
	if b := v.mailbox; req.Clear && b.window+b.missing > 0 {
		return answer(req, ingest.MarkImpossible, nil, "the server does not show all messages of the mailbox, nor this one")
	}
	return answer(req, ingest.MarkGone, nil, "")
}

// storeTries is how often a STORE is repeated when only \Seen and the like got
// in its way.
const storeTries = 4

// mark carries one request out. It returns an error only when the connection is
// of no more use, or the server's trouble may pass.
func (v *visit) mark(ctx context.Context, req ingest.MarkRequest) (ingest.MarkResult, error) {
	b := v.mailbox
	if req.Place.UIDValidity != b.validity || req.Place.UID == 0 {
		return answer(req, ingest.MarkGone, nil, ""), nil
	}
	if err := ValidFlag(req.Flag); err != nil {
		return answer(req, ingest.MarkImpossible, nil, err.Error()), nil
	}
	flags, modseq, known := b.known(req.Place.UID)
	// The flag may be there already by our own hand, from before a restart or
	// before the connection broke; then the comparison at the new connection has
	// found it. What was not there when we last looked is somebody else's.
	ours := !known || asAsked(flags, req)
	// Changes up to b.modseq were reported, so a message is unchanged since the
	// later of that and its own. Where there is none, nothing was compared yet.
	since, doubt := max(modseq, b.modseq), false
	if !known || v.mustLook(flags, req) {
		got, ok, err := v.reread(ctx, req, false)
		if err != nil || !ok {
			return v.notThere(req), err
		}
		flags, since, doubt = got.flags, got.modseq, unsure(got, req)
	}
	for tries := 0; ; tries++ {
		if o, why, ended := v.ended(req, flags, ours, doubt); ended || tries == storeTries {
			return answer(req, o, flags, why), nil
		}
		late, err := v.store(req, since)
		if err != nil {
			status, no := isStatus(err)
			if !no || status.passing() {
				return ingest.MarkResult{}, err
			}
			return answer(req, ingest.MarkImpossible, flags, status.Error()), nil
		}
		// The lines that came with the OK prove nothing: an older change that was
		// still to be announced may stand where the new flags would.
		got, ok, err := v.reread(ctx, req, !late)
		if err != nil || !ok {
			return v.notThere(req), err
		}
		ours = !late
		if ours && v.ignored(req, got, since) {
			return answer(req, ingest.MarkImpossible, got.flags, "the server accepted it but did not keep it"), nil
		}
		flags, since = got.flags, got.modseq
	}
}

// mustLook reports whether the flags of a request's message must be read once more, since those
// known are not what the request expects, or do not tell all that happened.
func (v *visit) mustLook(flags []string, req ingest.MarkRequest) bool {
	return !v.condstore || v.mailbox.modseq == 0 || req.Again || asAsked(flags, req) || differ(flags, req.Known)
}

const whyUnsure = "somebody may have taken it off"

// unsure reports whether a request may have been carried out, and undone by the owner since.
func unsure(got fetched, req ingest.MarkRequest) bool {
	return req.Again && !req.Clear && !asAsked(got.flags, req) && (got.modseq == 0 || got.modseq > req.ModSeq)
}

// ignored reports whether a STORE that the server said yes to, of a message that was
// last changed at since, changed nothing.
func (v *visit) ignored(req ingest.MarkRequest, got fetched, since uint64) bool {
	still := !v.condstore || got.modseq == since
	return still && !asAsked(got.flags, req) && !differ(got.flags, req.Known)
}

func answer(req ingest.MarkRequest, o ingest.MarkOutcome, flags []string, detail string) ingest.MarkResult {
	return ingest.MarkResult{
		ID: req.ID, Place: req.Place, Clear: req.Clear, Outcome: o, Flags: slices.Clone(flags), Detail: detail, CopyTo: req.CopyTo,
	}
}

// ended reports whether nothing is left to do for a request, whose message has these
// flags, and how it ended, or would end if it were given up. ours: they are as they
// are by our own hand. doubt: it is unsure.
func (v *visit) ended(req ingest.MarkRequest, flags []string, ours, doubt bool) (o ingest.MarkOutcome, why string, ended bool) {
	switch {
	case doubt:
		return ingest.MarkUnsure, whyUnsure, true
	case asAsked(flags, req) && ours:
		return ingest.MarkDone, "", true
	case asAsked(flags, req), differ(flags, req.Known):
		return ingest.MarkConflict, "", true
	case !req.Clear && !v.keeps(req.Flag):
		return ingest.MarkImpossible, "the mailbox keeps no such flag", true
	default:
		return ingest.MarkConflict, "", false
	}
}

// asAsked reports whether flags, canonical, are as the request wants them. Its second
// keyword need not be kept, but must be gone when it is cleared.
func asAsked(flags []string, req ingest.MarkRequest) bool {
	if req.Clear {
		return !ingest.HasFlag(flags, req.Flag) && !ingest.HasFlag(flags, req.Also)
	}
	return ingest.HasFlag(flags, req.Flag)
}

// differ reports whether two sets of flags, canonical, differ in more than
// \Seen: that a message was read in the meantime says nothing about a mark.
func differ(a, b []string) bool {
	i, j := 0, 0
	for {
		for i < len(a) && a[i] == `\seen` {
			i++
		}
		for j < len(b) && b[j] == `\seen` {
			j++
		}
		if i == len(a) || j == len(b) {
			return i != len(a) || j != len(b)
		}
		if a[i] != b[j] {
			return true
		}
		i++
		j++
	}
}

// keeps reports whether the mailbox stores flag permanently, as far as it said.
func (v *visit) keeps(flag string) bool {
	if len(v.data.PermanentFlags) == 0 {
		return true // it did not say; the STORE will tell
	}
	for _, f := range v.data.PermanentFlags {
		if f == goimap.FlagWildcard && flag[0] != '\\' || ingest.CanonicalFlag(string(f)) == ingest.CanonicalFlag(flag) {
			return true
		}
	}
	return ingest.CanonicalFlag(flag) == "$important" && slices.Contains(v.data.PermanentFlags, goimap.FlagWildcard)
}

// store sets or clears the flag, provided that the message is unchanged since
// the given MODSEQ (RFC 7162, section 3.1.3); 0 leaves the condition out. It
// reports whether the server said that it had changed.
func (v *visit) store(req ingest.MarkRequest, since uint64) (late bool, err error) {
	op := goimap.StoreFlagsAdd
	if req.Clear {
		op = goimap.StoreFlagsDel
	}
	if !v.condstore {
		since = 0
	}
	v.stored, v.storedAt = !req.Clear, since
	flags := []goimap.Flag{goimap.Flag(req.Flag)}
	if req.Also == "" || ValidFlag(req.Also) != nil || !req.Clear && !v.keeps(req.Also) {
		return v.session.store(req.Place.UID, op, flags, since)
	}
	late, err = v.session.store(req.Place.UID, op, append(flags, goimap.Flag(req.Also)), since)
	if status, no := isStatus(err); no && !status.passing() {
		// A mailbox may be full of keywords, and keep the mark still.
		return v.session.store(req.Place.UID, op, flags, since)
	}
	return late, err
}

// store is visit.store for one message of the open mailbox. A server may answer OK or NO to
// a STORE that came too late.
func (s *session) store(uid uint32, op goimap.StoreFlagsOp, flags []goimap.Flag, since uint64) (late bool, err error) {
	s.beginFor(1)
	s.modified.start()
	cmd := s.client.Store(goimap.UIDSetNum(goimap.UID(uid)),
		&goimap.StoreFlags{Op: op, Flags: flags}, &goimap.StoreOptions{UnchangedSince: since})
	err = cmd.Close()
	late = s.modified.end()
	s.guard.end()
	if err == nil || late && saidNo(err) != nil && s.guard.why() == nil {
		return late, nil
	}
	return false, s.fail("UID STORE", err)
}

// reread reads the flags of the request's message as they are now, and reports
// them if they hold anything that is not known, our own flag apart when stored.
// It reports false when the message is gone.
func (v *visit) reread(ctx context.Context, req ingest.MarkRequest, stored bool) (got fetched, ok bool, err error) {
	uid := req.Place.UID
	got, ok, err = v.session.fetchOne(uid, goimap.FetchOptions{Flags: true, ModSeq: v.condstore}, nil)
	ok = ok && got.hasFlags
	if err != nil || !ok {
		return got, ok, err
	}
	flags, _, known := v.mailbox.known(uid)
	if !known {
		return got, true, nil // not reported yet; its arrival will tell
	}
	if stored && asAsked(got.flags, req) && slices.Equal(got.flags, with(flags, req, got.flags)) {
		v.mailbox.note(uid, got.flags, got.modseq)
		return got, true, nil // the MarkResult tells all of it
	}
	return got, true, v.changed(ctx, got)
}

// with returns flags after the request. now are those that were read back: they tell
// whether the mailbox keeps the second keyword.
func with(flags []string, req ingest.MarkRequest, now []string) []string {
	if req.Clear {
		gone := ingest.CanonicalFlags([]string{req.Flag, req.Also})
		return slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return slices.Contains(gone, f) })
	}
	flags = append(slices.Clone(flags), req.Flag)
	if req.Also != "" && ingest.HasFlag(now, req.Also) {
		flags = append(flags, req.Also)
	}
	return ingest.CanonicalFlags(flags)
}
