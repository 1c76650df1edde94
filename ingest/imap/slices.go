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
	capMessageLimit = "MESSAGELIMIT" // in capabilities with "=" and the limit; also the response code
	// leastLimit is the least number of messages that is taken for the limit of a server
	// that announces none. Fewer may be missing since they were expunged meanwhile.
	leastLimit = 50
	// windowSize divides the number of messages in a mailbox of which a server shows no
	// more, and does not say so: Yahoo's windows have 1,000, 10,000 or 100,000.
	windowSize = 1000
	lastUID    = ^uint32(0) - 1 // stands for "*"
)

// announced returns the limit among the capabilities, 0 if there is none.
func announced(caps goimap.CapSet) int {
	for c := range caps {
		if name, number, ok := strings.Cut(string(c), "="); ok && strings.EqualFold(name, capMessageLimit) {
			n, _ := strconv.ParseInt(number, 10, 32)
			return max(0, int(n))
		}
	}
	return 0
}

// learn notes that the server answered for n messages, and had more.
func (s *session) learn(n int) {
	if n >= leastLimit && (s.limit == 0 || n < s.limit) {
		s.limit = n
	}
}

// overLimit reports whether err is the server's no to a command of too many messages.
func overLimit(err error) bool {
	status, no := isStatus(err)
	return no && status.Code == capMessageLimit
}

// existing returns the UIDs from first to last, of which there should be want; below 0:
// nobody knows. missing is how many of them the server does not show, however it is asked.
func (s *session) existing(first, last uint32, exists uint32, want int64) (found uidRanges, missing int64, err error) {
	if exists == 0 || last < first {
		return nil, 0, nil
	}
	gone := s.gone.Load()
	lacks := func() int64 { return want - int64(s.gone.Load()-gone) - found.len() }
	if found, err = s.between(first, last, exists); err != nil || len(found) == 0 {
		return found, max(0, lacks()), err
	}
	n := int(found.len())
	capped := func(got int) bool { return want < 0 && s.limit > 0 && got >= s.limit }
	if want >= 0 && lacks() <= 0 || want < 0 && !capped(n) {
		return found, 0, nil
	}
	// Some give the newest, others the oldest.
	for more, got := true, n; more && found[len(found)-1].last < last && (lacks() > 0 || capped(got)); {
		var above uidRanges
		if above, err = s.between(found[len(found)-1].last+1, last, exists); err != nil {
			return nil, 0, err
		}
		if more = len(above) > 0; more {
			s.learn(n)
		}
		got = int(above.len())
		found = found.join(above)
	}
	for more, got := true, n; more && found[0].first > first && (lacks() > 0 || capped(got)); {
		var below uidRanges
		if below, err = s.between(first, found[0].first-1, exists); err != nil {
			return nil, 0, err
		}
		if more = len(below) > 0; more {
			s.learn(n)
		}
		got = int(below.len())
		found = below.join(found)
	}
	if most := max(exists, s.exists()); found.len() > int64(most) {
		return nil, 0, s.broken("a mailbox of %d messages has %d UIDs", most, found.len())
	}
	if want < 0 {
		return found, 0, nil
	}
	return found, max(0, lacks()), nil
}

// between is one search for the UIDs from first to last, or several where the server
// refuses one over so many.
func (s *session) between(first, last uint32, exists uint32) (uidRanges, error) {
	stop := goimap.UID(last)
	if last == lastUID {
		stop = 0 // "*"
	}
	found, err := s.search(&goimap.SearchCriteria{UID: []goimap.UIDSet{{{Start: goimap.UID(first), Stop: stop}}}}, last, exists)
	if _, found = found.before(first); len(found) > 0 && overLimit(err) {
		return found, nil
	}
	if !overLimit(err) || first == last {
		return found, err
	}
	middle := first + (last-first)/2
	lower, err := s.between(first, middle, exists)
	if err != nil {
		return nil, err
	}
	upper, err := s.between(middle+1, last, exists)
	return lower.join(upper), err
}

// window returns how many messages STATUS knows of in the open mailbox, beyond the n with
// which it was opened. It is asked where there is reason to.
func (s *session) window(b *mailbox, n uint32) (more int64, err error) {
	shrunk := len(b.entries) >= int(n)+leastLimit
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
		more = max(0, int64(*d.NumMessages)-int64(n))
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

// hides notes how many messages of a mailbox are in no answer of the server.
func (s *Source) hides(b *mailbox, missing int64) {
	if missing != b.missing && missing > 0 {
		s.log.Warn("the server does not show all messages of a mailbox; the others are not taken for gone",
			keyMailbox, b.name, keyHidden, missing)
	}
	b.missing = missing
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[b.name] = b.window + missing
}

// searchIn is search among the messages listed, in slices.
func (s *session) searchIn(listed uidRanges, criteria goimap.SearchCriteria, exists uint32) (found uidRanges, err error) {
	for len(listed) > 0 {
		var slice, got uidRanges
		slice, listed = listed.cut(s.atOnce(listed))
		criteria.UID = []goimap.UIDSet{slice.cover()}
		if got, err = s.search(&criteria, lastUID, exists); err != nil {
			return nil, err
		}
		_, got = got.before(slice[0].first)
		got, _ = got.before(slice[len(slice)-1].last + 1)
		found = found.join(got)
	}
	return found, nil
}

// searchAll is search in a mailbox in which the server may look at so many messages only:
// a message that is not found must not be there.
func (s *session) searchAll(criteria goimap.SearchCriteria, exists uint32) (uidRanges, error) {
	if s.limit == 0 {
		return s.search(&criteria, lastUID, exists)
	}
	listed, _, err := s.existing(1, lastUID, exists, int64(exists))
	if err != nil {
		return nil, err
	}
	return s.searchIn(listed, criteria, exists)
}

// atOnce is how many of the messages listed one command may be about.
func (s *session) atOnce(listed uidRanges) int {
	if n := listed.len(); s.limit == 0 || n < int64(s.limit) {
		return int(n)
	}
	return s.limit
}

// fetchListed is fetch for messages that were listed: in slices, and once more for those
// that did not come, until none comes. Texts are asked for by their UIDs, all else by the
// range that they are in, so that others may come, too. lines is how many lines each may
// add to the answer.
func (s *session) fetchListed(listed uidRanges, lines int, o goimap.FetchOptions, text textReader, each func(fetched) error) error {
	for len(listed) > 0 {
		var slice uidRanges
		slice, listed = listed.cut(s.atOnce(listed))
		for before := 0; len(slice) > 0; {
			set := slice.set()
			if text == nil {
				set = slice.cover()
			}
			var came []uint32
			s.beginFor(lines * int(slice.len()))
			err := s.fetch(set, o, text, func(got fetched) error {
				asked := slice.has(got.uid)
				if asked {
					came = append(came, got.uid)
				}
				if asked || before == 0 {
					return each(got)
				}
				return nil
			})
			switch n := slice.len(); {
			case err != nil && !overLimit(err):
				return err
			case err != nil && len(came) == 0 && n > 1:
				s.limit = int(n / 2)
				listed, slice = slice.join(listed), nil
			case len(came) == 0:
				slice = nil // expunged meanwhile
			default:
				if before > 0 {
					s.learn(before)
				}
				before = len(came)
				slices.Sort(came)
				slice = slice.without(rangesOf(slices.Compact(came)))
			}
		}
	}
	return nil
}
