// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// item is one file that is installed: what is in it, and where it goes below a prefix such
// as /usr.
type item struct {
	to   string
	mode os.FileMode
	text []byte
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
		out = append(out, item{to, 0o644, text})
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
	items = append([]item{{"bin/hinged", 0o755, program}}, items...)
	top := fmt.Sprintf("hinged_%s_%s", r.number(), t)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, i := range items {
		h := &tar.Header{Name: top + "/" + i.to, Mode: int64(i.mode), Size: int64(len(i.text)), ModTime: r.at, Typeflag: tar.TypeReg, Uname: "root", Gname: "root"}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(i.text); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return err
	}
	return os.WriteFile(r.file("%s.tar.gz", top), packed.Bytes(), 0o644)
}

// number is the version without the v of its tag.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

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
