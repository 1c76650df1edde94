// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	goimap "github.com/emersion/go-imap/v2"
)

// count opens a mailbox and finds out which messages of its past there are, known
// ones included, without their texts. Where the position is beyond the past there
// is nothing to find.
func (h *History) count(ctx context.Context, sess *session, p *past) ([]piece, error) {
	b := p.mailbox
	v, err := h.src.open(ctx, sess, b, true)
	if err != nil {
		return nil, err
	}
	p.validity = b.validity
	existing, missing, err := sess.existing(1, v.data.NumMessages, 0)
	if err != nil {
		return nil, err
	}
	v.noteShown(existing, missing)
	h.src.noteLook(b, false)
	if v.first && v.data.UIDNext == 0 && len(existing) > 0 {
		// The server did not say where the past ends: behind what there is now.
		b.backlog = existing[len(existing)-1].last + 1
		if err := v.progress(ctx); err != nil {
			return nil, err
		}
	}
	if b.backlog <= b.next {
		return nil, nil
	}
	existing, _ = existing.before(b.backlog)
	_, existing = existing.before(b.next)
	var out []piece
	most := int(v.data.NumMessages)
	err = v.fetch(existing, goimap.FetchOptions{
		Flags: true, InternalDate: true, RFC822Size: true,
	}, nil, func(got fetched) error {
		if len(out) >= v.most(most) {
			return sess.broken("%s has more messages than the server said", b.name)
		}
		_, _, known := b.known(got.uid)
		out = append(out, piece{
			arrived: got.internal.Unix(), uid: got.uid, size: uint32(min(got.size, v.s.o.MaxBytes)),
			flags: b.intern(got.flags), large: got.size > v.s.o.MaxBytes, known: known,
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y piece) int { return int(int64(x.uid) - int64(y.uid)) })
	return out, nil
}

// fill reads the texts of the next messages of p, from the i-th on: as many as
// one FETCH may hold.
func (v *visit) fill(ctx context.Context, p *past, i int) error {
	b := p.mailbox
	end, bytes := i, int64(0)
	for end < len(p.todo) && end-i < v.s.o.chunk && p.todo[end].large == p.todo[i].large &&
		(end == i || bytes+int64(p.todo[end].size) <= historyBytes) {
		bytes += int64(p.todo[end].size)
		end++
	}
	if b.blame > 0 {
		end = i + 1 // one by one, until the one is found that breaks connections
	}
	chunk := p.todo[i:end]
	if b.blame >= maxBlame && chunk[0].uid == b.suspect {
		v.s.log.Warn("can't fetch a message: reporting it without its text", keyMailbox, b.name, keyUID, b.suspect)
		p.ready = map[uint32]fetched{b.suspect: {uid: b.suspect, flags: b.sets[chunk[0].flags], size: int64(chunk[0].size)}}
		p.readyTo = end
		b.suspect, b.blame = 0, 0
		if v.s.unreadable++; v.s.unreadable == maxUnreadable {
			return fmt.Errorf("%w: %d messages in a row, the last of them with UID %d in %s", errUnreadable, maxUnreadable, chunk[0].uid, b.name)
		}
		return nil
	}
	ready, err := v.texts(chunk)
	if err != nil {
		v.blameFirst(ctx, chunk, ready, err)
		return err
	}
	if b.blame > 0 && chunk[0].uid == b.suspect {
		b.suspect, b.blame = 0, 0
	}
	if len(ready) > 0 {
		v.s.unreadable = 0
	}
	p.ready, p.readyTo = ready, end
	return nil
}

// maxUnreadable is how many messages in a row are given up before a reading of the past
// ends: then it is not the messages.
const maxUnreadable = 4

var errUnreadable = errors.New("can't read any message from this server")

// texts fetches messages that are all large, or none. Those that exist no more are missing from the
// answer.
func (v *visit) texts(chunk []piece) (map[uint32]fetched, error) {
	uids := make([]uint32, len(chunk))
	for i, m := range chunk {
		uids[i] = m.uid
	}
	slices.Sort(uids)
	ready := make(map[uint32]fetched, len(chunk))
	err := v.fetch(rangesOf(uids), v.bodyItems(chunk[0].large), v.readText, func(got fetched) error {
		ready[got.uid] = got
		return nil
	})
	if err != nil {
		// The one over whose text it broke began to come.
		maps.DeleteFunc(ready, func(_ uint32, got fetched) bool { return !got.hasRaw })
		return ready, err
	}
	for _, uid := range uids {
		got, there := ready[uid]
		if !there || got.hasRaw && got.hasFlags {
			continue
		}
		again, there, err := v.askAgain(uid, chunk[0].large)
		switch {
		case err != nil:
			return ready, err
		case there:
			ready[uid] = again
		default:
			delete(ready, uid)
		}
	}
	return ready, nil
}

// blameFirst notes the message on which the connection broke: the first, in the
// order in which servers answer, that did not come.
func (v *visit) blameFirst(ctx context.Context, chunk []piece, came map[uint32]fetched, err error) {
	weight := weightOf(ctx, err)
	if weight == 0 {
		return
	}
	first := uint32(0)
	for _, m := range chunk {
		if _, there := came[m.uid]; !there && (first == 0 || m.uid < first) {
			first = m.uid
		}
	}
	if b := v.mailbox; first != 0 {
		if b.suspect != first {
			b.suspect, b.blame = first, 0
		}
		b.blame += weight
	}
}
