package store

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	bolt "go.etcd.io/bbolt"
)

// Export is an export that was read and found sound: a store of its own, with
// one account.
type Export struct {
	ExportHeader
	Account string
	path    string
	store   *Store
}

// OpenExport reads an export to its end and checks all of it: the header, the
// length and the sum of the content, that a store with one account comes out,
// everything that Verify checks of it, and the digests. What was unpacked lies
// in a file in dir, for its owner alone, until Close.
//
// ErrExport if it is no export, cut short, damaged or followed by something
// else; ErrNewer if a later version wrote it.
func OpenExport(r io.Reader, dir string, o Options) (*Export, error) {
	path, err := tempName(filepath.Join(dir, "import-*"))
	if err != nil {
		return nil, fmt.Errorf("unpacking the export: %w", plain(err))
	}
	x := &Export{path: path}
	if err := x.open(r, o); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Store returns the store with the one account, to be read until Close.
func (x *Export) Store() *Store { return x.store }

// Close removes what was unpacked.
func (x *Export) Close() error {
	var err error
	if x.store != nil {
		err = x.store.Close()
	}
	return errors.Join(err, removeIfThere(x.path))
}

func (x *Export) open(r io.Reader, o Options) error {
	if err := x.unpack(r); err != nil {
		return err
	}
	unsound := func(err error) error {
		// The name of the file in between helps nobody.
		what := strings.ReplaceAll(err.Error(), x.path, "the store within")
		if errors.Is(err, ErrNewer) {
			return fmt.Errorf("%w: %s", ErrNewer, what)
		}
		return fmt.Errorf("%w: %s", ErrExport, what)
	}
	var err error
	if x.store, err = OpenReadOnly(x.path, o); err != nil {
		return unsound(err)
	}
	report, err := x.store.Verify()
	if err == nil && !report.OK() {
		err = report.Problems[0]
	}
	if err != nil {
		return unsound(err)
	}
	if n := len(report.Accounts); n != 1 {
		return fmt.Errorf("%w: it holds %d accounts, not one", ErrExport, n)
	}
	a := report.Accounts[0]
	if a.ModelDigest != x.Model || a.StateDigest != x.State {
		return fmt.Errorf("%w: its account has the digests %s and %s, its header says %s and %s", ErrExport, a.ModelDigest, a.StateDigest, x.Model, x.State)
	}
	x.Account = a.Name
	return nil
}

// unpack reads the header and writes the content to x.path.
func (x *Export) unpack(r io.Reader) (err error) {
	in := bufio.NewReader(r)
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrExport, err)
	}
	z.Multistream(false)
	if json.Unmarshal([]byte(z.Comment), &x.ExportHeader) != nil || x.Version < 1 {
		return fmt.Errorf("%w: it has no header of one", ErrExport)
	}
	if x.Version > ExportVersion {
		return fmt.Errorf("%w: the export has version %d, this one knows versions up to %d", ErrNewer, x.Version, ExportVersion)
	}
	// gzip has no sum of its header.
	if again, err := json.Marshal(x.ExportHeader); err != nil || string(again) != z.Comment {
		return fmt.Errorf("%w: its header is garbled", ErrExport)
	}
	out, err := os.OpenFile(x.path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	// Never more than announced, whatever it would unpack to.
	sum := sha256.New()
	read := &reading{r: z}
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(read, x.Bytes))
	if read.err == nil && err == nil {
		// The sum of gzip comes after the last byte.
		_, err = io.ReadFull(read, make([]byte, 1))
	}
	switch {
	case read.err != nil:
		return fmt.Errorf("%w: after %d bytes of %d: %w", ErrExport, n, x.Bytes, read.err)
	case err == nil:
		return fmt.Errorf("%w: it goes on after the %d bytes that it announces", ErrExport, x.Bytes)
	case !errors.Is(err, io.EOF):
		return plain(err) // of writing
	case n != x.Bytes:
		return fmt.Errorf("%w: it has %d bytes, its header says %d", ErrExport, n, x.Bytes)
	case hex.EncodeToString(sum.Sum(nil)) != x.SHA256:
		return fmt.Errorf("%w: its SHA-256 is not the one that its header says", ErrExport)
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: something follows its end", ErrExport)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the export: %w", err)
	}
	return nil
}

