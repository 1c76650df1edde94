// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hinged/hinged/store"
)

// castagnoli is CRC32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameSize is what a frame adds to its payload.
const frameSize = 4

var errChecksum = errors.New("checksum does not match")

// frame appends to dst the CRC32C of kind, key and payload, big endian, and
// then the payload, which may come in parts. The kind and the key are covered
// so that a value that turns up in another place than its own is noticed too.
func frame(dst []byte, kind byte, key []byte, payload ...[]byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, checksum(kind, key, payload...))
	for _, part := range payload {
		dst = append(dst, part...)
	}
	return dst
}

// unframe returns the payload of a framed value, which it shares.
func unframe(kind byte, key, value []byte) ([]byte, error) {
	if len(value) < frameSize {
		return nil, errors.New("value is too short to hold its checksum")
	}
	payload := value[frameSize:]
	if binary.BigEndian.Uint32(value) != checksum(kind, key, payload) {
		return nil, errChecksum
	}
	return payload, nil
}

func checksum(kind byte, key []byte, payload ...[]byte) uint32 {
	crc := crc32.Update(0, castagnoli, []byte{kind, byte(len(key))})
	crc = crc32.Update(crc, castagnoli, key)
	for _, part := range payload {
		crc = crc32.Update(crc, castagnoli, part)
	}
	return crc
}

func key32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// decodeFramed sets row from a framed value.
func decodeFramed(kind byte, key, value []byte, row any) error {
	payload, err := unframe(kind, key, value)
	if err != nil {
		return err
	}
	return store.DecodeRow(payload, row)
}
