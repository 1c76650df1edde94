// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/store"
)

// The features of an account's messages resemble each other. When its base moves on,
// its vectors are condensed with a vocabulary of what they share, to a third of their
// size (docs/results.md, "What an account keeps"). Only copies of the account have that form, too;
// Features and ViewFeatures give the vectors that were put.

var vocabularyKey = []byte("vocabulary")

// vocabulary is the row of vocabularyBucket.
type vocabulary struct {
	packed.Vocabulary
	by uint64 // commit of the last vector that it was made of
}

const vocabularyHead = 8

// readVocabulary returns the vocabulary of an account; that of one that has none is empty.
func readVocabulary(account *bolt.Bucket) (v vocabulary, err error) {
	b := account.Bucket(vocabularyBucket)
	if b == nil {
		return v, nil
	}
	payload, err := unframe(frameVocabulary, vocabularyKey, b.Get(vocabularyKey))
	if err == nil && len(payload) < vocabularyHead {
		err = errors.New("it is malformed")
	}
	if err == nil {
		v.by = binary.BigEndian.Uint64(payload)
		v.Vocabulary, err = packed.OpenVocabulary(payload[vocabularyHead:])
	}
	if err != nil {
		return v, damage("vocabulary: %w", err)
	}
	return v, nil
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

// plainVector appends to dst a vector as it was put, which may have been condensed with v.
func plainVector(dst, data []byte, v packed.Vocabulary) ([]byte, error) {
	if v.Empty() {
		return append(dst, data...), nil
	}
	var x packed.Vector
	err := x.Read(data, v)
	return x.Append(dst, packed.Vocabulary{}), err
}

// condense returns the values of all features of an account, of which keys and values are
// given, as they are to be written. A vocabulary that was made of less than half of them is made
// anew.
func condense(account *bolt.Bucket, keys, values [][]byte) ([][]byte, error) {
	was, err := readVocabulary(account)
	if err != nil {
		return nil, err
	}
	late := 0
	for _, key := range keys {
		if binary.BigEndian.Uint64(key) > was.by {
			late++
		}
	}
	if 2*late <= len(keys) {
		out, _, err := recode(keys, values, was.Vocabulary, was.Vocabulary)
		return out, err
	}
	return condenseAnew(account, keys, values, was.Vocabulary)
}

// condenseAnew is condense with a vocabulary that is made of all vectors, and written; all of them
// plain and no vocabulary if that takes no more room.
func condenseAnew(account *bolt.Bucket, keys, values [][]byte, was packed.Vocabulary) ([][]byte, error) {
	plain, _, err := recode(keys, values, was, packed.Vocabulary{})
	if err != nil {
		return nil, err
	}
	var b packed.Builder
	var x packed.Vector
	for _, value := range plain {
		if x.Read(value[frameSize+len(store.MessageKey{}):], packed.Vocabulary{}) == nil {
			b.Add(&x)
		}
	}
	if err := dropVocabulary(account); err != nil {
		return nil, err
	}
	written := b.Written()
	if written == nil {
		return plain, nil
	}
	v, err := packed.OpenVocabulary(written)
	if err != nil {
		return nil, err
	}
	out, saved, err := recode(keys, plain, packed.Vocabulary{}, v)
	if err != nil || saved <= len(written) {
		return plain, err
	}
	into, err := account.CreateBucket(vocabularyBucket)
	if err != nil {
		return nil, err
	}
	by := keys[len(keys)-1][:vocabularyHead]
	return out, into.Put(vocabularyKey, frame(nil, frameVocabulary, vocabularyKey, by, written))
}

// recode returns the values of features with their vectors, which were condensed with the
// vocabulary was, or are plain, condensed with is, or plain if that is empty; and how many bytes
// fewer they take. What is no vector stays as it is.
func recode(keys, values [][]byte, was, is packed.Vocabulary) (out [][]byte, saved int, err error) {
	const m = len(store.MessageKey{})
	var x packed.Vector
	var room []byte
	for i, value := range values {
		payload, dense, err := unframeFeature(keys[i], value)
		if err == nil && dense {
			err = x.Read(payload[m:], was)
		}
		if err != nil {
			return nil, 0, damage("features at %x: %w", keys[i], err)
		}
		if dense && is.Same(was) || !dense && (is.Empty() || !isCanonical(&x, payload[m:])) {
			out = append(out, value)
			continue
		}
		kind := frameFeature
		if room = x.Append(room[:0], is); packed.IsDense(room) {
			kind = frameDense
		}
		out = append(out, frame(nil, kind, keys[i], payload[:m], room))
		saved += len(value) - len(out[i])
	}
	return out, saved, nil
}

// isCanonical reads x from data and reports whether x gives the same bytes again.
func isCanonical(x *packed.Vector, data []byte) bool {
	return x.Read(data, packed.Vocabulary{}) == nil && bytes.Equal(x.Append(nil, packed.Vocabulary{}), data)
}

// plainAgain makes all vectors of an account plain and drops its vocabulary, in which
// features may be of messages that are to be forgotten.
func plainAgain(account *bolt.Bucket) error {
	was, err := readVocabulary(account)
	if err != nil || was.Empty() {
		return err
	}
	features, err := part(account, featuresBucket)
	if err != nil {
		return err
	}
	var keys, values [][]byte
	c := features.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if _, dense, _ := unframeFeature(key, value); dense {
			keys, values = append(keys, bytes.Clone(key)), append(values, value)
		}
	}
	plain, _, err := recode(keys, values, was.Vocabulary, packed.Vocabulary{})
	if err != nil {
		return err
	}
	for i, key := range keys {
		if err := features.Put(key, plain[i]); err != nil {
			return err
		}
	}
	return dropVocabulary(account)
}
