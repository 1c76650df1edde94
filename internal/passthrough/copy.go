package passthrough

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// forged is how the fields begin that are ours alone, in any case of letters.
const forged = "x-hinged-"

// buffer is how much of a message is held at a time.
const buffer = 64 << 10

// Copy copies one message from src to dst. It takes out what the message brings
// of X-Hinged-… fields, and puts fields, lines that end in LF, at the head of
// the header: behind the "From " line of an mbox and the ">From " lines that may
// follow it, and with the line end of the message's own first line (CRLF or LF;
// LF where that line has none within 64 KiB; a "From " line longer than that is
// taken for none). With no fields it only takes out.
//
// A header reaches to the first empty line, as the program that reads it next
// may have it, even over lines that are no fields (RFC 5322, section 2.1). In it
// every line that begins with "X-Hinged-" goes, with or without a colon, and so
// do its continuation lines; the body is left alone. Memory is bounded, whatever
// the message is. An error says whether reading or writing failed; what was
// written then is a part of the message.
func Copy(dst io.Writer, src io.Reader, fields []byte) error {
	c := copier{r: bufio.NewReaderSize(src, buffer), w: bufio.NewWriterSize(dst, buffer)}
	c.envelope(fields)
	c.header()
	c.body()
	if c.err == nil {
		if err := c.w.Flush(); err != nil {
			c.err = fmt.Errorf("writing the message: %w", err)
		}
	}
	return c.err
}

// Strip returns raw without the X-Hinged-… fields of its header: raw itself when
// there are none, else a copy.
func Strip(raw []byte) []byte {
	if !mayHold(raw) {
		return raw
	}
	var out bytes.Buffer
	out.Grow(len(raw))
	_ = Copy(&out, bytes.NewReader(raw), nil) // neither of them fails
	return out.Bytes()
}

// mayHold tells quickly that most messages bring no such field.
func mayHold(raw []byte) bool {
	for rest := raw; len(rest) > 0; {
		if isForged(rest) {
			return true
		}
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return false
		}
		if rest = rest[i+1:]; isEmpty(rest) {
			return false
		}
	}
	return false
}

// copier is one run of Copy. After the first error nothing more is done.
type copier struct {
	r    *bufio.Reader
	w    *bufio.Writer
	err  error
	done bool // src has ended
}

// line returns the next line with its end, or the next part of a long one. It
// is valid until the next call; nil is the end.
func (c *copier) line() []byte {
	if c.err != nil || c.done {
		return nil
	}
	line, err := c.r.ReadSlice('\n')
	switch {
	case err == nil || errors.Is(err, bufio.ErrBufferFull):
	case errors.Is(err, io.EOF):
		c.done = true
	default:
		c.err = fmt.Errorf("reading the message: %w", err)
		return nil
	}
	return line
}

// write writes one line, or a part of one.
func (c *copier) write(line []byte) {
	if c.err != nil {
		return
	}
	if _, err := c.w.Write(line); err != nil {
		c.err = fmt.Errorf("writing the message: %w", err)
	}
}

// peek shows how the rest begins: its first line, as far as one buffer holds it.
func (c *copier) peek() []byte {
	// Looking only as far as needed: more may not come before a while.
	var head []byte
	for len(head) < buffer && c.fill(len(head)+1) {
		head, _ = c.r.Peek(c.r.Buffered())
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			return head[:i+1]
		}
	}
	return head
}

// fill reads until n bytes of the rest are there, and tells whether they are.
func (c *copier) fill(n int) bool {
	if c.err != nil {
		return false
	}
	_, err := c.r.Peek(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = fmt.Errorf("reading the message: %w", err) // bufio would forget it
	}
	return err == nil
}

// envelope copies the lines before the header, and puts fields behind them.
func (c *copier) envelope(fields []byte) {
	var first []byte // the line whose end is the message's own
	prefix := []byte("From ")
	for {
		first = c.peek()
		// Behind a line without an end there is no place: the fields go before it.
		if !bytes.HasPrefix(first, prefix) || first[len(first)-1] != '\n' {
			break
		}
		prefix = []byte(">From ")
		end := lineEnd(first)
		c.write(c.line())
		if first = c.peek(); len(first) == 0 { // the message is that line alone
			c.fields(fields, end)
			return
		}
	}
	c.fields(fields, lineEnd(first))
}

func (c *copier) fields(fields []byte, end string) {
	for line := range bytes.Lines(fields) {
		c.write(bytes.TrimSuffix(line, []byte("\n")))
		c.write([]byte(end))
	}
}

// header copies the header and the empty line behind it.
func (c *copier) header() {
	drop, begins := false, true
	for {
		line := c.line()
		if len(line) == 0 {
			return
		}
		if begins {
			if isEmpty(line) {
				c.write(line)
				return
			}
			if line[0] != ' ' && line[0] != '\t' {
				drop = isForged(line)
			}
		}
		if !drop {
			c.write(line)
		}
		begins = line[len(line)-1] == '\n'
	}
}

// body copies the rest.
func (c *copier) body() {
	for !c.done && c.fill(1) {
		part, _ := c.r.Peek(c.r.Buffered())
		c.write(part)
		_, _ = c.r.Discard(len(part))
	}
}

// isEmpty tells the line that ends a header.
func isEmpty(line []byte) bool {
	return len(line) > 0 && line[0] == '\n' || len(line) > 1 && line[0] == '\r' && line[1] == '\n'
}

// isForged tells a line that pretends to be ours.
func isForged(line []byte) bool {
	return len(line) >= len(forged) && equalFold(line[:len(forged)], forged)
}

// equalFold compares with a text in small letters. Only the letters of ASCII
// have two forms here: the names of fields have no others.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// lineEnd returns how a line ends; LF when it does not.
func lineEnd(line []byte) string {
	if bytes.HasSuffix(line, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
