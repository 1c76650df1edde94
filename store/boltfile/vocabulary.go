// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/store"
)

// The features of an account's messages resemble each other. When its base moves on,
// its vectors are condensed with a vocabulary of what they share, to a third of their
// size (docs/results.md, "What an account keeps"). Nobody outside the file sees that:
// Features, Entries and copies in a topic are as they were put.

// When a vocabulary has grown old. Making it anew costs as much as condensing every
// vector twice.
const (
	vocabularyGrown = 2 // the account has so many times the vectors that it was made of
	// vectors that came since take so many hundredths of what those took that it was made
	// of, compared with their plain forms, and are half of all
	vocabularyWorn = 120
)

var vocabularyKey = []byte("vocabulary")

// vocabulary is the row of vocabularyBucket.
type vocabulary struct {
	packed.Vocabulary
	by      uint64 // commit of the last vector that it was made of
	vectors uint32 // it was made of
	share   uint16 // of the size of their plain forms that they take, in thousandths
}

const vocabularyHead = 8 + 4 + 2

// readVocabulary returns the vocabulary of an account; that of one that has none is
// empty. checked is the checksum that was right before, or 0; it returns that which is
// right now.
func readVocabulary(account *bolt.Bucket, checked uint32) (v vocabulary, sum uint32, err error) {
	b := account.Bucket(vocabularyBucket)
	if b == nil {
		return v, 0, nil
	}
	value := b.Get(vocabularyKey)
	if len(value) < frameSize+vocabularyHead {
		return v, 0, damage("the vocabulary is malformed")
	}
	payload := value[frameSize:]
	if sum = binary.BigEndian.Uint32(value); sum != checked || sum == 0 {
		if payload, err = unframe(frameVocabulary, vocabularyKey, value); err != nil {
			return v, 0, damage("vocabulary: %w", err)
		}
	}
	v.by = binary.BigEndian.Uint64(payload)
	v.vectors = binary.BigEndian.Uint32(payload[8:])
	v.share = binary.BigEndian.Uint16(payload[12:])
	if v.Vocabulary, err = packed.OpenVocabulary(payload[vocabularyHead:]); err != nil {
		return v, 0, damage("vocabulary: %w", err)
	}
	return v, sum, nil
}

// mostChecked bounds of how many accounts it is remembered that their vocabulary is whole.
const mostChecked = 10_000

// vocabulary is readVocabulary for those who read one vector: of each account the
// checksum is computed once, since it takes longer than reading the vector.
func (s *Store) vocabulary(name string, account *bolt.Bucket) (packed.Vocabulary, error) {
	s.mu.Lock()
	was := s.vocabularies[name]
	s.mu.Unlock()
	v, is, err := readVocabulary(account, was)
	if err == nil && is != was {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.vocabularies) >= mostChecked {
			clear(s.vocabularies)
		}
		s.vocabularies[name] = is
	}
	return v.Vocabulary, err
}

// writeVocabulary puts a vocabulary in the place of the one that is there.
func writeVocabulary(account *bolt.Bucket, v vocabulary, written []byte) error {
	if err := dropVocabulary(account); err != nil {
		return err
	}
	b, err := account.CreateBucket(vocabularyBucket)
	if err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(key64(v.by), v.vectors), v.share)
	return b.Put(vocabularyKey, frame(nil, frameVocabulary, vocabularyKey, head, written))
}

func dropVocabulary(account *bolt.Bucket) error {
	if account.Bucket(vocabularyBucket) == nil {
		return nil
	}
	return account.DeleteBucket(vocabularyBucket)
}

// unframeFeature returns the payload of a value in features: the message, and its vector
// as it was put or, if dense, condensed.
func unframeFeature(key, value []byte) (payload []byte, dense bool, err error) {
	const data = frameSize + len(store.MessageKey{})
	if len(value) > data && packed.IsDense(value[data:]) {
		if payload, err := unframe(frameDense, key, value); err == nil {
			return payload, true, nil
		}
	}
	payload, err = unframe(frameFeature, key, value)
	if err == nil && len(payload) < len(store.MessageKey{}) {
		err = errShortFeature
	}
	return payload, false, err
}

var errShortFeature = fmt.Errorf("a record of features is malformed")

// expand appends to dst the payload of a value in features as it was put.
func expand(dst []byte, v packed.Vocabulary, payload []byte, dense bool) ([]byte, error) {
	if !dense {
		return append(dst, payload...), nil
	}
	const m = len(store.MessageKey{})
	return packed.Expand(append(dst, payload[:m]...), v, payload[m:])
}

// condensing makes the vectors of an account dense.
type condensing struct {
	keys, values [][]byte
	was          vocabulary
}

