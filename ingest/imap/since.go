// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"slices"
	"time"

	goimap "github.com/emersion/go-imap/v2"
)

// datesAtOnce is how many messages one FETCH asks for their dates.
const datesAtOnce = 1000

// since returns the messages of the open mailbox that arrived on the day of since or
// later. A server that refuses to search by date is asked for the dates themselves, and
// not again on this connection to search by one.
func (p *Probe) since(since time.Time) (uidRanges, error) {
	if !p.s.dateless {
		found, err := p.search(&goimap.SearchCriteria{Since: since})
		if status, no := isStatus(err); !no || status.passing() {
			return found, err
		}
		p.s.dateless = true
	}
	all, err := p.search(&goimap.SearchCriteria{UID: []goimap.UIDSet{{{Start: 1, Stop: 0}}}})
	if err != nil {
		return nil, err
	}
	var uids []uint32
	for len(all) > 0 {
		var chunk uidRanges
		chunk, all = all.cut(datesAtOnce)
		if uids, err = p.appendSince(uids, chunk, since); err != nil {
			return nil, err
		}
	}
	slices.Sort(uids)
	return rangesOf(uids), nil
}

// appendSince appends those messages of chunk that arrived on the day of since or later.
// Which day that is says each date in its own zone: SINCE disregards time and zone (RFC
// 9051, section 6.4.4).
func (p *Probe) appendSince(uids []uint32, chunk uidRanges, since time.Time) ([]uint32, error) {
	err := p.s.fetchListed(chunk, 1, goimap.FetchOptions{InternalDate: true}, nil, func(m fetched) error {
		if !m.internal.IsZero() && !dayOf(m.internal).Before(dayOf(since)) {
			uids = append(uids, m.uid)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dates of what is in %s: %w", p.name, err)
	}
	return uids, nil
}

// dayOf returns the day that t has in its zone, for comparing.
func dayOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}
