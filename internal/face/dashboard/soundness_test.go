// SPDX-License-Identifier: Apache-2.0

package dashboard_test

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// all returns the elements of a page with a name, which may be followed by .class or #id.
func (r reply) all(what string) (out []*html.Node) {
	name, class, _ := strings.Cut(what, ".")
	name, id, _ := strings.Cut(name, "#")
	for n := range r.root.Descendants() {
		if n.Type == html.ElementNode && (name == "" || n.Data == name) &&
			(class == "" || slices.Contains(strings.Fields(attr(n, "class")), class)) && (id == "" || attr(n, "id") == id) {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// words is the text in an element, with single spaces.
func words(n *html.Node) string {
	var b strings.Builder
	for n := range n.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// text is the text of all elements like that.
func (r reply) text(what string) string {
	var all []string
	for _, n := range r.all(what) {
		all = append(all, words(n))
	}
	return strings.Join(all, "\n")
}

// form returns the fields of the form that goes to action.
func (r reply) form(action string) url.Values {
	r.t.Helper()
	for _, f := range r.all("form") {
		if attr(f, "action") == action && strings.EqualFold(attr(f, "method"), "post") {
			out := url.Values{}
			for n := range f.Descendants() {
				if n.Type == html.ElementNode && n.Data == "input" {
					out.Add(attr(n, "name"), attr(n, "value"))
				}
			}
			return out
		}
	}
	r.t.Fatalf("no form goes to %s", action)
	return nil
}

// sound demands of a page what all pages must keep: no style or script of its own, forms
// that prove where they come from, labels, headings in order, one of each id, tables with
// headers.
func (r reply) sound(path string) {
	r.t.Helper()
	ids := map[string]bool{}
	level := 0
	for n := range r.root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				r.t.Errorf("%s: <%s> has the attribute %s=%q", path, n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "action") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
				r.t.Errorf("%s: a link to %s", path, a.Val)
			}
			if strings.Contains(a.Val, "ZgotmplZ") {
				r.t.Errorf("%s: <%s %s> was not safe", path, n.Data, a.Key)
			}
		}
		if id := attr(n, "id"); id != "" {
			if ids[id] {
				r.t.Errorf("%s: the id %s twice", path, id)
			}
			ids[id] = true
		}
		switch n.Data {
		case "style":
			r.t.Errorf("%s: a style of its own", path)
		case "script":
			if !strings.HasPrefix(attr(n, "src"), "/static/") {
				r.t.Errorf("%s: a script %q", path, attr(n, "src"))
			}
		case "form":
			r.soundForm(path, n)
		case "h1", "h2", "h3":
			if now := int(n.Data[1] - '0'); now > level+1 {
				r.t.Errorf("%s: <%s>%s after h%d", path, n.Data, words(n), level)
			} else {
				level = now
			}
		case "th":
			if attr(n, "scope") == "" {
				r.t.Errorf("%s: a header without scope: %s", path, words(n))
			}
		case "table":
			if !slices.ContainsFunc(slices.Collect(n.Descendants()), func(c *html.Node) bool { return c.Data == "caption" }) {
				r.t.Errorf("%s: a table without caption", path)
			}
		case "svg":
			if attr(n, "aria-hidden") != "true" && (attr(n, "role") != "img" || attr(n, "aria-label") == "") {
				r.t.Errorf("%s: a picture that nobody can hear", path)
			}
		case "input", "select":
			id := attr(n, "id")
			if attr(n, "type") != "hidden" && !has(n, "aria-label") && !slices.ContainsFunc(r.all("label"), func(l *html.Node) bool { return id != "" && attr(l, "for") == id }) {
				r.t.Errorf("%s: no label for %s", path, attr(n, "name"))
			}
		case "button":
			if words(n) == "" && attr(n, "aria-label") == "" {
				r.t.Errorf("%s: a button without a name", path)
			}
		}
	}
	if n := len(r.all("h1")); n != 1 {
		r.t.Errorf("%s: %d first headings", path, n)
	}
	if r.text("title") == "" {
		r.t.Errorf("%s: no title", path)
	}
}

func (r reply) soundForm(path string, form *html.Node) {
	r.t.Helper()
	proven := false
	for n := range form.Descendants() {
		proven = proven || n.Type == html.ElementNode && n.Data == "input" && attr(n, "name") == "csrf" && attr(n, "value") != ""
	}
	if post := strings.EqualFold(attr(form, "method"), "post"); post != proven {
		r.t.Errorf("%s: the form to %s is a post: %v, and has a field csrf: %v", path, attr(form, "action"), post, proven)
	}
}
