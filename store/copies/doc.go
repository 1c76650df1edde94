// SPDX-License-Identifier: Apache-2.0

// Package copies takes copies of what a store holds, and brings them back:
// backups of the store, exports of one account.
//
// Data flow: a Source (the running daemon, or the store itself) → a draft under
// a temporary name → checked by reading it as a store → its own name, or
// standard output; and for restore and import the same way back. Nothing is
// called good that was not read again, and whatever fails leaves no file behind
// and nothing changed.
//
// What a store's file is made of, and how one takes another's place, is package
// boltfile's business. An export is such a file with one account.
package copies

import (
	"context"
	"errors"
	"io"

	"github.com/hinged/hinged/store/boltfile"
)

// Source gives copies of committed state.
type Source interface {
	// Backup writes the store to w, without the accounts of partitions.
	Backup(ctx context.Context, w io.Writer) error
	// Export writes one account to w; "" means the only one.
	Export(ctx context.Context, account string, w io.Writer) error
}

// Standard is the name that means standard input or output.
const Standard = "-"

// Errors.
var (
	// ErrExists: a file of that name is there.
	ErrExists = errors.New("the file exists")
	// ErrUnsound: what was read is no backup, or a damaged one.
	ErrUnsound = errors.New("not a sound store")
)

// Account describes one account in a copy. The digests are those that `hinged verify`
// prints.
type Account struct {
	Account string `json:"account"` // name of the account
	Model   string `json:"model"`   // digest of the weights
	State   string `json:"state"`   // digest of the whole state
	Journal uint64 `json:"journal"` // number of journal entries kept
	Lessons uint64 `json:"lessons"` // number of lessons kept
}

// check reads the store at path from end to end and says what it holds.
func check(ctx context.Context, path string) ([]Account, error) {
	s, err := boltfile.OpenReadOnly(path, boltfile.Options{})
	if err != nil {
		return nil, err
	}
	_, notOne := s.PartitionInfo()
	report, err := s.Verify(ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if notOne == nil {
		return nil, errors.New("it is the file of a partition of Kafka")
	}
	if !report.OK() {
		return nil, report.Problems[0]
	}
	out := []Account{}
	for _, a := range report.Accounts {
		out = append(out, Account{Account: a.Name, Model: a.ModelDigest, State: a.StateDigest, Journal: a.Journal, Lessons: a.Lessons})
	}
	return out, nil
}

// patient ends reading when ctx is done.
type patient struct {
	ctx context.Context // of one copy
	r   io.Reader
}

func (p patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b)
}

// PatientWriter returns a writer to w that ends writing when ctx is done.
func PatientWriter(ctx context.Context, w io.Writer) io.Writer { return patientWriter{ctx, w} }

type patientWriter struct {
	ctx context.Context // of one copy
	w   io.Writer
}

func (p patientWriter) Write(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}
