// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"

	"github.com/hinged/hinged/internal/face/desk"
)

func view(out *bytes.Buffer, width int) *watchView {
	at := time.Date(2026, 3, 2, 14, 2, 0, 0, time.UTC)
	return &watchView{now: func() time.Time { return at }, width: func() int { return width }, level: slog.LevelInfo, out: out}
}

// TestTheViewFitsItsTerminal: a line takes no more columns than there are, wide characters
// count twice, and what does not fit is left out from the reasons first.
func TestTheViewFitsItsTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		width int
		shown desk.Shown
		want  string
	}{
		"as it is": {80, desk.Shown{Deed: desk.DeedMarked, From: "Théo", Subject: "Papa's birthday", Why: []string{"you answered 8 of their 9 messages", "only to you"}},
			"14:02  marked     Théo: Papa's birthday (you answered 8 of their 9 messages)\n"},
		"at the limit": {91, desk.Shown{Deed: desk.DeedMarked, From: "Théo", Subject: "Papa's birthday", Why: []string{"you answered 8 of their 9 messages", "only to you"}},
			"14:02  marked     Théo: Papa's birthday (you answered 8 of their 9 messages; only to you)\n"},
		"wide": {50, desk.Shown{Deed: desk.DeedUnsure, From: "林", Subject: strings.Repeat("魚", 40), Why: []string{"only to you"}},
			"14:02  unsure     林: 魚魚魚魚魚魚… (only to you)\n"},
		"hostile": {80, desk.Shown{Deed: desk.DeedMarked, From: "a\rb", Subject: "x\x1b[2J\u202ey\u2028z\n"},
			"14:02  marked     a b: x [2J y z\n"},
		"learnt": {80, desk.Shown{Deed: desk.DeedCorrected, From: "ann@example.org", Subject: "roof", Label: "ordinary", Source: "mark"},
			"14:02  corrected  ann@example.org: roof (ordinary, you took the mark off it)\n"},
		"without words": {80, desk.Shown{Deed: desk.DeedLearnt, Label: "important", Source: "answered"},
			"14:02  learnt     (words not kept) (important, you answered it)\n"},
	} {
		var out bytes.Buffer
		view(&out, tt.width).show(tt.shown)
		if got := out.String(); got != tt.want || uniseg.StringWidth(strings.TrimSuffix(got, "\n")) >= tt.width {
			t.Errorf("%s: got %d columns of %d\n%q\nwant\n%q", name, uniseg.StringWidth(got), tt.width, got, tt.want)
		}
	}
}

// TestTheViewShowsALinkWhole, however narrow the terminal is: half of one opens nothing.
func TestTheViewShowsALinkWhole(t *testing.T) {
	var out bytes.Buffer
	v := view(&out, 40)
	v.show(desk.Shown{Deed: desk.DeedOrdinary})
	out.Reset()
	v.link("http://127.0.0.1:7425/link/ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	want := "\r\x1b[K14:02  open       http://127.0.0.1:7425/link/ABCDEFGHIJKLMNOPQRSTUVWXYZ\n\r\x1b[K1 ordinary since 14:02"
	if out.String() != want {
		t.Errorf("got\n%q\nwant\n%q", out.String(), want)
	}
}

// TestTheViewCountsWhatNeedsNoLine below the others, and log records are among them.
func TestTheViewCountsWhatNeedsNoLine(t *testing.T) {
	var out bytes.Buffer
	v := view(&out, 80)
	log := slog.New(watchLog{view: v}).With("account", "me")
	for range 2 {
		v.show(desk.Shown{Deed: desk.DeedOrdinary, From: "ann@example.org", Subject: "secret"})
	}
	v.show(desk.Shown{Deed: desk.DeedSilence})
	log.Debug("decided")
	log.Warn("connection lost, reconnecting", "error", "it \x1b[2J broke")
	v.end()
	const erase = "\r\x1b[K"
	counts := erase + "2 ordinary, 1 learnt from your silence since 14:02"
	want := erase + "1 ordinary since 14:02" + erase + "2 ordinary since 14:02" + counts +
		erase + "14:02  warning    connection lost, reconnecting, error it [2J broke\n" + counts + "\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
