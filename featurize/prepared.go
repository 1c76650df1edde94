// SPDX-License-Identifier: Apache-2.0

package featurize

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
