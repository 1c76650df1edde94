// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stdinPath stands for standard input.
const stdinPath = "-"

// entry is one file to read.
type entry struct {
	path   string
	size   int64
	single bool // one message, even when it begins with "From "
	flags  []string
	date   time.Time // only where the order is by date
	sort   string    // only in a Maildir: by what to sort instead of the path
	failed error     // what went wrong with the entry before, to be told
}

// list returns the files behind one path, in order.
func list(path string, order Order) ([]entry, error) {
	if path == stdinPath {
		return []entry{{path: path}}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	if !info.IsDir() {
		return []entry{{path: path, size: info.Size()}}, nil
	}
	entries, err := listFolder(path)
	if err != nil {
		return nil, fmt.Errorf("list archive %s: %w", path, err)
	}
	if order == ByDate {
		for i := range entries {
			entries[i].date = dateOf(entries[i].path)
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if order == ByDate {
			switch {
			case a.date.IsZero() != b.date.IsZero():
				// What has no date comes last.
				if a.date.IsZero() {
					return 1
				}
				return -1
			case !a.date.Equal(b.date):
				return a.date.Compare(b.date)
			}
		}
		return cmp.Or(strings.Compare(cmp.Or(a.sort, a.path), cmp.Or(b.sort, b.path)), strings.Compare(a.path, b.path))
	})
	return entries, nil
}

// listFolder returns the files of a tree. WalkDir follows no link, not even its root, and
// a path may end in a slash, so the tree is walked by its true name. The files are named as
// the path was given.
func listFolder(path string) ([]entry, error) {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	w := walk{root: root, maildirs: map[string]bool{}}
	if err := filepath.WalkDir(root, w.visit); err != nil {
		return nil, err
	}
	for i := range w.entries {
		below, err := filepath.Rel(root, w.entries[i].path)
		if err != nil {
			return nil, err
		}
		w.entries[i].path = filepath.Join(path, below)
	}
	return w.entries, nil
}

// walk collects the files of a tree.
type walk struct {
	root     string
	maildirs map[string]bool
	entries  []entry
}

func (w *walk) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if d.IsDir() {
		return w.enter(path)
	}
	// Files of a Maildir itself are indexes of servers.
	if strings.HasPrefix(d.Name(), ".") || w.maildirs[filepath.Dir(path)] {
		return nil
	}
	// Links to files are followed; links to folders could lead in a circle.
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		w.entries = append(w.entries, entry{path: path, size: info.Size(), single: !isMboxName(path)})
	}
	return nil
}

// enter decides what to do with a folder: the messages of a Maildir are listed
// at once, its subfolders (Maildir++) and any other folder are walked.
func (w *walk) enter(folder string) error {
	if isMaildir(folder) {
		w.maildirs[folder] = true
		found, err := listMaildir(folder)
		w.entries = append(w.entries, found...)
		return err
	}
	name := filepath.Base(folder)
	if folder == w.root {
		return nil
	}
	if strings.HasPrefix(name, ".") || w.maildirs[filepath.Dir(folder)] && (name == "cur" || name == "new" || name == "tmp") {
		return fs.SkipDir
	}
	return nil
}

// isMboxName reports whether a file of a folder holds many messages.
func isMboxName(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".mbox")
}

// dateOf returns the date of the first message in a file; zero when it can't be
// read, which its turn to be read will tell.
func dateOf(path string) time.Time {
	s, err := openStream(path, nil)
	if err != nil {
		return time.Time{}
	}
	defer s.close()
	head := make([]byte, headerBytes)
	n, _ := fill(s, head) // what was read may have a date
	if date := fromLineDate(head[:fromLineEnd(head[:n])]); !date.IsZero() {
		return date
	}
	return headerDate(head[:n])
}
