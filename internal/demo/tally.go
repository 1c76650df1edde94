// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/desk"
)

// entry is one delivered message and what became of it.
type entry struct {
	m   *Message
	uid imap.UID
	due time.Duration // when the owner gets to it, in real time

	decided  bool
	outcome  string // the daemon's: important, unsure, ordinary
	score    float64
	why      []string // what speaks for it, in words
	baseline bool     // what marking known correspondents would have done

	marked  bool // as the owner found it
	deed    deed
	acted   bool   // the deed is done
	expects string // the label that the owner's deed should teach; "" for none
	learnt  bool
}

// wrong reports whether the decision is not what the message is worth. Unsure
// counts as not important.
func (e *entry) wrong() bool { return (e.outcome == "important") != e.m.Important }

// tally keeps what was delivered, decided and done.
type tally struct {
	entries []*entry // in order of delivery
	order   []*entry // in order of decision
	known   map[string]bool
	before  desk.AccountStatus // when the live part began
	last    desk.AccountStatus // as last asked

	wrong []bool // by order of decision
	told  int    // lines about the running rate that were printed
}

// know notes an address that the owner has written to.
func (t *tally) know(address string) {
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[address] = true
}

func (t *tally) deliver(m *Message, uid imap.UID) *entry {
	e := &entry{m: m, uid: uid, baseline: t.known[m.Address]}
	t.entries = append(t.entries, e)
	return e
}

func (t *tally) decide(e *entry, ex desk.Explanation) {
	e.decided, e.outcome, e.score, e.why = true, ex.Outcome, ex.ScoreThen, ex.For
	t.order = append(t.order, e)
	t.wrong = append(t.wrong, e.wrong())
}

// corrections counts the deeds that told the daemon that it was wrong.
func (t *tally) corrections() (n int) {
	for _, e := range t.entries {
		if e.acted && e.deed.corrects(e.marked) {
			n++
		}
	}
	return n
}

// open returns the messages about which the daemon has yet to say something, in
// order of delivery.
func (t *tally) open() []*entry {
	var out []*entry
	for _, e := range t.entries {
		if !e.decided || e.expects != "" && !e.learnt {
			out = append(out, e)
		}
	}
	return out
}

func (t *tally) undecided() int {
	n := 0
	for _, e := range t.entries {
		if !e.decided {
			n++
		}
	}
	return n
}

func (t *tally) unlearnt() int {
	n := 0
	for _, e := range t.entries {
		if e.expects != "" && !e.learnt {
			n++
		}
	}
	return n
}

// recent returns how many of the last n decisions were wrong.
func (t *tally) recent(n int) int { return count(t.wrong[max(0, len(t.wrong)-n):]) }

func count(list []bool) int {
	n := 0
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}
