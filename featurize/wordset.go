// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// wordSet holds the hashes of words, so few that two may fall together.
type wordSet [1 << 10]uint64

func (s *wordSet) has(word uint64) bool { return s[word>>54]>>(word>>48&63)&1 != 0 }

func (s *wordSet) put(word uint64) { s[word>>54] |= 1 << (word >> 48 & 63) }

// add takes the words of a line in, if there are any. A set that is nil looks for one only.
func (s *wordSet) add(line []byte) bool {
	word, rest := cutWord(line)
	found := word != 0
	for s != nil && word != 0 {
		s.put(word)
		word, rest = cutWord(rest)
	}
	return found
}

// lacks reports whether at least three words of a text, and a third of them, are not in the set.
// Few words that speak of HTML say only that there is something to see.
func (s *wordSet) lacks(text []byte) bool {
	const fewOthers, fewWords = 3, 40
	var met wordSet
	words, others := 0, 0
	for word, rest := cutWord(text); word != 0; word, rest = cutWord(rest) {
		if met.has(word) {
			continue
		}
		met.put(word)
		if words++; !s.has(word) {
			others++
		}
	}
	if words <= fewWords {
		lower := bytes.ToLower(text[:min(len(text), 2000)])
		for _, about := range [...]string{"html", "browser", "mime"} {
			if bytes.Contains(lower, []byte(about)) {
				return false
			}
		}
	}
	return others >= fewOthers && 3*others >= words
}

// cutWord returns the hash of the first word of a text, 0: none, and what follows. A word is a run
// of letters and digits, or one character in scripts without blanks, but no link.
func cutWord(text []byte) (word uint64, rest []byte) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	hash := uint64(offset)
	var size int // of the character
	for i := 0; i < len(text); i += size {
		c := text[i]
		wordy, alone, r := asciiClass[c]&(letter|digit) != 0, false, rune(lowerASCII[c])
		if size = 1; c >= 0x80 {
			r, size = utf8.DecodeRune(text[i:])
			wordy, alone, r = unicode.IsLetter(r), r >= 0x2e80, unicode.ToLower(r)
		}
		switch {
		case hash != offset && (alone || !wordy):
			if !bytes.HasPrefix(text[i:], []byte("://")) {
				return mixed(hash), text[i:]
			}
			if end := bytes.IndexAny(text[i:], " \t\r\n<>)]\""); end > 0 {
				hash, size = offset, end
				continue
			}
			return 0, nil
		case wordy:
			hash = (hash ^ uint64(r)) * prime
			if alone {
				return mixed(hash), text[i+size:]
			}
		}
	}
	if hash == offset {
		return 0, nil
	}
	return mixed(hash), nil
}

// mixed spreads a hash over all its bits, of which the set uses the first; it is never 0.
func mixed(hash uint64) uint64 { return (hash^hash>>32)*0x9e3779b97f4a7c15 | 1 }
