package featurize

import (
	"math/bits"
	"strconv"
)

// structure counts what a message is made of.
type structure struct {
	received    int
	attachments int
	links       int
	long        int // words beyond the limit
	own         int // lines
	quoted      int
	signature   int
	diffstat    int
	patch       int // changed lines
	files       int
	trailers    int
	words       int // of the own text, up to openingWords
	questions   int
	html        bool

	re, forward, isPatch   bool
	number, total, version int
}

// bin names a count by its magnitude: 0, 1, 2, 3, 4-7, 8-15, …
func bin(n int) string {
	if n < 4 {
		return strconv.Itoa(max(n, 0))
	}
	low := 1 << (bits.Len(uint(n)) - 1)
	return strconv.Itoa(low) + "+"
}

// readStructure makes features of what a message is: its shape, its place in the
// thread, and whom it is addressed to.
func (f *Featurizer) readStructure(m *Message) {
	s := &f.structure
	for _, c := range []struct {
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
	m.address = f.addressOf(m)
	m.place = s.placeOf(m)

	from := "nobody"
	if len(m.From) > 0 {
		from = m.From[0]
	}
	domain := Domain(from)
	position := m.place.String()
	depth := bin(len(m.References))
	to := m.address.String()
	f.terms.add(Social, "addressed:", to)
	f.terms.add(Social, "place:", position)
	f.terms.add(Social, "depth:", depth)
	f.terms.add(Social, "place:", position+" | "+to)
	f.terms.add(Social, "depth:", depth+" | "+to)
	f.terms.add(Social, "from:", from+" | "+to)
	f.terms.add(Social, "from:", from+" | "+position)
	f.terms.add(Social, "from:", from+" | "+position+" | "+to)
	f.terms.add(Social, "from:", domain+" | "+to)
	f.terms.add(Social, "from:", domain+" | "+position)
	f.terms.add(Social, "to:", first(m.To)+" | "+position)
}

// Domain returns the part of an address from its last "@" on, the "@" included;
// "@" alone when there is none.
func Domain(address string) string {
	for i := len(address) - 1; i >= 0; i-- {
		if address[i] == '@' {
			return address[i:]
		}
	}
	return "@"
}

func (f *Featurizer) addressOf(m *Message) address {
	for _, a := range m.To {
		if f.owner[a] {
			if len(m.To) == 1 {
				return addressedToAlone
			}
			return addressedTo
		}
	}
	for _, a := range m.Cc {
		if f.owner[a] {
			return addressedCc
		}
	}
	return addressedElsewhere
}

func (s *structure) placeOf(m *Message) place {
	reply := s.re || len(m.InReplyTo)+len(m.References) > 0
	switch {
	case s.isPatch && s.re:
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
