// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	_ "embed" // the words
	"strings"
)

//go:embed quotewords.txt
var quoteWords string

// quoteLists are the lists of quotewords.txt by their names.
var quoteLists = func() map[string][]string {
	lists := make(map[string][]string)
	for line := range strings.Lines(quoteWords) {
		if name, words, found := strings.Cut(strings.TrimSuffix(line, "\n"), " "); found && name != "#" {
			lists[name] = append(lists[name], strings.Split(words, "|")...)
		}
	}
	return lists
}()

// Classes of header lines in a quotation.
const (
	labelFrom byte = 1 << iota
	labelTo
	labelSent
	labelDate
	labelSubject
)

// headerLabels are the classes of labels.
var headerLabels = func() map[string]byte {
	all := make(map[string]byte)
	for i, list := range [...]string{"from", "to", "sent", "date", "subject", "other"} {
		for _, label := range quoteLists[list] {
			all[label] |= 1 << i
		}
	}
	return all
}()

// openings are how some lines begin, by their first byte.
type openings [256][]string

var attributionOpenings, deviceOpenings, footerOpenings, disclaimerOpenings = newOpenings("opens"),
	newOpenings("device"), newOpenings("footer"), newOpenings("disclaimer")

func newOpenings(list string) (o openings) {
	for _, words := range quoteLists[list] {
		o[words[0]] = append(o[words[0]], words)
	}
	return o
}

// begin reports whether text begins so, ASCII in any case.
func (o *openings) begin(text []byte) bool {
	for i := 0; len(text) > 0 && i < len(o[lowerASCII[text[0]]]); i++ {
		if words := o[lowerASCII[text[0]]][i]; len(text) >= len(words) && equalFold(text[:len(words)], words) {
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
