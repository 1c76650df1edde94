// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"mime"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hinged/hinged/ingest"
)

// wanted are flags, keywords and labels that call a message important or answered: of
// IMAP, of Thunderbird ($label1 is its "Important") and of Google Takeout in some of its
// languages.
var wanted = regexp.MustCompile(`(?i)^([\\$]*(flagged|answered|important|starred|label1)|replied|markiert|wichtig|suivis|importants?|` +
	`destacados|importante?s?|speciali|importanti|com estrela|met ster|belangrijk)$`)

// storedFields are the fields with flags that programs write into a stored message, with
// what parts the words of each: mbox, MH, Thunderbird, Gmail.
var storedFields = map[string]string{
	"status": "", "x-status": "", "replied": "", "x-mozilla-status": "",
	"x-mozilla-keys": " \t\r\n,", "x-keywords": " \t\r\n,",
	"x-gmail-labels": ",\r\n", "x-gm-labels": ",\"",
}

// Wanted reports what flags and labels in the archive say of the message, beside it (see
// Flags) and in fields of its header: whether its reader flagged, starred or answered it,
// or it was called important.
func (m *Message) Wanted() bool {
	if slices.ContainsFunc(m.Flags, wanted.MatchString) {
		return true
	}
	for name, value := range fields(m.Raw) {
		field := strings.ToLower(string(name))
		between, ok := storedFields[field]
		if !ok {
			continue
		}
		text := strings.TrimSpace(string(value))
		var yes bool
		switch bits, _ := strconv.ParseUint(text, 16, 32); {
		case field == "x-mozilla-status":
			yes = bits&(0x2|0x4) != 0 // replied, marked (nsMsgMessageFlags.h)
		case strings.HasSuffix(field, "status"):
			yes = strings.ContainsAny(text, "FA") && strings.Trim(text, "ROUADFTN") == ""
		case field == "replied":
			yes = true
		default:
			if plain, err := new(mime.WordDecoder).DecodeHeader(text); err == nil {
				text = plain
			}
			words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(between, r) })
			yes = slices.ContainsFunc(words, func(w string) bool { return wanted.MatchString(strings.Trim(w, ` "`)) })
		}
		if yes {
			return true
		}
	}
	return false
}

// What labels of Google Takeout say, beside those with the names of customary mailboxes, in
// the languages of Wanted: English, German, French, Spanish, Portuguese, Italian, Dutch.
var (
	labelInbox     = regexp.MustCompile(`^(inbox|posteingang|boîte de réception|recibidos|bandeja de entrada|caixa de entrada|posta in arrivo|postvak in)$`)
	labelUnread    = regexp.MustCompile(`^(unread|ungelesen|non lus?|messages non lus|no leídos|não lid[ao]s?|da leggere|non letti|ongelezen)$`)
	labelStarred   = regexp.MustCompile(`^(starred|markiert|suivis|messages suivis|destacados|com estrela|speciali|met ster)$`)
	labelImportant = regexp.MustCompile(`^(importante?s?|wichtig|importanti|belangrijk)$`)
)

// cutLabels returns the labels that Google Takeout put above a message, and the message as the
// server has it. The mail server's own fields stand above whatever the sender wrote, so labels
// below them are the sender's, in any archive, and are not believed.
func cutLabels(raw []byte) (labels string, message []byte) {
	message = raw
	for name, value := range fields(raw) {
		switch {
		case labels == "" && strings.EqualFold(string(name), "X-Gmail-Labels"):
			labels = strings.Join(strings.Fields(string(value)), " ")
		case !strings.EqualFold(string(name), "X-GM-THRID"):
			return labels, message
		}
		message = message[bytes.IndexByte(message, ':')+1+len(value):]
	}
	return labels, message
}

// Labels returns what the labels of Google Takeout say: the roles of where the message lay,
// RoleImportant last, which is Gmail's opinion or the owner's; and its flags. One without
// labels was read, and archived.
func (m *Message) Labels() (roles []ingest.Role, flags []string) {
	text, _ := cutLabels(m.Raw)
	role := ingest.RoleArchive
	if plain, err := new(mime.WordDecoder).DecodeHeader(text); err == nil {
		text = plain
	}
	flags = []string{`\Seen`}
	for label := range strings.SplitSeq(strings.ToLower(text), ",") {
		label = strings.Trim(label, ` "`)
		switch use := ingest.Customary[label]; {
		case labelUnread.MatchString(label):
			flags = slices.DeleteFunc(flags, func(f string) bool { return f == `\Seen` })
		case labelStarred.MatchString(label):
			flags = append(flags, `\Flagged`)
		case labelImportant.MatchString(label):
			roles = append(roles, ingest.RoleImportant)
		case labelInbox.MatchString(label) && role == ingest.RoleArchive:
			role = ingest.RoleInbox
		case use != ingest.RoleOther && use != ingest.RoleArchive:
			role = use
		}
	}
	return append([]ingest.Role{role}, roles...), flags
}

// sequences are the flags of the messages of an MH folder by their numbers.
type sequences map[int][]string

// Limits of a list of sequences.
const (
	maxSequences = 1 << 20 // bytes
	maxNumbers   = 1 << 20 // in all its ranges
)

// readSequences reads the .mh_sequences of a folder: lines such as "flagged: 2 5-9"
// (mh-sequence(5)). Nil if there is none.
func readSequences(path string) sequences {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	s, numbers := sequences{}, 0
	for name, value := range fields(data[:min(len(data), maxSequences)]) {
		flag := map[string]string{"flagged": `\Flagged`, "replied": `\Answered`, "answered": `\Answered`}[strings.ToLower(string(name))]
		for text := range strings.FieldsSeq(string(value)) {
			from, to, isRange := strings.Cut(text, "-")
			if !isRange {
				to = from
			}
			first, err := strconv.Atoi(from)
			last, _ := strconv.Atoi(to)
			for n := first; err == nil && flag != "" && n <= last && numbers < maxNumbers; n++ {
				s[n] = append(s[n], flag)
				numbers++
			}
		}
	}
	return s
}
