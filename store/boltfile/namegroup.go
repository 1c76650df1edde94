// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/store"
)

// The names of an account's messages resemble each other. So of an account of a partition,
// those of successive messages are compressed together, to less than half of what they take
// one by one (docs/results.md, "What an account keeps").
//
// What compression each had by itself is undone for that, and not made again: names that were
// in a group come back in the form of packed.DecompressNames.
//
// A group has the key of its last message. The record of each of its messages holds that key.
// So whatever is dropped from the oldest on, as names that are too old are, needs no
// unpacking: the group goes with its last message. If that is dropped before others, these get
// their own names back. A Rewrite gives them back to all messages first, so that no group
// holds names of a message that is forgotten.

const (
	// groupEvery: names are grouped at every commit whose number is divisible by it. The
	// blocks of store/snapshot begin there, too, so that few of them change afterwards.
	groupEvery = 8
	// mostGrouped bounds the messages of a group, and mostGroupBytes their names, in bytes.
	mostGrouped    = 2 * groupEvery
	mostGroupBytes = 1 << 20
	// groupSpan: the messages of a group arrived within a quarter of the time that names are
	// kept. So long, at most, it holds names of messages that were dropped.
	groupSpan = 4
	// nameKey is the size of a key in names.
	nameKey = 12
)

var errNameGroup = errors.New("a group of names is malformed")

// nameGroup is a record of groupsBucket.
type nameGroup struct {
	keys  [][]byte // of all its messages, in order
	names [][]byte // of each
}

var zipNames = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(mostGroupBytes/4))
	if err != nil {
		panic(fmt.Sprintf("boltfile: %v", err)) // the options contradict each other
	}
	return e
})

// append appends the written form of a group, without a frame, to dst.
func (g nameGroup) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(g.keys)))
	for i, key := range g.keys {
		dst = append(dst, key...)
		dst = binary.AppendUvarint(dst, uint64(len(g.names[i])))
	}
	return zipNames().EncodeAll(slices.Concat(g.names...), dst)
}

// openNameGroup reads the written form of a group.
func openNameGroup(written []byte) (g nameGroup, err error) {
	count, n := binary.Uvarint(written)
	if n <= 0 || count == 0 || count > mostGrouped {
		return g, errNameGroup
	}
	written = written[n:]
	var sizes []int
	for range count {
		if len(written) < nameKey {
			return g, errNameGroup
		}
		g.keys = append(g.keys, bytes.Clone(written[:nameKey]))
		size, n := binary.Uvarint(written[nameKey:])
		if n <= 0 || size > mostGroupBytes {
			return g, errNameGroup
		}
		sizes = append(sizes, int(size))
		written = written[nameKey+n:]
	}
	all, err := unzstd().DecodeAll(written, nil)
	if err != nil {
		return g, fmt.Errorf("%w: %w", errNameGroup, err)
	}
	for _, size := range sizes {
		if size > len(all) {
			return g, errNameGroup
		}
		g.names = append(g.names, all[:size:size])
		all = all[size:]
	}
	if len(all) > 0 {
		return g, errNameGroup
	}
	return g, nil
}

// of returns the names of the message at key.
func (g nameGroup) of(key []byte) ([]byte, error) {
	i := slices.IndexFunc(g.keys, func(k []byte) bool { return bytes.Equal(k, key) })
	if i < 0 {
		return nil, errNameGroup
	}
	return g.names[i], nil
}

// readNameGroup returns the group with the given key.
func readNameGroup(account *bolt.Bucket, last []byte) (nameGroup, error) {
	groups := account.Bucket(groupsBucket)
	if groups == nil {
		return nameGroup{}, errNameGroup
	}
	payload, err := unframe(frameGroup, last, groups.Get(last))
	if err != nil {
		return nameGroup{}, err
	}
	return openNameGroup(payload)
}

// unframeNames returns the payload of a record of names: the clock, and then the names or, if
// the message is in a group, the key of that.
func unframeNames(key, value []byte) (payload []byte, grouped bool, err error) {
	const size = clockSize + nameKey
	if len(value) == frameSize+size {
		if payload, err := unframe(frameGrouped, key, value); err == nil {
			return payload, true, nil
		}
	}
	payload, err = unframe(frameNames, key, value)
	if err == nil && len(payload) < clockSize {
		err = errNameGroup
	}
	return payload, false, err
}

// nameReader reads the names of an account. It has the group at hand that it read last, so that
// whoever reads them in order unpacks each group once. It holds as long as none changes.
type nameReader struct {
	account *bolt.Bucket
	last    []byte // key of the group
	group   nameGroup
}

