// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// structure counts what a message is made of.
type structure struct {
	received    int
	attachments int
	links       int
	pictures    int // of links: what is shown without a click
	long        int // words beyond the limit
	own         int // lines
	quoted      int
	signature   int
	diffstat    int
	patch       int // changed lines
	trailers    int
	words       int // of the own text, up to openingWords
	questions   int

	files                  []string // the kinds of attachments, as fileKinds has them, each once
	mark                   byte     // of the subject
	rest                   string   // of the subject, without marks and tags
	isPatch                bool
	child                  bool // Thread-Index is that of an answer
	forward                bool // another's words are passed on, by the subject or the text
	number, total, version int
}

// bin names a count by its magnitude: 0, 1, 2, 3, 4+ for 4 to 7, 8+ for 8 to 15, …
func bin(n int) string {
	if n < 4 {
		return strconv.Itoa(max(n, 0))
	}
	return magnitudes[bits.Len(uint(n))]
}

// magnitudes are the names of the numbers of so many bits.
var magnitudes = func() (names [bits.UintSize]string) {
	for n := 3; n < len(names); n++ {
		names[n] = strconv.Itoa(1<<(n-1)) + "+"
	}
	return names
}()

// readStructure makes features of what a message is: its shape, its place in the
// thread, and whom it is addressed to.
func (f *Featurizer) readStructure(m *Message) {
	s := &f.structure
	for _, c := range [...]struct {
		name  string
		count int
	}{
		{"shape:received ", s.received}, {"shape:attachments ", s.attachments}, {"shape:links ", s.links},
		{"shape:long words ", s.long}, {"shape:own lines ", s.own}, {"shape:quoted lines ", s.quoted},
		{"shape:signature lines ", s.signature}, {"shape:diffstat lines ", s.diffstat}, {"shape:patch lines ", s.patch},
		{"shape:trailers ", s.trailers}, {"shape:questions ", s.questions}, {"shape:to ", len(m.To)}, {"shape:cc ", len(m.Cc)},
		{"shape:references ", len(m.References)},
	} {
		f.terms.add(Misc, c.name, bin(c.count))
	}
	if s.version > 0 {
		f.terms.add(Subject, "patch version ", strconv.Itoa(s.version))
	}
	f.readSocial(m)
}

// readSocial makes the features that tie the sender, the place in the thread and
// the way of addressing together. A linear model can't find such pairs by itself:
// that an answer from one person matters, and a patch from the same one does
// not.
func (f *Featurizer) readSocial(m *Message) {
	s := &f.structure
	from := "nobody"
	if len(m.From) > 0 {
		from = m.From[0]
	}
	at := "@"
	if i := strings.LastIndexByte(from, '@'); i >= 0 {
		at = from[i:]
	}
	to, position, depth := m.address.String(), m.place.String(), bin(len(m.References))
	said := f.said("from:", m.Vouched)
	own, questions, trailers := bin(s.own), bin(s.questions), bin(s.trailers)
	f.fact("addressed:", to)
	f.fact("place:", position)
	f.fact("place:", position, to)
	f.fact("depth:", depth)
	f.fact("depth:", depth, to)
	f.fact(said, from, to)
	f.fact(said, from, position)
	f.fact(said, from, position, to)
	f.fact(said, from, "depth "+depth)
	f.fact(said, at, to)
	f.fact(said, at, position)
	f.fact("to:", first(m.To), position)
	f.fact("shape:recipients ", bin(len(m.To)+len(m.Cc)), to)
	f.fact("shape:questions ", questions, to)
	f.fact("shape:questions ", questions, position)
	f.fact("shape:own lines ", own, to)
	f.fact("shape:own lines ", own, position)
	f.fact("shape:own lines ", own, "quoted "+bin(s.quoted))
	f.fact("shape:own words ", bin(s.words), to, position)
	if s.trailers > 0 || m.sender == senderList { // elsewhere it says nothing that there are none
		f.fact("shape:trailers ", trailers, to)
		f.fact("shape:trailers ", trailers, position)
	}
	kind := m.sender.String()
	f.fact("kind:", kind)
	f.fact("kind:", kind, to)
	f.fact("kind:", kind, position, to)
	f.fact("kind:", kind, "questions "+questions)
	for _, file := range s.files {
		f.fact("kind:", kind, "with "+file)
	}
}

// fact adds a social feature made of several facts.
func (f *Featurizer) fact(prefix string, facts ...string) {
	name := append(f.terms.name[:0], prefix...)
	for i, fact := range facts {
		if i > 0 {
			name = append(name, " | "...)
		}
		name = append(name, fact...)
	}
	f.terms.name = name
	f.terms.commit(Social)
}

func (f *Featurizer) addressOf(m *Message) address {
	others := slices.ContainsFunc(m.To, func(a string) bool { return !f.owns(a) })
	switch {
	case len(m.To) > 0 && !others:
		return addressedToAlone
	case slices.ContainsFunc(m.To, f.owns):
		return addressedTo
	case slices.ContainsFunc(m.Cc, f.owns):
		return addressedCc
	default:
		return addressedElsewhere
	}
}

func (s *structure) placeOf(m *Message) place {
	reply := s.mark == answerMark || !s.forward && (s.child || len(m.InReplyTo)+len(m.References) > 0)
	switch {
	case s.isPatch && s.mark == answerMark:
		return placePatchReply
	case s.isPatch && s.total > 0 && s.number == 0:
		return placeCover
	case s.isPatch && s.total > 1:
		return placeSeries
	case s.isPatch:
		return placePatch
	case reply:
		return placeReply
	default:
		return placeStart
	}
}
