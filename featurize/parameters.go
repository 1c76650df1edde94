// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"cmp"
	"mime"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// maxParameters bounds the parameters of one field that breaks the rules.
const maxParameters = 100

// readParameters reads the value of a Content-Type or Content-Disposition field. It is
// sound if nothing is wrong with it. The charset of a value after RFC 2231 is read here
// and not by the mime package, which knows two.
func (f *Featurizer) readParameters(value string) (head string, params map[string]string, sound bool) {
	head, params, err := mime.ParseMediaType(value)
	if err != nil || strings.IndexByte(value, '*') >= 0 {
		head, params = f.looseParameters(value)
	}
	return head, params, err == nil
}

// looseParameters reads what it can of a value that breaks the rules: of parameters of one
// name the first counts.
//
// QUIRK: "text/html; charset=a; charset=b", "multipart/mixed; boundary=----=_Part_1",
// "application/pdf name=a.pdf" and the like: the type, a boundary and a charset may be right
// where another parameter is not, or where quotes or a semicolon are missing.
func (f *Featurizer) looseParameters(value string) (head string, params map[string]string) {
	head, rest, _ := strings.Cut(value, ";")
	if i := strings.IndexAny(head, " \t"); i > 0 && strings.IndexByte(head[i:], '=') > 0 {
		head, rest = head[:i], value[i:]
	}
	params = map[string]string{}
	type piece struct { // of a value that is cut into pieces or has a charset (RFC 2231)
		name, value string
		number      int
	}
	var pieces []piece
	labels := map[string]string{}
	for n := 0; rest != "" && n < maxParameters; n++ {
		var name, v string
		name, v, rest = cutParameter(rest)
		base, number, cut := strings.Cut(strings.TrimSuffix(name, "*"), "*")
		switch {
		case cut || base != name:
			at, _ := strconv.Atoi(number)
			if fields := strings.SplitN(v, "'", 3); at == 0 && base != name && len(fields) == 3 {
				labels[base], v = fields[0], fields[2]
			}
			if plain, err := url.PathUnescape(v); err == nil && strings.HasSuffix(name, "*") {
				v = plain
			}
			pieces = append(pieces, piece{base, v, at})
		case params[name] == "" && name != "":
			params[name] = v
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.number, b.number) })
	for i, p := range pieces {
		if !slices.ContainsFunc(pieces[:i], func(q piece) bool { return q.name == p.name }) {
			params[p.name] = ""
		}
		params[p.name] += p.value
	}
	for name, label := range labels {
		params[name] = string(f.decodeCharset([]byte(params[name]), label, false))
	}
	return strings.ToLower(strings.Trim(head, " \t\"<>,")), params
}

// cutParameter reads the first parameter of a list, its name in lower case; "" if it has
// none. Since quotes stand unescaped in file names, a value in quotes ends at the one behind
// which the parameter ends, or else at the first.
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

// extensionOf returns the end of a file name with its dot in lower case, "" if there is
// none. The name may be a path, and end in dots and blanks, which Windows drops.
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
