// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

const ours = "X-Hinged-Status: important; score=+1.27; threshold=0.80\nX-Hinged-Reason: from ann@example.org +0.41;\n \"invoice\" +0.21\n"

func copied(t testing.TB, raw, fields string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Copy(&out, strings.NewReader(raw), []byte(fields)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFieldsStandAtTheHeadAndForgedOnesGo(t *testing.T) {
	const one = "X-Hinged-Status: ordinary\n"
	for _, tt := range []struct{ name, in, want string }{
		{"a plain message", "Subject: a\n\nb\n", one + "Subject: a\n\nb\n"},
		{"lines that end in CRLF", "Subject: a\r\n\r\nb\r\n", "X-Hinged-Status: ordinary\r\nSubject: a\r\n\r\nb\r\n"},
		{"the message's own line end is that of its first line", "Subject: a\nTo: b\r\n\r\nc", one + "Subject: a\nTo: b\r\n\r\nc"},
		{"a From line", "From a@b Thu Jan  1\nSubject: a\n\nb", "From a@b Thu Jan  1\n" + one + "Subject: a\n\nb"},
		{"a From line of another program's end", "From a@b Thu Jan  1\nSubject: a\r\n\r\nb", "From a@b Thu Jan  1\nX-Hinged-Status: ordinary\r\nSubject: a\r\n\r\nb"},
		{"quoted From lines behind it", "From a\n>From b\n>From c\nTo: d\n\n", "From a\n>From b\n>From c\n" + one + "To: d\n\n"},
		{"a quoted From line without one", ">From b\nTo: d\n\n", one + ">From b\nTo: d\n\n"},
		{"a From line and nothing else", "From a\r\n", "From a\r\nX-Hinged-Status: ordinary\r\n"},
		{"a From line without an end", "From a", one + "From a"},
		{"From as a field", "From: a\n\nb", one + "From: a\n\nb"},
		{"nothing", "", one},
		{"a line end", "\n", one + "\n"},
		{"no header", "\nbody\n", one + "\nbody\n"},
		{"no final line end in the header", "Subject: a", one + "Subject: a"},
		{"NULs and carriage returns", "A: \x00\rb\n\r\x00\n\nc\r", one + "A: \x00\rb\n\r\x00\n\nc\r"},

		{"forged", "X-Hinged-Status: important\nSubject: a\n\nb\n", one + "Subject: a\n\nb\n"},
		{"forged, in any case", "A: 1\nx-HINGED-status: important\nB: 2\n\nc", one + "A: 1\nB: 2\n\nc"},
		{"forged, folded", "A: 1\nX-Hinged-Reason: a\n b\n\tc\n d\nB: 2\n\n", one + "A: 1\nB: 2\n\n"},
		{"forged, folded before the colon", "X-Hinged-Status\n : important\nB: 2\n\n", one + "B: 2\n\n"},
		{"forged, space before the colon", "X-Hinged-Status \t : important\nB: 2\n\n", one + "B: 2\n\n"},
		{"forged, nothing behind the dash", "X-Hinged-: important\nB: 2\n\n", one + "B: 2\n\n"},
		{"forged, no colon", "X-Hinged-Status important\nB: 2\n\n", one + "B: 2\n\n"},
		{"forged, twice, and at the end", "X-Hinged-A: 1\nX-Hinged-B: 2\nC: 3\nX-Hinged-D: 4", one + "C: 3\n"},
		{"forged, behind a line that is no field", "Hello\nX-Hinged-A: 1\nC: 3\n\n", one + "Hello\nC: 3\n\n"},
		{"forged, behind a line of spaces", "A: 1\n \t \nX-Hinged-A: 1\nC: 3\n\n", one + "A: 1\n \t \nC: 3\n\n"},
		{"forged, with CRLF", "X-Hinged-A: 1\r\n 2\r\nC: 3\r\n\r\n", "X-Hinged-Status: ordinary\r\nC: 3\r\n\r\n"},
		{"forged, behind a From line", "From a\nX-Hinged-A: 1\nC: 3\n\n", "From a\n" + one + "C: 3\n\n"},
		{"forged and nothing else", "X-Hinged-A: 1\n 2\n", one},
		{"only similar", "X-Hinge-A: 1\nXX-Hinged-A: 1\nA: X-Hinged-B: 1\n X-Hinged-C: 2\n\n", one + "X-Hinge-A: 1\nXX-Hinged-A: 1\nA: X-Hinged-B: 1\n X-Hinged-C: 2\n\n"},
		{"in the body", "A: 1\n\nX-Hinged-Status: important\n", one + "A: 1\n\nX-Hinged-Status: important\n"},
		{"in an attached message", "Content-Type: message/rfc822\n\nX-Hinged-A: 1\nA: 2\n\n", one + "Content-Type: message/rfc822\n\nX-Hinged-A: 1\nA: 2\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := copied(t, tt.in, one); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			want := strings.NewReplacer(one, "", "X-Hinged-Status: ordinary\r\n", "").Replace(tt.want)
			if got := string(Strip([]byte(tt.in))); got != want {
				t.Errorf("Strip: got  %q\nwant %q", got, want)
			}
		})
	}
}

// without is Copy without fields said in another way: whole lines of the whole
// message, held in memory.
func without(raw string) string {
	var out strings.Builder
	header, drop := true, false
	for line := range strings.Lines(raw) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if header && text == "" && strings.HasSuffix(line, "\n") {
			header = false
		}
		continued := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if header && !continued {
			drop = len(line) >= 9 && strings.EqualFold(line[:9], "X-Hinged-")
		}
		if !header || !drop {
			out.WriteString(line)
		}
	}
	return out.String()
}