// reading remembers the error of a reader, to tell it from the writer's.
type reading struct {
	r   io.Reader
	err error
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Import adds the account of x under the given name, in a transaction that
// brings all of it or nothing. ErrExists if there is such an account, unless it
// is to be replaced; ErrPartition if that one belongs to a partition. The account is then Restored, and has the digests of the
// export.
func (s *Store) Import(x *Export, as string, replace bool) error {
	err := checkAccountName(as)
	if err == nil {
		err = s.importAccount(x, as, replace)
	}
	if err != nil {
		return fmt.Errorf("importing account %q into store %s: %w", as, s.path, plain(err))
	}
	return nil
}

func (s *Store) importAccount(x *Export, as string, replace bool) (err error) {
	err = s.update(func(tx *bolt.Tx) error {
		if err := errors.Join(mayImport(tx, as, replace), clearImport(tx)); err != nil {
			return err
		}
		_, err := tx.CreateBucket(importingBucket)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // what is left after all goes at the next Open
			err = errors.Join(err, s.update(clearImport))
		}
	}()
	if err := s.copyImport(x, as); err != nil {
		return err
	}
	s.forget(as)
	name := []byte(as)
	return s.update(func(tx *bolt.Tx) error {
		accounts := tx.Bucket(accountsBucket)
		if err := mayImport(tx, as, replace); err != nil {
			return err
		}
		if accounts.Bucket(name) != nil {
			if err := accounts.DeleteBucket(name); err != nil {
				return err
			}
		}
		if err := tx.MoveBucket(name, tx.Bucket(importingBucket), accounts); err != nil {
			return err
		}
		return tx.DeleteBucket(importingBucket)
	})
}

// mayImport says why an account of that name cannot come in, or nil.
func mayImport(tx *bolt.Tx, as string, replace bool) error {
	if pendingValue(tx, as) != nil {
		return fmt.Errorf("%w: it is being taken over", ErrPartition)
	}
	there := accountBucket(tx, as)
	if there == nil {
		return nil
	}
	if !replace {
		return ErrExists
	}
	p, err := readProgress(there)
	if err == nil && p.Partition != nil {
		err = fmt.Errorf("%w: it belongs to %s, which it is made from", ErrPartition, describeKey(p.Partition))
	}
	if errors.Is(err, ErrDamaged) {
		return nil // so much the better that it is replaced
	}
	return err
}

// clearImport drops what an import has copied so far.
func clearImport(tx *bolt.Tx) error {
	if tx.Bucket(importingBucket) == nil {
		return nil
	}
	return tx.DeleteBucket(importingBucket)
}

// copyImport copies the account to where imports wait, and checks the copy.
func (s *Store) copyImport(x *Export, as string) error {
	name := []byte(as)
	if err := s.o.step("import"); err != nil {
		return err
	}
	err := x.store.viewAccount(x.Account, func(from *bolt.Bucket, _ progress) error {
		s.writing.Lock()
		defer s.writing.Unlock()
		s.open.RLock()
		defer s.open.RUnlock()
		return copyBucket(s.db, [][]byte{importingBucket, name}, from)
	})
	if err != nil {
		return err
	}
	err = s.view(func(tx *bolt.Tx) error {
		model, state, err := checkCopy(tx.Bucket(importingBucket).Bucket(name), as)
		if err == nil && (model != x.Model || state != x.State) {
			err = damage("the copy has the digests %s and %s", model, state)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = s.update(func(tx *bolt.Tx) error { return setRestored(tx.Bucket(importingBucket).Bucket(name)) })
	if err != nil {
		return err
	}
	return s.o.step("imported")
}

// forget drops what is kept in memory about the account of that name.
func (s *Store) forget(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, account)
	delete(s.tried, account)
}
