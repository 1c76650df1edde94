// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// A copy is made and deleted on the connection that polls: the one that idles has INBOX
// open. The mailboxes are opened without telling anything of them, so that what is known
// of them stays as it is.

// copying carries out one request for a copy.
type copying struct {
	sess *session
	req  ingest.MarkRequest
	cond bool // the open mailbox has MODSEQs

	created bool // the folder for copies was missing
}

// copy answers the request for a copy that heads the queue.
func (p *poller) copy(ctx context.Context, sess *session, req *queued) error {
	c := &copying{sess: sess, req: req.MarkRequest}
	var result ingest.MarkResult
	var err error
	switch {
	case !sess.canCopy():
		result = c.answer(ingest.MarkImpossible, noUIDPlus)
	case req.failed >= maxFailed:
		result = req.givenUp()
	case req.Clear:
		result, err = c.remove()
	default:
		result, err = c.put(ctx, p)
	}
	if err != nil {
		err = c.refused(err, ingest.MarkImpossible)
	}
	var end *copyEnd
	if errors.As(err, &end) {
		result, err = end.result, nil
	}
	answered := err == nil
	if !answered {
		if err := p.s.putOff(ctx, p.s.otherMarks, err); err != nil {
			return err
		}
	}
	sess.takeHints() // about mailboxes that the next round looks into
	if sess.client.Mailbox() != nil {
		err := sess.unselect()
		// A SELECT that failed has left no mailbox open.
		if _, no := isStatus(err); err != nil && !no {
			return err
		}
	}
	if c.created {
		if err := p.discover(ctx, sess); err != nil { // it may be one to watch
			return err
		}
	}
	if !answered {
		return nil
	}
	if err := p.s.emit(ctx, result); err != nil {
		return err
	}
	delete(p.copied, req.ID)
	p.s.otherMarks.done()
	return nil
}

// noUIDPlus is why no copy is made on some servers.
const noUIDPlus = "the server has no UIDPLUS (RFC 4315), without which a copy could not be taken back"

// canCopy reports whether the server says where copies are, and can delete one of them.
func (s *session) canCopy() bool {
	return s.has(goimap.CapUIDPlus) || s.has(goimap.CapIMAP4rev2)
}

// copyEnd is the error that ends a request with an answer.
type copyEnd struct{ result ingest.MarkResult }

func (e *copyEnd) Error() string { return e.result.Detail }

func (c *copying) answer(o ingest.MarkOutcome, detail string) ingest.MarkResult {
	return answer(c.req, o, nil, detail)
}

// end makes an error of the answer.
func (c *copying) end(o ingest.MarkOutcome, format string, args ...any) error {
	return &copyEnd{c.answer(o, ingest.OneLine(fmt.Sprintf(format, args...)))}
}

// refused turns the server's no into the answer; any other error stays. What the server
// calls passing is tried again later, a full mailbox apart: that may last.
func (c *copying) refused(err error, o ingest.MarkOutcome) error {
	status, no := isStatus(err)
	if !no || status.passing() && status.Code != "OVERQUOTA" {
		return err
	}
	return c.end(o, "%v", status)
}

