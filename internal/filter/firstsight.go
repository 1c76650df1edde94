// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/store"
)

// trust is how far flags are the owner's word. Flags that change before our eyes, or while we
// know what they were, are. Those that a message has when it is seen for the first time may be
// anybody's: a server reads them out of the header of a message in an mbox, and whoever may
// append to a mailbox gives them as they like.
type trust uint8

const (
	trusted     trust = iota
	perhapsOwns       // the owner may have set them while we were away
	notTrusted
)

// justArrived is how long after its arrival a message may be seen for the first time without
// its owner having had the time to look at it. It covers slow rounds of looks, and servers
// whose clocks are wrong.
const justArrived = 15 * time.Minute

// trustOf returns whose word the flags are that an arrival comes with. known: another copy of the
// message was seen before, with the flags that it came with.
func (f *Arrivals) trustOf(e *Arrived, known bool) trust {
	switch {
	case slices.ContainsFunc(f.opts.Shared, func(name string) bool { return strings.EqualFold(name, e.Place.Mailbox) }):
		return notTrusted
	case known:
		return trusted
	case e.Meta.Stored, e.Seen != 0 && e.Seen <= e.At.Add(justArrived):
		return notTrusted
	case e.Backlog:
		return trusted
	}
	return perhapsOwns
}

// weigh returns what is left of what flags say.
func (t trust) weigh(what said) said {
	switch {
	case t == notTrusted:
		return said{}
	case t == perhapsOwns && what.label != 0:
		what.source = store.SourceFound
	}
	return what
}
