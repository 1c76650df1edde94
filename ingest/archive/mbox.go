// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	fromPrefix = "From "
	// maxFromLine is far above any "From " line; a longer one is text.
	maxFromLine = 1024
	// lookback is how many bytes up to a line's beginning tell whether a blank
	// line stands before it.
	lookback = 3
	// maxLength is the greatest Content-Length that is believed.
	maxLength = 16 << 20
)

// splitter cuts an mbox into messages.
//
// In mboxrd and mboxo every line of a message that begins with "From " is
// quoted with ">", but much real mail was saved by programs that forgot to, and
// "From " begins many a sentence. So what ends a message is a "From " line with
// a date in it, whether a blank line stands before it or not. Only in a file
// whose first "From " line has no date does any such line behind a blank one.
//
// In mboxcl2 nothing is quoted, and Content-Length says where a message ends. It
// counts where it leads over a "From " line exactly to another or to the end of the
// file; many a message has one that is wrong. Lines of such a file are not unquoted.
type splitter struct {
	r       io.Reader
	max     int
	buf     []byte    // what was read and not yet left behind, from start on
	start   int       // where in buf the next message begins
	offset  int64     // of that in the file
	err     error     // of r, once it ended
	index   int       // of the next message
	dated   bool      // "From " lines have dates
	date    time.Time // of the "From " line found last, which begins the next message, if dated
	quoted  bool      // the message at hand may have quoted lines
	counted bool      // a Content-Length led over a "From " line: it is mboxcl2
	started bool
}

// piece is one message of an mbox. Its slices lie in the splitter's buffer and
// hold until the next call. Unless something was skipped, they are the file.
type piece struct {
	fromLine []byte    // with its end
	content  []byte    // still quoted, without the blank line behind it
	tail     []byte    // that blank line
	date     time.Time // in fromLine; zero where there is none
	skipped  int64     // bytes of content left out
	quoted   bool      // content may have lines to unquote
	offset   int64
	length   int64 // of all three in the file
	index    int
}

func newSplitter(r io.Reader, limit int) *splitter { return &splitter{r: r, max: limit} }

// next returns the next message; io.EOF, or what else ended the file, behind
// the last.
func (s *splitter) next() (piece, error) {
	for len(s.buf) == s.start && s.err == nil {
		s.more()
	}
	if len(s.buf) == s.start {
		return piece{}, s.err
	}
	if !s.started {
		s.started = true
		for s.err == nil && len(s.buf) < maxFromLine && bytes.IndexByte(s.buf, '\n') < 0 {
			s.more()
		}
		s.date = fromLineDate(s.buf[:fromLineEnd(s.buf)])
		s.dated = !s.date.IsZero()
	}
	s.quoted = false
	date := s.date
	end, removed := s.find()
	p := pieceOf(s.buf[s.start:s.start+end], removed, s.max)
	p.quoted, p.offset, p.index, p.length = s.quoted && !s.counted, s.offset, s.index, int64(end)+removed
	if p.date = date; !s.dated {
		p.date = fromLineDate(p.fromLine)
	}
	s.start += end
	s.offset += int64(end) + removed
	s.index++
	return p, nil
}

// find reads on to the end of the message at s.start. It returns how many bytes
// of it are in the buffer, and how many were left out because it is too long.
func (s *splitter) find() (end int, removed int64) {
	scan := 1 // the message itself begins at 0
	for {
		w := s.buf[s.start:]
		at, resume := s.separator(w, scan)
		if at >= 0 {
			if end := s.byLength(at); end > at && removed == 0 {
				return end, 0
			}
			return at, removed
		}
		if s.err != nil {
			return len(w), removed
		}
		scan = resume
		if keep, cut := s.max+maxFromLine, resume-lookback; cut > keep {
			n := copy(w[keep:], w[cut:])
			s.buf = s.buf[:s.start+keep+n]
			removed += int64(cut - keep)
			scan = keep + lookback
		}
		s.more()
	}
}

// byLength returns where the message ends by its Content-Length; 0 when that is missing or
// leads nowhere. The message goes at least up to at, where a "From " line begins.
func (s *splitter) byLength(at int) int {
	w := s.buf[s.start : s.start+at]
	header := w[:headerLen(w)]
	_, value, _ := bytes.Cut(header, []byte("\nContent-Length:")) // with these capitals
	value, _, _ = bytes.Cut(value, []byte("\n"))
	length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
	target := len(header) + length
	if err != nil || length > maxLength || target <= at {
		return 0
	}
	for s.err == nil && len(s.buf)-s.start < target+maxFromLine {
		s.more()
	}
	w = s.buf[s.start:]
	if target > len(w) {
		return 0
	}
	for _, blank := range []string{"\r\n", "\n"} {
		if bytes.HasPrefix(w[target:], []byte(blank)) {
			target += len(blank)
			break
		}
	}
	line, date := w[target:], s.date
	if line = line[:fromLineEnd(line)]; target < len(w) && (w[target-1] != '\n' || !bytes.HasPrefix(line, []byte(fromPrefix)) || !s.separates([]byte("\n"), line)) {
		s.date = date
		return 0
	}
	s.counted = true
	return target
}

// headerLen returns the length of the header of a message, the blank line included.
func headerLen(w []byte) int {
	end := len(w)
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(w[:end], []byte(blank)); i >= 0 {
			end = i + len(blank)
		}
	}
	return end
}

