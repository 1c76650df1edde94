// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"strings"
	"time"
)

const (
	maxAddresses  = 200 // of one field
	maxReferences = 100 // the newest, and the first
	maxSubject    = 1000
	// MaxListID is how many bytes of a List-Id count.
	MaxListID = 80
)

// readHeader fills m from the header and makes features of it.
func (f *Featurizer) readHeader(m *Message) {
	f.terms.name = f.terms.name[:0]
	f.fromName = ""
	f.authenticate()
	for _, fd := range f.fields {
		var lower [64]byte
		name := appendLower(lower[:0], fd.name[:min(len(fd.name), len(lower))])
		if writtenWhereStored(name) {
			m.Stored = m.Stored || keepsFlags(name)
			continue // not believed when it comes with the mail
		}
		if string(name) == fieldResults {
			continue // see authenticate
		}
		if isASCII(name) {
			f.terms.addBytes(Misc, "header:", name)
		}
		f.readField(m, name, fd.value)
	}
	for _, a := range m.From {
		m.FromOwner = m.FromOwner || f.owns(a)
	}
	m.FromName = f.fromName
	m.Vouched, m.Doubtful = f.vouchedFrom, f.AuthServID != "" && !f.vouchedFrom
	f.readSubject(m)
}

// readField fills m from one field, whose name is in lower case, and makes features of it.
func (f *Featurizer) readField(m *Message, name, value []byte) {
	switch string(name) {
	case "subject":
		if m.Subject == "" {
			m.Subject = oneLine(truncate(f.headerText(value), maxSubject))
		}
	case "from":
		m.From = f.readAddresses(m.From, value, "from:")
	case "to":
		m.To = f.readAddresses(m.To, value, "to:")
	case "cc", "bcc":
		m.Cc = f.readAddresses(m.Cc, value, "cc:")
	case "reply-to":
		f.readAddresses(nil, value, "reply-to:")
	case "sender":
		f.readAddresses(nil, value, "sender:")
	case "message-id":
		if m.MessageID == "" {
			m.MessageID = first(f.messageIDs(value))
		}
	case "in-reply-to":
		if ids := f.messageIDs(value); m.InReplyTo == nil {
			m.InReplyTo = ids
		} else {
			m.InReplyTo = append(m.InReplyTo, ids...)
			m.InReplyTo = m.InReplyTo[:min(len(m.InReplyTo), maxReferences)]
		}
	case "references":
		if m.References == nil {
			m.References = f.messageIDs(value)
		}
	case "thread-index":
		// The start of a thread has 22 bytes, each answer five more ([MS-OXOMSG], section 2.2.1.3).
		f.structure.child = len(looseBase64(value)) > 22
	case "date":
		if m.Date.IsZero() {
			m.Date = f.readDate(value)
		}
	case "list-id":
		list := truncate(strings.ToLower(bracketed(value)), MaxListID)
		f.terms.add(Social, f.said("list:", f.vouchesFor(list)), list)
	case "user-agent", "x-mailer":
		f.words.text(f, truncate(f.headerText(value), 100), &kindMailer)
	case "received":
		if f.structure.received++; f.structure.received == 1 {
			if at := bytes.LastIndexByte(value, ';'); at >= 0 { // RFC 5322, section 3.6.7
				m.Received, _ = parseDate(bytes.TrimSpace(value[at+1:]))
			}
		}
		f.readReceived(value)
	case "dkim-signature":
		f.readDKIM(value)
	case "content-type", "content-transfer-encoding", "mime-version", "return-path", "delivered-to", "x-original-to",
		"list-unsubscribe", "list-post", "list-archive", "list-help", "list-subscribe", "errors-to":
	default:
		f.readSmallField(name, value)
	}
}

// readDate returns the zero time for what is no date.
func (f *Featurizer) readDate(value []byte) time.Time {
	date, ok := parseDate(value)
	if !ok || date.Location() == time.UTC {
		f.defect("Date")
	}
	return date
}

// readSmallField makes one feature of a short value such as that of Precedence. A number or an
// id says nothing.
func (f *Featurizer) readSmallField(name, value []byte) {
	if len(value) == 0 || len(value) > 40 || !isASCII(value) || DigitHeavy(value) {
		return
	}
	f.terms.name = append(append(append(f.terms.name[:0], "header:"...), name...), '=')
	f.terms.name = appendLower(f.terms.name, value)
	f.terms.commit(Misc)
}

