package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows how far something is: a progress bar on a terminal, elsewhere nothing
// or, where lines is set, a line now and then.
type bar struct {
	w     io.Writer
	what  string
	shown bool // w is a terminal
	lines time.Duration
	count bool // show the numbers, which are of something that people count

	bar  *progressbar.ProgressBar
	last time.Time // when the last line was written
}

func newBar(stderr io.Writer, what string) *bar {
	f, ok := stderr.(*os.File)
	return &bar{w: stderr, what: what, shown: ok && term.IsTerminal(int(f.Fd()))}
}

func (b *bar) progress(done, total int64) {
	if total <= 0 {
		return
	}
	if !b.shown {
		now := time.Now()
		if b.last.IsZero() {
			b.last = now // what is soon done needs no line
		}
		if b.lines > 0 && now.Sub(b.last) >= b.lines {
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
		if b.count {
			options = append(options, progressbar.OptionShowCount())
		}
		b.bar = progressbar.NewOptions64(total, options...)
	}
	_ = b.bar.Set64(done) // a bar that can't be drawn is no reason to stop
}

func (b *bar) close() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}
