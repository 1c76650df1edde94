// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hinged/hinged/store"
)

// Manifest says which chunks hold all accounts of a partition as they were when
// it was read up to a position.
type Manifest struct {
	store.LogPosition
	Partition store.Partition `cbor:"20,keyasint"`
	// Fingerprint is the caller's, to say what made the accounts. The store neither
	// sets it nor reads it.
	Fingerprint string          `cbor:"21,keyasint,omitempty"`
	Accounts    []AccountChunks `cbor:"22,keyasint,omitempty"` // ascending by name
	// Index are the chunks that hold Accounts, where these are too many for one
	// record. Encode and DecodeManifest set it.
	Index ChunkIDs `cbor:"23,keyasint,omitempty"`
	// Differs are the accounts that Dump found in another state than that of the manifest
	// before with the same events. It is not encoded.
	Differs []string `cbor:"-"`
}

// AccountChunks says which chunks hold an account.
type AccountChunks struct {
	_       struct{} `cbor:",toarray"`
	Account string
	// Commit and Sum tell which of the account's states this is, see boltfile.Progress.Mark: with
	// equal ones it is the same, whatever process has got there.
	Commit uint64
	Sum    uint64
	// Lessons is how many lessons the account has learnt.
	Lessons uint64
	// Chunks hold it; their order counts.
	Chunks ChunkIDs
	// Events counts what has happened to the account, and Digest is the store.Digest of its
	// state: two processes that gave it the same events must come to the same. "": not computed.
	Events uint64
	Digest string
}

// check demands that there may be such an account in a manifest.
func (a AccountChunks) check() error {
	if err := store.CheckAccountName(a.Account); err != nil {
		return err
	}
	if a.Commit == 0 || len(a.Chunks) == 0 {
		return errors.New("it was never committed, or has no chunks")
	}
	return nil
}

// same reports whether both are one state of one account.
func (a AccountChunks) same(b AccountChunks) bool {
	return a.Account == b.Account && a.Commit == b.Commit && a.Sum == b.Sum
}

// Chunks returns the IDs of all chunks that the manifest names, ascending, each
// once.
func (m Manifest) Chunks() []ChunkID {
	ids := slices.Clone(m.Index)
	for _, a := range m.Accounts {
		ids = append(ids, a.Chunks...)
	}
	slices.SortFunc(ids, func(a, b ChunkID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}

// Verify fetches every chunk that the manifest names with get and checks what it holds.
// ErrChunk if one holds something else than its ID says; an error of get is returned with
// the chunk's ID.
func (m Manifest) Verify(get func(ChunkID) ([]byte, error)) error {
	var room []byte
	for _, id := range m.Chunks() {
		packed, err := get(id)
		if err != nil {
			return fmt.Errorf("chunk %v: %w", id, err)
		}
		if room, err = Unpack(id, packed, room); err != nil {
			return err
		}
	}
	return nil
}

// account returns what the manifest has of an account. m may be nil.
func (m *Manifest) account(name string) (AccountChunks, bool) {
	if m == nil {
		return AccountChunks{}, false
	}
	i, ok := slices.BinarySearchFunc(m.Accounts, name, func(a AccountChunks, name string) int {
		return strings.Compare(a.Account, name)
	})
	if !ok {
		return AccountChunks{}, false
	}
	return m.Accounts[i], true
}

// A manifest is written as CBOR, compressed with zstd, after a byte that says so.
// Where its accounts do not fit, it names chunks of their own instead, each of
// which holds the CBOR of some of them.
const (
	manifestVersion byte = 4
	// Of CBOR in a manifest or a chunk of an index; IDs do not compress.
	manifestContent = chunkContent
)

// ChunkIDs are written as one string of bytes, one after another.
type ChunkIDs []ChunkID

// MarshalBinary implements encoding.BinaryMarshaler.
func (ids ChunkIDs) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, len(ids)*len(ChunkID{}))
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b, nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (ids *ChunkIDs) UnmarshalBinary(b []byte) error {
	if len(b)%len(ChunkID{}) != 0 {
		return errors.New("IDs of chunks are cut off")
	}
	*ids = nil
	for ; len(b) > 0; b = b[len(ChunkID{}):] {
		*ids = append(*ids, ChunkID(b))
	}
	return nil
}

// Encode returns the manifest in written form, at most MaxChunk bytes. Accounts
// that do not fit go into chunks of their own, which it hands to put and names
// in m.Index; put must have them written before the manifest is. Equal manifests
// are equal bytes.
func (m *Manifest) Encode(put func(ChunkID, []byte) error) ([]byte, error) {
	data, err := m.encode(put)
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest of %v at offset %d: %w", m.Partition, m.Next, err)
	}
	return data, nil
}

