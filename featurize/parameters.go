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
	var pieces []piece
	for n := 0; rest != "" && n < maxParameters; n++ {
		var name, v string
		name, v, rest = cutParameter(rest)
		if base, number, ok := strings.Cut(name, "*"); ok {
			number, encoded := strings.CutSuffix("*"+number, "*")
			at, _ := strconv.Atoi(strings.TrimPrefix(number, "*"))
			pieces = append(pieces, piece{base, v, at, encoded})
		} else if _, again := params[name]; !again && name != "" {
			params[name] = v
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.number, b.number))
	})
	for len(pieces) > 0 {
		n := 1
		for n < len(pieces) && pieces[n].name == pieces[0].name {
			n++
		}
		params[pieces[0].name] = f.join(pieces[:n])
		pieces = pieces[n:]
	}
	return strings.ToLower(strings.Trim(head, " \t\"<>,")), params
}

// piece is a part of a parameter that is cut into parts or has a charset (RFC 2231).
type piece struct {
	name, value string
	number      int
	encoded     bool
}

// join puts the pieces of one parameter together.
func (f *Featurizer) join(pieces []piece) string {
	var label string
	var whole strings.Builder
	for i, p := range pieces {
		if p.encoded {
			if fields := strings.SplitN(p.value, "'", 3); i == 0 && len(fields) == 3 {
				label, p.value = fields[0], fields[2]
			}
			if plain, err := url.PathUnescape(p.value); err == nil {
				p.value = plain
			}
		}
		whole.WriteString(p.value)
	}
	return string(f.decodeCharset([]byte(whole.String()), label, false))
}

// cutParameter reads the first parameter of a list, its name in lower case; "" if it has
// none.
func cutParameter(list string) (name, value, rest string) {
	end := strings.IndexAny(list, "=;")
	switch {
	case end < 0:
		return "", "", ""
	case list[end] == ';':
		return "", "", list[end+1:]
	}
	name, list = strings.ToLower(strings.Trim(list[:end], " \t,")), strings.TrimLeft(list[end+1:], " \t")
	if quoted, ok := strings.CutPrefix(list, `"`); ok {
		if value, rest, ok = cutQuoted(quoted); ok {
			return name, value, rest
		}
		list = quoted
	}
	value, rest, _ = strings.Cut(list, ";")
	value = strings.TrimSpace(value)
	if i := strings.Index(value, " ("); i > 0 && value[len(value)-1] == ')' {
		value = value[:i] // a comment
	}
	return name, strings.Trim(value, "\" \t"), rest
}

// cutQuoted reads a quoted string up to the quote behind which the parameter ends, or else
// up to the first one: quotes stand unescaped in file names.
func cutQuoted(text string) (value, rest string, ok bool) {
	first := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			if rest := strings.TrimLeft(text[i+1:], " \t"); rest == "" || rest[0] == ';' || rest[0] == '(' {
				return unescape(text[:i]), rest, true
			}
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return "", "", false
	}
	return unescape(text[:first]), text[first+1:], true
}

// unescape takes the backslashes away that stand before a quote or a backslash; those of
// a path stay.
func unescape(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(text)
}

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
