// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// asset is a file that pages use.
type asset struct {
	content []byte
	kind    string
	sum     string // of the content: another version has another address
}

// assets are the files by their names.
var assets = func() map[string]asset {
	out := map[string]asset{}
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := staticFiles.ReadFile(name)
		sum := sha256.Sum256(content)
		kind := map[string]string{
			".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
		}[path.Ext(name)]
		out[strings.TrimPrefix(name, "static/")] = asset{content, kind, hex.EncodeToString(sum[:8])}
		return err
	})
	if err != nil {
		panic(err) // files in the program itself
	}
	return out
}()

// assetPath is the address of a file: it changes with the content, so that browsers may
// keep the file for good.
func assetPath(name string) string { return "/static/" + name + "?v=" + assets[name].sum }

// static answers with a file.
func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[strings.TrimPrefix(r.URL.Path, "/static/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "GET it.", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", `"`+a.sum+`"`)
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.sum {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Header.Get("If-None-Match") == `"`+a.sum+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(a.content) // whoever asked has gone if this fails
}
