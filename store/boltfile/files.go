// SPDX-License-Identifier: Apache-2.0

package boltfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/store"
)

// The file at the store's path lists the files of partitions, which lie in a directory beside
// it. A file that is not in the list is nobody's: it is filled before it gets there, and
// deleted after it went. So which files count changes in one transaction.
//
// The directory has a name of its own, which is in the list, too. A backup that is put in the
// place of a store has no list, and what the store had stays beside it, with its list.

const (
	partitionsInfix = ".partitions-" // between the store's name and what makes the directory's unique
	partitionSuffix = ".db"
	// openAtOnce is how many files are opened at the same time.
	openAtOnce = 16
	// topicInName is how much of a topic's name is in the names of its files.
	topicInName = 100
)

// listedFile is a file in the list.
type listedFile struct {
	of   store.Partition
	name string // in the directory
}

// readList returns the directory of the partitions' files, without the path to it, and
// these; "" if there is none.
func readList(tx *bolt.Tx) (dir string, all []listedFile, err error) {
	b := tx.Bucket(filesBucket)
	if b == nil {
		return "", nil, nil
	}
	payload, err := unframe(frameFile, directoryKey, b.Get(directoryKey))
	if err != nil {
		return "", nil, damage("directory of partitions: %w", err)
	}
	if dir = string(payload); dir != filepath.Base(dir) {
		return "", nil, damage("directory of partitions is malformed: %q", dir)
	}
	listed := b.Bucket(listedBucket)
	if listed == nil {
		return "", nil, damage("the list of partitions' files is missing")
	}
	err = listed.ForEach(func(key, value []byte) error {
		p, err := partitionOf(key)
		if err != nil {
			return err
		}
		name, err := unframe(frameFile, key, value)
		if err != nil {
			return damage("file of %v: %w", p, err)
		}
		if string(name) != filepath.Base(string(name)) {
			return damage("file of %v has a malformed name: %q", p, name)
		}
		all = append(all, listedFile{p, string(name)})
		return nil
	})
	return dir, all, err
}

// list returns the path of the directory of the partitions' files, "" if there is none, and these.
func (s *Store) list() (dir string, all []listedFile, err error) {
	err = s.root.view(func(tx *bolt.Tx) (err error) { dir, all, err = readList(tx); return err })
	if dir != "" {
		dir = filepath.Join(filepath.Dir(s.path), dir)
	}
	return dir, all, err
}

// putListed puts the file of a partition into the list, in the place of the one that may be
// there; "": it has none any more.
func putListed(tx *bolt.Tx, p store.Partition, name string) error {
	listed := tx.Bucket(filesBucket).Bucket(listedBucket)
	key := partitionKey(p)
	if name == "" {
		return listed.Delete(key)
	}
	return listed.Put(key, frame(nil, frameFile, key, []byte(name)))
}

// newPath makes the directory, unless there is one, and returns the path of a file in it that
// there never was.
func (s *Store) newPath(p store.Partition) (path string, err error) {
	if s.readOnly {
		return "", store.ErrReadOnly
	}
	s.placing.Lock() // one directory for all
	defer s.placing.Unlock()
	dir, _, err := s.list()
	if err != nil {
		return "", err
	}
	var number uint64
	made := ""
	if dir == "" {
		if made, err = os.MkdirTemp(filepath.Dir(s.path), filepath.Base(s.path)+partitionsInfix+"*"); err != nil { // mode 0700
			return "", err
		}
		dir = made
		if err = giveTo(made, s.path); err == nil {
			err = syncDir(filepath.Dir(s.path))
		}
		if err != nil {
			return "", errors.Join(err, os.Remove(made))
		}
	}
	err = s.root.update(func(tx *bolt.Tx) error {
		b, err := listIn(tx, filepath.Base(dir))
		if err == nil {
			number, err = b.NextSequence()
		}
		return err
	})
	if err != nil {
		if made != "" {
			err = errors.Join(err, os.Remove(made))
		}
		return "", err
	}
	name := fmt.Sprintf("%s-%d.%d%s", fileName(p.Topic), p.Number, number, partitionSuffix)
	return filepath.Join(dir, name), nil
}

