// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Options are plain values: the same options on the same bytes give the same
// features anywhere. Start from DefaultOptions. The CBOR keys, once released,
// keep their meaning.
type Options struct {
	// Owner lists the owner's addresses; New makes them canonical.
	Owner []string `cbor:"1,keyasint,omitempty"`
	// AuthServID is the authserv-id whose Authentication-Results are believed
	// (RFC 8601, section 2.5); "" believes none.
	AuthServID string `cbor:"2,keyasint,omitempty"`
	// Shares weighs the groups against each other, by Group; they are scaled so
	// that all groups and the affine coordinate together have norm 1. ≥ 0.
	Shares [groups]float64 `cbor:"4,keyasint"`
	// Affine is the constant coordinate, on the scale of Shares. ≥ 0.
	Affine float64 `cbor:"5,keyasint"`

	// Limits, all > 0. What lies beyond is not read; the message is decided from
	// what is before.
	MaxBytes    int `cbor:"6,keyasint"`  // bytes of a message that are looked at
	MaxHeader   int `cbor:"7,keyasint"`  // bytes of one header
	MaxField    int `cbor:"8,keyasint"`  // bytes of one header field
	MaxParts    int `cbor:"9,keyasint"`  // parts
	MaxDepth    int `cbor:"10,keyasint"` // nested multiparts
	MaxText     int `cbor:"11,keyasint"` // decoded bytes of text, over all parts
	MaxFeatures int `cbor:"12,keyasint"` // features of header and text; about a hundred more describe the whole
	MaxToken    int `cbor:"13,keyasint"` // bytes of one word; a longer one only counts as long

	// Names keeps readable names beside the hashes. It changes no vector.
	Names bool `cbor:"14,keyasint,omitempty"`
	// Subaddress is what begins a subaddress of the owner (RFC 5233): with "+",
	// me+shop@example.org is me@example.org. "": they have none.
	Subaddress string `cbor:"15,keyasint,omitempty"`
}

// algorithm is part of every fingerprint. It goes up whenever a change of code
// gives the same bytes another vector.
const algorithm = 5

// DefaultOptions returns what measured best (docs/results.md), with names.
func DefaultOptions() Options {
	return Options{
		Shares:      [groups]float64{Misc: 1, Social: 1, Subject: 0.8, Body: 1.2},
		Affine:      0.3,
		MaxBytes:    16 << 20,
		MaxHeader:   256 << 10,
		MaxField:    64 << 10,
		MaxParts:    1000,
		MaxDepth:    20,
		MaxText:     512 << 10,
		MaxFeatures: 20000,
		MaxToken:    40,
		Names:       true,
		Subaddress:  "+",
	}
}

// Validate reports the first reason why no Featurizer can be built from o.
func (o Options) Validate() error {
	sum := float64(o.Affine * o.Affine)
	for g, share := range o.Shares {
		if !(share >= 0) || math.IsInf(share, 0) {
			return fmt.Errorf("share of group %s is %v; it must be a finite number, 0 or more", Group(g), share)
		}
		sum += float64(share * share)
	}
	if !(o.Affine >= 0) || math.IsInf(sum, 0) || sum == 0 {
		return fmt.Errorf("affine share is %v beside shares %v; it must be 0 or more, and one of them above 0", o.Affine, o.Shares)
	}
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"bytes", o.MaxBytes}, {"header bytes", o.MaxHeader}, {"field bytes", o.MaxField}, {"parts", o.MaxParts},
		{"depth", o.MaxDepth}, {"text bytes", o.MaxText}, {"features", o.MaxFeatures}, {"word bytes", o.MaxToken},
	} {
		if limit.value <= 0 {
			return fmt.Errorf("limit on %s is %d; it must be above 0", limit.name, limit.value)
		}
	}
	return nil
}

// Fingerprint returns 16 hexadecimal digits that change whenever the same bytes
// and history would give another vector: they cover the options, Names aside,
// and the version of the code.
func (o Options) Fingerprint() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %q 0", algorithm, owners(o.Owner), o.AuthServID)
	for _, share := range append(o.Shares[:], o.Affine) {
		b.WriteString(" " + strconv.FormatFloat(share, 'g', -1, 64))
	}
	fmt.Fprintf(&b, " %d %d %d %d %d %d %d %d %q",
		o.MaxBytes, o.MaxHeader, o.MaxField, o.MaxParts, o.MaxDepth, o.MaxText, o.MaxFeatures, o.MaxToken, o.Subaddress)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// Owns reports whether an address is the owner's.
func (o Options) Owns(address string) bool {
	list := owners(o.Owner)
	address = CanonicalAddress(address)
	return slices.Contains(list, address) || slices.Contains(list, o.mainAddress(address))
}

// owners returns addresses as CanonicalAddress has them, sorted and without duplicates.
func owners(list []string) []string {
	out := make([]string, 0, len(list))
	for _, a := range list {
		if a = CanonicalAddress(a); a != "" {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Prepared are options that were found valid, with the owner's addresses as reading
// wants them, so that many messages are read without looking at either again. It never
// changes; safe for concurrent use.
type Prepared struct {
	options Options
	owner   map[string]bool // options.Owner, as owners has it
}

// Prepare returns o prepared, or the first reason why no message can be read with it.
func (o Options) Prepare() (*Prepared, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	p := &Prepared{options: o}
	return p.Owned(o.Owner), nil
}

// Owned returns the same options for the mail of an owner with these addresses.
func (p *Prepared) Owned(addresses []string) *Prepared {
	out := &Prepared{options: p.options, owner: map[string]bool{}}
	out.options.Owner = owners(addresses)
	for _, a := range out.options.Owner {
		out.owner[a] = true
	}
	return out
}

// Nameless returns the same options without Names. It costs next to nothing.
func (p *Prepared) Nameless() *Prepared {
	out := *p
	out.options.Names = false
	return &out
}

// Options returns what was prepared. The caller must not change its Owner.
func (p *Prepared) Options() Options { return p.options }

// Group is a field group. The features of one group share a set part of the
// vector's norm, so that a long body does not drown the sender.
type Group uint8

// The groups.
const (
	Misc    Group = iota // header names and words, structure, quoted text, signatures
	Social               // who wrote to whom, where in the thread, and what is remembered of them
	Subject              // the subject, and the paths that a patch touches
	Body                 // the writer's own text, its opening once more, and patches
	groups

	// Constant is the group of the affine coordinate in a listing of features.
	Constant = groups
)

func (g Group) String() string {
	switch g {
	case Misc:
		return "misc"
	case Social:
		return "social"
	case Subject:
		return "subject"
	case Body:
		return "body"
	case Constant:
		return "constant"
	default:
		return fmt.Sprintf("group(%d)", uint8(g))
	}
}
