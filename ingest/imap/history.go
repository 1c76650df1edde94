// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest"
)

// HistoryOptions say how much of a mailbox's past is read.
type HistoryOptions struct {
	// Since leaves out what arrived (INTERNALDATE) earlier; zero: nothing.
	Since time.Time
	// Max reads the newest so many messages of those, and the few that arrived in
	// the same second as the oldest of them; 0: all.
	Max int
}

// History is a source that reads what the watched mailboxes held when it first
// looked, all of them merged in order of arrival, and then ends. It opens them by
// EXAMINE and reads with PEEK on one connection; it never writes.
//
// Every message that it reports is backlog. When all were reported it says which
// were left out for their age, and the positions from which a Source goes on
// without reading any of it again. Resumed from what is known, it reports the
// rest: the end of the past is where it was when the mailbox was first opened.
//
// Memory: some 30 bytes a message and at most 2 MiB of text, or one message, a
// mailbox.
type History struct {
	src *Source
	o   HistoryOptions

	mu          sync.Mutex // guards all below
	done, total int
	complete    bool
}

var _ ingest.Source = (*History)(nil)

// NewHistory makes a History that resumes from known. It does not connect. The
// error lists everything that is wrong with o.
func NewHistory(o Options, h HistoryOptions, known []ingest.Known) (*History, error) {
	if h.Max < 0 {
		return nil, fmt.Errorf("the number of messages to read is %d; it must be 0 (all) or more", h.Max)
	}
	src, err := New(o, known)
	if err != nil {
		return nil, err
	}
	src.o.BackoffMax = min(src.o.BackoffMax, historyPatience)
	return &History{src: src, o: h}, nil
}

const (
	// historyPatience bounds the wait between connections: somebody is waiting.
	historyPatience = 30 * time.Second
	// historyTries is after how many connections in a row that brought nothing the
	// reading ends. A message that breaks them is given up earlier, see maxBlame.
	historyTries = maxBlame + 4
	// historyBytes bounds the texts of one FETCH, beyond its first message.
	historyBytes = 2 << 20
	// skippedAtOnce is how many messages one Skipped names.
	skippedAtOnce = 1000
)

// Mark implements ingest.Source: nothing is marked.
func (h *History) Mark(...ingest.MarkRequest) {}

// Status implements ingest.Source.
func (h *History) Status() ingest.Status {
	st := h.src.Status()
	h.mu.Lock()
	defer h.mu.Unlock()
	st.Remaining = h.total - h.done
	return st
}

// Progress returns how many messages of the past were reported, in this run and
// before, and how many there are; 0 and 0 before they were counted. Safe for
// concurrent use.
func (h *History) Progress() (done, total int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done, h.total
}

// Complete reports whether all of the past was reported. Safe for concurrent use.
func (h *History) Complete() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.complete
}

// Run implements ingest.Source. It returns nil when all was reported or ctx ended
// it; Complete tells which. It gives up at once when the first connection fails,
// since somebody is waiting who can mend it, and later ones only when they fail
// again and again.
func (h *History) Run(ctx context.Context, emit ingest.Emit) error {
	h.src.emitTo = emit
	for _, b := range h.src.mailboxes {
		b.opened = false
	}
	wait := newBackOff(h.src.o.BackoffMin, h.src.o.BackoffMax)
	for tries := 0; ; tries++ {
		before, _ := h.Progress()
		sess, err := h.src.enter(ctx)
		if err == nil {
			h.src.setLine(lineOther, true, "")
			err = h.read(ctx, sess)
			sess.close()
		} else if tries == 0 {
			tries = historyTries
		}
		if err == nil {
			h.mu.Lock()
			h.complete = true
			h.mu.Unlock()
			return nil
		}
		if after, _ := h.Progress(); after > before {
			tries = 0
			wait.Reset()
		}
		switch retryable(ctx, err) {
		case stop:
			var emit emitError
			if errors.As(err, &emit) && ctx.Err() == nil {
				return err
			}
			return nil
		case againSlow:
			return err
		}
		if errors.Is(err, errUnreadable) {
			return err
		}
		if tries >= historyTries {
			return err
		}
		pause := max(wait.NextBackOff(), min(askedPause(err), h.src.o.BackoffMax))
		h.src.setLine(lineOther, false, err.Error())
		h.src.log.Warn("connection lost, reconnecting", keyError, err, keyWait, pause)
		if !sleep(ctx, pause) {
			return nil
		}
	}
}

// piece is one message of the past.
type piece struct {
	arrived   int64 // INTERNALDATE in Unix seconds
	uid, size uint32
	flags     uint32 // index into mailbox.sets, as when it was counted
	large     bool   // only a part of it is fetched
	known     bool   // reported before
}

// past is what one mailbox held.
type past struct {
	mailbox  *mailbox
	validity uint32
	todo     []piece // to be reported, by (arrived, uid)
	skip     []piece // left out, by uid
	ready    map[uint32]fetched
	readyTo  int // todo[:readyTo] was asked for
	at       int // todo[:at] is reported
}

