// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
)

// watchView is what `hinged run` shows on a terminal: a line for each message that is
// marked or unsure, for what is learnt from the owner, and for each log record; and below
// them one line that counts what needs none. It keeps nothing of what it shows. Safe for
// concurrent use.
type watchView struct {
	now   func() time.Time
	width func() int
	level slog.Leveler
	names bool // there are several accounts, so that lines name theirs

	mu       sync.Mutex
	out      io.Writer
	since    time.Time // of the counts below
	ordinary int       // messages
	silence  int       // lessons
	counted  bool      // the last line is the counts
}

const whatColumns = 11

var deedWords = map[desk.Deed]string{
	desk.DeedMarked: "marked", desk.DeedImportant: "important", desk.DeedUnsure: "unsure",
	desk.DeedLearnt: "learnt", desk.DeedCorrected: "corrected",
}

func (v *watchView) show(s desk.Shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch s.Deed {
	case desk.DeedOrdinary:
		v.ordinary++
		v.count()
		return
	case desk.DeedUndone, desk.DeedBarred, desk.DeedConsented: // who asked for that is told, and the log says the rest
		return
	case desk.DeedSilence:
		v.silence++
		v.count()
		return
	}
	about := desk.OneLine(s.From, 60)
	if subject := desk.OneLine(s.Subject, 200); subject != "" && about != "" {
		about += ": " + subject
	} else {
		about += subject
	}
	if about == "" {
		about = "(words not kept)"
	}
	why := s.Why
	if s.Deed == desk.DeedLearnt || s.Deed == desk.DeedCorrected {
		why = []string{s.Label + ", " + words.Deed(s.Label, s.Source)}
	}
	v.line(v.account(s.Account)+deedWords[s.Deed], about, why)
}

func (v *watchView) account(name string) string {
	if !v.names {
		return ""
	}
	return desk.OneLine(name, 20) + " "
}

// line shows one line and what stands in parentheses at its end: first the reasons are
// left out, from the last on, then the rest is cut.
func (v *watchView) line(what, about string, why []string) {
	room := v.width() - 1
	lead := fmt.Sprintf("%s  %-*s", v.now().Format("15:04"), whatColumns, what+" ")
	end := ""
	for n := len(why); n > 0; n-- {
		end = " (" + desk.OneLine(strings.Join(why[:n], "; "), 200) + ")"
		if uniseg.StringWidth(lead+about+end) <= room {
			break
		}
	}
	about = desk.Clip(about, max(10, room-uniseg.StringWidth(lead)-uniseg.StringWidth(end)))
	v.print(desk.Clip(lead+about+end, room) + "\n")
}

// print shows a whole line in place of the counts, and the counts again below it.
func (v *watchView) print(line string) {
	if v.counted {
		line = "\r\x1b[K" + line
		v.counted = false
	}
	_, _ = io.WriteString(v.out, line) // a terminal that is gone ends the process by a signal
	if v.ordinary+v.silence > 0 {
		v.count()
	}
}

// count shows the counts in a line that the next one takes the place of.
func (v *watchView) count() {
	if v.since.IsZero() {
		v.since = v.now()
	}
	var parts []string
	if v.ordinary > 0 {
		parts = append(parts, fmt.Sprintf("%d ordinary", v.ordinary))
	}
	if v.silence > 0 {
		parts = append(parts, fmt.Sprintf("%d learnt from your silence", v.silence))
	}
	_, _ = fmt.Fprintf(v.out, "\r\x1b[K%s", desk.Clip(strings.Join(parts, ", ")+" since "+v.since.Format("15:04"), v.width()-1))
	v.counted = true
}

// link shows a link that opens the dashboard, whole: it is for the terminal alone, no
// record of a log.
func (v *watchView) link(url string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.print(fmt.Sprintf("%s  %-*s%s\n", v.now().Format("15:04"), whatColumns, "open", url))
}

// end leaves the counts where they are.
func (v *watchView) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counted {
		_, _ = io.WriteString(v.out, "\n")
		v.counted = false
	}
}

// watchLog is a slog.Handler that shows records on a watchView.
type watchLog struct {
	view  *watchView
	attrs string
}

// Enabled implements slog.Handler.
func (h watchLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.view.level.Level()
}

// Handle implements slog.Handler.
func (h watchLog) Handle(_ context.Context, r slog.Record) error {
	what := ""
	switch {
	case r.Level >= slog.LevelError:
		what = "ERROR"
	case r.Level >= slog.LevelWarn:
		what = "warning"
	}
	text := r.Message + h.attrs
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() != slog.KindBool || what != "" { // a server's abilities and the like
			text += attrText(a)
		}
		return true
	})
	h.view.mu.Lock()
	defer h.view.mu.Unlock()
	lead := fmt.Sprintf("%s  %-*s", h.view.now().Format("15:04"), whatColumns, what)
	h.view.print(lead + desk.OneLine(text, 1000) + "\n") // whole, since it may be what helps
	return nil
}

func attrText(a slog.Attr) string { return fmt.Sprintf(", %s %v", a.Key, a.Value.Resolve()) }

// WithAttrs implements slog.Handler.
func (h watchLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key != "account" || h.view.names {
			h.attrs += attrText(a)
		}
	}
	return h
}

// WithGroup implements slog.Handler. No record of ours has groups.
func (h watchLog) WithGroup(string) slog.Handler { return h }
