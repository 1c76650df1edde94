// SPDX-License-Identifier: Apache-2.0

// Package addressbook reads the addresses in an address book: vCard files (RFC 6350, RFC 2426 and
// vCard 2.1), or what a CardDAV server has (RFC 6352). It keeps nothing but addresses, and not
// more of a card in memory than those: photos are skipped as they come.
package addressbook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"strings"

	"github.com/emersion/go-vcard"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Bounds of what is read.
const (
	maxAddresses = 20_000 // different ones in a book
	maxBytes     = 256 << 20
	maxLine      = 4 << 10  // of a line of a card, unfolded; no address is longer
	maxCard      = 64 << 10 // of a card, photos and all else that is skipped aside
)

// Book is what was read.
type Book struct {
	Addresses []string // as they are written, each once
	Cards     int      // that were read
	Skipped   int      // cards that could not be, at all or in part
	Full      bool     // there are more addresses, which were left out

	known map[string]bool
}

// add adds the addresses of a card.
func (b *Book) add(card vcard.Card) {
	bad := false
	for _, f := range card[vcard.FieldEmail] {
		address := f.Value
		if strings.EqualFold(f.Params.Get("ENCODING"), "quoted-printable") {
			plain, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(address)))
			if bad = bad || err != nil; err == nil {
				address = string(plain)
			}
		}
		address = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(address), "mailto:"))
		at := strings.LastIndexByte(address, '@')
		switch {
		case address == "" || b.known[address]:
		case at < 1 || at == len(address)-1 || strings.ContainsAny(address, " \t\r\n<>"):
			bad = true
		case len(b.Addresses) == maxAddresses:
			b.Full = true
		default:
			if b.known == nil {
				b.known = map[string]bool{}
			}
			b.known[address] = true
			b.Addresses = append(b.Addresses, address)
		}
	}
	b.Cards++
	if bad {
		b.Skipped++
	}
}

// ReadPath reads a vCard file, or all *.vcf in a directory. An error says what is wrong with which
// file; no address book is half of one.
func ReadPath(ctx context.Context, path string) (*Book, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	files := []string{path}
	if info.IsDir() {
		if files, err = cardFiles(path); err != nil {
			return nil, err
		}
	}
	b, left := new(Book), int64(maxBytes)
	for _, file := range files {
		n, err := b.readFile(ctx, file, left)
		if err != nil {
			return nil, err
		}
		left -= n
	}
	return b, nil
}

// cardFiles returns the vCard files right below a directory, in order of name.
func cardFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.EqualFold(filepath.Ext(e.Name()), ".vcf") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no file whose name ends in .vcf", dir)
	}
	return files, nil
}

func (b *Book) readFile(ctx context.Context, path string, left int64) (size int64, err error) {
	before, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	size = before.Size()
	switch {
	case !before.Mode().IsRegular():
		return 0, fmt.Errorf("%s is neither a file nor a directory of files", path)
	case size == 0:
		return 0, fmt.Errorf("%s is empty", path)
	case size > left:
		return 0, fmt.Errorf("%s: the address book is larger than %d MiB", path, maxBytes>>20)
	}
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	cards := b.Cards + b.Skipped
	if err := b.readCards(ctx, io.LimitReader(file, left)); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	after, err := os.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case after.Size() != size || !after.ModTime().Equal(before.ModTime()):
		return 0, fmt.Errorf("%s changed while it was read", path)
	case b.Cards+b.Skipped == cards:
		return 0, fmt.Errorf("%s holds no vCard: no line says BEGIN:VCARD", path)
	}
	return size, nil
}

var errHalf = errors.New("it ends in the middle of a card, as if it were not written to its end yet")

// readCards adds the cards that r has. A byte order mark says whether it is UTF-16; without one it
// is UTF-8, or anything in which ASCII is ASCII.
func (b *Book) readCards(ctx context.Context, r io.Reader) error {
	lines := lineReader{r: bufio.NewReaderSize(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())), 64<<10)}
	var card bytes.Buffer
	for {
		line, err := lines.next()
		if err != nil && err != io.EOF {
			return err
		}
		name, known := property(line)
		switch {
		case known && name == "BEGIN":
			if card.Len() > 0 { // the one before has no end
				b.Skipped++
			}
			card.Reset()
			card.WriteString("BEGIN:VCARD\n")
		case card.Len() == 0:
		case known && name == "END":
			card.WriteString("END:VCARD\n")
			b.decode(&card)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		case known && card.Len()+len(line) < maxCard:
			card.Write(line)
			card.WriteByte('\n')
		}
		if err == io.EOF && card.Len() > 0 {
			return errHalf
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (b *Book) decode(card *bytes.Buffer) {
	read, err := vcard.NewDecoder(card).Decode()
	card.Reset()
	if err != nil {
		b.Skipped++
		return
	}
	b.add(read)
}

// property returns the name of the property in a line, and whether it is one that is looked at.
func property(line []byte) (name string, known bool) {
	end := bytes.IndexAny(line, ";:")
	if end < 0 || end > 100 {
		return "", false
	}
	name = strings.ToUpper(string(line[:end]))
	if i := strings.LastIndexByte(name, '.'); i >= 0 { // a group
		name = name[i+1:]
	}
	if name == "BEGIN" || name == "END" {
		return name, strings.EqualFold(strings.TrimSpace(string(line[end+1:])), "vcard")
	}
	return name, name == vcard.FieldEmail
}

// lineReader reads unfolded lines.
type lineReader struct {
	r    *bufio.Reader
	line []byte
}

// next returns the next line, unfolded (RFC 6350, section 3.2), of which it keeps maxLine bytes,
// until the next call. It may return the last one together with io.EOF.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	if err := l.more(); err != nil {
		return l.plain(), err
	}
	for {
		next, err := l.r.Peek(1)
		soft := l.soft()
		switch {
		case err != nil:
			return l.plain(), err
		case soft:
			l.line = l.line[:len(l.line)-1]
		case next[0] != ' ' && next[0] != '\t':
			return l.plain(), nil
		default:
			_, _ = l.r.Discard(1) // it is there
		}
		if err := l.more(); err != nil {
			return l.plain(), err
		}
	}
}

// more appends one line as it is in the file, without its end.
func (l *lineReader) more() error {
	for {
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part[:min(len(part), maxLine-len(l.line))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		l.line = bytes.TrimRight(l.line, "\r\n")
		return err
	}
}

// soft reports whether the line goes on in the next one as quoted-printable does (RFC 2045,
// section 6.7), which is so in vCard 2.1.
func (l *lineReader) soft() bool {
	head, _, found := bytes.Cut(l.line, []byte(":"))
	return found && bytes.HasSuffix(l.line, []byte("=")) && bytes.Contains(bytes.ToUpper(head), []byte("QUOTED-PRINTABLE"))
}

// plain gives parameters without a name, as vCard 2.1 has them, the one that they have since.
func (l *lineReader) plain() []byte {
	head, value, found := bytes.Cut(l.line, []byte(":"))
	if _, known := property(l.line); !known || !found || bytes.ContainsRune(head, '"') {
		return l.line
	}
	params := strings.Split(string(head), ";")
	for i, p := range params {
		switch {
		case i == 0 || p == "" || strings.Contains(p, "="):
		case strings.EqualFold(p, "quoted-printable"):
			params[i] = "ENCODING=" + p
		default:
			params[i] = "TYPE=" + p
		}
	}
	return []byte(strings.Join(params, ";") + ":" + string(value))
}
