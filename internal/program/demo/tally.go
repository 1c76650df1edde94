// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
)

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

// tellEvery is after how many messages the running rate gets a line of its own,
// where nothing stands at the bottom.
const tellEvery = 40

// window is over how many decisions the running rate goes.
const window = 50

// intro tells what the first scan taught and how to look in.
func (s *stage) intro(a desk.AccountStatus) {
	s.screen.line(fmt.Sprintf("hinged run goes on from there, with %d lessons that a message was important and %d that one was not.", a.Important, a.Ordinary))
	s.lookIn()
	if s.o.Fast {
		s.screen.line(fmt.Sprintf("Now %d messages arrive as fast as everybody keeps up.", len(s.plan.Live)))
	} else {
		s.screen.line(fmt.Sprintf("Now %d messages arrive within %v. Nora corrects what is wrong, and overlooks some.", len(s.plan.Live), s.o.Span))
	}
	s.screen.line("")
}

// lookIn tells how to reach the mailbox and the daemon.
func (s *stage) lookIn() {
	host, port, _ := net.SplitHostPort(s.host.Addr)
	s.screen.line(s.screen.paint("  in your browser (once):  "+s.url, bold))
	s.screen.line(fmt.Sprintf("  with a mail client:      IMAP server %s, port %s, no TLS, user %s, password %s", host, port, s.host.User, s.host.Password))
	what := "keyword " + s.o.Mark
	if s.o.Mark == `\Flagged` {
		what = "star"
	}
	tip := ""
	if s.o.Mark != `\Flagged` {
		tip = ` (--mark '\Flagged' shows a star in any client)`
	}
	s.screen.line(fmt.Sprintf("  marked mail carries the  %s%s", what, tip))
	s.screen.line("  from another terminal:   " + s.o.Program + " status --config " + s.config)
	s.screen.line("  another browser's link:  " + s.o.Program + " dashboard --config " + s.config)
}

// redraw brings the bottom of the screen up to date; without a terminal it
// prints a line now and then.
func (s *stage) redraw(ctx context.Context) error {
	a, err := s.status(ctx)
	if err != nil {
		return err
	}
	t := &s.tally
	t.last = a
	n := len(t.order)
	marked := 0
	for _, e := range t.order {
		if e.outcome == "important" {
			marked++
		}
	}
	c := s.screen
	counts := fmt.Sprintf("%3d of %d messages, %3d marked, %2d corrections, %3d lessons", n, len(s.plan.Live), marked, t.corrections(), lessons(a)-lessons(t.before))
	rate := fmt.Sprintf("wrong among the last %d: %2d", min(n, window), t.recent(window))
	if !c.Live {
		if n/tellEvery > t.told {
			t.told = n / tellEvery
			c.line(c.paint(fmt.Sprintf("--------  %s; %s", counts, rate), bold))
		}
		return nil
	}
	c.footer([]string{
		c.paint(strings.Repeat("─", c.width()-1), faint),
		c.paint(rate, bold) + "  " + bars(t.wrong[max(0, len(t.wrong)-barWidth*max(0, c.width()-40)):]),
		cut(counts, c.width()-1, false),
		c.paint(cut(fmt.Sprintf("%s  Ctrl-C ends  IMAP %s, no TLS, user %s, password %s, mark %s", s.url, s.host.Addr, s.host.User, s.host.Password, s.o.Mark), c.width()-1, false), faint),
	})
	return nil
}

// barWidth is how many decisions one bar stands for.
const barWidth = 20

// bars draws the wrong decisions of each barWidth messages.
func bars(wrong []bool) string {
	const levels = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for i := 0; i+barWidth <= len(wrong); i += barWidth {
		b.WriteRune([]rune(levels)[min(7, count(wrong[i:i+barWidth]))])
	}
	return b.String()
}