// condense returns the values of all features of an account, of which keys and values are
// given, as they are to be written.
func condense(account *bolt.Bucket, keys, values [][]byte) ([][]byte, error) {
	was, _, err := readVocabulary(account, 0)
	if err != nil {
		return nil, err
	}
	c := condensing{keys: keys, values: values, was: was}
	if was.vectors > 0 {
		out, share, late, err := c.with(was.Vocabulary, was.by)
		worn := 100*share > vocabularyWorn*int(was.share) && 2*late > len(keys)
		if err != nil || !worn && len(keys) < vocabularyGrown*int(was.vectors) {
			return out, err
		}
	}
	return c.anew(account)
}

// with returns the values with all vectors dense that can be, with the vocabulary v in the
// place of the one that they have. share is what the vectors of commits after by take of
// the size of their plain forms, in thousandths, and late how many those are.
func (c *condensing) with(v packed.Vocabulary, by uint64) (out [][]byte, share, late int, err error) {
	const m = len(store.MessageKey{})
	condenser, err := packed.NewCondenser(v)
	if err != nil {
		return nil, 0, 0, damage("%w", err)
	}
	same := v.Same(c.was.Vocabulary)
	var room []byte
	plain, dense := 0, 0
	for i, value := range c.values {
		payload, isDense, err := unframeFeature(c.keys[i], value)
		if err != nil {
			return nil, 0, 0, damage("features at %x: %w", c.keys[i], err)
		}
		counts := binary.BigEndian.Uint64(c.keys[i]) > by
		if isDense && same && !counts {
			out = append(out, value)
			continue
		}
		if room, err = expand(room[:0], c.was.Vocabulary, payload, isDense); err != nil {
			return nil, 0, 0, damage("features at %x: %w", c.keys[i], err)
		}
		is := frame(nil, frameFeature, c.keys[i], room)
		if data, ok := condenser.Condense(room[m:]); ok {
			is = frame(nil, frameDense, c.keys[i], room[:m], data)
		}
		out = append(out, is)
		if counts {
			late++
			plain += len(room)
			dense += len(is) - frameSize
		}
	}
	return out, 1000 * dense / max(plain, 1), late, nil
}

// anew makes a vocabulary of all vectors, writes it, and returns the values with it; all
// of them plain and no vocabulary if that takes no more room.
func (c *condensing) anew(account *bolt.Bucket) ([][]byte, error) {
	const m = len(store.MessageKey{})
	var b packed.Builder
	is := vocabulary{vectors: uint32(len(c.keys))}
	var plain [][]byte
	for i, value := range c.values {
		payload, dense, err := unframeFeature(c.keys[i], value)
		if err != nil {
			return nil, damage("features at %x: %w", c.keys[i], err)
		}
		if payload, err = expand(nil, c.was.Vocabulary, payload, dense); err != nil {
			return nil, damage("features at %x: %w", c.keys[i], err)
		}
		_ = b.Add(payload[m:], packed.Vocabulary{}) // what is no vector stays as it is
		is.by = binary.BigEndian.Uint64(c.keys[i])
		plain = append(plain, frame(nil, frameFeature, c.keys[i], payload))
	}
	written := b.Written()
	if written == nil {
		return plain, dropVocabulary(account)
	}
	v, err := packed.OpenVocabulary(written)
	if err != nil {
		return nil, err
	}
	c.values, c.was = plain, vocabulary{}
	out, share, _, err := c.with(v, 0)
	if err != nil {
		return nil, err
	}
	if sizeOfAll(out)+len(written) >= sizeOfAll(plain) {
		return plain, dropVocabulary(account)
	}
	is.share = uint16(share)
	return out, writeVocabulary(account, is, written)
}

func sizeOfAll(values [][]byte) (n int) {
	for _, value := range values {
		n += len(value)
	}
	return n
}

// plainAgain makes all vectors of an account plain and drops its vocabulary, in which
// features may be of messages that are to be forgotten.
func plainAgain(account *bolt.Bucket) error {
	was, _, err := readVocabulary(account, 0)
	if err != nil || was.vectors == 0 {
		return err
	}
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	var keys, values [][]byte
	c := features.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		payload, dense, err := unframeFeature(key, value)
		if err == nil && dense {
			payload, err = expand(nil, was.Vocabulary, payload, true)
			keys = append(keys, bytes.Clone(key))
			values = append(values, frame(nil, frameFeature, key, payload))
		}
		if err != nil {
			return damage("features at %x: %w", key, err)
		}
	}
	for i, key := range keys {
		if err := features.Put(key, values[i]); err != nil {
			return err
		}
	}
	return dropVocabulary(account)
}

// verifyVocabulary checks that every vector can be read.
func verifyVocabulary(account *bolt.Bucket) error {
	v, _, err := readVocabulary(account, 0)
	if err != nil {
		return err
	}
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	var room []byte
	return features.ForEach(func(key, value []byte) error {
		payload, dense, err := unframeFeature(key, value)
		if err != nil {
			return nil //nolint:nilerr // which checkFrames tells
		}
		if room, err = expand(room[:0], v.Vocabulary, payload, dense); err != nil {
			return fmt.Errorf("features at %x: %w", key, err)
		}
		return nil
	})
}
