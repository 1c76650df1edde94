// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bill writes what a binary is made of, as the binary itself tells it, in CycloneDX.
func (r *release) bill(binary string, t target) error {
	built, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	licences, err := r.licences()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	main := &cdx.Component{
		BOMRef: "hinged", Type: cdx.ComponentTypeApplication, Name: "hinged", Version: r.version,
		PackageURL: fmt.Sprintf("pkg:golang/%s@v%s?goos=%s&goarch=%s", built.Main.Path, r.version, t.os, t.arch),
		Licenses:   licensed("Apache-2.0"),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = ""
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: main}
	parts := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(built.GoVersion, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(built.GoVersion, "go"), Licenses: licensed("BSD-3-Clause"),
	}}
	for _, m := range built.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		licence, known := licences[m.Path+" "+m.Version]
		if !known {
			return fmt.Errorf("NOTICE has no licence of %s %s; run make notice", m.Path, m.Version)
		}
		parts = append(parts, component(m, licence))
	}
	refs := make([]string, len(parts))
	for i := range parts {
		refs[i] = parts[i].BOMRef
	}
	bom.Components = &parts
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(r.file("hinged_%s_%s.cdx.json", r.version, t), out.Bytes(), 0o644)
}

func component(m *debug.Module, licence string) cdx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url, Licenses: licensed(licence),
		// What go.sum has of it: no hash that CycloneDX knows.
		Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}},
	}
}

// licensed gives licences, separated by commas, by their names of SPDX.
func licensed(names string) *cdx.Licenses {
	var out cdx.Licenses
	for name := range strings.SplitSeq(names, ", ") {
		out = append(out, cdx.LicenseChoice{License: &cdx.License{Name: name}})
	}
	return &out
}

// licences reads NOTICE: the licences of each "module version".
func (r *release) licences() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "NOTICE"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if module, names, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Count(module, " ") == 1 {
			out[module] = names
		}
	}
	return out, nil
}
