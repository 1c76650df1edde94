// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // makes packages for Debian
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // makes packages for RPM
)

// packages makes those for Debian and for RPM.
func (r *release) packages(binary string, t target) error {
	contents, err := r.installed(binary, t)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := r.pack(format, t, contents); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

// installed lays down what a package has, and returns where from and where to.
func (r *release) installed(binary string, t target) (files.Contents, error) {
	items, err := r.content("/usr")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.work, t.String(), "packages")
	info := func(mode os.FileMode) *files.ContentFileInfo {
		return &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at}
	}
	// The unit runs as a user that systemd makes for as long as it runs, so the package has
	// none. Whoever looks after hinged writes its configuration there.
	out := files.Contents{
		{Destination: "/etc/hinged", Type: files.TypeDir, FileInfo: info(0o755)},
		{Source: binary, Destination: "/usr/bin/hinged", FileInfo: info(0o755)},
	}
	for _, i := range items {
		if strings.HasPrefix(i.to, "share/man/") {
			if i.text, err = squeezed(i.text); err != nil {
				return nil, err
			}
			i.to += ".gz"
		}
		if i.to == "share/doc/hinged/LICENSE" {
			i.to = "share/doc/hinged/copyright" // Debian's name for it
		}
		from := filepath.Join(dir, i.to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(from, i.text, i.mode); err != nil {
			return nil, err
		}
		out = append(out, &files.Content{Source: from, Destination: "/usr/" + i.to, FileInfo: info(i.mode)})
	}
	return out, nil
}

// pack makes one package.
func (r *release) pack(format string, t target, contents files.Contents) error {
	script := func(name string) string { return filepath.Join(r.root, "scripts/release/package", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "hinged", Arch: t.arch, Platform: t.os, Version: r.version, Release: "1",
		Section: "mail", Priority: "optional", Maintainer: "hinged <hinged@example.invalid>", Vendor: "hinged",
		Homepage: "https://github.com/hinged/hinged", License: "Apache-2.0", MTime: r.at, DisableGlobbing: true,
		Description: "marks the mail that matters to its owner\nhinged watches IMAP mailboxes or a Kafka stream, marks the messages that\nmatter, and learns from what the owner does.",
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts:  nfpm.Scripts{PostInstall: script("postinstall"), PreRemove: script("preremove"), PostRemove: script("postremove")},
			RPM:      nfpm.RPM{BuildHost: "localhost", Summary: "marks the mail that matters to its owner"},
			Deb:      nfpm.Deb{Fields: map[string]string{"Bugs": "https://github.com/hinged/hinged/issues"}},
		},
	})
	if format == "deb" {
		info.Recommends = []string{"ca-certificates"}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := packager.Package(info, &packed); err != nil {
		return err
	}
	return os.WriteFile(r.file("%s", packager.ConventionalFileName(info)), packed.Bytes(), 0o644)
}