// read counts what there is, reports what was not yet, and says where it ended.
func (h *History) read(ctx context.Context, sess *session) error {
	list, err := sess.list(ctx)
	if err != nil {
		return err
	}
	var pasts []*past
	all := map[*past][]piece{}
	for _, l := range list {
		if !h.src.watches(l.name, l.role) {
			continue
		}
		p := &past{mailbox: h.src.mailbox(l.name, l.role)}
		pieces, err := h.count(ctx, sess, p)
		if status, no := isStatus(err); no {
			h.src.log.Warn("can't open a mailbox", keyMailbox, l.name, keyError, status)
			continue
		}
		if err != nil {
			return err
		}
		p.mailbox.unbounded = false // that is where its past ends
		pasts = append(pasts, p)
		all[p] = pieces
	}
	from := h.choose(pasts, all)
	if err := h.merge(ctx, sess, pasts); err != nil {
		return err
	}
	for _, p := range pasts {
		if err := h.finish(ctx, p, from); err != nil {
			return err
		}
	}
	return h.src.emit(ctx, ingest.Tick{})
}

// choose splits what was counted into what is to be reported and what is left
// out, and returns from where on things are reported.
func (h *History) choose(pasts []*past, all map[*past][]piece) (from time.Time) {
	least := int64(-1 << 62)
	if !h.o.Since.IsZero() {
		least = h.o.Since.Unix()
		from = h.o.Since
	}
	if h.o.Max > 0 {
		var dates []int64
		for _, p := range pasts {
			for _, m := range all[p] {
				dates = append(dates, m.arrived)
			}
		}
		slices.Sort(dates)
		if n := len(dates); n > h.o.Max && dates[n-h.o.Max] > least {
			least = dates[n-h.o.Max]
			from = time.Unix(least, 0)
		}
	}
	done, total := 0, 0
	for _, p := range pasts {
		for _, m := range all[p] {
			switch {
			case m.arrived < least && m.known:
			case m.arrived < least:
				p.skip = append(p.skip, m)
			case m.known:
				done++
				total++
			default:
				p.todo = append(p.todo, m)
				total++
			}
		}
		slices.SortFunc(p.todo, func(a, b piece) int {
			return cmp.Or(cmp.Compare(a.arrived, b.arrived), cmp.Compare(a.uid, b.uid))
		})
		slices.SortFunc(p.skip, func(a, b piece) int { return cmp.Compare(a.uid, b.uid) })
	}
	h.mu.Lock()
	h.done, h.total = done, total
	h.mu.Unlock()
	return from
}

// merge reports the messages of all mailboxes in order of arrival; of those of
// one second, the mailbox whose name sorts first goes first.
func (h *History) merge(ctx context.Context, sess *session, pasts []*past) error {
	var selected *past
	var v *visit
	for {
		next := earliest(pasts)
		if next == nil {
			return nil
		}
		if next.at >= next.readyTo {
			if selected != next {
				var err error
				if v, err = h.open(ctx, sess, next); err != nil {
					return err
				}
				selected = next
			}
			if err := v.fill(ctx, next, next.at); err != nil {
				return err
			}
		}
		m := next.todo[next.at]
		if got, there := next.ready[m.uid]; there {
			delete(next.ready, m.uid)
			if got.internal.IsZero() {
				// Without a date it would count as of now, and the account's clock with it.
				got.internal = time.Unix(max(m.arrived, 1), 0)
			}
			if err := h.report(ctx, next, got); err != nil {
				return err
			}
		} // or it was expunged meanwhile
		next.at++
		h.mu.Lock()
		h.done++
		h.mu.Unlock()
	}
}

// earliest returns the mailbox whose next message arrived first; nil: all are
// reported.
func earliest(pasts []*past) *past {
	var next *past
	for _, p := range pasts {
		if p.at < len(p.todo) && (next == nil || p.todo[p.at].arrived < next.todo[next.at].arrived) {
			next = p
		}
	}
	return next
}

// open selects a mailbox again, whose numbers must still be those that were
// counted.
func (h *History) open(ctx context.Context, sess *session, p *past) (*visit, error) {
	v, err := h.src.open(ctx, sess, p.mailbox, true)
	if err == nil && p.validity != p.mailbox.validity {
		err = fmt.Errorf("mailbox %s was renumbered meanwhile", p.mailbox.name)
	}
	return v, err
}

// report hands one message over.
func (h *History) report(ctx context.Context, p *past, got fetched) error {
	p.mailbox.note(got.uid, got.flags, got.modseq)
	return h.src.emit(ctx, ingest.Arrival{
		Place: p.mailbox.place(got.uid), Internal: got.internal, Flags: slices.Clone(got.flags),
		Raw: got.raw, Size: got.size, Backlog: true, Away: true,
	})
}

// finish says what of a mailbox was left out, and that its past is read.
func (h *History) finish(ctx context.Context, p *past, from time.Time) error {
	b := p.mailbox
	byFlags := map[uint32][]uint32{}
	for _, m := range p.skip {
		byFlags[m.flags] = append(byFlags[m.flags], m.uid)
	}
	for set, flags := range b.sets {
		for uids := range slices.Chunk(byFlags[uint32(set)], skippedAtOnce) {
			err := h.src.emit(ctx, ingest.Skipped{
				Mailbox: b.name, UIDValidity: b.validity, UIDs: uids, Flags: slices.Clone(flags),
				Before: from,
			})
			if err != nil {
				return err
			}
		}
	}
	b.next = max(b.next, b.backlog)
	if c := b.position(); c != b.cursor {
		if err := h.src.emit(ctx, c); err != nil {
			return err
		}
		b.cursor = c
	}
	return nil
}
