// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"mime"
	"os"
	"slices"
	"strconv"
	"strings"
)

// wanted are flags, keywords and labels in lower case that call a message important or
// answered: of IMAP, of Thunderbird ($label1 is its "Important") and of Google Takeout in
// some of its languages.
var wanted = []string{
	`\flagged`, `\answered`, `\important`, `\starred`, "$important", "$flagged", "$label1", "flagged", "replied", "answered",
	"starred", "important", "markiert", "wichtig", "suivis", "important", "destacados", "importante", "importantes", "speciali",
	"importanti", "com estrela", "met ster", "belangrijk",
}

// Wanted reports what flags and labels say of the message: that its reader flagged,
// starred or answered it, or that it was called important. Beside Flags it reads the
// fields that programs write into a stored message: Status and X-Status of mbox,
// X-Keywords, Thunderbird's X-Mozilla-Status and -Keys, Google's X-Gmail-Labels, and
// Replied of MH.
func (m *Message) Wanted() bool {
	is := func(flag string) bool { return slices.Contains(wanted, strings.ToLower(flag)) }
	if slices.ContainsFunc(m.Flags, is) {
		return true
	}
	for name, value := range fields(m.Raw) {
		text := strings.TrimSpace(string(value))
		says := false
		switch strings.ToLower(string(name)) {
		default:
			continue
		case "status", "x-status":
			says = strings.ContainsAny(text, "FA") && strings.Trim(text, "ROUADFTN") == ""
		case "x-mozilla-status":
			bits, _ := strconv.ParseUint(text, 16, 32)
			says = bits&(0x2|0x4) != 0 // replied, marked (nsMsgMessageFlags.h)
		case "x-mozilla-keys", "x-keywords":
			says = slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == ',' }), is)
		case "x-gmail-labels", "x-gm-labels": //nolint:misspell // as Google spells it
			if plain, err := new(mime.WordDecoder).DecodeHeader(text); err == nil {
				text = plain
			}
			for label := range strings.SplitSeq(strings.ReplaceAll(text, `" "`, ","), ",") {
				says = says || is(strings.Trim(label, ` "`)) || is(strings.ReplaceAll(strings.Trim(label, ` "`), `\\`, `\`))
			}
		case "replied":
			says = true
		}
		if says {
			return true
		}
	}
	return false
}

// sequences are the flags of the messages of an MH folder, by ranges of their numbers.
type sequences []sequence

type sequence struct {
	flag        string
	first, last int
}

// maxSequences is how much of a list of sequences is read.
const maxSequences = 1 << 20

// readSequences reads the .mh_sequences of a folder: lines such as "flagged: 2 5-9"
// (mh-sequence(5)). Nil if there is none.
func readSequences(path string) sequences {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	all := sequences{}
	for name, value := range fields(data[:min(len(data), maxSequences)]) {
		flag := map[string]string{"flagged": `\Flagged`, "replied": `\Answered`, "answered": `\Answered`}[string(bytes.ToLower(name))]
		for numbers := range strings.FieldsSeq(string(value)) {
			from, to, isRange := strings.Cut(numbers, "-")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, err2 := strconv.Atoi(to)
			if flag != "" && err == nil && err2 == nil {
				all = append(all, sequence{flag, first, last})
			}
		}
	}
	return all
}

// of returns the flags of the message with a number.
func (s sequences) of(n int) (flags []string) {
	for _, q := range s {
		if n >= q.first && n <= q.last && !slices.Contains(flags, q.flag) {
			flags = append(flags, q.flag)
		}
	}
	return flags
}
