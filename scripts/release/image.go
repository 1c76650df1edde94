// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user that the image runs as, who owns its state.
const nobody = 65532

// certificates are Mozilla's roots in PEM, of the version in go.sum: those of the machine
// that builds would be others tomorrow.
func certificates() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Buffer takes all
	}
	return out.Bytes()
}

// layer packs the files of an image.
func (r *release) layer(binary string) (v1.Layer, error) {
	items := []item{{to: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: certificates()}, {to: "var/lib/hinged/", mode: 0o700, owner: nobody}}
	for to, from := range map[string]string{
		"usr/local/bin/hinged":         binary,
		"usr/share/doc/hinged/LICENSE": filepath.Join(r.root, "LICENSE"),
		"usr/share/doc/hinged/NOTICE":  filepath.Join(r.root, "NOTICE"),
	} {
		var err error
		if items, err = added(items, filepath.Dir(from), filepath.Base(from)); err != nil {
			return nil, err
		}
		items[len(items)-1].to = to
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.to, b.to) })
	var packed bytes.Buffer
	if err := r.tarred(&packed, items); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// image adds the image for one system to those of the release. It is the one that the
// Dockerfile makes; a test compares them.
func (r *release) image(binary string, t target) error {
	layer, err := r.layer(binary)
	if err != nil {
		return err
	}
	img, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: t.os, Architecture: t.arch, Created: v1.Time{Time: r.at}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: "65532:65532", StopSignal: "SIGTERM", Volumes: map[string]struct{}{"/var/lib/hinged": {}},
			Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "STATE_DIRECTORY=/var/lib/hinged"},
			Entrypoint: []string{"/usr/local/bin/hinged"}, Cmd: []string{"run", "--config", "/etc/hinged/hinged.toml"},
			Labels: map[string]string{
				"org.opencontainers.image.title": "hinged", "org.opencontainers.image.description": "marks the mail that matters to its owner",
				"org.opencontainers.image.source": "https://github.com/hinged/hinged", "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version": r.version, "org.opencontainers.image.revision": r.commit,
			},
		},
	})
	if err != nil {
		return err
	}
	img, err = mutate.AppendLayers(img, layer)
	if err != nil {
		return err
	}
	r.images = append(r.images, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: t.os, Architecture: t.arch}}})
	return nil
}

// imageArchive writes the images of all systems as one: an OCI image layout in a tar.
func (r *release) imageArchive() error {
	if len(r.images) == 0 {
		return nil
	}
	dir, err := layout.Write(filepath.Join(r.work, "oci"), empty.Index)
	if err != nil {
		return err
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), r.images...)
	// The names by which skopeo and podman, and by which docker load know it.
	names := map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/hinged:" + r.version}
	if err := dir.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	items, err := itemsBelow(string(dir))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := r.tarred(&packed, items); err != nil {
		return err
	}
	return os.WriteFile(r.file("hinged-%s-oci.tar", r.version), packed.Bytes(), 0o644)
}
