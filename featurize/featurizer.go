// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"hash"
	"math"
	"slices"
)

// Featurizer reads messages; New makes one. It reuses scratch memory, so use one per
// goroutine; its results own their memory.
type Featurizer struct {
	Options // not to be changed but by Use

	owner     map[string]bool // shared with others: not to be changed
	terms     collector
	hash      hash.Hash
	defects   []string
	block     *bufio.Writer // to hash
	sum       []byte        // of key
	fields    []field       // of the message
	mailboxes []mailbox     // of addresses
	names     []byte        // of those
	vouchers  []voucher
	// vouchedFrom: they vouch for the one address in From.
	vouchedFrom bool
	// fromName is the display name of the first sender.
	fromName  string
	types     map[string]mediaType // by the value of Content-Type
	blurred   []byte               // see blur
	body      bodyReader
	source    bytes.Reader // of what is decoded; one at a time
	words     wordReader
	quotes    quoteReader
	css       cssCache
	structure structure
	calendar  calendar
	place     string // of the message, in words
	history   factList
	guesses   int // of charsets, in the message
}

// New returns a Featurizer for o, or the first reason why there can be none.
func New(o Options) (*Featurizer, error) {
	p, err := o.Prepare()
	if err != nil {
		return nil, err
	}
	f := new(Featurizer)
	f.Use(p)
	return f, nil
}

// Use replaces the options from now on, at next to no cost. The zero Featurizer can be used after it.
func (f *Featurizer) Use(p *Prepared) {
	if f.hash == nil {
		f.hash, f.types = sha256.New(), map[string]mediaType{}
		f.block = bufio.NewWriterSize(f.hash, 16<<10)
	}
	f.Options, f.owner = p.options, p.owner
}

// Read reads what it can of one message and never fails: even an empty or hostile one
// gives a Message. It neither changes nor keeps raw. The limits of Options bound time
// and memory, except for the key, which hashes all of raw.
func (f *Featurizer) Read(raw []byte) *Message {
	m, body, debris := f.begin(raw)
	f.readContent(m, body, debris)
	return m
}

// ReadOthers is Read, but of a message that is FromOwner it reads what ReadHeader does.
func (f *Featurizer) ReadOthers(raw []byte) *Message {
	m, body, debris := f.begin(raw)
	if m.FromOwner {
		f.end(m)
		f.readSays(m, body)
	} else {
		f.readContent(m, body, debris)
	}
	return m
}

// readContent reads what follows the header and makes all features.
func (f *Featurizer) readContent(m *Message, body, debris []byte) {
	f.readBody(f.fields, body, debris)
	m.place = f.structure.placeOf(m) // what is passed on may have shown in the body
	f.place = m.place.String()
	f.terms.limit = math.MaxInt // what follows is bounded, and must not fall to a flood of words
	f.readStructure(m)

	f.end(m)
	for _, d := range m.Defects {
		f.terms.add(Misc, "defect:", d)
	}
	m.Content = f.terms.content()
	m.Content.Links = f.structure.links > f.structure.pictures
	f.readSays(m, body)
	m.Asks = f.asks(m)
}

// Unreadable returns what Read does of an empty message, but with the key of raw. It is for one at
// which Read panics, which is a bug: fault says which one.
func (f *Featurizer) Unreadable(raw []byte, fault string) *Message {
	m, body, debris := f.begin(nil)
	m.Key, m.Fault = f.key(stripEnvelope(raw)), fault
	f.defect("unreadable")
	f.readContent(m, body, debris)
	return m
}

// ReadHeader is like Read but stops after the header: Content stays empty, and
// Defects are those of the header. raw may end after the header. Key is the hash
// of raw as given.
func (f *Featurizer) ReadHeader(raw []byte) *Message {
	m, body, _ := f.begin(raw)
	f.end(m)
	f.readSays(m, body)
	return m
}

// begin reads the header of a message and returns what lies behind it, and lines that are no fields.
func (f *Featurizer) begin(raw []byte) (m *Message, body, debris []byte) {
	raw = stripEnvelope(raw)
	m = &Message{Key: f.key(raw)}
	f.reset()
	if len(raw) > f.MaxBytes {
		f.defect("message too long")
		raw = raw[:f.MaxBytes]
	}
	f.fields, body, debris = f.split(raw, f.fields, true)
	f.readHeader(m)
	m.address, m.place, m.sender = f.addressOf(m), f.structure.placeOf(m), f.senderOf(m)
	f.place = m.place.String()
	return m, body, debris
}

func (f *Featurizer) end(m *Message) {
	slices.Sort(f.defects)
	m.Defects = slices.Clone(f.defects)
	m.Personal, m.Program = m.personal(), m.sender != senderPerson && m.sender != senderList
	m.Guise = f.readGuise(m, f.fromName)
}

func (f *Featurizer) reset() {
	f.terms.reset(maxFeatures, f.Names)
	f.defects, f.vouchers = f.defects[:0], f.vouchers[:0]
	f.structure, f.calendar, f.guesses = structure{}, calendar{}, 0
	f.body.reset(maxText)
	f.words.limit = math.MaxInt
}
