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
// a configuration with a password, is none of them.
func (r *release) tracked(ctx context.Context) ([]item, error) {
	names, err := exec.CommandContext(ctx, "git", "-C", r.root, "ls-files", "-z").Output()
	var items []item
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if err == nil {
			items, err = added(items, r.root, name)
		}
	}
	return items, err
}

// itemsBelow returns the files below a directory.
func itemsBelow(dir string) (items []item, err error) {
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			items, err = added(items, dir, name)
		}
		return err
	})
	return items, err
}

// added appends a file below dir. Of its mode only whether it can be run is kept.
func added(items []item, dir, name string) ([]item, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	i := item{to: name, mode: 0o644, text: text}
	if info.Mode()&0o111 != 0 {
		i.mode = 0o755
	}
	return append(items, i), nil
}
