// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"path"
	"strings"

	"github.com/hinged/hinged/internal/face/dashboard/plot"
)

//go:embed templates
var templateFiles embed.FS

// templates are the pages, each with the layout and all shared parts, by the name of its
// file.
type templates map[string]*template.Template

// view is what a template is given: the page, and the data of this one.
type view struct {
	P *page
	D any
}

// functions are what templates can call.
var functions = template.FuncMap{
	"asset":  assetPath,
	"signed": plot.Signed,
	"glyph":  plot.Glyph,
	"meter":  plot.Meter,
	"pull":   plot.Pull,
	"score":  plot.Score,
	"count":  count,
	"plural": plural,
	"curly":  curly,
	"title":  title,
	"lower":  lower,
	"on":     func(p *page, d any) view { return view{p, d} },
}

// parseTemplates reads the pages: templates/pages/*.html, with templates/parts/*.html.
func parseTemplates() (templates, error) {
	base, err := template.New("").Funcs(functions).ParseFS(templateFiles, "templates/parts/*.html")
	if err != nil {
		return nil, err
	}
	pages, err := templateFiles.ReadDir("templates/pages")
	if err != nil {
		return nil, err
	}
	all := templates{"": base}
	for _, f := range pages {
		t, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if t, err = t.ParseFS(templateFiles, path.Join("templates/pages", f.Name())); err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(f.Name(), ".html")] = t
	}
	return all, nil
}

// render sends a page. Nothing is sent before all of it is made.
func (s *Server) render(w http.ResponseWriter, _ *http.Request, p *page, name string, data any) error {
	var b bytes.Buffer
	t, ok := s.templates[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	if p.Account != "" && !p.told && name != "error" {
		s.told(p, nil)
	}
	if err := t.ExecuteTemplate(&b, "layout", view{p, data}); err != nil {
		return fmt.Errorf("making the page %s: %w", name, err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = b.WriteTo(w) // a browser that is gone needs no page
	return nil
}

// count writes a whole number of any kind with commas.
func count(n any) string {
	switch n := n.(type) {
	case int:
		return plot.Count(int64(n))
	case int64:
		return plot.Count(n)
	case uint64:
		return plot.Count(int64(min(n, math.MaxInt64)))
	case uint32:
		return plot.Count(int64(n))
	}
	return fmt.Sprint(n)
}

// percent writes a share: 10.5 %, and whole ones from 20 % on.
func percent(share float64) string {
	switch {
	case math.IsNaN(share):
		return "–"
	case share > 0 && share < 0.0005:
		return "under 0.1 %"
	case share < 0.1995 && share != 0:
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// title begins words of ours as a sentence does.
func title(s string) string {
	n := min(1, len(s))
	return strings.ToUpper(s[:n]) + s[n:]
}

// plural writes a number with its noun: 1 message, 2 messages.
func plural(n any, one, more string) string {
	words := count(n)
	if words == "1" {
		return words + " " + one
	}
	return words + " " + more
}

// lower begins a clause with what could begin a sentence.
func lower(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToLower(sentence[:1]) + sentence[1:]
}
