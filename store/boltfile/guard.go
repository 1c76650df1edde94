// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"errors"
	"fmt"
	"runtime/debug"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/hinged/hinged/store"
)

// damage returns an ErrDamaged that says what is wrong.
func damage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", store.ErrDamaged, fmt.Errorf(format, args...))
}

// guard calls fn and turns a panic or a memory fault within it into ErrDamaged.
// The database is mapped into memory and its pages carry no checksums: a
// missing tail is a fault on access, a garbled page an assertion or an index
// out of range, deep inside the library.
func guard(fn func() error) (err error) {
	// The setting is the goroutine's, and lasts until it is set back.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damage("reading it stopped with: %v", p)
		}
	}()
	return fn()
}

// plain translates the library's errors into ours.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return store.ErrClosed
	case errors.Is(err, berrors.ErrDatabaseReadOnly):
		return store.ErrReadOnly
	case errors.Is(err, berrors.ErrTimeout):
		return store.ErrRunning
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return store.NoSpace(err)
	}
	return store.AsNoSpace(err)
}

// wrap puts what was tried before an error, if there is one. It is to be deferred.
func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf(format+": %w", append(args, *err)...)
	}
}
