// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/face/desk"
)

// Screen is where the demo shows itself. On a terminal a few lines stay at the
// bottom and everything else scrolls past above; elsewhere there are plain lines
// only. Not safe for concurrent use.
type Screen struct {
	Out    io.Writer
	Live   bool       // Out is a terminal that can move its cursor
	Colour bool       // Out shows colours
	Width  func() int // columns; asked before each line, since windows change

	bottom []string // what stands at the bottom
	err    error    // of the first write that failed
}

const plainWidth = 100

func (c *Screen) width() int {
	if c.Width == nil {
		return plainWidth
	}
	return max(40, c.Width())
}

// style is a parameter of ECMA-48's SGR: what every terminal has understood for
// decades, in the colours that its owner has chosen for them.
type style string

const (
	bold    style = "1"
	faint   style = "2"
	red     style = "31"
	green   style = "1;32"
	yellow  style = "33"
	blue    style = "34"
	magenta style = "35"
)

func (c *Screen) paint(s string, how style) string {
	if !c.Colour {
		return s
	}
	return "\x1b[" + string(how) + "m" + s + "\x1b[0m"
}

// cut returns s with at most width columns, and filled up to them when fill is
// set.
func cut(s string, width int, fill bool) string {
	s = desk.Clip(s, width)
	if fill {
		s += strings.Repeat(" ", width-uniseg.StringWidth(s))
	}
	return s
}

func (c *Screen) write(s string) {
	if c.Out == nil || c.err != nil {
		return
	}
	_, c.err = io.WriteString(c.Out, s)
}

// erase returns what takes the bottom lines away: so many up, then clear to the
// end (ECMA-48: CPL, ED).
func (c *Screen) erase() string {
	if len(c.bottom) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dF\x1b[J", len(c.bottom))
}

// line shows one line, above those at the bottom.
func (c *Screen) line(s string) { c.write(c.erase() + s + "\n" + c.standing()) }

func (c *Screen) standing() string {
	if len(c.bottom) == 0 {
		return ""
	}
	return strings.Join(c.bottom, "\n") + "\n"
}

// footer replaces the lines at the bottom; none without a terminal.
func (c *Screen) footer(lines []string) {
	if !c.Live {
		return
	}
	old := c.erase()
	c.bottom = lines
	c.write(old + c.standing())
}

// body returns a writer for whole paragraphs. The bottom must be empty.
func (c *Screen) body() io.Writer {
	if c.Out == nil {
		return io.Discard
	}
	return c.Out
}

func (c *Screen) heading(s string) {
	c.line("\n" + c.paint(cut(s, c.width(), false), bold))
}

func stamp(d time.Duration) string {
	return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), d.Seconds()-60*float64(int(d.Minutes())))
}

// The columns of a line.
const (
	senderWidth = 21
	leadWidth   = 8 + 2 + 9 + 8 + senderWidth + 1
)

func (c *Screen) decision(at time.Duration, e *entry) string {
	sender, subject := cut(e.m.From, senderWidth, true), cut(e.m.Subject, c.width()-leadWidth, false)
	word, how := "·", faint
	switch e.outcome {
	case "important":
		word, how = "◆ marked", green
	case "unsure":
		word, how = "? unsure", yellow
	default:
		sender, subject = c.paint(sender, faint), c.paint(subject, faint)
	}
	lead := c.paint(fmt.Sprintf("%-9s%+6.2f", word, e.score), how)
	line := fmt.Sprintf("%s  %s  %s %s", c.paint(fmt.Sprintf("%8s", stamp(at)), faint), lead, sender, subject)
	if room := c.width() - leadWidth - uniseg.StringWidth(subject); e.outcome == "important" {
		line += c.paint(fitting(e.why, room), faint)
	}
	return line
}

// fitting puts the first of some reasons that fits between parentheses behind a line with
// so much room; "" if none does.
func fitting(why []string, room int) string {
	for _, reason := range why {
		if s := " (" + reason + ")"; uniseg.StringWidth(s) < room {
			return s
		}
	}
	return ""
}

func (c *Screen) deed(at time.Duration, e *entry, text string) string {
	how := blue
	if e.deed.corrects(e.marked) {
		how = red
		if !e.marked {
			how = magenta
		}
	}
	room := c.width() - 12 - uniseg.StringWidth(text) - 3
	about := cut(e.m.From+", "+e.m.Subject, max(10, room), false)
	return fmt.Sprintf("%s  %s%s", c.paint(fmt.Sprintf("%8s", stamp(at)), faint),
		c.paint("→ "+text, how), c.paint(": "+about, faint))
}
