// SPDX-License-Identifier: Apache-2.0

package featurize

// Answer is what tells whether the owner wrote a message, and what it answers.
type Answer struct {
	FromOwner bool // as Message has it; if false, the rest is empty
	MessageID string
	InReplyTo []string
}

// ReadAnswer reads of a message, or of its header alone, what Read makes of the fields
// that Answer has, and no more: it takes a fifth of the time of ReadHeader
// (docs/results.md). It owns its memory.
func (f *Featurizer) ReadAnswer(raw []byte) Answer {
	f.reset()
	raw = stripEnvelope(raw)
	raw = raw[:min(len(raw), f.MaxBytes)]
	f.fields, _, _ = f.split(raw, f.fields, true)
	var a Answer
	if a.FromOwner = f.fromOwner(); !a.FromOwner {
		return a
	}
	for _, fd := range f.fields {
		switch {
		case a.MessageID == "" && equalFold(fd.name, "message-id"):
			a.MessageID = first(f.messageIDs(fd.value))
		case equalFold(fd.name, "in-reply-to"):
			a.InReplyTo = append(a.InReplyTo, f.messageIDs(fd.value)...)
			a.InReplyTo = a.InReplyTo[:min(len(a.InReplyTo), maxReferences)]
		}
	}
	return a
}

// fromOwner reports whether a From field of f.fields names an address of the owner.
func (f *Featurizer) fromOwner() bool {
	n := 0
	for _, fd := range f.fields {
		if !equalFold(fd.name, "from") {
			continue
		}
		for _, m := range f.addresses(fd.value) {
			if n++; n > maxAddresses {
				break
			}
			if f.owns(m.address) {
				return true
			}
		}
	}
	return false
}
