// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// An export is a store that holds one account, compressed with gzip, so that
// whatever checks and migrates stores does it for exports too, and `gunzip`
// makes a store of one that every verb can look at. The comment in the gzip
// header (RFC 1952, section 2.3.1) is an ExportHeader in JSON, so that a version
// can be refused before anything is unpacked, and `head -c 300` shows what it
// is.

// ErrExport says that what was read is no export, or not a whole and sound one.
var ErrExport = errors.New("not a sound export of an account")

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

// WriteExport writes everything of one account of s to w, as of its last commit, while
// others go on committing: its state and weights, the journal and the lessons as
// far as they are kept, the features, the ledger. ErrNotFound if there is no
// such account, ErrPending if it is still to be taken over. The account is first copied to a file
// beside the store, so that a slow w keeps nothing waiting.
func WriteExport(s *boltfile.Store, account string, w io.Writer) (h ExportHeader, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("exporting account %q of store %s: %w", account, s.Path(), store.AsNoSpace(err))
		}
	}()
	draft, err := tempName(s.Path() + boltfile.Exporting + "*")
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, discard(draft)) }()
	h.Version = ExportVersion
	if h.Model, h.State, err = s.CopyAccount(account, draft); err != nil {
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

// tempName makes an empty file for its owner alone and returns its name.
func tempName(pattern string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(pattern), filepath.Base(pattern))
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// discard removes a file, if it is there.
func discard(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
