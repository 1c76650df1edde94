// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"reflect"

	"github.com/hinged/hinged/model"
)

// Digest returns two fingerprints of st, each the first 32 hexadecimal
// characters of a SHA-256: model covers the weights, or a kernel learner's supports
// with their coefficients, state covers that and every other row. Two accounts that saw the same mail in the same order
// have the same digests, on any machine and at any time: moments, and the
// fields tagged digest:"-", are left out.
func Digest(st *State) (model, state string) {
	h := sha256.New()
	digestWeights(h, st.Weights)
	digestSupports(h, st)
	sum := h.Sum(nil)
	model = hex.EncodeToString(sum)[:32]

	h.Reset()
	h.Write(sum)
	var value bytes.Buffer
	var head []byte
	item := func(id tableID, key string) {
		head = append(head[:0], byte(id))
		head = binary.AppendUvarint(head, uint64(len(key)))
		head = append(head, key...)
		head = binary.AppendUvarint(head, uint64(value.Len()))
		h.Write(head)
		h.Write(value.Bytes())
		value.Reset()
	}
	account := st.Account
	blanker[Account]()(&account)
	value.Write(encodeAccount(account))
	item(accountRow, "")
	for _, t := range st.tables {
		for _, key := range t.rows.Keys() {
			_, err := t.rows.encode(&value, key, true)
			must(err)
			item(t.id, key)
		}
	}
	return model, hex.EncodeToString(h.Sum(nil))[:32]
}

func digestWeights(h hash.Hash, w *model.Weights) {
	buf := make([]byte, 0, 4096)
	for _, f := range w.Sorted() {
		if len(buf)+16 > cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
		buf = binary.BigEndian.AppendUint64(buf, uint64(f.Index))
		buf = binary.BigEndian.AppendUint64(buf, math.Float64bits(f.Value))
	}
	h.Write(buf)
}

// digestSupports adds what stands in the place of weights for a kernel learner; for
// any other it adds nothing.
func digestSupports(h hash.Hash, st *State) {
	if st.Supports.Len() == 0 {
		return
	}
	var row bytes.Buffer
	tally, err := rowEncoding.Marshal(st.Account.Kernel)
	must(err)
	h.Write(tally)
	for _, key := range st.Supports.Keys() {
		row.Reset()
		_, err := st.Supports.encode(&row, key, true)
		must(err)
		h.Write([]byte(key))
		h.Write(row.Bytes())
	}
}

// blanker returns a function that zeroes, in a struct of type V, every Moment
// and every field tagged digest:"-", at any depth of nested structs.
func blanker[V any]() func(*V) {
	paths := blankPaths(reflect.TypeFor[V](), nil)
	if len(paths) == 0 {
		return func(*V) {}
	}
	return func(row *V) {
		v := reflect.ValueOf(row).Elem()
		for _, path := range paths {
			v.FieldByIndex(path).SetZero()
		}
	}
}

func blankPaths(t reflect.Type, above []int) (paths [][]int) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		field := t.Field(i)
		path := append(above[:len(above):len(above)], i)
		if field.Type == reflect.TypeFor[Moment]() || field.Tag.Get("digest") == "-" {
			paths = append(paths, path)
			continue
		}
		paths = append(paths, blankPaths(field.Type, path)...)
	}
	return paths
}
