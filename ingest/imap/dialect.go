// SPDX-License-Identifier: Apache-2.0

package imap

import "strings"

// maxDepth is how deep the parentheses of one answer may be nested. Answers to
// what is asked for have 3. The client library calls itself for each one that
// opens, and wraps its error at each: 100,000 cost it minutes.
const maxDepth = 32

// maxWord is how much of a word is looked at to find out what a line is.
const maxWord = 16

// dialect puts what a server says into the spelling that the client library
// reads, and refuses what would keep the library busy. It changes six things, all
// outside of strings, literals and text for people, but for the one before the last:
//
//   - response codes, ESEARCH answers and the names of FETCH items become upper
//     case: IMAP compares them without regard to case (RFC 9051, section 9), the
//     library does not;
//   - NIL likewise;
//   - QUIRK: GreenMail 2.1 sends BODY[]<0>{5}, without the space before the
//     literal, which is put in;
//   - an INTERNALDATE that is none, as "00-Jan-1900 00:00:00 +0000" or NIL, becomes
//     noDate: the library would end the connection over it;
//   - likewise a number that may be missing, as HIGHESTMODSEQ NaN, becomes 0;
//   - what takes the place of FETCH and EXPUNGE after ENABLE UIDONLY; see uidonly.go.
//
// It keeps no text, but for one word and a value. It is not safe for concurrent use.
type dialect struct {
	literal int64 // bytes left of a literal
	line    lineKind
	words   int    // complete words of the line
	word    []byte // the word that is being read, its first bytes
	depth   int    // of parentheses
	quoted  bool
	escaped bool // in a quoted string, after a backslash
	last    byte
	code    codePart
	digits  int64 // of what may be the head of a literal; below 0: is none
	brace   bool  // a literal's head is complete but for the end of the line

	item  string // whose value is being read; "": none that matters
	value []byte // what was read of it, and is held back

	number string // that the line begins with
	asUID  bool   // it is a UID; see uidonly.go
	held   []byte // of a line VANISHED

	// onTagged is called when a command ends: a line with a tag begins.
	onTagged func()
}

// lineKind is what a line says.
type lineKind uint8

const (
	kindUnknown lineKind = iota // its first words are still to come
	kindText                    // for people, but for a response code
	kindFetch
	kindStatus
	kindSearch // ESEARCH
	kindList
	kindVanished
	kindOther
)

// codePart is where in a response code a line is.
type codePart uint8

const (
	codeAwaited codePart = iota // it would begin here
	codeName
	codePast // there is none, or its name is complete
)

func newDialect() *dialect { return &dialect{digits: -1} }

// read appends to out what the server said in p. Its error is errDepth or errGone.
func (d *dialect) read(out, p []byte) ([]byte, error) {
	for len(p) > 0 {
		if d.literal > 0 {
			n := min(int64(len(p)), d.literal)
			out = append(out, p[:n]...)
			d.literal -= n
			p = p[n:]
			continue
		}
		c := p[0]
		p = p[1:]
		if c == '\n' {
			var err error
			if out, err = d.expunged(d.letGo(out)); err != nil {
				return out, err
			}
			d.endLine()
			out = append(out, c)
			continue
		}
		if d.hides(c) {
			continue
		}
		if d.glued(c) {
			out = append(out, ' ')
		}
		if d.line != kindText {
			if err := d.structure(c); err != nil {
				return out, err
			}
		}
		if d.folds(c) {
			c = upper(c)
		}
		out = d.put(out, c)
		d.last = c
	}
	return out, nil
}

// endLine is called at the end of a line, which may go on behind a literal.
func (d *dialect) endLine() {
	d.last = '\n'
	if d.brace && d.line != kindText {
		d.literal, d.brace, d.digits = d.digits, false, -1
		return
	}
	*d = dialect{word: d.word[:0], value: d.value[:0], onTagged: d.onTagged, digits: -1}
}

