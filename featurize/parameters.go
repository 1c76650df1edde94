// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"maps"
	"mime"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxParameters bounds the parameters of one field that breaks the rules.
const maxParameters = 100

// readParameters reads the value of a Content-Type or Content-Disposition field, which is sound
// if nothing is wrong with it. The mime package drops values in most charsets (RFC 2231).
func readParameters(value string) (head string, params map[string]string, sound bool) {
	head, params, err := mime.ParseMediaType(value)
	if err != nil || strings.IndexByte(value, '*') >= 0 {
		head, params = looseParameters(value)
	}
	return head, params, err == nil
}

// looseParameters reads what it can of a value that breaks the rules; of parameters of one name
// the first counts. Values stay in their charsets.
//
// QUIRK: "text/html; charset=a; charset=b", "multipart/mixed; boundary=----=_Part_1",
// "application/pdf name=a.pdf": the type, a boundary and a charset may be right nevertheless.
func looseParameters(value string) (head string, params map[string]string) {
	head, rest, _ := strings.Cut(value, ";")
	if i := strings.IndexAny(head, " \t"); i > 0 && strings.IndexByte(head[i:], '=') > 0 {
		head, rest = head[:i], value[i:]
	}
	params = map[string]string{}
	for n := 0; rest != "" && n < maxParameters; n++ {
		var name, v string
		name, v, rest = cutParameter(rest)
		if base, encoded := strings.CutSuffix(name, "*"); encoded { // RFC 2231: a charset, and %
			v = v[strings.LastIndexByte(v, '\'')+1:]
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
			if name = base; !strings.Contains(base, "*") {
				name = base + "*0" // the only piece
			}
		}
		if params[name] == "" && name != "" {
			params[name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		base, pieces := strings.CutSuffix(name, "*0")
		if !pieces {
			continue
		}
		params[base] = ""
		for n := 0; ; n++ {
			name := base + "*" + strconv.Itoa(n)
			piece, more := params[name]
			if !more {
				break
			}
			params[base] += piece
			delete(params, name)
		}
	}
	return strings.ToLower(strings.Trim(head, " \t\"<>,")), params
}

// cutParameter reads the first parameter of a list, its name in lower case. Quotes stand
// unescaped in file names: a value ends at the one behind which the parameter ends, or else at
// the first.
func cutParameter(list string) (name, value, rest string) {
	end := strings.IndexAny(list, "=;")
	switch {
	case end < 0:
		return "", "", ""
	case list[end] == ';':
		return "", "", list[end+1:]
	}
	name, list = strings.ToLower(strings.Trim(list[:end], " \t,")), strings.TrimLeft(list[end+1:], " \t")
	if list != "" && list[0] == '"' {
		first := 0 // quote
		for i := 1; i < len(list); i++ {
			if list[i] == '\\' {
				i++
				continue
			}
			if list[i] != '"' {
				continue
			}
			if first == 0 {
				first = i
			}
			if after := strings.TrimLeft(list[i+1:], " \t"); after == "" || after[0] == ';' || after[0] == '(' {
				return name, unescaper.Replace(list[1:i]), after
			}
		}
		if first > 0 {
			return name, unescaper.Replace(list[1:first]), list[first+1:]
		}
	}
	value, rest, _ = strings.Cut(list, ";")
	value = strings.TrimSpace(value)
	if i := strings.Index(value, " ("); i > 0 && value[len(value)-1] == ')' {
		value = value[:i] // a comment
	}
	return name, strings.Trim(value, "\" \t"), rest
}

// unescaper leaves the backslashes of a path.
var unescaper = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// extensionOf returns the end of a file name with its dot in lower case. The name may be a path,
// and end in dots and blanks, which Windows drops.
func (f *Featurizer) extensionOf(name string) string {
	if strings.Contains(name, "=?") { // against RFC 2047, section 5, but usual
		name = f.headerText([]byte(name))
	}
	name = strings.TrimRight(name[strings.LastIndexAny(name, `/\`)+1:], ". \t\r\n\"'")
	ext := strings.ToValidUTF8(strings.ToLower(path.Ext(name)), "\uFFFD")
	if strings.ContainsAny(ext, " \t") {
		return ""
	}
	return truncate(ext, 16)
}
