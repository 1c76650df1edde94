// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// isMaildir reports whether a folder is a Maildir: it has cur or new in it.
func isMaildir(folder string) bool {
	for _, sub := range []string{"cur", "new"} {
		if info, err := os.Stat(filepath.Join(folder, sub)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// listMaildir returns the messages in cur and new of one Maildir, those of its
// subfolders not among them.
func listMaildir(folder string) ([]*entry, error) {
	keywords, err := dovecotKeywords(filepath.Join(folder, "dovecot-keywords"))
	if err != nil {
		return nil, err
	}
	var entries []*entry
	for _, sub := range []string{"cur", "new"} {
		files, err := os.ReadDir(filepath.Join(folder, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			path := filepath.Join(folder, sub, f.Name())
			info, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // delivered or renamed meanwhile
			}
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(f.Name(), ".") || !info.Mode().IsRegular() {
				continue
			}
			base, flags := splitMaildirName(f.Name(), keywords)
			entries = append(entries, &entry{path: path, size: info.Size(), single: true, flags: flags, sort: maildirKey(base)})
		}
	}
	return entries, nil
}

// splitMaildirName separates the unique part of a name from its flags
// (maildir(5); the letters of keywords are Dovecot's). The mark before "2," is
// another one where file systems take no colon.
func splitMaildirName(name string, keywords map[byte]string) (base string, flags []string) {
	base = name
	at := strings.LastIndex(name, "2,")
	if at < 1 || !strings.ContainsRune(":;!", rune(name[at-1])) {
		return base, nil
	}
	base = name[:at-1]
	letters, _, _ := strings.Cut(name[at+len("2,"):], ",")
	for _, letter := range []byte(letters) {
		switch letter {
		case 'P':
			flags = append(flags, "$Forwarded")
		case 'R':
			flags = append(flags, `\Answered`)
		case 'S':
			flags = append(flags, `\Seen`)
		case 'T':
			flags = append(flags, `\Deleted`)
		case 'D':
			flags = append(flags, `\Draft`)
		case 'F':
			flags = append(flags, `\Flagged`)
		default:
			if keyword, ok := keywords[letter]; ok {
				flags = append(flags, keyword)
			}
		}
	}
	return base, flags
}

// maildirKey returns what sorts the names of a Maildir by time: they begin with
// the second of delivery, whose number of digits may differ.
func maildirKey(base string) string {
	digits := strings.IndexFunc(base, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(base)
	}
	return strings.Repeat("0", max(0, 20-digits)) + base
}

// dovecotKeywords reads Dovecot's list of the keywords that the letters a to z
// stand for: lines such as "0 $Important". There need not be one.
func dovecotKeywords(path string) (map[byte]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keywords := map[byte]string{}
	for line := range strings.Lines(string(data)) {
		number, keyword, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n < 26 {
			keywords[byte('a'+n)] = keyword
		}
	}
	return keywords, nil
}
