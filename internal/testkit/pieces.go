// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/text/width"
)

// Transcript keeps what is written to it: a log, or what goes over a wire. The zero
// value is empty. Safe for concurrent use.
type Transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends b. It never fails.
func (t *Transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

// String returns all that was written so far.
func (t *Transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Has reports whether words were written so far.
func (t *Transcript) Has(words string) bool { return strings.Contains(t.String(), words) }

// Garble overwrites a file of a store, which may be in use, but for the two pages of its header,
// as a broken disk might.
func Garble(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if header := int64(2 * os.Getpagesize()); err == nil && size > header {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(size-header)), header)
	}
	return errors.Join(err, f.Close())
}

// EndsAfter is a context that ends after it was asked Asks times whether it has, so that a
// test can interrupt a task at each place where the task looks. Not safe for concurrent use.
type EndsAfter struct {
	context.Context
	Asks int
}

// Err implements context.Context.
func (c *EndsAfter) Err() error {
	if c.Asks--; c.Asks < 0 {
		return context.Canceled
	}
	return nil
}

// Columns returns how many columns of a terminal a line takes, character by character: two
// for each that is wide in East Asia (UAX 11). It is the slow twin of what the program
// measures with.
func Columns(line string) (columns int) {
	for _, r := range line {
		columns++
		if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
			columns++
		}
	}
	return columns
}

// FromEnv is the size of a test or benchmark: the number from 0 on that the environment
// variable name has, or else otherwise.
func FromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// OK ends a test unless err is nil.
func OK(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Read returns what a file holds. If it can't be read, the test ends.
func Read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// Write writes a file that its owner alone may read. If it can't be written, the test ends.
func Write[T string | []byte](tb testing.TB, path string, data T) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Until waits until ok says so, for minutes if need be. Else the test ends with what was not
// seen, which is written out only then: a Transcript with all that came until then.
func Until(tb testing.TB, ok func() bool, what ...any) {
	tb.Helper()
	for began := time.Now(); !ok(); Pause(began) {
		if time.Since(began) > 5*time.Minute {
			tb.Fatal(fmt.Sprint(what...))
		}
	}
}

// Pause waits before it is asked again for what has been waited for since began: often
// enough to be little late, and seldom enough to leave the processors to who works.
func Pause(began time.Time) {
	time.Sleep(min(max(time.Since(began)/8, 2*time.Millisecond), 100*time.Millisecond))
}

// WriteProgram writes a file that the test is going to run. A process that a parallel test
// starts meanwhile would hold the file open for writing for a moment, and a file that
// is open so cannot be run (ETXTBSY): no process is started before it is written.
func WriteProgram(tb testing.TB, path string, data []byte, mode os.FileMode) {
	tb.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, mode); err != nil {
		tb.Fatal(err)
	}
}

// Computes skips, under the race detector, a test that computes for long and races
// nothing that shorter tests do not. The Makefile finds the tests that call it in their
// first line, and make test runs them without the detector.
func Computes(tb testing.TB) {
	tb.Helper()
	if underRace {
		tb.Skip("it computes for long: make race runs it without the race detector")
	}
}

// Rounds returns how many rounds a test takes: all of them, or few under the race detector,
// where one takes ten times as long and another races nothing new. The Makefile finds the
// tests that call it in their first line, and make test runs them without the detector, too.
func Rounds(tb testing.TB, all, few int) int {
	tb.Helper()
	if underRace {
		return few
	}
	return all
}
