// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/store"
)

// SchemaVersion is the version of the layout of the file that this code writes.
// The file, bucket by bucket. Every value is framed (frame.go) unless it says
// otherwise; numbers in keys are big endian, so that they sort.
//
//	meta
//	  schema                 4 bytes, version of this layout
//	  created                "hinged"
//	  instead                name of the damaged file in whose place the store was begun empty; else
//	                         not there
//	  position               which partition of a topic the accounts are of, and how far it was
//	                         read; not there where they are of none
//	  scrub                  there while free pages may hold what Rewrite took out
//	    <account>            nothing; there while the account still holds some of that
//	accounts
//	  <name>
//	    info                 progress: the numbers reached, and which saved states are what
//	    name                 the account's name: no checksum covers that of a bucket
//	    restored             nothing; there until the first commit after a restore or an import
//	    snapshots
//	      <generation, 8>
//	        <chunk, 4>       record of at most 32 KiB, compressed (checkpoint.go)
//	        manifest         what the chunks must add up to
//	    redo                 <commit, 8> → record
//	    journal              <sequence, 8> → the caller's bytes
//	    lessons              <order, 8> → Lesson
//	    features             <commit, 8><position in batch, 4> → MessageKey, the caller's bytes,
//	                         or what store/packed condensed of them
//	    vocabulary           what that needs (vocabulary.go); not there without any
//	    names                key in features → the account's clock then, 8 bytes; the caller's
//	                         bytes
//	    featureindex         MessageKey, <key in features> → nothing
//	pending                  <account> → what is still to be taken over; not there without any
//	arriving                 accounts on their way in, as below accounts; else not there
const SchemaVersion = 1

var (
	metaBucket     = []byte("meta")
	accountsBucket = []byte("accounts")
	pendingBucket  = []byte("pending")
	// arrivingBucket holds what came so far of large accounts on their way in.
	arrivingBucket = []byte("arriving")

	schemaKey     = []byte("schema")
	createdKey    = []byte("created")
	createdMarker = []byte("hinged")
	insteadKey    = []byte("instead")
	positionKey   = []byte("position")
	// scrubBucket is there while free pages may hold what was forgotten. It holds the
	// accounts that do.
	scrubBucket = []byte("scrub")

	infoKey         = []byte("info")
	nameKey         = []byte("name")
	restoredKey     = []byte("restored")
	snapshotsBucket = []byte("snapshots")
	manifestKey     = []byte("manifest")
	redoBucket      = []byte("redo")
	journalBucket   = []byte("journal")
	lessonsBucket   = []byte("lessons")
	featuresBucket  = []byte("features")
	indexBucket     = []byte("featureindex")
	// vocabularyBucket is there while some of the features are dense.
	vocabularyBucket = []byte("vocabulary")
	namesBucket      = []byte("names")
)

// What a frame's checksum says that its value is.
const (
	frameMeta       byte = 'm'
	frameInfo       byte = 'i'
	frameName       byte = 'a'
	frameRestored   byte = 'b'
	frameChunk      byte = 'c'
	frameManifest   byte = 's'
	frameRedo       byte = 'r'
	frameJournal    byte = 'j'
	frameLesson     byte = 'l'
	frameFeature    byte = 'f'
	frameDense      byte = 'd' // features that were condensed (vocabulary.go)
	frameVocabulary byte = 'v'
	frameIndex      byte = 'x'
	frameNames      byte = 'n'
	framePosition   byte = 'p'
	framePending    byte = 'w'
	frameScrub      byte = 'o'
)

// accountLog is a bucket of an account that holds framed values under numbers, and
// nothing else.
type accountLog struct {
	bucket []byte
	kind   byte // what a frame's checksum says that its values are
	key    int  // size of its keys
}

// logs are those of an account. The values of the first three have a number each; those
// of the others have the number of their commit and a position within it.
var logs = []accountLog{
	{redoBucket, frameRedo, 8},       // what each commit changed
	{journalBucket, frameJournal, 8}, // the inputs
	{lessonsBucket, frameLesson, 8},
	{featuresBucket, frameFeature, 12},
	{indexBucket, frameIndex, 28},
	{namesBucket, frameNames, 12},
}

// Progress is how far an account has come.
type Progress struct {
	Commit  uint64 `cbor:"1,keyasint"` // number of the last commit
	Journal uint64 `cbor:"2,keyasint"` // number that the next journal entry gets
	Lesson  uint64 `cbor:"3,keyasint"` // number that the next lesson gets
	// Generation is the last number given to a saved state.
	Generation uint64 `cbor:"4,keyasint,omitempty"`
	// Checkpoint is where Load starts; Base is the state before the first journal
	// entry kept; NextBase will be the base when enough entries lie behind it.
	Checkpoint SavedState `cbor:"5,keyasint"`
	Base       SavedState `cbor:"6,keyasint"`
	NextBase   SavedState `cbor:"7,keyasint"`
	// RedoCost is what the redo log costs to load: its size, and stepCost for each step.
	RedoCost uint64 `cbor:"8,keyasint,omitempty"`
	// Swept: the features of commits below it were looked at since the base last
	// changed.
	Swept uint64 `cbor:"9,keyasint,omitempty"`
	// Sum is over everything that the commits up to Commit brought: where two
	// files have an account with equal Commit and Sum, it is the same there.
	Sum uint64 `cbor:"10,keyasint,omitempty"`
	// Names is how many records of names there are.
	Names uint64 `cbor:"13,keyasint,omitempty"`
	// Learner is the state before the first lesson kept, as far as learning is
	// concerned, where that lies before Base: since a Rewrite and until Base moves
	// on. Without a Lesson: it is Base.
	Learner SavedState `cbor:"20,keyasint,omitempty"`
}

