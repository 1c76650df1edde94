package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/gzip"
	bolt "go.etcd.io/bbolt"
)

// An export is a store that holds one account, compressed with gzip, so that
// whatever checks and migrates stores does it for exports too, and `gunzip`
// makes a store of one that every verb can look at. The comment in the gzip
// header (RFC 1952, section 2.3.1) is an ExportHeader in JSON, so that a version
// can be refused before anything is unpacked, and `head -c 300` shows what it
// is.

// ExportVersion is the version of the header that this code writes.
const ExportVersion = 1

// ExportHeader says what an export holds. It is in the file before the content,
// and has less than 512 bytes in JSON, which readers of gzip demand.
type ExportHeader struct {
	// Version is that of this header. That of the content is the store's schema.
	Version int `json:"hinged_export"`
	// Model and State are the account's digests.
	Model string `json:"model"`
	State string `json:"state"`
	// Bytes and SHA256 are those of the store within.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Export writes everything of one account to w, as of its last commit, while
// others go on committing: its state and weights, the journal and the lessons as
// far as they are kept, the features, the ledger. ErrNotFound if there is no
// such account, ErrPending if its logs have not come in yet. The account is first copied to a file beside the store, so that
// a slow w keeps nothing waiting.
func (s *Store) Export(account string, w io.Writer) (ExportHeader, error) {
	h, err := s.export(account, w)
	if err != nil {
		return h, fmt.Errorf("exporting account %q of store %s: %w", account, s.path, plain(err))
	}
	return h, nil
}

func (s *Store) export(account string, w io.Writer) (h ExportHeader, err error) {
	draft, err := tempName(s.path + ".export-*")
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, removeIfThere(draft)) }()
	h.Version = ExportVersion
	if h.Model, h.State, err = s.exportInto(draft, account); err != nil {
		return h, err
	}
	in, err := os.Open(draft)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	sum := sha256.New()
	if h.Bytes, err = io.Copy(sum, in); err != nil {
		return h, err
	}
	h.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	comment, err := json.Marshal(h)
	if err != nil {
		return h, err
	}
	// Hashes and compressed features leave little for a higher level to find.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return h, err
	}
	z.Comment = string(comment)
	if _, err := io.Copy(z, in); err != nil {
		return h, err
	}
	return h, z.Close()
}

// exportInto makes a store at path that holds the account alone, and returns
// the digests of the account there.
func (s *Store) exportInto(path, account string) (model, state string, err error) {
	if err := errors.Join(s.o.step("export"), removeIfThere(path)); err != nil {
		return "", "", err
	}
	db, err := openDraft(path, s.o)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s.copying.RLock()
	defer s.copying.RUnlock()
	err = s.viewAccount(account, func(b *bolt.Bucket, p progress) error {
		if p.Pending != nil {
			return ErrPending
		}
		if err := db.Update(func(tx *bolt.Tx) error { return writeSchema(tx, SchemaVersion) }); err != nil {
			return err
		}
		if err := copyBucket(db, [][]byte{accountsBucket, []byte(account)}, b); err != nil || p.Partition == nil {
			return err
		}
		return db.Update(func(tx *bolt.Tx) error {
			p.Partition = nil // which does not come with it
			return writeProgress(accountBucket(tx, account), p)
		})
	})
	if err == nil {
		err = s.o.step("sync")
	}
	if err == nil {
		err = finishDraft(db, path)
	}
	if err != nil {
		return "", "", err
	}
	err = db.View(func(tx *bolt.Tx) error {
		model, state, err = checkCopy(accountBucket(tx, account), account)
		return err
	})
	return model, state, err
}

// checkCopy checks every checksum of an account and returns its digests.
func checkCopy(account *bolt.Bucket, name string) (model, state string, err error) {
	if problems := checkAccountFrames(account, name); len(problems) > 0 {
		return "", "", damage("%w", problems[0])
	}
	return digestOf(account)
}

// digestOf loads the account in a bucket and digests it.
func digestOf(account *bolt.Bucket) (model, state string, err error) {
	p, err := readProgress(account)
	if err != nil {
		return "", "", err
	}
	st, err := load(account, p)
	if err != nil {
		return "", "", err
	}
	model, state = Digest(st)
	return model, state, nil
}

// tempName makes an empty file for its owner alone and returns its name.
func tempName(pattern string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// copyBucket copies a bucket with all that is in it to the given path of buckets
// in db, of which all but the last exist, in transactions of about copyBytes.
func copyBucket(db *bolt.DB, path [][]byte, from *bolt.Bucket) error {
	c := copier{db: db}
	err := guard(func() (err error) {
		if c.tx, err = db.Begin(true); err != nil {
			return err
		}
		c.read.tx = from.Tx()
		return c.bucket(path, from)
	})
	if c.tx == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, c.tx.Rollback())
	}
	return c.tx.Commit()
}

type copier struct {
	db      *bolt.DB
	tx      *bolt.Tx
	pending int
	read    meter
}

func (c *copier) bucket(path [][]byte, from *bolt.Bucket) error {
	above, last := path[:len(path)-1], path[len(path)-1]
	var err error
	if b := c.find(above); b != nil {
		_, err = b.CreateBucket(last)
	} else {
		_, err = c.tx.CreateBucket(last)
	}
	if err != nil {
		return err
	}
	return from.ForEach(func(key, value []byte) error {
		if value == nil {
			return c.bucket(append(slices.Clip(path), key), from.Bucket(key))
		}
		return c.put(path, key, value)
	})
}

func (c *copier) put(path [][]byte, key, value []byte) error {
	if c.pending += len(key) + len(value); c.pending >= copyBytes {
		err := c.tx.Commit()
		if err == nil {
			c.tx, err = c.db.Begin(true)
		}
		if err != nil {
			return err
		}
		c.pending = 0
	}
	c.read.add(len(value))
	b := c.find(path)
	b.FillPercent = 1 // keys come in ascending order
	return b.Put(key, value)
}

// find returns the bucket at a path, nil for the empty one.
func (c *copier) find(path [][]byte) *bolt.Bucket {
	if len(path) == 0 {
		return nil
	}
	b := c.tx.Bucket(path[0])
	for _, name := range path[1:] {
		b = b.Bucket(name)
	}
	return b
}