func (m *Manifest) encode(put func(ChunkID, []byte) error) ([]byte, error) {
	c, err := newChunker(put)
	if err != nil {
		return nil, err
	}
	refs, size := make([][]byte, len(m.Accounts)), 0
	for i, a := range m.Accounts {
		if refs[i], err = store.EncodeRow(a); err != nil {
			return nil, err
		}
		size += len(refs[i])
	}
	m.Index = nil
	row := *m
	if size > manifestContent/2 {
		if m.Index, err = c.index(refs); err != nil {
			return nil, err
		}
		row.Accounts, row.Index = nil, m.Index
	}
	content, err := store.EncodeRow(row)
	if err != nil {
		return nil, err
	}
	if len(content) > manifestContent {
		return nil, fmt.Errorf("it has %d bytes", len(content))
	}
	return c.encoder.EncodeAll(content, []byte{manifestVersion}), nil
}

// index puts the accounts of a manifest into chunks of their own.
func (c *chunker) index(refs [][]byte) ([]ChunkID, error) {
	for _, ref := range refs {
		if err := c.item(ref); err != nil {
			return nil, err
		}
	}
	return c.end()
}

// DecodeManifest reads what Encode wrote, with get for the chunks of its index.
// ErrManifest if it is none, ErrChunk if a chunk of its index is wrong; an error
// of get is returned as it is, with the chunk's ID.
func DecodeManifest(data []byte, get func(ChunkID) ([]byte, error)) (Manifest, error) {
	m, err := decodeManifest(data, get)
	if err != nil {
		return Manifest{}, fmt.Errorf("decoding a manifest: %w", err)
	}
	return m, nil
}

func decodeManifest(data []byte, get func(ChunkID) ([]byte, error)) (m Manifest, err error) {
	if err := m.decode(data); err != nil {
		return m, fmt.Errorf("%w: %w", store.ErrManifest, err)
	}
	err = eachItem(get, m.Index, 1, func(item [][]byte) error {
		var a AccountChunks
		if err := store.DecodeRow(item[0], &a); err != nil {
			return fmt.Errorf("%w: %w", store.ErrManifest, err)
		}
		m.Accounts = append(m.Accounts, a)
		return nil
	})
	if err != nil {
		return m, err
	}
	for i, a := range m.Accounts {
		err := a.check()
		if err == nil && i > 0 && m.Accounts[i-1].Account >= a.Account {
			err = errors.New("it is out of order")
		}
		if err != nil {
			return m, fmt.Errorf("%w: account %q: %w", store.ErrManifest, a.Account, err)
		}
	}
	return m, nil
}

// decode reads what is not in the chunks of an index.
func (m *Manifest) decode(data []byte) error {
	if len(data) == 0 || data[0] != manifestVersion {
		return errors.New("its format is unknown to this version")
	}
	content, err := unpacking.DecodeAll(data[1:], make([]byte, 0, manifestContent))
	if err != nil {
		return err
	}
	if err := store.DecodeRow(content, m); err != nil {
		return err
	}
	if len(m.Accounts) > 0 && len(m.Index) > 0 {
		return errors.New("it has accounts and an index of them")
	}
	return errors.Join(m.Partition.Check(), m.Check(m.Partition))
}