// classify looks at the next byte of a line whose kind is not known yet. A line
// begins with "*", a tag or "+"; then comes its type, or a number and its type.
func (d *dialect) classify(c byte) {
	if d.words == 0 && len(d.word) == 0 && c == '+' {
		d.line, d.code = kindText, codePast
		return
	}
	if c != ' ' && c != '\r' {
		if d.words == 1 && len(d.word) == 0 && upper(c) == 'V' {
			d.line = kindVanished // nothing else begins so
		}
		if len(d.word) < maxWord {
			d.word = append(d.word, c)
		}
		return
	}
	word := strings.ToUpper(string(d.word))
	d.word = d.word[:0]
	if d.words++; d.words == 1 {
		if word != "*" && d.onTagged != nil {
			d.onTagged()
		}
		return
	}
	switch word {
	case "OK", "NO", "BAD", "BYE", "PREAUTH":
		d.line = kindText
	case "FETCH", "UIDFETCH":
		d.line, d.asUID = kindFetch, word != "FETCH" && d.number != ""
	case "STATUS":
		d.line = kindStatus
	case "ESEARCH":
		d.line = kindSearch
	case "LIST":
		d.line = kindList
	default:
		if number := strings.Trim(word, "0123456789") == ""; !number || d.words > 2 {
			d.line = kindOther
		}
		d.number = word
	}
}

// glued reports whether c begins a string right behind the name of a FETCH item.
func (d *dialect) glued(c byte) bool {
	return d.line == kindFetch && d.depth == 1 && !d.quoted &&
		(d.last == ']' || d.last == '>') && (c == '{' || c == '~' || c == '"')
}

// structure follows parentheses, quoted strings and the heads of literals. Even
// within quotes parentheses count, so that no disagreement with the library over
// where a string ends can hide any.
func (d *dialect) structure(c byte) error {
	switch c {
	case '(':
		if d.depth++; d.depth > maxDepth {
			return errDepth
		}
	case ')':
		d.depth = max(0, d.depth-1)
	}
	if d.quoted {
		switch {
		case d.escaped:
			d.escaped = false
		case c == '\\':
			d.escaped = true
		case c == '"':
			d.quoted = false
		}
		return nil
	}
	switch {
	case c == '\r':
		return nil // the line may end in the head of a literal
	case c == '"':
		d.quoted = true
	case c == '{':
		d.digits, d.brace = 0, false
		return nil
	case c >= '0' && c <= '9' && d.digits >= 0 && d.digits < 1<<40 && !d.brace:
		d.digits = d.digits*10 + int64(c-'0')
		return nil
	case c == '+' && d.digits >= 0 && !d.brace:
		return nil
	case c == '}' && d.digits >= 0:
		d.brace = true
		return nil
	}
	d.digits, d.brace = -1, false
	return nil
}

// folds reports whether the byte c, the next one of the line, is part of what is
// compared without regard to case.
func (d *dialect) folds(c byte) bool {
	switch d.line {
	case kindText:
		return d.inCode(c)
	case kindFetch:
		return d.depth == 1 && !d.quoted
	case kindSearch:
		return !d.quoted
	case kindList:
		// The delimiter, a quoted character or NIL, follows the list of attributes.
		switch {
		case c != ' ' || d.quoted:
		case d.code == codeAwaited && d.depth == 0 && d.last == ')':
			d.code = codeName
		case d.code == codeName:
			d.code = codePast
		}
		return d.code == codeName && !d.quoted
	}
	return false
}

// inCode reports whether c belongs to the name of a response code, which stands in
// brackets in front of a text.
func (d *dialect) inCode(c byte) bool {
	switch {
	case d.code == codeAwaited && c == '[':
		d.code = codeName
	case d.code == codeAwaited && c != ' ', d.code == codeName && (c == ' ' || c == ']'):
		d.code = codePast
	}
	return d.code == codeName
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
