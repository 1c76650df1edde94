// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"

	"github.com/fxamacker/cbor/v2"
)

// rowEncoding is CBOR in core deterministic encoding (RFC 8949, section
// 4.2.1): equal rows are equal bytes, which the digest relies on.
var rowEncoding = func() cbor.UserBufferEncMode {
	mode, err := cbor.CoreDetEncOptions().UserBufferEncMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// rowDecoding is strict: what this version does not know is an error, since the
// schema version, not the reader, says what may be in a row. Invalid UTF-8 is
// let through, because names of mailboxes and words of mail are whatever they
// were.
var rowDecoding = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		UTF8:              cbor.UTF8DecodeInvalid,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return mode
}()

// EncodeRow returns v, a row or a record of rows, in the encoding of rows.
func EncodeRow(v any) ([]byte, error) { return rowEncoding.Marshal(v) }

// DecodeRow sets v from what EncodeRow returned. What v does not know is an error.
func DecodeRow(data []byte, v any) error { return rowDecoding.Unmarshal(data, v) }

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
