// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Garble overwrites a file of a store, which may be in use, but for the two pages of its header,
// as a broken disk might.
func Garble(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if header := int64(2 * os.Getpagesize()); err == nil && size > header {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, int(size-header)), header)
	}
	return errors.Join(err, f.Close())
}
