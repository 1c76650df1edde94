// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// item is one file that is installed or packed: what is in it, and where it goes below a
// prefix such as /usr.
type item struct {
	to    string // of a directory it ends in a slash
	mode  os.FileMode
	text  []byte
	owner int // user and group, by number
}

// content returns what is installed besides the program, in order of path. The units start
// the program below prefix.
func (r *release) content(prefix string) ([]item, error) {
	var out []item
	var errs []error
	add := func(to, from string, change ...string) {
		text, err := os.ReadFile(from)
		errs = append(errs, err)
		text = []byte(strings.NewReplacer(change...).Replace(string(text)))
		out = append(out, item{to: to, mode: 0o644, text: text})
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		add("share/doc/hinged/"+name, filepath.Join(r.root, name))
	}
	add("share/doc/hinged/hinged.toml.example", filepath.Join(r.root, "config/example.toml"))
	program := []string{"/usr/local/bin/", path.Join(prefix, "bin") + "/"}
	add("lib/systemd/system/hinged.service", filepath.Join(r.root, "deploy/hinged.service"), program...)
	add("lib/systemd/user/hinged.service", filepath.Join(r.root, "deploy/hinged-user.service"), program...)
	add("share/bash-completion/completions/hinged", r.man("hinged"))
	add("share/zsh/site-functions/_hinged", r.man("_hinged"))
	add("share/fish/vendor_completions.d/hinged.fish", r.man("hinged.fish"))
	pages, err := filepath.Glob(r.man("*.[15]"))
	errs = append(errs, err)
	if len(pages) == 0 {
		errs = append(errs, errors.New("there are no manual pages"))
	}
	for _, page := range pages {
		name := filepath.Base(page)
		add("share/man/man"+name[len(name)-1:]+"/"+name, page)
	}
	slices.SortFunc(out, func(a, b item) int { return strings.Compare(a.to, b.to) })
	return out, errors.Join(errs...)
}

// archive packs the program and all that belongs to it. It can be unpacked below /usr/local.
func (r *release) archive(binary string, t target) error {
	items, err := r.content("/usr/local")
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	items = append([]item{{to: "bin/hinged", mode: 0o755, text: program}}, items...)
	top := fmt.Sprintf("hinged_%s_%s", r.version, t)
	packed, err := r.zipped(top, items)
	if err != nil {
		return err
	}
	return os.WriteFile(r.file("%s.tar.gz", top), packed, 0o644)
}

// zipped packs items below the directory top, compressed.
func (r *release) zipped(top string, items []item) ([]byte, error) {
	below := slices.Clone(items)
	for n := range below {
		below[n].to = top + "/" + below[n].to
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed) // the best compression takes twice the time for 1 % less
	err := errors.Join(r.tarred(z, below), z.Close())
	return packed.Bytes(), err
}

// tarred writes items to w in their order, with the time of the commit.
func (r *release) tarred(out io.Writer, items []item) error {
	w := tar.NewWriter(out)
	for _, i := range items {
		h := &tar.Header{Name: i.to, Mode: int64(i.mode), Size: int64(len(i.text)), ModTime: r.at, Uid: i.owner, Gid: i.owner}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(i.text); err != nil {
			return err
		}
	}
	return w.Close()
}

// squeezed compresses a manual page as packages have them, with no name and no time.
func squeezed(text []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	return out.Bytes(), errors.Join(err, z.Close())
}
