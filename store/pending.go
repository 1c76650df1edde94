package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// pendingRow says where an account comes from that was taken over and is not all
// here yet.
type pendingRow struct {
	Partition []byte `cbor:"1,keyasint"` // key of its partition
	Commit    uint64 `cbor:"2,keyasint"`
	Sum       uint64 `cbor:"3,keyasint"`
	State     []byte `cbor:"4,keyasint"` // IDs of chunks, one after another
	Logs      []byte `cbor:"5,keyasint,omitempty"`
	// Here: its state has come in, its logs have not.
	Here bool `cbor:"6,keyasint,omitempty"`
}

// PendingAccount is an account that was taken over and has not all come in yet.
type PendingAccount struct {
	AccountChunks
	// Here: its state has come in, its logs have not.
	Here bool
}

func (r pendingRow) pending(account string) (PendingAccount, error) {
	p := PendingAccount{AccountChunks: AccountChunks{Account: account, Commit: r.Commit, Sum: r.Sum}, Here: r.Here}
	var err, alsoErr error
	p.State, err = splitIDs(r.State)
	p.Logs, alsoErr = splitIDs(r.Logs)
	return p, errors.Join(err, alsoErr)
}

// awaits reports whether a snapshot that p names has not come in yet.
func (p progress) awaits(of snapshot) bool {
	if p.Pending == nil {
		return false
	}
	for _, s := range p.Pending.Snapshots {
		if s.Generation == of.Generation {
			return true
		}
	}
	return false
}

// pendingValue returns the row of a pending account as it is in the file, or nil.
func pendingValue(tx *bolt.Tx, account string) []byte {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	return b.Get([]byte(account))
}

// readPending returns the row of a pending account, and whether there is one.
func readPending(tx *bolt.Tx, account string) (row pendingRow, ok bool, err error) {
	value := pendingValue(tx, account)
	if value == nil {
		return row, false, nil
	}
	row, err = decodePending(account, value)
	return row, true, err
}

func decodePending(account string, value []byte) (row pendingRow, err error) {
	payload, err := unframe(framePending, []byte(account), value)
	if err == nil {
		err = rowDecoding.Unmarshal(payload, &row)
	}
	if err != nil {
		return row, damage("pending account %q: %w", account, err)
	}
	return row, nil
}

func writePending(b *bolt.Bucket, account string, row pendingRow) error {
	payload, err := rowEncoding.Marshal(row)
	if err != nil {
		return err
	}
	return b.Put([]byte(account), frame(nil, framePending, []byte(account), payload))
}

// pendingOf returns the accounts of a partition that are pending, ascending.
func pendingOf(tx *bolt.Tx, members []string) (all []PendingAccount, err error) {
	for _, name := range members {
		row, ok, err := readPending(tx, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		p, err := row.pending(name)
		if err != nil {
			return nil, damage("pending account %q: %w", name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// checkPending checks the rows of pending accounts.
func checkPending(tx *bolt.Tx, most int) (problems []error) {
	b := tx.Bucket(pendingBucket)
	if b == nil {
		return nil
	}
	_ = b.ForEach(func(name, value []byte) error {
		row, err := decodePending(string(name), value)
		if err == nil {
			_, err = row.pending(string(name))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("pending account %q: %w", name, err))
		}
		if len(problems) >= most {
			return errEnough
		}
		return nil
	})
	return problems
}