// listIn returns the bucket of the list, which it creates if there is none. A store that has
// one can't be read by versions that do not know it.
func listIn(tx *bolt.Tx, dir string) (*bolt.Bucket, error) {
	if b := tx.Bucket(filesBucket); b != nil {
		return b, nil
	}
	if err := putSchema(tx.Bucket(metaBucket), SchemaVersion); err != nil {
		return nil, err
	}
	b, err := tx.CreateBucket(filesBucket)
	if err != nil {
		return nil, err
	}
	if _, err := b.CreateBucket(listedBucket); err != nil {
		return nil, err
	}
	return b, b.Put(directoryKey, frame(nil, frameFile, directoryKey, []byte(dir)))
}

// fileName is what of a topic's name may be in that of a file.
func fileName(topic string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, topic[:min(len(topic), topicInName)])
}

// openPartitions opens the files in the list. One that is damaged is set aside, and its
// partition, or that of one that is missing, is unknown from then on: Lost names it.
func (s *Store) openPartitions() error {
	dir, all, err := s.list()
	if err != nil || dir == "" {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && len(all) > 0 {
		return fmt.Errorf("the directory with the files of its partitions is missing: %s. It belongs to the store: put it back, or put a backup in the place of the store", dir)
	}
	o := s.o
	if o.Hooks.Whole < s.sizeWith(dir, all) {
		o.Hooks.Whole = 0 // together they would take long
	}
	if !s.readOnly {
		if err := clearUnlisted(dir, all); err != nil {
			return err
		}
	}
	opened := make([]*file, len(all))
	broken := make([]error, len(all))
	aside := make([]string, len(all))
	var group errgroup.Group
	group.SetLimit(openAtOnce)
	for i, l := range all {
		group.Go(func() (err error) {
			opened[i], aside[i], broken[i], err = s.openListed(l.of, filepath.Join(dir, l.name), o)
			return err
		})
	}
	err = group.Wait()
	files := []*file{s.root}
	for i, f := range opened {
		switch {
		case f != nil:
			s.partitions[all[i].of] = f
			files = append(files, f)
		case broken[i] != nil:
			s.lost[all[i].of] = broken[i]
			if aside[i] != "" {
				s.aside[all[i].of] = aside[i]
			}
			s.o.Logger.Error("the file of a partition can't be used; the partition begins as it would on an empty disk", "partition", all[i].of, "error", broken[i])
		}
	}
	s.files.Store(&files)
	if err != nil || s.readOnly || len(s.lost) == 0 {
		return err
	}
	return s.root.update(func(tx *bolt.Tx) error {
		for p := range s.lost {
			if err := putListed(tx, p, ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// openListed opens the file of a partition. broken says why nobody can use it, and aside where
// it was moved, if it was; err is for everything else that went wrong.
func (s *Store) openListed(p store.Partition, path string, o Options) (f *file, aside string, broken, err error) {
	defer wrap(&err, "file of %v: %s", p, path)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, "", damage("its file is missing: %s", path), nil
	}
	if f, err = s.openPartition(p, path, o); !errors.Is(err, store.ErrDamaged) {
		return f, "", nil, err
	}
	if s.readOnly {
		return nil, "", fmt.Errorf("%s: %w", path, err), nil
	}
	aside, moveErr := moveAside(path, o)
	if moveErr != nil {
		return nil, "", nil, errors.Join(err, moveErr)
	}
	return nil, aside, movedTo(err, aside), nil
}

// openPartition opens the file at path, which must have the partition.
func (s *Store) openPartition(p store.Partition, path string, o Options) (*file, error) {
	var db *bolt.DB
	var err error
	if s.readOnly {
		db, err = openChecked(path, o, true)
	} else {
		db, err = openSound(path, o)
	}
	if err != nil {
		return nil, err
	}
	f := s.partitionFile(path, db)
	err = f.view(func(tx *bolt.Tx) error {
		if partitionBucket(tx, p) == nil {
			return damage("it does not have the partition")
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// partitionFile is the file of a partition, which is open.
func (s *Store) partitionFile(path string, db *bolt.DB) *file {
	f := newFile(path, db, s.o)
	f.partition, f.readOnly = true, s.readOnly
	return f
}

// sizeWith is about how much there is to be read, root included.
func (s *Store) sizeWith(dir string, all []listedFile) int64 {
	sum, _ := sizeOf(s.path)
	for _, l := range all {
		n, _ := sizeOf(filepath.Join(dir, l.name)) // whoever opens it says what is wrong
		sum += n
	}
	return sum
}

// clearUnlisted deletes what was made for a partition and is in no list: of one that was
// dropped, or that did not begin. What was set aside as damaged stays.
func clearUnlisted(dir string, all []listedFile) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !unlisted(e.Name(), all) {
			continue
		}
		if err := removeIfThere(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// unlisted reports whether a name is that of a file in no list, or of what belongs to one,
// or of a draft.
func unlisted(name string, all []listedFile) bool {
	for _, kind := range []string{"", compacting, suspicion} {
		of, ok := strings.CutSuffix(name, kind)
		if ok && strings.HasSuffix(of, partitionSuffix) {
			return !slices.ContainsFunc(all, func(l listedFile) bool { return l.name == of })
		}
	}
	return strings.Contains(name, partitionSuffix+drafting)
}

// addFile makes a file of its own for p, with what fill puts into it, in the place of what
// the store has of p, if anything. With Options.OneFile that goes into root.
func (s *Store) addFile(ctx context.Context, p store.Partition, fill func(tx *bolt.Tx) error) error {
	if s.o.OneFile {
		return s.setFile(ctx, p, nil, nil, fill)
	}
	path, err := s.newPath(p)
	if err != nil {
		return err
	}
	f, err := s.filled(path, fill)
	if err != nil {
		return errors.Join(err, removeIfThere(path))
	}
	if err := s.setFile(ctx, p, f, nil, nil); err != nil {
		// Some errors of the disk leave it open whether it is in the list: the next start knows,
		// and deletes it if it is not.
		return errors.Join(err, f.close())
	}
	return nil
}

// filled makes a file at path, which is not in the list yet.
func (s *Store) filled(path string, fill func(tx *bolt.Tx) error) (*file, error) {
	if err := create(path, s.o); err != nil {
		return nil, err
	}
	db, err := openFile(path, s.o, false)
	if err != nil {
		return nil, err
	}
	f := s.partitionFile(path, db)
	if err := f.update(fill); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// setFile makes f the file of p, nil for none, and drops what the store had of p, unless check,
// which sees root before that, returns an error. fill puts into root what it is to have of p
// instead. Either may be nil.
func (s *Store) setFile(ctx context.Context, p store.Partition, f *file, check, fill func(tx *bolt.Tx) error) error {
	name := ""
	if f != nil {
		name = filepath.Base(f.path)
	}
	if err := s.o.step("place partition"); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.placing.Lock()
	defer s.placing.Unlock()
	s.mu.Lock()
	old := s.partitions[p]
	s.mu.Unlock()
	if old != nil {
		old.writing.Lock()
		defer old.writing.Unlock()
	}
	var dropped []string
	err := s.root.update(func(tx *bolt.Tx) (err error) {
		if check != nil {
			if err := check(tx); err != nil {
				return err
			}
		}
		if dropped, err = dropPartition(ctx, tx, p); err != nil {
			return err
		}
		if fill != nil {
			err = fill(tx)
		}
		if err != nil || tx.Bucket(filesBucket) == nil {
			return err
		}
		return putListed(tx, p, name)
	})
	if err != nil {
		return err
	}
	for _, name := range dropped {
		s.forget(name)
	}
	s.exchange(p, old, f, nil)
	return nil
}

// exchange has the store go on with f, nil for none, in the place of old, which is closed and
// deleted when nobody reads it any more. lost is why there is no f, if p is lost.
func (s *Store) exchange(p store.Partition, old, f *file, lost error) {
	files := slices.DeleteFunc(slices.Clone(*s.files.Load()), func(x *file) bool { return x == old })
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lost, p)
	delete(s.partitions, p)
	if lost != nil {
		s.lost[p] = lost
	}
	if f != nil {
		s.partitions[p] = f
		files = append(files, f)
	}
	s.files.Store(&files)
	if old == nil {
		return
	}
	old.dropped.Store(true)
	for name, home := range s.homes {
		if home == old {
			s.drop(name)
		}
	}
	s.closing.Go(func() {
		if err := errors.Join(old.close(), removeIfThere(old.path), removeIfThere(old.path+suspicion)); err != nil {
			s.o.Logger.Warn("the file of a partition that was dropped could not be deleted; the next start deletes it", "file", old.path, "error", err)
		}
	})
}
