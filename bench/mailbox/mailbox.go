// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/pipeline"
)

// roles are what the folders are for.
var roles = map[string]ingest.Role{
	persons.Inbox: ingest.RoleInbox, persons.Sent: ingest.RoleSent, persons.Junk: ingest.RoleJunk,
	persons.Trash: ingest.RoleTrash, persons.Archive: ingest.RoleArchive, persons.Filed: ingest.RoleOther,
}

// folders are the names of roles, in the order in which a server lists them.
var folders = []string{persons.Archive, persons.Filed, persons.Inbox, persons.Junk, persons.Sent, persons.Trash}

// opened is a life whose messages are read, for several plays.
type opened struct {
	*persons.Life
	options filter.Options
	read    []*featurize.Message // as Mail
	arrived []int                // indexes into Mail of what others wrote
	answers bool                 // the owner answers at least one message in a hundred
	steps   []step
}

// step is one thing that happens: the arrival of a message, or the owner's act on one.
type step struct {
	at   time.Time
	mail int // index into Mail
	act  int // index into its Acts; -1: it arrives
}

// open reads the messages of a life.
func (h *how) open(l *persons.Life) (*opened, error) {
	o := &opened{Life: l, options: h.options}
	o.options.Featurize.Owner = l.Owner
	reader, err := pipeline.NewPool(1).Reader(o.options.Featurize)
	if err != nil {
		return nil, err
	}
	answered := 0
	for i, m := range l.Mail {
		read, err := reader.Read(context.Background(), m.Raw)
		if err != nil {
			return nil, err
		}
		o.read = append(o.read, read)
		if m.Folder != persons.Sent {
			o.arrived = append(o.arrived, i)
		}
		o.steps = append(o.steps, step{m.At, i, -1})
		for n, a := range m.Acts {
			o.steps = append(o.steps, step{a.At, i, n})
		}
		if slices.ContainsFunc(m.Acts, func(a persons.Act) bool { return a.Do == persons.Answer }) {
			answered++
		}
	}
	o.answers = answered*100 >= len(o.arrived)
	slices.SortStableFunc(o.steps, func(a, b step) int { return a.at.Compare(b.at) })
	return o, nil
}

// letter is one message where it lies in the mailbox.
type letter struct {
	mail   int // index into Mail
	at     time.Time
	read   *featurize.Message
	folder string // "": it is gone
	uid    uint32
	flags  []string // canonical
	binned time.Time
	told   bool     // the owner has answered a question about it
	v      *verdict // nil: it is not judged
}

func (l *letter) place() filter.Place {
	return filter.Place{Mailbox: l.folder, UIDValidity: validity, UID: l.uid}
}

// with returns the letter's flags with one more; without, with one less.
func (l *letter) with(flag string) []string {
	return ingest.CanonicalFlags(append(slices.Clone(l.flags), flag))
}

func (l *letter) without(flag string) []string {
	return slices.DeleteFunc(slices.Clone(l.flags), func(f string) bool { return f == ingest.CanonicalFlag(flag) })
}

// put puts a letter into a folder, as the newest there; "" is none.
func (p *player) put(l *letter, folder string) {
	delete(p.at, l.place())
	if l.folder = folder; folder == "" {
		return
	}
	p.uids[folder]++
	l.uid = p.uids[folder]
	p.at[l.place()] = l
}
