// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hinged/hinged/internal/host/atomicfile"
	"github.com/hinged/hinged/internal/host/zones"
	"github.com/hinged/hinged/store/boltfile"
)

// ErrExists is wrapped when a file would be written over.
var ErrExists = errors.New("exists already")

// File is one file to write.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Write writes files, all or none, each whole or not at all, and makes the
// directories above them, for their owner alone unless a file is for everybody. Existing files are replaced only
// when force is set; else the error wraps ErrExists and nothing has changed.
func Write(force bool, files ...File) (err error) {
	if !force {
		for _, f := range files {
			if _, err := os.Lstat(f.Path); err == nil {
				return fmt.Errorf("%s %w", f.Path, ErrExists)
			}
		}
	}
	var staged, placed []string
	defer func() {
		for _, path := range staged {
			_ = os.Remove(path) // it is an error's leftover, or moved away
		}
		if err != nil && !force {
			for _, path := range placed {
				_ = os.Remove(path)
			}
		}
	}()
	for _, f := range files {
		err := os.MkdirAll(filepath.Dir(f.Path), above(files))
		if err == nil {
			var path string
			path, err = atomicfile.Stage(f.Path, f.Data, f.Mode)
			staged = append(staged, path)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	for i, f := range files {
		err := boltfile.Place(staged[i], f.Path, force)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s %w", f.Path, ErrExists) // somebody made it just now
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		placed = append(placed, f.Path)
	}
	return nil
}

// above is the mode of directories that are made for files.
func above(files []File) fs.FileMode {
	for _, f := range files {
		if f.Mode&0o004 != 0 {
			return 0o755
		}
	}
	return 0o700
}

// TimeZone returns the machine's time zone by its IANA name; "UTC" when it has
// none that is known. tz is the environment's TZ, "" when that is not set.
func TimeZone(tz string) string { return timeZone(tz, "/etc/localtime") }

func timeZone(tz, link string) string {
	name := strings.TrimPrefix(tz, ":")
	if tz == "" {
		target, err := filepath.EvalSymlinks(link)
		if err != nil {
			return "UTC"
		}
		name = target
	}
	if _, after, ok := strings.Cut(name, "zoneinfo/"); ok {
		name = after
	}
	if _, err := zones.Load(name); err != nil || name == "" || strings.HasPrefix(name, "Etc/") {
		return "UTC"
	}
	return name
}

// AccountName makes a name for the account out of an address.
func AccountName(address string) string {
	local, _, _ := strings.Cut(strings.ToLower(address), "@")
	local = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, local)
	local = strings.Trim(local[:min(len(local), 64)], "._-")
	if local == "" {
		return "me"
	}
	return local
}
