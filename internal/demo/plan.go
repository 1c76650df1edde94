// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"math/rand/v2"
	"time"
)

// Owner of the mailbox, made up like everybody who writes to it.
const (
	OwnerName    = "Nora Vale"
	OwnerAddress = "nora.vale@larkfield.example"
	everybody    = "everybody@larkfield.example"
)

// HistoryDays is how far the mailbox reaches back when the demo begins.
const HistoryDays = 24

// Message is one message to the owner, what it is worth to her, and what she
// will do about it.
type Message struct {
	Raw     []byte // RFC 5322, CRLF line ends
	ID      string // Message-ID, without angle brackets
	From    string // the name that the owner sees
	Address string // of the sender
	Subject string
	Date    time.Time
	Kind    string // what sort of mail it is, for tests and figures

	Important bool // the truth, which the daemon never sees
	Spam      bool

	// What the owner does when she gets to it. An overlooked message is left as
	// it is, wrong mark or none. Patience, 0 to 1, is how long she takes.
	Overlooks, Stars, Reads, Discards, Junks bool
	Patience                                 float64
	Reply                                    *Reply // nil: she does not answer
}

// Reply is the owner's answer to a message.
type Reply struct {
	Raw  []byte
	ID   string
	To   string // address
	Date time.Time
}

// Plan is a mailbox: what was in it before, and what will come.
type Plan struct {
	History []*Message // ascending by date; Date of the last is before the day of the start
	Live    []*Message // ascending by date
}

// NewPlan makes up a mailbox for a demo that begins at start and delivers n
// messages over span. The same seed, n and span give the same mail in the same
// order, byte for byte but for its dates: those of the history are fixed hours
// of the days before start's, in its time zone.
func NewPlan(seed uint64, start time.Time, n int, span time.Duration) *Plan {
	w := &writer{
		rand:   rand.New(rand.NewPCG(seed, 0x64656d6f)), //nolint:gosec // repeatable on purpose
		stocks: stocks(), open: map[string][]*thread{},
	}
	p := new(Plan)
	year, month, today := start.Date()
	for day := HistoryDays; day >= 1; day-- {
		at := time.Date(year, month, today-day, 6, 0, 0, 0, start.Location()).UTC()
		for range 5 + w.rand.IntN(3) {
			at = at.Add(time.Duration(20+w.rand.IntN(100)) * time.Minute)
			p.History = append(p.History, w.message(0, at))
		}
	}
	for i := range n {
		p.Live = append(p.Live, w.message(1+i*100/n, start.UTC().Add(span*time.Duration(i)/time.Duration(n))))
	}
	return p
}

// thread is a conversation that may go on.
type thread struct {
	subject string
	topic   topic
	refs    []string // Message-IDs, oldest first
	people  []person
	owner   bool // she has written in it
}

// writer makes up messages one after the other.
type writer struct {
	rand   *rand.Rand
	n      int
	stocks []stock
	open   map[string][]*thread // by sort
}

func (w *writer) chance(percent int) bool { return w.rand.IntN(100) < percent }

func one[T any](w *writer, list []T) T { return list[w.rand.IntN(len(list))] }

// pick draws a sort of mail by weight. percent is how much of the live mail has
// come, 0 for the history: some correspondents turn up only then.
func (w *writer) pick(percent int) *stock {
	total := 0
	for i := range w.stocks {
		if w.stocks[i].Since <= percent {
			total += w.stocks[i].Weight
		}
	}
	n := w.rand.IntN(total)
	for i := range w.stocks {
		if s := &w.stocks[i]; s.Since <= percent {
			if n -= s.Weight; n < 0 {
				return s
			}
		}
	}
	panic("unreachable: weights add up to total")
}

// openThreads is how many conversations of one sort go on side by side.
const openThreads = 3

func (w *writer) message(percent int, at time.Time) *Message {
	s := w.pick(percent)
	var t *thread
	if list := w.open[s.Name]; len(list) > 0 && w.chance(s.Threads) {
		t = one(w, list)
	} else {
		t = &thread{topic: w.topic(s), people: s.from}
		t.subject = t.topic.fill(one(w, s.Subjects))
		if s.Threads > 0 {
			if list = append(list, t); len(list) > openThreads {
				list = list[1:]
			}
			w.open[s.Name] = list
		}
	}
	m := w.write(s, t, one(w, t.people), at)
	m.Kind, m.Spam = s.Name, s.Spam
	// On a list, what matters is what she takes part in.
	m.Important = s.Important || s.List != "" && t.owner
	w.temper(s, t, m)
	return m
}

// temper decides what the owner will do with a message.
func (w *writer) temper(s *stock, t *thread, m *Message) {
	m.Patience = w.rand.Float64()
	answers, overlooks, stars, reads := w.chance(s.Answers), w.chance(12), w.chance(30), w.chance(s.Reads)
	discards, junks := w.chance(s.Discards), w.chance(80)
	switch {
	case m.Spam:
		m.Junks, m.Overlooks = junks, !junks
	case m.Important:
		m.Reads = true
		if answers {
			m.Reply = w.reply(t, m)
			t.owner = true
		} else {
			m.Overlooks = overlooks
			m.Stars = stars
		}
	case s.List != "" && answers:
		// She joins in; from here on the thread matters to her.
		m.Reads, m.Important = true, true
		m.Reply = w.reply(t, m)
		t.owner = true
	default:
		m.Reads, m.Discards, m.Overlooks = reads, discards && !reads, overlooks
	}
}