// position is where the account's current state stands.
func (p Progress) position() store.Position {
	return store.Position{Commit: p.Commit, Journal: p.Journal, Lesson: p.Lesson, Sum: p.Sum}
}

// LessonBase is the saved state before the first lesson kept.
func (p Progress) LessonBase() SavedState {
	if p.Learner.Lesson != 0 {
		return p.Learner
	}
	return p.Base
}

// Saved returns the saved states that p names, the checkpoint first.
func (p *Progress) Saved() []*SavedState {
	all := []*SavedState{&p.Checkpoint, &p.Base, &p.NextBase}
	if p.Learner.Lesson != 0 {
		all = append(all, &p.Learner)
	}
	return all
}

// SavedState names a whole state kept in the file and the numbers it stands at.
type SavedState struct {
	Generation uint64 `cbor:"1,keyasint,omitempty"` // 0: the state of an account that has seen nothing
	Commit     uint64 `cbor:"2,keyasint,omitempty"`
	Journal    uint64 `cbor:"3,keyasint,omitempty"`
	Lesson     uint64 `cbor:"4,keyasint,omitempty"`
	Bytes      uint64 `cbor:"5,keyasint,omitempty"`
}

// newProgress is that of an account before its first commit.
func newProgress() Progress {
	nothing := SavedState{Journal: 1, Lesson: 1}
	return Progress{Journal: 1, Lesson: 1, Checkpoint: nothing, Base: nothing, NextBase: nothing}
}

// manifest is what the chunks of a saved state must add up to, so that a missing
// chunk is noticed and not only a garbled one.
type manifest struct {
	Chunks uint32 `cbor:"1,keyasint"`
	CRC    uint32 `cbor:"2,keyasint"` // CRC32C of all payloads in order
	// Weights is how many there are: room for them is made at once.
	Weights uint64 `cbor:"3,keyasint,omitempty"`
}

// accountBucket returns the bucket of an account, or nil.
func accountBucket(tx *bolt.Tx, name string) *bolt.Bucket {
	accounts := tx.Bucket(accountsBucket)
	if accounts == nil {
		return nil
	}
	return accounts.Bucket([]byte(name))
}

// part returns a bucket of an account that must be there.
func part(account *bolt.Bucket, name []byte) (*bolt.Bucket, error) {
	b := account.Bucket(name)
	if b == nil {
		return nil, damage("bucket %s is missing", name)
	}
	return b, nil
}

// featureBuckets returns the features of an account and their index.
func featureBuckets(account *bolt.Bucket) (features, index *bolt.Bucket, err error) {
	if features, err = part(account, featuresBucket); err != nil {
		return nil, nil, err
	}
	index, err = part(account, indexBucket)
	return features, index, err
}

func readProgress(account *bolt.Bucket) (Progress, error) {
	var p Progress
	if err := decodeFramed(frameInfo, infoKey, account.Get(infoKey), &p); err != nil {
		return p, damage("progress record: %w", err)
	}
	return p, nil
}

func writeProgress(account *bolt.Bucket, p Progress) error {
	payload, err := store.EncodeRow(p)
	if err != nil {
		return err
	}
	return account.Put(infoKey, frame(nil, frameInfo, infoKey, payload))
}

// beginInstead notes that the empty store takes the place of a damaged file.
func beginInstead(tx *bolt.Tx, damaged string) error {
	return tx.Bucket(metaBucket).Put(insteadKey, frame(nil, frameMeta, insteadKey, []byte(filepath.Base(damaged))))
}

// writeSchema lays out an empty store.
func writeSchema(tx *bolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	if err := meta.Put(schemaKey, frame(nil, frameMeta, schemaKey, key32(SchemaVersion))); err != nil {
		return err
	}
	if err := meta.Put(createdKey, frame(nil, frameMeta, createdKey, createdMarker)); err != nil {
		return err
	}
	_, err = tx.CreateBucket(accountsBucket)
	return err
}

// checkSchema reports whether this version can read the store.
func checkSchema(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil || meta.Get(schemaKey) == nil || meta.Get(createdKey) == nil {
		return store.ErrSchema
	}
	created, err := unframe(frameMeta, createdKey, meta.Get(createdKey))
	if err != nil {
		return damage("creation marker: %w", err)
	}
	payload, err := unframe(frameMeta, schemaKey, meta.Get(schemaKey))
	if err != nil {
		return damage("schema version: %w", err)
	}
	if string(created) != string(createdMarker) || len(payload) != 4 {
		return store.ErrSchema
	}
	switch version := binary.BigEndian.Uint32(payload); {
	case version > SchemaVersion:
		return fmt.Errorf("%w: it has schema %d, this version knows schemas up to %d; use the newer hinged, or restore a backup from this version", store.ErrNewer, version, SchemaVersion)
	case version < 1:
		return fmt.Errorf("%w: it has schema %d", store.ErrSchema, version)
	}
	if tx.Bucket(accountsBucket) == nil {
		return damage("bucket accounts is missing")
	}
	return nil
}

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
