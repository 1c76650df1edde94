// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

const (
	fileSuffix = ".db"
	// draftSuffix is what the name of a file that is being filled has after that of the partition's.
	draftSuffix = ".draft"
	// openAtOnce is how many files are opened at the same time.
	openAtOnce = 16
	// readWhole is how many bytes of all files together are read through when they are opened.
	readWhole = 64 << 20
)

// Files are the files of the partitions of a store: a directory beside it, with one for each.
//
//	hinged.db                  accounts of no partition
//	hinged.db.partitions/
//	  mail-0.db                partition 0 of topic mail, and its accounts
//	  mail-1.db
//	  mail-1.db.damaged-1      a damaged file that was set aside; partition 1 began anew
//
// Whoever has the store open has the directory. Safe for concurrent use.
type Files struct {
	dir      string
	o        boltfile.Options
	log      *slog.Logger
	readOnly bool

	mu     sync.Mutex
	open   map[store.Partition]*boltfile.Store
	broken map[store.Partition]error // those that could not be opened, and why
}

// FilesOf returns the directory of the partitions of the store at a path.
func FilesOf(storePath string) string { return storePath + ".partitions" }

// OpenFiles opens the files of the partitions of the store at a path, which the caller has open.
// One that is damaged is set aside: the partition then begins as on an empty disk.
func OpenFiles(storePath string, o boltfile.Options) (*Files, error) {
	return openFiles(storePath, o, false)
}

// ReadFiles opens the files for reading and changes nothing.
func ReadFiles(storePath string, o boltfile.Options) (*Files, error) {
	return openFiles(storePath, o, true)
}

