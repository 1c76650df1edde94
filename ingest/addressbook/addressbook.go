// SPDX-License-Identifier: Apache-2.0

// Package addressbook reads the addresses in an address book: vCard files (RFC 6350, RFC 2426 and
// vCard 2.1), or what a CardDAV server has (RFC 6352). Photos and all else are skipped as they come.
package addressbook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Bounds of what is read.
const (
	maxAddresses = 20_000
	maxFile      = 256 << 20 // bytes of a file
	maxLine      = 4 << 10   // bytes kept of an unfolded line; no address is longer
)

// Book is what was read.
type Book struct {
	Addresses []string // as they are written, one at least; some may be there twice
	Skipped   int      // addresses that are none, and cards of a server that could not be read
}

func (b *Book) add(address string) {
	address = strings.TrimPrefix(strings.TrimSpace(address), "mailto:")
	switch local, domain, _ := strings.Cut(address, "@"); {
	case address == "":
	case local == "" || domain == "" || strings.ContainsAny(address, " \t<>"):
		b.Skipped++
	case len(b.Addresses) <= maxAddresses: // one more shows that there are too many
		b.Addresses = append(b.Addresses, address)
	}
}

// usable returns b, unless it can't be the owner's address book.
func (b *Book) usable(err error) (*Book, error) {
	switch n := len(b.Addresses); {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, errors.New("no address is in it")
	case n > maxAddresses:
		return nil, fmt.Errorf("more than %d addresses are in it", maxAddresses)
	}
	return b, nil
}

// ReadPath reads a vCard file, or all *.vcf right below a directory. A file whose end is missing is
// an error.
func ReadPath(path string) (*Book, error) {
	b, files := new(Book), []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		files = nil
		for _, e := range entries {
			if strings.EqualFold(filepath.Ext(e.Name()), ".vcf") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	for _, name := range files {
		// To open a pipe would wait for whoever writes into it.
		if info, err := os.Stat(name); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is neither a file nor a directory of files", name)
		} else if info.Size() > maxFile {
			return nil, fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = b.readCards(io.LimitReader(file, maxFile))
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.usable(nil)
}

// property is a line of a card that matters: its name, after a group and before parameters, and its
// value.
var property = regexp.MustCompile(`(?i)^(?:[\w-]+\.)?(BEGIN|END|EMAIL)(?:;(?:[^":]|"[^"]*")*)?:(.*)$`)

// readCards takes the addresses of the cards in r. A byte order mark says whether r is UTF-16;
// without one it is UTF-8, or anything in which ASCII is ASCII.
func (b *Book) readCards(r io.Reader) error {
	in := bufio.NewReader(transform.NewReader(r, unicode.BOMOverride(encoding.Nop.NewDecoder())))
	var line []byte              // unfolded (RFC 6350, section 3.2)
	var within, open, ended bool // within a long line; within a card; at the end
	for !ended {
		part, more, err := in.ReadLine()
		if ended = err == io.EOF; err != nil && !ended {
			return err
		}
		switch folded := len(part) > 0 && (part[0] == ' ' || part[0] == '\t'); {
		case within:
		case folded:
			part = part[1:]
		default:
			if p := property.FindSubmatch(line); p == nil {
			} else if name := strings.ToUpper(string(p[1])); name != "EMAIL" {
				open = name == "BEGIN"
			} else if open {
				b.add(string(p[2]))
			}
			line = line[:0]
		}
		line = append(line, part[:min(len(part), maxLine-len(line))]...)
		within = more
	}
	if open {
		return errors.New("ends in the middle of a card, as if it were not written to its end yet")
	}
	return nil
}
