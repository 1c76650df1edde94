// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var staticFiles embed.FS

type asset struct {
	content []byte
	kind    string
	sum     string // of the content: another version has another address
}

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
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