// put makes the copy, unless one is there.
func (c *copying) put(ctx context.Context, p *poller) (ingest.MarkResult, error) {
	target, there, err := c.sess.copyTarget(ctx, c.req.CopyTo)
	if err != nil {
		return ingest.MarkResult{}, err
	}
	from := mailboxName(c.req.Place.Mailbox)
	if target == from {
		return c.answer(ingest.MarkImpossible, "the message lies in "+target+" already"), nil
	}
	original, err := c.original(from)
	if err != nil {
		return ingest.MarkResult{}, err
	}
	if differ(original.flags, c.req.Known) && !c.req.Find {
		return answer(c.req, ingest.MarkConflict, original.flags, ""), nil
	}
	result := answer(c.req, ingest.MarkDone, original.flags, "")
	result.Copied = ingest.Copied{Place: ingest.Place{Mailbox: target}, Sum: original.sum}
	again := c.req.Again || p.copied[c.req.ID]
	if there {
		uids, validity, err := c.copies(target, original)
		if err != nil {
			return ingest.MarkResult{}, err
		}
		if len(uids) > 0 {
			result.Copied.UIDValidity = validity
			switch {
			case !again:
				result.Outcome, result.Copied.UID = ingest.MarkConflict, uids[0]
			case len(uids) == 1:
				result.Copied.UID = uids[0]
			}
			return result, nil
		}
	}
	switch {
	case c.req.Find:
		return c.answer(ingest.MarkGone, ""), nil
	case !there:
		if err := c.create(target); err != nil {
			return ingest.MarkResult{}, err
		}
	}
	if d, err := c.open(from, true); err != nil {
		return ingest.MarkResult{}, c.refused(err, ingest.MarkGone)
	} else if d.UIDValidity != c.req.Place.UIDValidity {
		return c.answer(ingest.MarkGone, ""), nil
	}
	if p.copied == nil {
		p.copied = map[uint64]bool{}
	}
	p.copied[c.req.ID] = true
	c.sess.begin()
	data, err := c.sess.client.Copy(goimap.UIDSetNum(goimap.UID(c.req.Place.UID)), target).Wait()
	c.sess.guard.end()
	if err != nil {
		return ingest.MarkResult{}, c.refused(c.sess.fail("UID COPY to "+target, err), ingest.MarkImpossible)
	}
	if len(data.DestUIDs) == 1 && data.DestUIDs[0].Start == data.DestUIDs[0].Stop {
		result.Copied.UIDValidity, result.Copied.UID = data.UIDValidity, uint32(data.DestUIDs[0].Start)
		return result, nil
	}
	// It did not say where. A server may leave that out (RFC 4315, section 3).
	uids, validity, err := c.copies(target, original)
	if err != nil {
		return ingest.MarkResult{}, err
	}
	if len(uids) == 1 {
		result.Copied.UIDValidity, result.Copied.UID = validity, uids[0]
	}
	return result, nil
}

// create makes the mailbox, and has mail programs show it.
func (c *copying) create(target string) error {
	c.sess.begin()
	err := c.sess.client.Create(target, nil).Wait()
	c.sess.guard.end()
	// Somebody else may have made it just now: a mail program, or the server as it scans.
	if no := saidNo(err); err != nil && (no == nil || no.Code != goimap.ResponseCodeAlreadyExists) {
		return c.refused(c.sess.fail("CREATE "+target, err), ingest.MarkImpossible)
	}
	c.created = true
	c.sess.begin()
	err = c.sess.client.Subscribe(target).Wait()
	c.sess.guard.end()
	if err != nil {
		if err := c.sess.fail("SUBSCRIBE "+target, err); c.sess.guard.why() != nil {
			return err
		}
	}
	return nil
}

// remove deletes the copy, and nothing else, if it is as it was put there and the message
// that it is a copy of lies elsewhere, byte by byte.
func (c *copying) remove() (ingest.MarkResult, error) {
	at := c.req.Copied
	if at.UID == 0 {
		return c.answer(ingest.MarkImpossible, "the server did not say where it put the copy"), nil
	}
	original, err := c.original(mailboxName(c.req.Place.Mailbox))
	var end *copyEnd
	switch {
	case errors.As(err, &end), err == nil && original.sum != at.Sum, err == nil && ingest.HasFlag(original.flags, `\Deleted`):
		return c.answer(ingest.MarkImpossible, "the copy in "+at.Mailbox+" is the only one left of its message, as far as hinged knows"), nil
	case err != nil:
		return ingest.MarkResult{}, err
	}
	text, err := c.text(c.req.Place.UID, original.size)
	if err != nil {
		return ingest.MarkResult{}, err
	}
	d, err := c.open(at.Mailbox, false)
	if err != nil {
		return ingest.MarkResult{}, c.refused(err, ingest.MarkGone)
	}
	if d.UIDValidity != at.UIDValidity {
		return c.answer(ingest.MarkImpossible, at.Mailbox+" was numbered anew since the copy was put there"), nil
	}
	for range storeTries {
		copied, err := c.untouched(original, text)
		if err != nil {
			return ingest.MarkResult{}, err
		}
		late, err := c.sess.store(at.UID, goimap.StoreFlagsAdd, []goimap.Flag{goimap.FlagDeleted}, copied.modseq)
		if err != nil {
			return ingest.MarkResult{}, c.refused(err, ingest.MarkImpossible)
		}
		if late {
			continue
		}
		c.sess.beginFor(1)
		err = c.sess.client.UIDExpunge(goimap.UIDSetNum(goimap.UID(at.UID))).Close()
		c.sess.guard.end()
		if err != nil {
			if saidNo(err) != nil {
				c.spare(at.UID, copied.flags)
			}
			return ingest.MarkResult{}, c.refused(c.sess.fail("UID EXPUNGE in "+at.Mailbox, err), ingest.MarkImpossible)
		}
		left, err := c.describe(at.UID)
		if err != nil {
			return ingest.MarkResult{}, err
		}
		if !left.there {
			return c.answer(ingest.MarkDone, ""), nil
		}
		c.spare(at.UID, copied.flags)
		return c.answer(ingest.MarkImpossible, "the server said yes and kept the copy"), nil
	}
	return c.answer(ingest.MarkConflict, ""), nil
}

