// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Exported is an export that was read and found sound: a store of its own, with
// one account.
type Exported struct {
	ExportHeader
	Account string
	draft   *os.File
	store   *boltfile.Store
}

// OpenExport reads an export to its end and checks all of it: the header, the
// length and the sum of the content, that a store with one account comes out,
// everything that Verify checks of it, and the digests. What was unpacked lies
// in a file beside the one of that name, for its owner alone, until Close.
//
// ErrExport if it is no export, cut short, damaged or followed by something
// else; ErrNewer if a later version wrote it.
func OpenExport(ctx context.Context, r io.Reader, beside string, o boltfile.Options) (*Exported, error) {
	draft, err := boltfile.CreateDraft(beside, boltfile.Importing)
	if err != nil {
		return nil, fmt.Errorf("unpacking the export: %w", store.AsNoSpace(err))
	}
	x := &Exported{draft: draft}
	if err := x.open(ctx, r, o); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Store returns the store with the one account, to be read until Close.
func (x *Exported) Store() *boltfile.Store { return x.store }

// Close removes what was unpacked.
func (x *Exported) Close() error {
	var err error
	if x.store != nil {
		err = x.store.Close()
	}
	return errors.Join(err, x.draft.Close(), discard(x.draft.Name()))
}

func (x *Exported) open(ctx context.Context, r io.Reader, o boltfile.Options) error {
	if err := x.unpack(r); err != nil {
		return err
	}
	unsound := func(err error) error {
		// The name of the file in between helps nobody.
		what := strings.ReplaceAll(err.Error(), x.draft.Name(), "the store within")
		if errors.Is(err, store.ErrNewer) {
			return fmt.Errorf("%w: %s", store.ErrNewer, what)
		}
		return fmt.Errorf("%w: %s", ErrExport, what)
	}
	var err error
	if x.store, err = boltfile.OpenReadOnly(x.draft.Name(), o); err != nil {
		return unsound(err)
	}
	report, err := x.store.Verify(ctx)
	if err != nil {
		return unsound(err)
	}
	if !report.OK() {
		return unsound(report.Problems[0])
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

// unpack reads the header and writes the content to the draft.
func (x *Exported) unpack(r io.Reader) (err error) {
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
		return fmt.Errorf("%w: the export has version %d, this one knows versions up to %d", store.ErrNewer, x.Version, ExportVersion)
	}
	// gzip has no sum of its header.
	if again, err := json.Marshal(x.ExportHeader); err != nil || string(again) != z.Comment {
		return fmt.Errorf("%w: its header is garbled", ErrExport)
	}
	// Never more than announced, whatever it would unpack to.
	sum := sha256.New()
	read := &reading{r: z}
	n, err := io.Copy(io.MultiWriter(x.draft, sum), io.LimitReader(read, x.Bytes))
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
		return store.AsNoSpace(err) // of writing
	case n != x.Bytes:
		return fmt.Errorf("%w: it has %d bytes, its header says %d", ErrExport, n, x.Bytes)
	case hex.EncodeToString(sum.Sum(nil)) != x.SHA256:
		return fmt.Errorf("%w: its SHA-256 is not the one that its header says", ErrExport)
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: it has data after its end", ErrExport)
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

// ImportInto adds the account to s under the given name, in a transaction that
// brings all of it or nothing. store.ErrExists if there is such an account, unless
// it is to be replaced; store.ErrPartition if s is the file of a partition. The
// account is then Restored, and has the digests of the export.
func (x *Exported) ImportInto(s *boltfile.Store, as string, replace bool) error {
	return s.AddAccount(x.store, x.Account, x.Model, x.State, as, replace)
}
