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
	Partition store.Partition
	store.LogPosition
	// Fingerprint is the caller's, to say what made the accounts. The store neither
	// sets it nor reads it.
	Fingerprint string
	Accounts    []AccountChunks // ascending by name
	// Index are the chunks that hold Accounts, where these are too many for one
	// record. Encode and DecodeManifest set it.
	Index []ChunkID
	// Differs are the accounts that Dump found in another state than that of the manifest
	// before with the same events. It is not encoded.
	Differs []string
}

// AccountChunks says which chunks hold an account.
type AccountChunks struct {
	Account string
	// Commit and Sum tell which of the account's states this is, see boltfile.Progress.Mark: with
	// equal ones it is the same, whatever process has got there.
	Commit uint64
	Sum    uint64
	// Lessons is how many lessons the account has learnt.
	Lessons uint64
	// Events counts what has happened to the account, and Digest is the store.Digest of its
	// state: two processes that gave it the same events must come to the same. "": not computed.
	Events uint64
	Digest string
	// Chunks hold it; their order counts.
	Chunks []ChunkID
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
	manifestVersion byte = 3
	// Of CBOR in a manifest or a chunk of an index; IDs do not compress.
	manifestContent = chunkContent
)

type manifestRow struct {
	Topic       string       `cbor:"1,keyasint"`
	Number      int32        `cbor:"2,keyasint"`
	Next        int64        `cbor:"3,keyasint"`
	Partitions  int32        `cbor:"4,keyasint"`
	Fingerprint string       `cbor:"5,keyasint,omitempty"`
	Accounts    []accountRef `cbor:"6,keyasint,omitempty"`
	Index       []byte       `cbor:"7,keyasint,omitempty"` // IDs, one after another
	TopicID     []byte       `cbor:"8,keyasint,omitempty"`
	Recovered   string       `cbor:"9,keyasint,omitempty"`
	Stopped     bool         `cbor:"10,keyasint,omitempty"`
	// 11 was Cut.

	Behind int64         `cbor:"12,keyasint,omitempty"`
	Aside  []store.Aside `cbor:"13,keyasint,omitempty"`
	Forgot int64         `cbor:"14,keyasint,omitempty"`

	Era  int64   `cbor:"15,keyasint,omitempty"`
	Cuts []int64 `cbor:"16,keyasint,omitempty"`

	Epoch int32 `cbor:"17,keyasint,omitempty"`
}

func (r *manifestRow) position() store.LogPosition {
	at := store.LogPosition{Next: r.Next, Epoch: r.Epoch, Partitions: r.Partitions, Recovered: r.Recovered, Stopped: r.Stopped, Era: r.Era, Cuts: r.Cuts, Behind: r.Behind, Aside: r.Aside, Forgot: r.Forgot}
	copy(at.TopicID[:], r.TopicID)
	return at
}

// accountRef is AccountChunks in written form.
type accountRef struct {
	_       struct{} `cbor:",toarray"`
	Account string
	Commit  uint64
	Sum     uint64
	Lessons uint64
	Chunks  []byte // IDs, one after another
	Events  uint64
	Digest  string
}

func (a AccountChunks) ref() accountRef {
	return accountRef{Account: a.Account, Commit: a.Commit, Sum: a.Sum, Lessons: a.Lessons, Chunks: joinIDs(a.Chunks), Events: a.Events, Digest: a.Digest}
}

func (r accountRef) chunks() (a AccountChunks, err error) {
	a = AccountChunks{Account: r.Account, Commit: r.Commit, Sum: r.Sum, Lessons: r.Lessons, Events: r.Events, Digest: r.Digest}
	if err := store.CheckAccountName(r.Account); err != nil {
		return a, err
	}
	if r.Commit == 0 {
		return a, errors.New("it was never committed")
	}
	if a.Chunks, err = splitIDs(r.Chunks); err == nil && len(a.Chunks) == 0 {
		err = errors.New("it has no chunks")
	}
	return a, err
}

func joinIDs(ids []ChunkID) []byte {
	b := make([]byte, 0, len(ids)*len(ChunkID{}))
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b
}

