// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The layout of a database page is that of bbolt's file format 2, in the byte
// order of the machine. Its numbers:
const (
	pageHeader   = 16 // id 8, flags 2, count 2, overflow 4
	leafElement  = 16 // flags 4, offset of key 4, length of key 4, length of value 4
	bucketHeader = 16 // root page 8, sequence 8
	branchPage   = 1
	leafPage     = 2
	bucketFlag   = 1
	deepest      = 100 // pages from the root to a leaf, buckets within buckets included
)

// headerHalves returns how many of the two halves of the file's header are
// valid: pages 0 and 1, each with a page header, the fields of the library's
// meta page and their FNV-1a sum.
func headerHalves(file io.ReaderAt, pageSize int) (valid int, err error) {
	const metaPage, magic, version, fields = 4, 0xED0CDAED, 2, 56
	for id := range 2 {
		buf := make([]byte, pageHeader+fields+8)
		if _, err := file.ReadAt(buf, int64(id*pageSize)); err != nil {
			return 0, err
		}
		meta := buf[pageHeader:]
		sum := fnv.New64a()
		sum.Write(meta[:fields])
		if binary.NativeEndian.Uint64(buf) == uint64(id) && binary.NativeEndian.Uint16(buf[8:]) == metaPage &&
			binary.NativeEndian.Uint32(meta) == magic && binary.NativeEndian.Uint32(meta[4:]) == version &&
			binary.NativeEndian.Uint64(meta[fields:]) == sum.Sum64() {
			valid++
		}
	}
	return valid, nil
}

// pageWalk follows every page reference of a database file and checks that it
// stays within the file, that no page is reached twice, and that no element
// reaches beyond its page.
//
// The library has a check of its own, which looks at more than this, but it
// trusts the pages as it goes: a wild page number is a fault in a goroutine of
// the library's, where nobody can catch it, and a reference back up the tree
// never ends. So this goes first, by plain reads.
type pageWalk struct {
	file io.ReaderAt
	size uint64 // of a page
	seen []bool // by page number
}

// walkPages checks what can be reached from the page root of a file with the
// given number of pages.
func walkPages(file io.ReaderAt, pageSize, pages int, root uint64) error {
	if pageSize < 512 || pages < 3 {
		return damage("its header is invalid: %d pages of %d bytes", pages, pageSize)
	}
	w := pageWalk{file: file, size: uint64(pageSize), seen: make([]bool, pages)}
	w.seen[0], w.seen[1] = true, true
	return w.page(root, 0)
}

// claim notes that a page is in use.
func (w *pageWalk) claim(id uint64) error {
	if id >= uint64(len(w.seen)) {
		return damage("a reference leads to page %d of %d", id, len(w.seen))
	}
	if w.seen[id] {
		return damage("page %d is referred to twice", id)
	}
	w.seen[id] = true
	return nil
}

func (w *pageWalk) page(id uint64, depth int) error {
	if depth > deepest {
		return damage("its tree is more than %d pages deep", deepest)
	}
	if err := w.claim(id); err != nil {
		return err
	}
	buf := make([]byte, w.size)
	if err := w.read(buf, id); err != nil {
		return err
	}
	if got := binary.NativeEndian.Uint64(buf); got != id {
		return damage("page %d calls itself page %d", id, got)
	}
	overflow := uint64(binary.NativeEndian.Uint32(buf[12:]))
	if overflow >= uint64(len(w.seen)) {
		return damage("page %d claims %d pages more", id, overflow)
	}
	for more := id + 1; more <= id+overflow; more++ {
		if err := w.claim(more); err != nil {
			return err
		}
	}
	if overflow > 0 {
		buf = make([]byte, (overflow+1)*w.size)
		if err := w.read(buf, id); err != nil {
			return err
		}
	}
	if err := w.elements(buf, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (w *pageWalk) read(buf []byte, id uint64) error {
	_, err := w.file.ReadAt(buf, int64(id*w.size))
	if errors.Is(err, io.EOF) {
		return damage("page %d lies beyond the end of the file", id)
	}
	return err
}

// elements checks a page that lies in buf whole, with its overflow, or, for a
// small bucket, within the value of its parent.
func (w *pageWalk) elements(buf []byte, depth int) error {
	if len(buf) < pageHeader {
		return damage("its header is cut off")
	}
	flags := binary.NativeEndian.Uint16(buf[8:])
	count := int(binary.NativeEndian.Uint16(buf[10:]))
	if flags != branchPage && flags != leafPage {
		return damage("its type %#x is none of a tree's", flags)
	}
	if flags == branchPage && count == 0 {
		return damage("it is a branch without children")
	}
	for i := range count {
		at := pageHeader + i*leafElement // both kinds of element have one size
		if at+leafElement > len(buf) {
			return damage("element %d of %d is cut off", i, count)
		}
		element := buf[at : at+leafElement]
		if flags == branchPage {
			offset, key := binary.NativeEndian.Uint32(element), binary.NativeEndian.Uint32(element[4:])
			if uint64(at)+uint64(offset)+uint64(key) > uint64(len(buf)) {
				return damage("element %d reaches beyond the page", i)
			}
			if err := w.page(binary.NativeEndian.Uint64(element[8:]), depth+1); err != nil {
				return err
			}
			continue
		}
		if err := w.leaf(buf, at, element, depth); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// leaf checks one element of a leaf, and the bucket that it holds if it does.
func (w *pageWalk) leaf(buf []byte, at int, element []byte, depth int) error {
	flags := binary.NativeEndian.Uint32(element)
	offset, key, size := binary.NativeEndian.Uint32(element[4:]), binary.NativeEndian.Uint32(element[8:]), binary.NativeEndian.Uint32(element[12:])
	from := uint64(at) + uint64(offset) + uint64(key)
	if from+uint64(size) > uint64(len(buf)) {
		return damage("it reaches beyond the page")
	}
	switch value := buf[from : from+uint64(size)]; {
	case flags == 0:
		return nil
	case flags != bucketFlag:
		return damage("its flags are %#x", flags)
	case len(value) < bucketHeader:
		return damage("its bucket is cut off")
	case binary.NativeEndian.Uint64(value) == 0:
		if depth > deepest {
			return damage("its tree is more than %d pages deep", deepest)
		}
		return w.elements(value[bucketHeader:], depth+1)
	default:
		return w.page(binary.NativeEndian.Uint64(value), depth+1)
	}
}
