// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"
)

// Count says how many there are of something.
func Count[N int | int64 | uint64](n N, what string) string {
	return fmt.Sprintf("%d %s", n, plural(int(n), what, what+"s"))
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// OneLine fits what a stranger wrote on one line, without controls, not even those that turn
// the direction of what follows, of so many characters at most.
func OneLine(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return r == ' ' || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	}), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Clip cuts a line so that it takes at most so many columns of a terminal. What that shows as
// one character stays whole.
func Clip(line string, most int) string {
	if uniseg.StringWidth(line) <= most {
		return line
	}
	at, end := 0, 0
	for g := uniseg.NewGraphemes(line); g.Next(); {
		if at += g.Width(); at > most-1 {
			break
		}
		_, end = g.Positions()
	}
	return line[:end] + "…"
}

// Moment is a time as answers show it.
func Moment(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// lines returns a function that writes a line to w. What goes wrong is added to err.
func lines(w io.Writer, err *error) func(format string, a ...any) {
	return func(format string, a ...any) {
		_, failed := fmt.Fprintf(w, format+"\n", a...)
		*err = errors.Join(*err, failed)
	}
}

func kinds(important, ordinary int) string {
	if important+ordinary == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d important, %d ordinary)", important, ordinary)
}

// OthersWords says that the message with a key is one of several with a Message-ID; "" if
// it is the only one.
func OthersWords(key string, others []string) string {
	if len(others) == 0 {
		return ""
	}
	const digits, most = 12, 2
	var names []string
	for _, other := range others[:min(len(others), most)] {
		names = append(names, other[:digits])
	}
	if more := len(others) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s: one of %d with this Message-ID; others: %s", key[:digits], len(others)+1, strings.Join(names, ", "))
}
