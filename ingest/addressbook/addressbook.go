// SPDX-License-Identifier: Apache-2.0

// Package addressbook reads the addresses in an address book: vCard files (RFC 6350, RFC 2426 and
// vCard 2.1), or what a CardDAV server has (RFC 6352). Photos and all else are skipped as they come.
package addressbook

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/quotedprintable"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Bounds of what is read.
const (
	maxAddresses = 20_000    // more are counted, and left out
	maxFile      = 256 << 20 // bytes of a file
	maxLine      = 4 << 10   // bytes kept of an unfolded line; no address is longer
)

// Book is what was read. The zero value is an empty one.
type Book struct {
	Addresses []string // as they are written; some may be there twice
	Skipped   int      // cards that could not be read, or not all of their addresses
	Left      int      // addresses beyond the limit
}

// add takes an address and reports whether it looks like one.
func (b *Book) add(address string) bool {
	address = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(address), "mailto:"))
	at := strings.LastIndexByte(address, '@')
	switch {
	case address == "":
	case at < 1 || at == len(address)-1 || strings.ContainsAny(address, " \t\r\n<>"):
		return false
	case len(b.Addresses) == maxAddresses:
		b.Left++
	default:
		b.Addresses = append(b.Addresses, address)
	}
	return true
}

// ReadPath reads a vCard file, or all *.vcf right below a directory. A file of which a part may be
// missing is an error.
func ReadPath(path string) (*Book, error) {
	files, b := []string{path}, new(Book)
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if files, err = fs.Glob(os.DirFS(path), "*.[vV][cC][fF]"); err == nil && len(files) == 0 {
			err = fmt.Errorf("%s has no file whose name ends in .vcf, or can't be read", path)
		}
		for i := range files {
			files[i] = filepath.Join(path, files[i])
		}
	}
	for i := 0; i < len(files) && err == nil; i++ {
		if err = b.readFile(files[i]); err != nil && !errors.As(err, new(*fs.PathError)) {
			err = fmt.Errorf("%s %w", files[i], err)
		}
	}
	return b, err
}

func (b *Book) readFile(path string) error {
	before, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !before.Mode().IsRegular():
		return errors.New("is neither a file nor a directory of files")
	case before.Size() == 0:
		return errors.New("is empty")
	case before.Size() > maxFile:
		return fmt.Errorf("is larger than %d MiB", maxFile>>20)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := b.readCards(io.LimitReader(file, maxFile)); err != nil {
		return err
	}
	if after, err := file.Stat(); err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return errors.New("changed while it was read")
	}
	return nil
}

// readCards takes the addresses of the cards in r. A byte order mark says whether r is UTF-16;
// without one it is UTF-8, or anything in which ASCII is ASCII.
func (b *Book) readCards(r io.Reader) error {
	in := bufio.NewReader(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())))
	c := cards{book: b}
	for {
		part, more, err := in.ReadLine()
		switch folded := len(part) > 0 && (part[0] == ' ' || part[0] == '\t'); {
		case err == io.EOF:
			c.take()
			return c.end()
		case err != nil:
			return err
		case c.inLine, c.soft():
		case folded: // RFC 6350, section 3.2
			part = part[1:]
		default:
			c.take()
			c.line = c.line[:0]
		}
		c.line = append(c.line, part[:min(len(part), maxLine-len(c.line))]...)
		c.inLine = more
	}
}

// cards goes over the lines of cards.
type cards struct {
	book      *Book
	line      []byte // unfolded
	inLine    bool   // its end is still to come
	any, open bool   // a card began; one has not ended
	bad       bool   // that one has an address that is none
}

// soft reports whether the line goes on in the next as quoted-printable does (RFC 2045, section
// 6.7), which is so in vCard 2.1, and takes off what says so.
func (c *cards) soft() bool {
	head, value, _ := bytes.Cut(c.line, []byte(":"))
	rest, soft := bytes.CutSuffix(value, []byte("="))
	if soft = soft && quoted(head); soft {
		c.line = c.line[:len(head)+1+len(rest)]
	}
	return soft
}

func quoted(head []byte) bool { return bytes.Contains(bytes.ToUpper(head), []byte("QUOTED-PRINTABLE")) }

// take looks at an unfolded line.
func (c *cards) take() {
	head, value, _ := bytes.Cut(c.line, []byte(":"))
	name, params, _ := strings.Cut(strings.ToUpper(string(head)), ";")
	name = name[strings.LastIndexByte(name, '.')+1:] // without a group
	switch card := bytes.EqualFold(bytes.TrimSpace(value), []byte("vcard")); {
	case name == "BEGIN" && card:
		if c.open { // the one before has no end
			c.book.Skipped++
		}
		c.any, c.open, c.bad = true, true, false
	case name == "END" && card && c.open:
		if c.open = false; c.bad {
			c.book.Skipped++
		}
	case name == "EMAIL" && c.open:
		for strings.Count(params, `"`)%2 == 1 { // the colon was in a quoted parameter
			var more []byte
			more, value, _ = bytes.Cut(value, []byte(":"))
			if params += string(more); len(more) == 0 {
				break
			}
		}
		if quoted(head) {
			value, _ = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(value)))
		}
		c.bad = !c.book.add(string(value)) || c.bad
	}
}

func (c *cards) end() error {
	switch {
	case c.open:
		return errors.New("ends in the middle of a card, as if it were not written to its end yet")
	case !c.any:
		return errors.New("holds no vCard: no line says BEGIN:VCARD")
	}
	return nil
}
