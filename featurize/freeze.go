package featurize

import (
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/model"
)

// Freeze turns what was read of a message, and what is remembered of its sender
// and thread, into its vector: each group is normalised to its share, so that a
// message with all groups has norm 1 and one that lacks some has less. m is not
// changed.
func (f *Featurizer) Freeze(m *Message, h History) *Features {
	x := &Features{entries: make([]entry, len(m.Content.terms), len(m.Content.terms)+40)}
	for i, t := range m.Content.terms {
		x.entries[i] = entry{index: t.index, group: t.group, value: f.value(int(t.count))}
		if f.Names && m.Content.names != "" {
			x.entries[i].name = m.Content.names[t.start : t.start+uint32(t.size)]
		}
	}
	n := len(x.entries)
	var name [200]byte
	h.each(m, func(g Group, fact ...string) {
		b := name[:0]
		for _, part := range fact {
			b = append(b, part...)
		}
		e := entry{index: model.FoldIndex(xxhash.Sum64(b)), group: g, value: 1}
		if f.Names {
			e.name = string(b)
		}
		x.entries = append(x.entries, e)
	})
	sortEntries(x.entries)
	if len(x.entries) > n {
		x.entries = slices.CompactFunc(x.entries, func(a, b entry) bool { return a.index == b.index })
	}
	x.scale(f.Shares, f.Affine)
	return x
}

// value returns the number of a feature that occurs count times, before
// normalisation: a whole number, so that sums of squares are exact.
func (f *Featurizer) value(count int) uint16 {
	switch f.Values {
	case Counts:
		return uint16(count)
	case LogCounts:
		return uint16(bits.Len(uint(count)))
	default:
		return 1
	}
}

// scale sets the factor of each group, by which its values are multiplied, and
// the affine coordinate.
func (x *Features) scale(shares [groups]float64, affine float64) {
	total := float64(affine * affine)
	for _, share := range shares {
		total += float64(share * share)
	}
	unit := 1 / math.Sqrt(total)
	x.affine = float64(affine * unit)
	var squares [groups]float64
	for _, e := range x.entries {
		squares[e.group] += float64(float64(e.value) * float64(e.value))
	}
	for g, square := range squares {
		if square > 0 {
			x.factors[g] = float64(shares[g]*unit) / math.Sqrt(square)
		}
	}
}

// each calls fact with the group and the name, in parts, of every feature that
// the history gives for m.
func (h History) each(m *Message, fact func(g Group, name ...string)) {
	to, place := m.address.String(), m.place.String()
	rate := rate(h.Answered, h.Received)
	domain := rateOf(h.DomainAnswered, h.DomainReceived)
	fact(Social, "history:sender received ", bin(int(h.Received)))
	fact(Social, "history:sender written ", bin(int(h.Written)))
	fact(Social, "history:sender answered ", rate)
	fact(Social, "history:sender answered ", rate, " | ", to)
	fact(Social, "history:sender answered ", rate, " | ", place)
	fact(Social, "history:sender answered ", rate, " | ", place, " | ", to)
	fact(Social, "history:sender recent ", strconv.Itoa(bits.OnesCount32(h.Recent&0xff)))
	fact(Social, "history:domain answered ", domain)
	switch {
	case h.ParentOwn:
		fact(Social, "history:answers the owner")
		fact(Social, "history:answers the owner | ", rate)
		fact(Social, "history:answers the owner | ", to)
	case h.ParentAnswered:
		fact(Social, "history:answers what the owner answered")
	case h.ParentSender:
		fact(Social, "history:answers itself")
	case h.ParentKnown:
		fact(Social, "history:answers another")
	case len(m.InReplyTo) > 0:
		fact(Social, "history:answers something unknown")
	}
	owner := bin(int(h.ByOwner))
	fact(Social, "history:thread by owner ", owner)
	fact(Social, "history:thread by owner ", owner, " | ", place, " | ", to)
	fact(Social, "history:thread by owner ", owner, " | ", rate)
	if h.ByOwner > 0 {
		fact(Social, "history:thread since owner ", bin(int(h.Since)))
	}
	fact(Social, "history:thread messages ", bin(int(h.Messages)))
	fact(Social, "history:thread answered ", bin(int(h.ThreadAnswered)))
	fact(Social, "history:thread by sender ", bin(int(h.BySender)))
	fact(Social, "history:topic ", bin(int(h.TopicMessages)), " by owner ", bin(int(h.TopicByOwner)))
	fact(Social, "history:topic answered ", bin(int(h.TopicAnswered)))
}

func rate(answered, received uint32) string { return rateOf(answered, received) }

// rateOf bins the share of messages that were answered; with few messages, the
// share is drawn towards little.
func rateOf(answered, received uint32) string {
	if received == 0 {
		return "new"
	}
	if answered == 0 {
		if received < 5 {
			return "0 of few"
		}
		return "0 of many"
	}
	permille := 1000 * uint64(answered) / uint64(received+4)
	for _, edge := range [...]uint64{30, 60, 100, 150, 200, 300, 400, 500, 700} {
		if permille < edge {
			return "under " + strconv.FormatUint(edge/10, 10) + "%"
		}
	}
	return "70% or more"
}
