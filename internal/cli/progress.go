// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
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

	bar  *progressbar.ProgressBar
	last time.Time // when the last line was written
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
	if b.bar == nil {
		options := []progressbar.Option{
			progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(b.what),
			progressbar.OptionThrottle(100 * time.Millisecond), progressbar.OptionClearOnFinish(),
		}
		if b.Count {
			options = append(options, progressbar.OptionShowCount())
		}
		b.bar = progressbar.NewOptions64(total, options...)
	}
	_ = b.bar.Set64(done) // a bar that can't be drawn is no reason to stop
}

// Close takes the bar away.
func (b *Bar) Close() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
