// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// split returns all messages of an mbox, read from r, with copies of their
// parts.
func split(t testing.TB, r io.Reader, limit int) []piece {
	t.Helper()
	s := newSplitter(r, limit)
	var all []piece
	for {
		p, err := s.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		p.fromLine, p.content, p.tail = bytes.Clone(p.fromLine), bytes.Clone(p.content), bytes.Clone(p.tail)
		all = append(all, p)
	}
}

// quote is the twin of unquote, the slow way: line by line.
func quote(content []byte) []byte {
	var out []byte
	for line := range bytes.Lines(content) {
		if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte(fromPrefix)) {
			out = append(out, '>')
		}
		out = append(out, line...)
	}
	return out
}

var mboxSeeds = []string{
	"",
	"From a@example.org Thu Aug 18 18:22:57 2005\n",
	twoMessages,
	"From a\n\nhello\n\nFrom b\n\nFrom c\nbody\n\n",
	"From a@b Thu Aug 18 18:22:57 2005\r\nS: x\r\n\r\n>From y\r\n\r\nFrom a@b Thu Aug 18 18:22:57 2005\r\n\r\n",
	"no From line\n\nFrom x Thu Aug 18 18:22:57 2005\n\n>>From\n>From \nF\nFrom",
	">From >From \n>>>>From F\n\nFrom F\n",
	"From a@b Thu Aug 18 18:22:57 2005\nContent-Length: 37\n\nFrom a@b Thu Aug 18 18:22:57 2005\n\n>\n\nFrom a@b Thu Aug 18 18:22:57 2005\n>From x\n",
}

// FuzzMbox asserts that the pieces of an mbox are the mbox again, that it does
// not matter in what portions it is read, that what was read can be written and
// read again, and that a limit changes nothing but the length of contents.
func FuzzMbox(f *testing.F) {
	for _, seed := range mboxSeeds {
		f.Add([]byte(seed), 10)
	}
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		const unlimited = 1 << 30
		counted := bytes.Contains(data, []byte("Content-Length:")) // quoting makes that wrong
		pieces := split(t, bytes.NewReader(data), unlimited)
		var again []byte
		for i, p := range pieces {
			if want := fromLineDate(p.fromLine); !p.date.Equal(want) {
				t.Fatalf("piece %d: the date is %v, want %v", i, p.date, want)
			}
			if p.offset != int64(len(again)) || p.index != i || p.skipped != 0 {
				t.Fatalf("piece %d: offset %d, index %d, skipped %d, want offset %d", i, p.offset, p.index, p.skipped, len(again))
			}
			again = append(append(append(again, p.fromLine...), p.content...), p.tail...)
			if !counted && !p.quoted && !bytes.Equal(unquote(bytes.Clone(p.content)), p.content) {
				t.Fatalf("piece %d has quoted lines that went unnoticed: %q", i, p.content)
			}
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("got  %q\nwant %q", again, data)
		}

		bytewise := split(t, iotest.OneByteReader(bytes.NewReader(data)), unlimited)
		if len(bytewise) != len(pieces) {
			t.Fatalf("byte by byte: got %d messages, want %d", len(bytewise), len(pieces))
		}
		for i := range pieces {
			if !bytes.Equal(bytewise[i].content, pieces[i].content) {
				t.Fatalf("byte by byte: message %d: got %q, want %q", i, bytewise[i].content, pieces[i].content)
			}
		}

		if counted {
			pieces = pieces[:0]
		}
		var written []byte
		var contents [][]byte
		for _, p := range pieces {
			content := unquote(bytes.Clone(p.content))
			if len(content) > 0 && !bytes.HasSuffix(content, []byte("\n")) {
				content = append(content, '\n')
			}
			contents = append(contents, content)
			written = append(written, "From a@example.org Thu Aug 18 18:22:57 2005\n"...)
			written = append(append(written, quote(content)...), '\n')
		}
		reread := split(t, bytes.NewReader(written), unlimited)
		if len(reread) != len(contents) {
			t.Fatalf("written and read again: got %d messages, want %d, from %q", len(reread), len(contents), written)
		}
		for i, p := range reread {
			if got := unquote(p.content); !bytes.Equal(got, contents[i]) {
				t.Fatalf("written and read again: message %d: got %q, want %q", i, got, contents[i])
			}
		}

		limit = max(0, limit%4096)
		pieces = split(t, bytes.NewReader(data), unlimited)
		for i, p := range split(t, iotest.HalfReader(bytes.NewReader(data)), limit) {
			want := pieces[i].content
			if !bytes.Equal(p.content, want[:min(limit, len(want))]) || int64(len(p.content))+p.skipped != int64(len(want)) {
				t.Fatalf("limit %d: message %d: got %d bytes and %d skipped, want %d", limit, i, len(p.content), p.skipped, len(want))
			}
		}
	})
}

func TestMboxSeedsReachTheCode(t *testing.T) {
	messages, quoted := 0, 0
	for _, seed := range mboxSeeds {
		for _, p := range split(t, bytes.NewReader([]byte(seed)), 1<<30) {
			messages++
			if !bytes.Equal(unquote(bytes.Clone(p.content)), p.content) {
				quoted++
			}
		}
	}
	if messages < 10 || quoted < 4 {
		t.Errorf("got %d messages, %d with quoted lines, want at least 10 and 4", messages, quoted)
	}
}

func TestUnquoteTakesOneMarkFromEachFromLine(t *testing.T) {
	for _, tt := range []struct{ content, want string }{
		{"", ""},
		{">From x", "From x"},
		{">>From x\n", ">From x\n"},
		{" >From x\n> >From y\na>From z\n", " >From x\n> >From y\na>From z\n"},
		{">From a\n>From b\n\n>>>From c\nend", "From a\nFrom b\n\n>>From c\nend"},
		{">From >From x\n", "From >From x\n"},
		{"x>\n>>\n>From", "x>\n>>\n>From"},
	} {
		if got := string(unquote([]byte(tt.content))); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.content, got, tt.want)
		}
	}
}
