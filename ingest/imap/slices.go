// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"slices"
	"strconv"
	"strings"

	goimap "github.com/emersion/go-imap/v2"
)

// Servers of large providers answer one command for so many messages, and say so (RFC 9738,
// MESSAGELIMIT) or don't; some open a mailbox as if it had no more than its newest 10,000.
// So mailboxes are read in slices, and what came is compared with what there is. What does
// not come is not taken for gone.

const (
	capLimit = "MESSAGELIMIT" // in capabilities, with "=" and the limit; and a response code
	// fewGone is how many messages may be gone from a mailbox at once without a question.
	fewGone = 50
	// windowSize divides the number of messages in a mailbox whose server shows no more,
	// and does not say so: Yahoo's windows have 1,000, 10,000 or 100,000.
	windowSize = 1000
	lastUID    = ^uint32(0) - 1 // stands for "*"
)

// announced returns the limit among the capabilities, 0 if there is none.
func announced(caps goimap.CapSet) int {
	for c := range caps {
		if name, number, _ := strings.Cut(string(c), "="); strings.EqualFold(name, capLimit) {
			n, _ := strconv.ParseInt(number, 10, 32)
			return max(0, int(n))
		}
	}
	return 0
}

// overLimit reports whether err is the server's no to a command of too many messages.
func overLimit(err error) bool {
	status, no := isStatus(err)
	return no && status.Code == capLimit
}

// existing returns the UIDs, from first on, of the open mailbox, which had exists messages
// when it was opened or lately, and has so many at most below first. missing is how many of
// them come in no answer. The client library knows how many there are now when it has read
// the answer to another command than the SELECT; before, it may know of another mailbox.
func (s *session) existing(first, exists uint32, below int) (found uidRanges, missing int64, err error) {
	if exists == 0 {
		return nil, 0, nil
	}
	lacks := func() int64 { return max(0, int64(s.exists())-int64(below)-found.len()) }
	found, err = s.between(first, lastUID, exists)
	n := int(found.len())
	// Some give the newest of what is asked for, others the oldest.
	newer, older := n > 0, n > 0
	for err == nil && (lacks() > 0 || first > 1 && s.limit > 0 && n >= s.limit) {
		var got uidRanges
		switch {
		case newer:
			got, err = s.between(found[len(found)-1].last+1, lastUID, exists)
			found, newer = found.join(got), len(got) > 0
		case older:
			got, err = s.between(first, found[0].first-1, exists)
			found, older = got.join(found), len(got) > 0
		default:
			return found, lacks(), nil
		}
		if most := int64(s.exists()); found.len() > most {
			err = s.broken("a mailbox of %d messages has %d UIDs", most, found.len())
		}
	}
	return found, lacks(), err
}

// between is one search for the UIDs from first to last.
func (s *session) between(first, last, exists uint32) (uidRanges, error) {
	if last < first {
		return nil, nil
	}
	stop := goimap.UID(last)
	if last == lastUID {
		stop = 0 // "*", which is also below first
	}
	found, err := s.search(&goimap.SearchCriteria{UID: []goimap.UIDSet{{{Start: goimap.UID(first), Stop: stop}}}}, last, exists)
	if _, found = found.before(first); len(found) > 0 && overLimit(err) {
		err = nil
	}
	return found, err
}

// searchAll is search where what is not found must not be there: in slices if the server
// looks at so many messages only.
func (s *session) searchAll(criteria goimap.SearchCriteria, exists uint32) (found uidRanges, err error) {
	if s.limit == 0 {
		return s.search(&criteria, lastUID, exists)
	}
	listed, _, err := s.existing(1, exists, 0)
	for len(listed) > 0 && err == nil {
		var slice, got uidRanges
		slice, listed = listed.cut(s.limit)
		criteria.UID = []goimap.UIDSet{slice.cover()}
		got, err = s.search(&criteria, lastUID, exists)
		found = found.join(got)
	}
	return found, err
}

// fetchListed is fetch for messages that were listed: in slices, and again for those that
// did not come, until none comes. Texts are asked for by their UIDs, all else by the range
// that they are in. Each may add so many lines to the answer.
func (s *session) fetchListed(listed uidRanges, lines int, o goimap.FetchOptions, text textReader, each func(fetched) error) error {
	for len(listed) > 0 {
		slice := listed
		if listed = nil; s.limit > 0 {
			slice, listed = slice.cut(s.limit)
		}
		for came := []uint32{0}; len(slice) > 0 && len(came) > 0; { // or the others were expunged
			set := slice.set()
			if text == nil {
				set = slice.cover()
			}
			came = nil
			s.beginFor(lines * int(slice.len()))
			err := s.fetch(set, o, text, func(got fetched) error {
				if !slice.has(got.uid) {
					return nil
				}
				came = append(came, got.uid)
				return each(got)
			})
			if err != nil && (len(came) == 0 || !overLimit(err)) {
				return err
			}
			slices.Sort(came)
			slice = slice.without(came)
		}
	}
	return nil
}

// window returns how many messages STATUS knows of in the open mailbox, beyond the n with
// which it was opened. It is asked where there is reason to.
func (s *session) window(b *mailbox, n uint32) (more int64, err error) {
	shrunk := len(b.entries) >= int(n)+fewGone
	if !shrunk && (n == 0 || n%windowSize != 0 && (s.limit == 0 || int(n) < s.limit)) {
		return 0, nil
	}
	s.begin()
	d, err := s.client.Status(b.name, &goimap.StatusOptions{NumMessages: true}).Wait()
	s.guard.end()
	if err != nil {
		if err = s.fail("STATUS of "+b.name, err); s.guard.why() != nil {
			return 0, err
		}
		return 0, nil // many servers take none for a mailbox that is open
	}
	if d.NumMessages != nil {
		more = max(0, int64(*d.NumMessages)-int64(s.exists()))
	}
	return more, nil
}

// shownFrom returns the UID from which on all messages of a mailbox are among the existing,
// which the server has told of, so that one that is not has vanished.
func (b *mailbox) shownFrom(existing uidRanges, exists uint32) uint64 {
	switch {
	case b.missing > 0 || len(existing) == 0 && b.window > 0:
		return 1 << 32 // nobody knows
	case len(existing) > 0 && (b.window > 0 || exists%windowSize == 0):
		return uint64(existing[0].first) // the window is of the newest
	}
	return 0
}

// noteShown notes which of the messages with which a mailbox was opened the server shows.
func (v *visit) noteShown(existing uidRanges, missing int64) {
	b := v.mailbox
	before := b.window + b.missing
	b.messages, b.window, b.missing = existing.len(), v.window, missing
	if hidden := b.window + missing; hidden > 0 && hidden != before {
		v.s.log.Warn("the server does not show all messages of a mailbox; the others do not count as gone",
			keyMailbox, b.name, "shown", b.messages, "hidden", hidden)
	}
}