func splitIDs(b []byte) ([]ChunkID, error) {
	if len(b)%len(ChunkID{}) != 0 {
		return nil, errors.New("IDs of chunks are cut off")
	}
	var ids []ChunkID
	for ; len(b) > 0; b = b[len(ChunkID{}):] {
		ids = append(ids, ChunkID(b))
	}
	return ids, nil
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
	row := manifestRow{Topic: m.Partition.Topic, Number: m.Partition.Number, Next: m.Next, Epoch: m.Epoch, Partitions: m.Partitions, Fingerprint: m.Fingerprint, Recovered: m.Recovered, Stopped: m.Stopped, Era: m.Era, Cuts: m.Cuts, Behind: m.Behind, Aside: m.Aside, Forgot: m.Forgot}
	if m.TopicID != [16]byte{} {
		row.TopicID = m.TopicID[:]
	}
	c, err := newChunker(put)
	if err != nil {
		return nil, err
	}
	refs, size := make([][]byte, len(m.Accounts)), 0
	for i, a := range m.Accounts {
		row.Accounts = append(row.Accounts, a.ref())
		if refs[i], err = store.EncodeRow(row.Accounts[i]); err != nil {
			return nil, err
		}
		size += len(refs[i])
	}
	m.Index = nil
	if size > manifestContent/2 {
		if m.Index, err = c.index(refs); err != nil {
			return nil, err
		}
		row.Accounts, row.Index = nil, joinIDs(m.Index)
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
	row, err := decodeManifestRow(data)
	if err != nil {
		return m, fmt.Errorf("%w: %w", store.ErrManifest, err)
	}
	m = Manifest{Partition: store.Partition{Topic: row.Topic, Number: row.Number}, LogPosition: row.position(), Fingerprint: row.Fingerprint}
	for _, ref := range row.Accounts {
		if err := m.add(ref); err != nil {
			return m, fmt.Errorf("%w: %w", store.ErrManifest, err)
		}
	}
	if m.Index, err = splitIDs(row.Index); err != nil {
		return m, fmt.Errorf("%w: %w", store.ErrManifest, err)
	}
	err = eachItem(get, m.Index, 1, m.addItem)
	return m, err
}

// addItem appends the account in an item of an index.
func (m *Manifest) addItem(item [][]byte) error {
	var ref accountRef
	if err := store.DecodeRow(item[0], &ref); err != nil {
		return fmt.Errorf("%w: %w", store.ErrManifest, err)
	}
	if err := m.add(ref); err != nil {
		return fmt.Errorf("%w: %w", store.ErrManifest, err)
	}
	return nil
}

func decodeManifestRow(data []byte) (row manifestRow, err error) {
	if len(data) == 0 || data[0] != manifestVersion {
		return row, errors.New("its format is unknown to this version")
	}
	content, err := unpacking.DecodeAll(data[1:], make([]byte, 0, manifestContent))
	if err != nil {
		return row, err
	}
	if err := store.DecodeRow(content, &row); err != nil {
		return row, err
	}
	p := store.Partition{Topic: row.Topic, Number: row.Number}
	if err := errors.Join(p.Check(), row.position().Check(p)); err != nil {
		return row, err
	}
	if n := len(row.TopicID); n != 0 && n != len(store.LogPosition{}.TopicID) {
		return row, fmt.Errorf("the id of its topic has %d bytes", n)
	}
	if len(row.Accounts) > 0 && len(row.Index) > 0 {
		return row, errors.New("it has accounts and an index of them")
	}
	return row, nil
}

// add appends an account, whose name must come after those that are there.
func (m *Manifest) add(ref accountRef) error {
	a, err := ref.chunks()
	if err != nil {
		return fmt.Errorf("account %q: %w", ref.Account, err)
	}
	if n := len(m.Accounts); n > 0 && m.Accounts[n-1].Account >= a.Account {
		return fmt.Errorf("account %q is out of order", a.Account)
	}
	m.Accounts = append(m.Accounts, a)
	return nil
}
