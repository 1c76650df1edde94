// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	_ "embed" // the words
	"strings"
	"unicode"
	"unicode/utf8"
)

// Classes of the labels of header lines in a quotation.
const labelFrom, labelTo, labelSent, labelDate, labelSubject, labelOther byte = 1, 2, 4, 8, 16, 32

var (
	//go:embed quotewords.txt
	quoteWords   string
	quoteLists   = make(map[string][]string) // by their names
	headerLabels = make(map[string]byte)
	labelClasses = map[string]byte{"from": labelFrom, "to": labelTo, "sent": labelSent, "date": labelDate, "subject": labelSubject, "other": labelOther}
	// How lines of some kinds begin, by their first byte.
	attributionOpenings, deviceOpenings, footerOpenings, disclaimerOpenings, patchOpenings lineOpenings
	openingLists                                                                           = map[string]*lineOpenings{
		"opens": &attributionOpenings, "device": &deviceOpenings, "footer": &footerOpenings, "disclaimer": &disclaimerOpenings, "patch": &patchOpenings,
	}
)

type lineOpenings [256][]string

func init() {
	for line := range strings.Lines(quoteWords) {
		name, list, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		entries := strings.Split(list, "|")
		for i := 0; i < len(entries); i++ {
			words := entries[i]
			if r, size := utf8.DecodeRuneInString(words); size > 1 && unicode.IsLower(r) { // programs write a capital, too
				entries = append(entries, string(unicode.ToUpper(r))+words[size:])
			}
			quoteLists[name] = append(quoteLists[name], words)
			headerLabels[words] |= labelClasses[name]
			if at := openingLists[name]; at != nil {
				at[words[0]] = append(at[words[0]], words)
			}
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
	for _, word := range quoteLists[list] {
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
