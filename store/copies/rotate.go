// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Rotation is a directory of backups that are made one after another, of which the newest
// are kept. One goroutine at a time makes them.
type Rotation struct {
	Dir  string // "": there is none
	Keep int    // at least 1
}

// Kept is one backup of a rotation.
type Kept struct {
	File string
	At   time.Time // when it was made, to the second
}

// The name of a backup is the moment it was made in, so that names sort by age.
const (
	keptPrefix = "hinged-"
	keptSuffix = ".db"
	keptTime   = "20060102T150405Z"
)

// List returns the backups, the oldest first. Other files in the directory are none of
// its, and neither is a copy that was not finished.
func (r Rotation) List() ([]Kept, error) {
	if r.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(r.Dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing backups: %w", err)
	}
	var out []Kept
	for _, e := range entries {
		if at, ok := keptAt(e.Name()); ok && e.Type().IsRegular() {
			out = append(out, Kept{filepath.Join(r.Dir, e.Name()), at})
		}
	}
	return out, nil
}

// keptAt reads the name of a backup.
func keptAt(name string) (time.Time, bool) {
	middle, ok := strings.CutPrefix(name, keptPrefix)
	if !ok {
		return time.Time{}, false
	}
	if middle, ok = strings.CutSuffix(middle, keptSuffix); !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(keptTime, middle)
	return at, err == nil && at.Format(keptTime) == middle
}

// Make makes a backup of the source's store, at storePath, and then deletes those that are
// too many: never one before the new one was read again and found good, and never that
// one, whatever the clock says. now is the moment to name it after. An error beside a
// backup that was made is about deleting.
func (r Rotation) Make(ctx context.Context, from Source, storePath string, now time.Time) (Kept, error) {
	made, err := r.add(ctx, from, storePath, now)
	if err != nil {
		return Kept{}, err
	}
	all, err := r.List()
	if err != nil {
		return made, err
	}
	for i := 0; i < len(all) && len(all) > max(1, r.Keep); {
		if all[i].File == made.File {
			i++
			continue
		}
		if err := os.Remove(all[i].File); err != nil {
			return made, fmt.Errorf("deleting an old backup: %w", err)
		}
		all = append(all[:i], all[i+1:]...)
	}
	return made, nil
}

// Renew puts one backup of the present state in the place of all that are there, because
// something was forgotten that they still have. If none can be made, they stay. Where
// there is none, none is made. It returns how many were deleted.
func (r Rotation) Renew(ctx context.Context, from Source, storePath string, now time.Time) (deleted int, err error) {
	old, err := r.List()
	if err != nil || len(old) == 0 {
		return 0, err
	}
	if _, err := r.add(ctx, from, storePath, now); err != nil {
		return 0, err
	}
	for _, k := range old {
		if err := os.Remove(k.File); err != nil {
			return deleted, fmt.Errorf("deleting an old backup: %w", err)
		}
		deleted++
	}
	return deleted, nil
}

// add makes a backup and deletes none.
func (r Rotation) add(ctx context.Context, from Source, storePath string, now time.Time) (Kept, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return Kept{}, fmt.Errorf("the directory for backups: %w", err)
	}
	if err := r.clear(); err != nil {
		return Kept{}, err
	}
	if err := r.room(storePath); err != nil {
		return Kept{}, err
	}
	for now = now.UTC().Truncate(time.Second); ; now = now.Add(time.Second) {
		file := filepath.Join(r.Dir, keptPrefix+now.Format(keptTime)+keptSuffix)
		_, err := Backup(ctx, from, storePath, file, false, nil)
		if errors.Is(err, ErrExists) {
			continue // of this very second
		}
		return Kept{file, now}, err
	}
}

// clear deletes what a process left that was killed while it made a backup.
func (r Rotation) clear() error {
	all, err := boltfile.Beside(filepath.Join(r.Dir, keptPrefix), "")
	if err != nil {
		return fmt.Errorf("the directory for backups: %w", err)
	}
	for _, path := range all {
		if !strings.Contains(filepath.Base(path), keptSuffix+boltfile.Partial) {
			continue
		}
		if err := boltfile.Remove(path); err != nil {
			return fmt.Errorf("deleting an unfinished backup: %w", err)
		}
	}
	return nil
}

// room refuses a backup that would fill the disk: the store needs room to go on. Each
// backup may be as large as the store, and as much is to be left.
func (r Rotation) room(storePath string) error {
	info, err := os.Stat(storePath)
	if err != nil {
		return err
	}
	free, known := freeBytes(r.Dir)
	if need := 2 * uint64(info.Size()); known && free < need {
		return fmt.Errorf("%w: a backup needs %d MB free below %s, and %d MB are", store.ErrNoSpace, need>>20+1, r.Dir, free>>20)
	}
	return nil
}