func openFiles(storePath string, o boltfile.Options, readOnly bool) (*Files, error) {
	f := &Files{
		dir: FilesOf(storePath), o: o, log: o.Logger, readOnly: readOnly,
		open: map[store.Partition]*boltfile.Store{}, broken: map[store.Partition]error{},
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	all, err := f.list()
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, name := range all {
		if info, err := os.Stat(filepath.Join(f.dir, name)); err == nil {
			size += info.Size()
		}
	}
	o.Unread = o.Unread || size > readWhole // together they would take long; what is read of them later is checked then
	var group errgroup.Group
	group.SetLimit(openAtOnce)
	for p, name := range all {
		group.Go(func() error {
			err := f.openOne(p, filepath.Join(f.dir, name), o)
			if errors.Is(err, store.ErrDamaged) {
				f.broke(p, err)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// list returns the names of the partitions' files, and deletes drafts.
func (f *Files) list() (map[store.Partition]string, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the directory of the partitions: %w", err)
	}
	all := map[store.Partition]string{}
	for _, e := range entries {
		if p, rest, ok := partitionIn(e.Name()); ok && rest == "" {
			all[p] = e.Name()
		} else if ok && strings.HasPrefix(rest, draftSuffix) && !f.readOnly {
			if err := os.Remove(filepath.Join(f.dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// fileName matches the name of a partition's file, or of what was made of it.
var fileName = regexp.MustCompile(`^(.+)-(\d+)\.db(\..*)?$`)

// partitionIn returns the partition of a file with a name, and what follows in it.
func partitionIn(name string) (p store.Partition, rest string, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return p, "", false
	}
	number, err := strconv.ParseInt(m[2], 10, 32)
	return store.Partition{Topic: m[1], Number: int32(number)}, m[3], err == nil
}

func (f *Files) path(p store.Partition) string {
	return filepath.Join(f.dir, fmt.Sprintf("%s-%d%s", p.Topic, p.Number, fileSuffix))
}

func (f *Files) openOne(p store.Partition, path string, o boltfile.Options) error {
	open := func() (*boltfile.Store, error) { return boltfile.OpenPartition(path, p, o) }
	if f.readOnly {
		open = func() (*boltfile.Store, error) { return boltfile.OpenReadOnly(path, o) }
	}
	s, err := open()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[p] = s
	return nil
}

// broke notes that the file of a partition could not be opened, and why.
func (f *Files) broke(p store.Partition, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken[p] = why
	f.log.Error("the file of a partition can't be used; the partition begins as on an empty disk", "partition", p, "error", why)
}

// Close closes all files.
func (f *Files) Close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.open {
		err = errors.Join(err, s.Close())
	}
	clear(f.open)
	return err
}

// Of returns the file of a partition; nil: there is none.
func (f *Files) Of(p store.Partition) *boltfile.Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[p]
}

// All returns all files, by topic and number.
func (f *Files) All() (all []*boltfile.Store) {
	for _, p := range f.partitions() {
		if s := f.Of(p); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// partitions returns those that have a file, by topic and number.
func (f *Files) partitions() []store.Partition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Keys(f.open), store.Partition.Compare)
}

// And returns the file of the store itself, and then all files.
func (f *Files) And(own *boltfile.Store) []*boltfile.Store {
	return append([]*boltfile.Store{own}, f.All()...)
}

// Broken returns the partitions whose files could not be used when they were opened, and why.
func (f *Files) Broken() map[store.Partition]error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.broken)
}

// Accounts returns the names of the accounts in all files, ascending.
func (f *Files) Accounts() (names []string, err error) {
	for _, s := range f.All() {
		some, err := s.Accounts()
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	slices.Sort(names)
	return names, nil
}

// Find returns the file that has an account. ErrNotFound if none has.
func (f *Files) Find(account string) (*boltfile.Store, error) {
	for _, s := range f.All() {
		if has, err := s.Has(account); has || err != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("account %s: %w", account, store.ErrNotFound)
}

// Begin makes a file for a partition, in the place of the one that it may have: begin gets it
// empty. On an error of begin there is what there was. ErrDamaged if the new file can't be read
// again: it was set aside, and the partition has no file.
func (f *Files) Begin(p store.Partition, begin func(*boltfile.Store) error) error {
	if err := boltfile.MakeDir(f.dir); err != nil {
		return err
	}
	path := f.path(p)
	draft := path + draftSuffix
	if err := boltfile.Remove(draft); err != nil {
		return err
	}
	s, err := boltfile.Open(draft, f.o)
	if err != nil {
		return err
	}
	if err := errors.Join(begin(s), s.Close()); err != nil {
		return errors.Join(err, boltfile.Remove(draft))
	}
	if err := f.let(p); err != nil { // first: a Compact of the old file would rename over the new one
		return err
	}
	if err := boltfile.Place(draft, path, true); err != nil {
		return err
	}
	return f.openOne(p, path, f.o)
}

// let closes the file of a partition.
func (f *Files) let(p store.Partition) error {
	f.mu.Lock()
	s := f.open[p]
	delete(f.open, p)
	delete(f.broken, p)
	f.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}

// Drop deletes the file of a partition.
func (f *Files) Drop(p store.Partition) error {
	return errors.Join(f.let(p), boltfile.Remove(f.path(p)), boltfile.SyncDir(f.dir))
}

// SetAside renames the file of a partition, which turned out to be damaged, and returns its new
// name, "" if somebody had deleted it. The partition has no file then.
func (f *Files) SetAside(p store.Partition) (aside string, err error) {
	if err := f.let(p); err != nil {
		f.log.Warn("closing a damaged file", "partition", p, "error", err)
	}
	return boltfile.SetAside(f.path(p))
}

// info returns what the file of a partition says of it; ok: it has one.
func (f *Files) info(p store.Partition) (info boltfile.PartitionInfo, ok bool, err error) {
	s := f.Of(p)
	if s == nil {
		return info, false, nil
	}
	info, err = s.PartitionInfo()
	return info, err == nil, err
}

// scrub is Scrub for all files. Where one is damaged, the others go on.
func (f *Files) scrub(ctx context.Context) (err error) {
	for _, s := range f.All() {
		if failed := s.Scrub(ctx); !errors.Is(failed, store.ErrClosed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// Damaged returns the damaged files that were set aside, by partition, for as long as they lie
// there.
func (f *Files) Damaged() map[store.Partition][]string {
	entries, _ := os.ReadDir(f.dir)
	all := map[store.Partition][]string{}
	for _, e := range entries {
		if p, rest, ok := partitionIn(e.Name()); ok && strings.HasPrefix(rest, boltfile.DamagedInfix) {
			all[p] = append(all[p], filepath.Join(f.dir, e.Name()))
		}
	}
	return all
}
