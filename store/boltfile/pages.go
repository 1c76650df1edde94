// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// The layout of a database page is that of bbolt's file format 2, in the byte
// order of the machine. Its numbers:
const (
	pageHeader   = 16 // id 8, flags 2, count 2, overflow 4
	leafElement  = 16 // flags 4, offset of key 4, length of key 4, length of value 4
	bucketHeader = 16 // root page 8, sequence 8
	branchPage   = 1
	leafPage     = 2
	freelistPage = 16
	bucketFlag   = 1
	deepest      = 100 // pages from the root to a leaf, buckets within buckets included
)

// header is one half of a file's header, of which the newer one counts.
type header struct {
	freelist    uint64 // page with the list of free pages; noFreelist: there is none
	transaction uint64 // that wrote it
}

// noFreelist is in the header of a file that has no list of its free pages.
const noFreelist = 1<<64 - 1

// headerHalves returns the valid halves of the file's header: pages 0 and 1, each with a
// page header, the fields of the library's meta page and their FNV-1a sum.
func headerHalves(file io.ReaderAt, pageSize int) (valid []header, err error) {
	const metaPage, magic, version, fields = 4, 0xED0CDAED, 2, 56
	for id := range 2 {
		buf := make([]byte, pageHeader+fields+8)
		if _, err := file.ReadAt(buf, int64(id*pageSize)); err != nil {
			return nil, err
		}
		meta := buf[pageHeader:]
		sum := fnv.New64a()
		sum.Write(meta[:fields])
		if binary.NativeEndian.Uint64(buf) == uint64(id) && binary.NativeEndian.Uint16(buf[8:]) == metaPage &&
			binary.NativeEndian.Uint32(meta) == magic && binary.NativeEndian.Uint32(meta[4:]) == version &&
			binary.NativeEndian.Uint64(meta[fields:]) == sum.Sum64() {
			valid = append(valid, header{freelist: binary.NativeEndian.Uint64(meta[32:]), transaction: binary.NativeEndian.Uint64(meta[48:])})
		}
	}
	return valid, nil
}

// headerOf returns the half of the header that a transaction reads by.
func headerOf(halves []header, transaction uint64) (header, error) {
	for _, h := range halves {
		if h.transaction == transaction {
			return h, nil
		}
	}
	return header{}, damage("no half of its header is of transaction %d", transaction)
}

// pageWalk follows every page reference of a database file and checks that it
// stays within the file, that no page is reached twice, that no element
// reaches beyond its page, and that keys are in order.
//
// The library has a check of its own, but it
// trusts the pages as it goes: a wild page number is a fault in a goroutine of
// the library's, where nobody can catch it, and a reference back up the tree
// never ends. Nobody can end it either, and nothing may be committed beside it.
type pageWalk struct {
	ctx     context.Context // of one walk
	file    io.ReaderAt
	size    uint64   // of a page
	seen    []bool   // by page number
	buffers [][]byte // by depth
}

// walkPages checks what can be reached from the page root of a file with the given number
// of pages, and that all other pages are in the list of free pages, if there is one. It
// ends with ctx's error when ctx is done.
func walkPages(ctx context.Context, file io.ReaderAt, pageSize, pages int, root, freelist uint64) error {
	if pageSize < 512 || pages < 3 {
		return damage("its header is invalid: %d pages of %d bytes", pages, pageSize)
	}
	w := pageWalk{ctx: ctx, file: file, size: uint64(pageSize), seen: make([]bool, pages)}
	w.seen[0], w.seen[1] = true, true
	if err := w.page(root, 0, span{}); err != nil {
		return err
	}
	if freelist == noFreelist {
		return nil
	}
	if err := w.free(freelist); err != nil {
		return err
	}
	if lost := slices.Index(w.seen, false); lost >= 0 {
		return damage("page %d is neither in use nor in the list of free pages", lost)
	}
	return nil
}

// checkFreelist checks the list of free pages alone, which the library trusts when it opens
// a file: that it names pages of the file, each once, and neither itself nor the root.
func checkFreelist(file io.ReaderAt, pageSize, pages int, root, freelist uint64) error {
	if pageSize < 512 || pages < 3 || root >= uint64(pages) {
		return damage("its header is invalid: %d pages of %d bytes, the root is page %d", pages, pageSize, root)
	}
	w := pageWalk{ctx: context.Background(), file: file, size: uint64(pageSize), seen: make([]bool, pages)}
	w.seen[0], w.seen[1], w.seen[root] = true, true, true
	return w.free(freelist)
}

