// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	_ "embed" // the lists
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

//go:embed lists.txt
var listsText string

// lists are the lists of lists.txt by their names.
var lists = func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(listsText) {
		name, list, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		for words := range strings.SplitSeq(list, "|") {
			all[name] = append(all[name], words)
			if r, size := utf8.DecodeRuneInString(words); size > 1 && unicode.IsLower(r) { // programs write a capital, too
				all[name] = append(all[name], string(unicode.ToUpper(r))+words[size:])
			}
		}
	}
	return all
}()

// tableOf has the value of a list for each of its entries. The lists' names begin with prefix.
func tableOf[V any](prefix string, values map[string]V) map[string]V {
	table := map[string]V{}
	for name, value := range values {
		for _, entry := range lists[prefix+name] {
			table[entry] = value
		}
	}
	return table
}

// tagsOf is tableOf for lists of tags, of which one may be in several: then it has all their bits.
func tagsOf(prefix string, values map[string]int) map[atom.Atom]int {
	table := map[atom.Atom]int{}
	for name, value := range values {
		for _, tag := range lists[prefix+name] {
			table[atom.Lookup([]byte(tag))] |= value
		}
	}
	return table
}

// Classes of the labels of header lines in a quotation.
const labelFrom, labelTo, labelSent, labelDate, labelSubject, labelOther byte = 1, 2, 4, 8, 16, 32

var (
	headerLabels = make(map[string]byte)
	// How lines of some kinds begin, by their first byte.
	attributionOpenings, deviceOpenings, footerOpenings, disclaimerOpenings, patchOpenings lineOpenings
)

type lineOpenings [256][]string

func init() {
	for name, class := range map[string]byte{
		"from": labelFrom, "to": labelTo, "sent": labelSent, "date": labelDate, "subject": labelSubject, "other": labelOther,
	} {
		for _, words := range lists[name] {
			headerLabels[words] |= class
		}
	}
	for name, at := range map[string]*lineOpenings{
		"opens": &attributionOpenings, "device": &deviceOpenings, "footer": &footerOpenings, "disclaimer": &disclaimerOpenings, "patch": &patchOpenings,
	} {
		for _, words := range lists[name] {
			at[words[0]] = append(at[words[0]], words)
		}
	}
}

// begin reports whether text begins with one of the openings, ASCII in any case.
func (l *lineOpenings) begin(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	for _, words := range l[lowerASCII[text[0]]] {
		if len(text) >= len(words) && equalFold(text[:len(words)], words) {
			return true
		}
	}
	return false
}

// hasWord reports whether a word of a list, or what begins with one, is in text, which has ASCII
// in lower case.
func hasWord(text []byte, list string) bool {
	for _, word := range lists[list] {
		for at := 0; at < len(text); at++ {
			i := bytes.Index(text[at:], []byte(word))
			if i < 0 {
				break
			}
			if at += i; at == 0 || word[0] >= 0x80 || asciiClass[text[at-1]]&letter == 0 {
				return true
			}
		}
	}
	return false
}