// spare takes off a copy that the server keeps the flag with which it was to go, unless its
// owner had set that before: a mail program would show the copy as deleted, or delete it. If
// that fails, too, the copy has the flag.
func (c *copying) spare(uid uint32, before []string) {
	if !ingest.HasFlag(before, `\deleted`) {
		_, _ = c.sess.store(uid, goimap.StoreFlagsDel, []goimap.Flag{goimap.FlagDeleted}, 0)
	}
}

// untouched looks at the copy in the open mailbox. The error ends the request if it is not
// the original once more, or if its owner said something on it.
func (c *copying) untouched(original described, text string) (described, error) {
	at := c.req.Copied
	copied, err := c.describe(at.UID)
	switch {
	case err != nil:
		return described{}, err
	case !copied.there:
		return described{}, c.end(ingest.MarkGone, "")
	case copied.sum != at.Sum:
		return described{}, c.end(ingest.MarkImpossible, "another message is where the copy was put")
	}
	if said := c.said(copied.flags, original.flags); len(said) > 0 {
		return described{}, c.end(ingest.MarkImpossible, "you gave the copy in %s the flags %s", at.Mailbox, strings.Join(said, ", "))
	}
	same := copied.size == original.size
	if same {
		var of string
		if of, err = c.text(at.UID, original.size); err != nil {
			return described{}, err
		}
		same = of == text
	}
	if !same {
		return described{}, c.end(ingest.MarkImpossible, "the message in %s has a text that is nowhere else, as far as hinged knows", at.Mailbox)
	}
	return copied, nil
}

// unsaid are flags that mail programs set by themselves, or that are about to go with the
// copy.
var unsaid = []string{`\seen`, `\deleted`, "$mdnsent", "$notjunk"}

// said returns what the owner has said on the copy: flags that the message does not have
// elsewhere.
func (c *copying) said(flags, elsewhere []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return slices.Contains(unsaid, f) || ingest.HasFlag(elsewhere, f) || ingest.HasFlag(c.req.Known, f)
	})
}

// maxSearchable is how long a Message-ID may be that is searched for.
const maxSearchable = 200

// searchable returns a Message-ID if a search for it needs no more than a quoted string.
func searchable(id string) string {
	id = strings.TrimSpace(id)
	if len(id) > maxSearchable || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }) {
		return ""
	}
	return id
}

// copyTarget returns the name of the mailbox that copies go to, and whether it is there.
func (s *session) copyTarget(ctx context.Context, name string) (mailbox string, there bool, err error) {
	list, err := s.list(ctx)
	if err != nil {
		return "", false, err
	}
	prefix, err := s.namespace()
	if err != nil {
		return "", false, err
	}
	name = mailboxName(name)
	whole := name
	if !strings.HasPrefix(name, prefix) {
		whole = prefix + name
	}
	for _, is := range []func(listed) bool{
		func(l listed) bool { return l.name == name },
		func(l listed) bool { return l.name == whole },
		func(l listed) bool { return l.role == ingest.RoleImportant && ingest.CopiesInto(l.name, l.role, name) },
	} {
		if i := slices.IndexFunc(list, is); i >= 0 {
			return list[i].name, true, nil
		}
	}
	return whole, false, nil
}

// CopyTarget returns the name of the mailbox that copies go to (MarkRequest.CopyTo), and
// whether it is there; one that is not is made with the first copy. able is false where
// the server can't take copies back, so that none are made.
func (p *Probe) CopyTarget(ctx context.Context, copyTo string) (mailbox string, there, able bool, err error) {
	mailbox, there, err = p.s.copyTarget(ctx, copyTo)
	return ingest.OneLine(mailbox), there, p.s.canCopy(), err
}
