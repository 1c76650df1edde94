// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source packs the source with all modules, so that it builds without a network, and writes
// the formula of Homebrew, which builds it.
func (r *release) source(ctx context.Context) error {
	items, err := r.tracked(ctx)
	if err != nil {
		return err
	}
	vendor := filepath.Join(r.work, "source", "vendor")
	if err := r.run(ctx, nil, r.goTool, "mod", "vendor", "-o", vendor); err != nil {
		return err
	}
	modules, err := itemsBelow(filepath.Dir(vendor))
	if err != nil {
		return err
	}
	// Git is not in it to say what the commit was.
	items = append(append(items, modules...), item{to: "COMMIT", mode: 0o644, text: []byte(r.commit + "\n")})
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.to, b.to) })
	packed, err := r.zipped("hinged-"+r.version, items)
	if err != nil {
		return err
	}
	formula, err := os.ReadFile(filepath.Join(r.root, "deploy/homebrew/hinged.rb"))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(packed)
	text := strings.NewReplacer("@VERSION@", r.version, "@SHA256@", hex.EncodeToString(sum[:])).Replace(string(formula))
	if err := os.WriteFile(r.file("hinged-%s.tar.gz", r.version), packed, 0o644); err != nil {
		return err
	}
	return os.WriteFile(r.file("hinged.rb"), []byte(text), 0o644)
}

// tracked returns the files of the checkout that git knows. What somebody left there, such as
// a configuration with a password, is none of them. Without git it returns all that an
// archive of the source has, but not its modules.
func (r *release) tracked(ctx context.Context) ([]item, error) {
	if _, err := os.Stat(filepath.Join(r.root, ".git")); err == nil {
		names, err := exec.CommandContext(ctx, "git", "-C", r.root, "ls-files", "-z").Output()
		if err != nil {
			return nil, err
		}
		var items []item
		for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
			i, err := itemOf(r.root, name)
			if err != nil {
				return nil, err
			}
			items = append(items, i)
		}
		return items, nil
	}
	return itemsBelow(r.root, "vendor", "dist", ".bin", "COMMIT")
}

// itemsBelow returns the regular files below a directory, without some entries of it.
func itemsBelow(dir string, without ...string) (items []item, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(without, name) && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular() || slices.Contains(without, name):
			return nil
		}
		i, err := itemOf(dir, filepath.ToSlash(name))
		items = append(items, i)
		return err
	})
	return items, err
}

// itemOf reads a file below dir. Of its mode only whether it can be run is kept.
func itemOf(dir, name string) (item, error) {
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return item{}, err
	}
	i := item{to: name, mode: 0o644}
	if info.Mode()&0o111 != 0 {
		i.mode = 0o755
	}
	i.text, err = os.ReadFile(path)
	return i, err
}