// payload returns the clock and the names that the record at key, which is value, stands for.
func (r *nameReader) payload(key, value []byte) ([]byte, error) {
	payload, grouped, err := unframeNames(key, value)
	if err != nil || !grouped {
		return payload, err
	}
	if last := payload[clockSize:]; !bytes.Equal(r.last, last) {
		if r.group, err = readNameGroup(r.account, last); err != nil {
			return nil, err
		}
		r.last = bytes.Clone(last)
	}
	names, err := r.group.of(key)
	if err != nil {
		return nil, err
	}
	return slices.Concat(payload[:clockSize], names), nil
}

// groupNames compresses the names of the last messages together that are in no group yet and
// arrived at since or later.
func groupNames(account *bolt.Bucket, since store.Moment) error {
	names := account.Bucket(namesBucket)
	if names == nil {
		return nil
	}
	var g nameGroup
	var clocks [][]byte
	size := 0
	c := names.Cursor()
	for key, value := c.Last(); key != nil && len(g.keys) < mostGrouped; key, value = c.Prev() {
		payload, grouped, err := unframeNames(key, value)
		if err != nil {
			return damage("names at %x: %w", key, err)
		}
		if grouped || store.Moment(binary.BigEndian.Uint64(payload)) < since {
			break
		}
		plain := packed.DecompressNames(payload[clockSize:])
		if size += len(plain); size > mostGroupBytes {
			break
		}
		g.keys = append(g.keys, bytes.Clone(key))
		g.names = append(g.names, plain)
		clocks = append(clocks, bytes.Clone(payload[:clockSize]))
	}
	if len(g.keys) < 2 {
		return nil
	}
	slices.Reverse(g.keys)
	slices.Reverse(g.names)
	slices.Reverse(clocks)
	last := g.keys[len(g.keys)-1]
	written := g.append(nil)
	// The library joins pages only where records were deleted.
	if err := deleteKeys(names, g.keys); err != nil {
		return err
	}
	names.FillPercent = 1
	for i, key := range g.keys {
		if err := names.Put(key, frame(nil, frameGrouped, key, clocks[i], last)); err != nil {
			return err
		}
	}
	groups, err := account.CreateBucketIfNotExists(groupsBucket)
	if err != nil {
		return err
	}
	groups.FillPercent = 1
	return groups.Put(last, frame(nil, frameGroup, last, written))
}

// ungroupNames gives the messages of a group their own names back, and drops it.
func ungroupNames(account *bolt.Bucket, last []byte) error {
	g, err := readNameGroup(account, last)
	if err != nil {
		return damage("names of group %x: %w", last, err)
	}
	names, err := part(account, namesBucket)
	if err != nil {
		return err
	}
	for i, key := range g.keys {
		payload, grouped, err := unframeNames(key, names.Get(key))
		if err != nil || !grouped || !bytes.Equal(payload[clockSize:], last) {
			continue // dropped
		}
		if err := names.Put(key, frame(nil, frameNames, key, payload[:clockSize], g.names[i])); err != nil {
			return err
		}
	}
	return account.Bucket(groupsBucket).Delete(last)
}

// ungroupAllNames gives every message of an account its own names back.
func ungroupAllNames(account *bolt.Bucket) error {
	groups := account.Bucket(groupsBucket)
	if groups == nil {
		return nil
	}
	for _, last := range keysFrom(groups, nil) {
		if err := ungroupNames(account, last); err != nil {
			return err
		}
	}
	return account.DeleteBucket(groupsBucket)
}

// dropName deletes the record of names at key, and its group if that has the same key.
func dropName(account, names *bolt.Bucket, key []byte) error {
	groups := account.Bucket(groupsBucket)
	if groups == nil || groups.Get(key) == nil {
		return names.Delete(key)
	}
	c := names.Cursor()
	c.Seek(key)
	// The messages of a group are successive. So if any are left, the one before is.
	if before, value := c.Prev(); before != nil {
		payload, grouped, err := unframeNames(before, value)
		if err == nil && grouped && bytes.Equal(payload[clockSize:], key) {
			if err := ungroupNames(account, key); err != nil {
				return err
			}
		}
	}
	if err := groups.Delete(key); err != nil {
		return err
	}
	return names.Delete(key)
}

// checkNameGroups checks the checksums of the groups.
func checkNameGroups(account *bolt.Bucket) error {
	groups := account.Bucket(groupsBucket)
	if groups == nil {
		return nil
	}
	return groups.ForEach(func(key, value []byte) error {
		if _, err := unframe(frameGroup, key, value); err != nil {
			return damage("names of group %x: %w", key, err)
		}
		return nil
	})
}

// verifyNameGroups checks that every group is one of a message that has names.
func verifyNameGroups(account, names *bolt.Bucket) error {
	groups := account.Bucket(groupsBucket)
	if groups == nil {
		return nil
	}
	return groups.ForEach(func(key, _ []byte) error {
		payload, grouped, err := unframeNames(key, names.Get(key))
		if err != nil || !grouped || !bytes.Equal(payload[clockSize:], key) {
			return fmt.Errorf("names of group %x are of no message", key)
		}
		return nil
	})
}