// separator returns where in w the next "From " line begins that ends the
// message, looking from scan on. Else it returns −1 and where to resume once
// there is more.
//
// It looks for the letter F, which is rarer than a line end.
func (s *splitter) separator(w []byte, scan int) (at, resume int) {
	for scan < len(w) {
		i := bytes.IndexByte(w[scan:], 'F')
		if i < 0 {
			break
		}
		i += scan
		scan = i + 1
		line := w[i:]
		switch w[i-1] {
		case '>':
			s.quoted = true
		case '\n':
			if len(line) < len(fromPrefix) && s.err == nil {
				return -1, i
			}
			if !bytes.HasPrefix(line, []byte(fromPrefix)) {
				break
			}
			end := bytes.IndexByte(line[:min(len(line), maxFromLine)], '\n')
			if end < 0 && len(line) < maxFromLine && s.err == nil {
				return -1, i
			}
			if s.separates(w[:i-1], line[:fromLineEnd(line)]) {
				return i, 0
			}
		}
	}
	return -1, len(w)
}

// separates reports whether a "From " line ends the message. before is what
// stands before it, without the line end between the two.
func (s *splitter) separates(before, line []byte) bool {
	if s.dated {
		date := fromLineDate(line)
		if date.IsZero() {
			return false
		}
		s.date = date
		return true
	}
	return len(line) > 0 && (bytes.HasSuffix(before, []byte("\n")) || bytes.HasSuffix(before, []byte("\n\r")))
}

// fromLineEnd returns the length of the "From " line at the beginning of b, its
// end included; 0 when the line is too long to be one.
func fromLineEnd(b []byte) int {
	if i := bytes.IndexByte(b[:min(len(b), maxFromLine)], '\n'); i >= 0 {
		return i + 1
	}
	if len(b) < maxFromLine {
		return len(b)
	}
	return 0
}

// pieceOf takes a message of an mbox apart, of which so many bytes were left out before
// the last lookback ones. Content is cut to limit.
func pieceOf(w []byte, removed int64, limit int) piece {
	head := fromLineEnd(w)
	p := piece{fromLine: w[:head], content: w[head:], skipped: removed}
	// The blank line belongs to the mbox, not to the message.
	blank := 0
	switch c := p.content; {
	case bytes.HasSuffix(c, []byte("\n\r\n")) || string(c) == "\r\n":
		blank = 2
	case bytes.HasSuffix(c, []byte("\n\n")) || string(c) == "\n":
		blank = 1
	}
	p.content, p.tail = p.content[:len(p.content)-blank], p.content[len(p.content)-blank:]
	if over := len(p.content) - limit; over > 0 {
		p.content = p.content[:limit]
		p.skipped += int64(over)
	}
	return p
}

// more reads another block.
func (s *splitter) more() {
	// A Content-Length may have had much read ahead, which is not moved for every message.
	if s.start > 0 && s.start >= len(s.buf)-s.start {
		s.buf = s.buf[:copy(s.buf, s.buf[s.start:])]
		s.start = 0
	}
	if cap(s.buf)-len(s.buf) < blockBytes {
		grown := make([]byte, len(s.buf), 2*cap(s.buf)+2*blockBytes)
		copy(grown, s.buf)
		s.buf = grown
	}
	n, err := s.r.Read(s.buf[len(s.buf) : len(s.buf)+blockBytes])
	s.buf = s.buf[:len(s.buf)+n]
	s.err = err
}

// unquote removes one ">" from every line of content that has one or more of
// them before "From ", in place. It returns what is left of content.
func unquote(content []byte) []byte {
	to, done, pos := 0, 0, 0
	for {
		i := bytes.Index(content[pos:], []byte(">"+fromPrefix))
		if i < 0 {
			break
		}
		i += pos
		line := i
		for line > pos && content[line-1] == '>' {
			line--
		}
		if line == 0 || content[line-1] == '\n' {
			to += copy(content[to:], content[done:line])
			done = line + 1
		}
		pos = i + len(">"+fromPrefix)
	}
	if done == 0 {
		return content
	}
	return content[:to+copy(content[to:], content[done:])]
}

// obscured is a sender in pipermail: "ann at example.org (Ann)".
var obscured = regexp.MustCompile(`^\s*([^\s@<>"]+) at ([^\s@<>"]+\.[^\s@<>"]+)(?:\s+\(((?s:.*))\))?\s*$`)

// reveal gives a message of a list archive, which its "From " line tells, its sender's
// address back, in place; blanks fill the field up.
func reveal(fromLine, raw []byte) {
	if !bytes.Contains(fromLine, []byte(" at ")) {
		return
	}
	for name, value := range fields(raw) {
		found := obscured.FindSubmatch(value)
		if found == nil || !bytes.EqualFold(name, []byte("from")) {
			continue
		}
		shown := string(found[3])
		if shown != "" && !strings.Contains(shown, "=?") {
			shown = `"` + strings.NewReplacer(`"`, "'", `\`, "/").Replace(shown) + `"`
		}
		value = bytes.TrimRight(value, "\r\n")
		plain := fmt.Sprintf(" %s <%s@%s>", shown, found[1], found[2])
		if fill := len(value) - len(plain); fill >= 0 {
			copy(value, plain+strings.Repeat(" ", fill))
		}
		return
	}
}