// free checks the list of free pages: 0xffff in place of a count says that the count is in
// the first number.
func (w *pageWalk) free(id uint64) error {
	buf, err := w.load(id, 0)
	if err != nil {
		return err
	}
	if flags := binary.NativeEndian.Uint16(buf[8:]); flags != freelistPage {
		return damage("page %d: its type %#x is not that of a list of free pages", id, flags)
	}
	count, ids := uint64(binary.NativeEndian.Uint16(buf[10:])), buf[pageHeader:]
	if count == 0xffff {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if count > uint64(len(ids)/8) {
		return damage("page %d: a list of %d free pages does not fit into it", id, count)
	}
	for i := range count {
		if err := w.claim(binary.NativeEndian.Uint64(ids[8*i:])); err != nil {
			return fmt.Errorf("list of free pages: %w", err)
		}
	}
	return nil
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

func (w *pageWalk) page(id uint64, depth int, keys span) error {
	if depth > deepest {
		return damage("its tree is more than %d pages deep", deepest)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	buf, err := w.load(id, depth)
	if err != nil {
		return err
	}
	if err := w.elements(buf, depth, keys); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// load claims a page with its overflow and reads it, into the buffer of a depth, in which
// it stays until the next page of that depth.
func (w *pageWalk) load(id uint64, depth int) ([]byte, error) {
	if err := w.claim(id); err != nil {
		return nil, err
	}
	for len(w.buffers) <= depth {
		w.buffers = append(w.buffers, make([]byte, w.size))
	}
	buf := w.buffers[depth][:w.size]
	if err := w.read(buf, id); err != nil {
		return nil, err
	}
	if got := binary.NativeEndian.Uint64(buf); got != id {
		return nil, damage("page %d calls itself page %d", id, got)
	}
	overflow := uint64(binary.NativeEndian.Uint32(buf[12:]))
	if overflow >= uint64(len(w.seen)) {
		return nil, damage("page %d claims %d pages more", id, overflow)
	}
	for more := id + 1; more <= id+overflow; more++ {
		if err := w.claim(more); err != nil {
			return nil, err
		}
	}
	if overflow > 0 {
		buf = slices.Grow(buf[:0], int((overflow+1)*w.size))[:(overflow+1)*w.size]
		w.buffers[depth] = buf
		if err := w.read(buf, id); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func (w *pageWalk) read(buf []byte, id uint64) error {
	_, err := w.file.ReadAt(buf, int64(id*w.size))
	if errors.Is(err, io.EOF) {
		return damage("page %d lies beyond the end of the file", id)
	}
	return err
}

// span bounds the keys of a page: from low, below high; nil: there is no bound. Both lie in
// the buffers of the pages above.
type span struct{ low, high []byte }

// key checks that a key comes after the one before it, nil for none, and within the span.
func (s span) key(before, key []byte) error {
	if before != nil && bytes.Compare(before, key) >= 0 || bytes.Compare(key, s.low) < 0 ||
		s.high != nil && bytes.Compare(key, s.high) >= 0 {
		return damage("its key is not in order")
	}
	return nil
}

// keyOf returns the key of element i, or nil if it does not lie within the page.
func keyOf(buf []byte, flags uint16, i int) []byte {
	at := pageHeader + i*leafElement // both kinds of element have one size
	if at+leafElement > len(buf) {
		return nil
	}
	lengths := buf[at:] // offset and length of the key, after the flags in a leaf
	if flags == leafPage {
		lengths = buf[at+4:]
	}
	from := uint64(at) + uint64(binary.NativeEndian.Uint32(lengths))
	to := from + uint64(binary.NativeEndian.Uint32(lengths[4:]))
	if to > uint64(len(buf)) {
		return nil
	}
	return buf[from:to]
}

// elements checks a page that lies in buf whole, with its overflow, or, for a
// small bucket, within the value of its parent.
func (w *pageWalk) elements(buf []byte, depth int, keys span) error {
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
	var before []byte
	for i := range count {
		key := keyOf(buf, flags, i)
		if key == nil {
			return damage("element %d of %d reaches beyond the page", i, count)
		}
		if err := keys.key(before, key); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		before = key
		at := pageHeader + i*leafElement
		element := buf[at : at+leafElement]
		if flags == branchPage {
			below := span{key, keys.high}
			if i+1 < count {
				below.high = keyOf(buf, flags, i+1) // nil is noticed at its turn
			}
			if err := w.page(binary.NativeEndian.Uint64(element[8:]), depth+1, below); err != nil {
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
		return w.elements(value[bucketHeader:], depth+1, span{})
	default:
		return w.page(binary.NativeEndian.Uint64(value), depth+1, span{})
	}
}
