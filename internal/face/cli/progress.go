// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// Bar shows how far something is: a progress bar on a terminal, elsewhere nothing
// or, where Lines is set, a line so often. Not safe for concurrent use.
type Bar struct {
	Lines time.Duration
	Count bool // show the numbers, which are of something that people count

	w     io.Writer
	what  string
	shown bool // w is a terminal

	drawn bool      // there is a bar on the terminal
	last  time.Time // when the last line or bar was written
}

// NewBar returns a bar for what is done, named in lower case.
func NewBar(stderr io.Writer, what string) *Bar {
	f, ok := stderr.(*os.File)
	return &Bar{w: stderr, what: what, shown: ok && term.IsTerminal(int(f.Fd()))}
}

// Progress shows that done of total are done; nothing is shown where total is unknown.
func (b *Bar) Progress(done, total int64) {
	if total <= 0 {
		return
	}
	if !b.shown {
		now := time.Now()
		if b.last.IsZero() {
			b.last = now // what is soon done needs no line
		}
		if b.Lines > 0 && now.Sub(b.last) >= b.Lines {
			fmt.Fprintf(b.w, "%s: %d of %d\n", b.what, done, total)
			b.last = now
		}
		return
	}
	if now := time.Now(); now.Sub(b.last) >= 100*time.Millisecond || done == total {
		b.last, b.drawn = now, true
		const cells = 40
		full, count := int(cells*min(done, total)/total), ""
		if b.Count {
			count = fmt.Sprintf(" (%d/%d)", done, total)
		}
		fmt.Fprintf(b.w, "\r\x1b[K%s %3d %% |%s%s|%s", b.what, 100*min(done, total)/total, strings.Repeat("█", full), strings.Repeat(" ", cells-full), count)
	}
}

// Close takes the bar away.
func (b *Bar) Close() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	b.drawn = false
}
