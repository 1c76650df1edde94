// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces files as a whole: after a crash a file has its old content or
// its new one.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write makes data the durable content of the file at path, with that mode, and makes its
// directory where there is none (mode 0700).
func Write(path string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	staged, err := Stage(path, data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(staged, path); err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	return nil
}

// Stage writes data durably beside path, in the same directory, and returns the name that it has
// there until the caller gives it its own. After an error nothing is left.
func Stage(path string, data []byte, mode os.FileMode) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	if _, err = f.Write(data); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
