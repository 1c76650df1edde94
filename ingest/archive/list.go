// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// stdinPath stands for standard input.
const stdinPath = "-"

// entry is one file to read.
type entry struct {
	path   string
	size   int64
	source int  // number of the path it is behind
	named  bool // by the caller, rather than found in a folder
	single bool // one message, even when it begins with "From "
	emlx   bool // one of Apple Mail
	flags  []string
	sort   string   // only in a Maildir or MH folder: by what to sort instead of the path
	file   *os.File // to read pieces of
}

// list returns the files behind one path, in order.
func list(path string) ([]*entry, error) {
	if path == stdinPath {
		return []*entry{{path: path, named: true}}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	if !info.IsDir() {
		emlx := strings.EqualFold(filepath.Ext(path), emlxName)
		return []*entry{{path: path, size: info.Size(), named: true, single: emlx, emlx: emlx}}, nil
	}
	entries, err := listFolder(path)
	if err != nil {
		return nil, fmt.Errorf("list archive %s: %w", path, err)
	}
	slices.SortStableFunc(entries, func(a, b *entry) int {
		return cmp.Or(strings.Compare(cmp.Or(a.sort, a.path), cmp.Or(b.sort, b.path)), strings.Compare(a.path, b.path))
	})
	return entries, nil
}

// listFolder returns the files of a tree. WalkDir follows no link, not even its root, and
// a path may end in a slash, so the tree is walked by its true name. The files are named as
// the path was given.
func listFolder(path string) ([]*entry, error) {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	w := walk{root: root, maildirs: map[string]bool{}, sequences: map[string]sequences{}}
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
	root      string
	maildirs  map[string]bool
	sequences map[string]sequences // of MH folders
	entries   []*entry
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
	if !info.Mode().IsRegular() {
		return nil
	}
	e := &entry{path: path, size: info.Size()}
	e.single, e.emlx = isMessageName(d.Name())
	folder := filepath.Dir(path)
	if n, err := strconv.Atoi(d.Name()); err == nil && w.sequences[folder] != nil {
		e.flags, e.sort = w.sequences[folder][n], fmt.Sprintf("%s/%020d", folder, n)
	}
	w.entries = append(w.entries, e)
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
	if mh := readSequences(filepath.Join(folder, ".mh_sequences")); mh != nil {
		w.sequences[folder] = mh
	}
	name := filepath.Base(folder)
	if folder == w.root {
		return nil
	}
	// Attachments are those of Apple Mail's messages beside it.
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "Messages")); err == nil && name == "Attachments" {
		return fs.SkipDir
	}
	// KMail keeps the subfolders of Inbox in .Inbox.directory.
	if strings.HasPrefix(name, ".") && !strings.HasSuffix(name, ".directory") || w.maildirs[filepath.Dir(folder)] && (name == "cur" || name == "new" || name == "tmp") {
		return fs.SkipDir
	}
	return nil
}

// isMessageName reports whether a file of a folder is one message by its name: a number
// (MH), also with a hash behind it as in SpamAssassin's corpus, or one in .eml or .emlx.
func isMessageName(name string) (single, emlx bool) {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".zst")
	emlx = strings.HasSuffix(name, emlxName)
	return emlx || strings.HasSuffix(name, ".eml") || numbered.MatchString(name), emlx
}

var numbered = regexp.MustCompile(`^[0-9]+(\.[0-9a-f]{32}.*)?$`)