// check holds Copy to its promise on any bytes.
func check(t testing.TB, raw string) {
	t.Helper()
	want := without(raw)
	if got := string(Strip([]byte(raw))); got != want {
		t.Fatalf("Strip of %.300q:\ngot  %.300q\nwant %.300q", raw, got, want)
	}
	got := copied(t, raw, ours)
	// Where ours stand is found without looking at how Copy found it: behind the
	// lines that belong to an mbox.
	at := 0
	for prefix := "From "; strings.HasPrefix(raw[at:], prefix); prefix = ">From " {
		n := strings.Index(raw[at:], "\n") + 1
		if n == 0 || n > maxEnvelope {
			break
		}
		at += n
	}
	crlf := strings.ReplaceAll(ours, "\n", "\r\n")
	end := ours
	if strings.HasPrefix(got[at:], crlf) {
		end = crlf
	}
	if got != want[:at]+end+want[at:] {
		t.Fatalf("Copy of %.300q:\ngot  %.300q\nwant %.300q", raw, got, want[:at]+end+want[at:])
	}
	first, _, found := strings.Cut(raw[at:], "\n")
	if raw[at:] == "" {
		first, found = strings.TrimSuffix(raw, "\n"), raw != ""
	}
	if len(first) < maxEnvelope && (end == crlf) != (found && strings.HasSuffix(first, "\r")) {
		t.Fatalf("Copy of %.300q: wrong line end in %.300q", raw, got)
	}
	if got := string(Add([]byte(raw), []byte(ours))); got != want[:at]+end+want[at:] {
		t.Fatalf("Add to %.300q: got %.300q", raw, got)
	}
	// In pieces of one byte it is the same.
	if len(raw) < 4096 {
		var out bytes.Buffer
		if err := Copy(&out, iotest.OneByteReader(strings.NewReader(raw)), []byte(ours)); err != nil || out.String() != got {
			t.Fatalf("Copy of %q byte by byte: got %q, %v", raw, out.String(), err)
		}
	}
}

// pieces are what random messages are made of.
var pieces = []string{
	"\n", "\n", "\r\n", "\r\n", "\r", "\n\n", "\r\n\r\n", " ", "\t", ":", "\x00", "\xff", "\ufeff", "a", "Subject: hello",
	"From ", ">From ", "From a@b Thu Jan  1 00:00:00 2026", "From: a@b", "X-Hinged-", "x-hinged-status", "X-HINGED-Reason: b", " \t:",
	"\nX-Hinged-Status: important", "\r\nX-Hinged-A : b\r\n c", "=?utf-8?q?X-Hinged-?=", "X-Hinged", strings.Repeat("long ", 30),
}

func TestAnyBytesComeThroughUnchanged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var raw strings.Builder
		for range r.IntN(14) {
			raw.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(t, raw.String())
	}
}

func TestLongLinesComeThroughUnchanged(t *testing.T) {
	for _, n := range []int{maxEnvelope - 12, maxEnvelope - 1, maxEnvelope, maxEnvelope + 1, 3*maxEnvelope + 7} {
		long := strings.Repeat("x", n)
		for _, raw := range []string{
			long, "A: " + long + "\n\nb", "X-Hinged-A: " + long + "\n " + long + "\nB: 1\n\n", "A: 1\n\n" + long,
			"From " + long + "\nA: 1\n\n", "From " + long, long + "\r\n\r\n", "A: 1\n" + long + "X-Hinged-A: 1\n\n", long + "\nX-Hinged-A: 1\n\n",
		} {
			check(t, raw)
		}
	}
}

func FuzzCopy(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p + "\nA: b\n\nc\n"))
	}
	f.Add([]byte("From a\r\nX-Hinged-A: 1\r\n 2\r\nC: 3\r\n\r\nX-Hinged-A: body"))
	f.Fuzz(func(t *testing.T, raw []byte) { check(t, string(raw)) })
}

func TestWhatFailedIsSaid(t *testing.T) {
	broken := errors.New("broken")
	for _, raw := range []string{"", "A: 1\n", "A: 1\n\n", "A: 1\n\n" + strings.Repeat("b", 3*maxEnvelope)} {
		// An error that comes once, and nothing after it.
		src := io.MultiReader(strings.NewReader(raw), &once{broken})
		if err := Copy(io.Discard, src, []byte(ours)); err != broken { //nolint:errorlint // as it is
			t.Errorf("%.20q: got %v, want the error in reading", raw, err)
		}
		if err := Copy(&full{0}, strings.NewReader(raw), []byte(ours)); !errors.As(err, new(*WriteError)) || !errors.Is(err, errFull) {
			t.Errorf("%.20q: got %v, want the error in writing", raw, err)
		}
	}
	if err := Copy(&full{2 * maxEnvelope}, strings.NewReader("A: 1\n\n"+strings.Repeat("b", 3*maxEnvelope)), nil); !errors.Is(err, errFull) {
		t.Errorf("got %v, want the error in writing", err)
	}
}

type once struct{ err error }

func (o *once) Read([]byte) (int, error) {
	err := o.err
	o.err = io.EOF
	return 0, err
}

var errFull = errors.New("full")

// full is a disk with room for so many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestMemoryIsBounded(t *testing.T) {
	const size = 64 << 20
	for _, head := range []string{"A: 1\n\n", "A: 1\nX-Hinged-A: ", ""} {
		src := io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, size))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Copy(io.Discard, src, []byte(ours)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%q: %d bytes allocated for %d", head, got, size)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