// readReceived makes features of the servers that a message came through.
func (f *Featurizer) readReceived(value []byte) {
	for _, word := range []string{"from ", "by "} {
		i := bytes.Index(value, []byte(word))
		if i < 0 || i > 0 && value[i-1] != ' ' {
			continue
		}
		host, _, _ := bytes.Cut(value[i+len(word):], []byte{' '})
		host = bytes.TrimRight(host, ";,()[].")
		if len(host) > 80 || !isASCII(host) || bytes.IndexByte(host, '.') < 0 || asciiClass[host[len(host)-1]]&letter == 0 {
			continue
		}
		f.terms.addBytes(Misc, "received:", lastLabels(bytes.ToLower(host)))
	}
}

// lastLabels returns the last two labels of a host name.
func lastLabels(host []byte) []byte {
	if i := bytes.LastIndexByte(host, '.'); i > 0 {
		return host[bytes.LastIndexByte(host[:i], '.')+1:]
	}
	return host
}

// readDKIM makes a feature of the signing domain, a claim that the believed server may vouch for.
func (f *Featurizer) readDKIM(value []byte) {
	for tag := range bytes.SplitSeq(value, []byte{';'}) {
		if k, v, _ := bytes.Cut(bytes.TrimSpace(tag), []byte{'='}); string(k) == "d" && len(v) < 100 {
			domain := strings.ToLower(strings.ToValidUTF8(string(v), "\uFFFD"))
			f.terms.add(Misc, f.said("dkim:", f.vouchesFor(domain)), domain)
		}
	}
}

// messageIDs returns what stands in angle brackets, or the one word with an "@"; at most
// maxReferences, the first and the last.
func (f *Featurizer) messageIDs(value []byte) []string {
	if bytes.Contains(value, []byte("=?")) {
		value = []byte(f.headerText(value))
	}
	ids := make([]string, 0, min(bytes.Count(value, []byte{'<'}), maxReferences))
	for rest := string(value); ; {
		_, after, found := strings.Cut(rest, "<")
		if !found {
			break
		}
		id, next, found := strings.Cut(after, ">")
		if !found {
			break
		}
		if id = strings.TrimSpace(id); id != "" && len(id) < 1000 && !noMessageID[strings.ToLower(id)] {
			ids = append(ids, id)
		}
		rest = next
	}
	if len(ids) == 0 {
		for word := range bytes.FieldsSeq(value) {
			if word = bytes.Trim(word, "<>"); bytes.IndexByte(word, '@') > 0 && len(word) < 1000 {
				return []string{string(word)}
			}
		}
		return nil
	}
	if len(ids) > maxReferences {
		ids = append(ids[:1], ids[len(ids)-maxReferences+1:]...)
	}
	return ids
}

// noMessageID has what programs write that have no Message-ID to write.
var noMessageID = map[string]bool{"null": true, "(null)": true, "nil": true, "none": true, "undefined": true}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// bracketed returns what stands in the last angle brackets, or the whole.
func bracketed(value []byte) string {
	if i := bytes.LastIndexByte(value, '<'); i >= 0 {
		value, _, _ = bytes.Cut(value[i+1:], []byte{'>'})
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(value)), "\uFFFD")
}

// oneLine turns control characters into spaces.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s))
}

// writtenWhereStored reports whether a field, its name in lower case, is one that hinged or a mail
// program writes into a stored message. It tells what the reader did, so as a feature it would
// give the label away to hinged eval and hinged bootstrap.
//
// Left out are fields that come with the mail: X-Gm-Message-State, X-KMail-QuotePrefix,
// X-Balsa-Fcc, X-Mutt-References.
func writtenWhereStored(name []byte) bool {
	if storedFields[string(name)] {
		return true
	}
	for _, prefix := range storedPrefixes {
		if len(name) >= len(prefix) && string(name[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

var storedFields, storedPrefixes = tableOf("", map[string]bool{"stored": true}), lists["stored-prefix"]

// keepsFlags reports whether servers read the flags of a message in an mbox from a field.
func keepsFlags(name []byte) bool {
	switch string(name) {
	case "status", "x-status", "x-keywords", "x-imap", "x-imapbase":
		return true
	}
	return false
}
