// SPDX-License-Identifier: Apache-2.0

// Command prior makes the prior of the made-up persons: what a learner knows at the end of
// their lives that was told what they wanted of each message. It is one of those of which the
// built-in prior is the mean (docs/prior.md):
//
//	go run ./bench/mailbox/prior > persons.prior
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/prior"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const (
	seeds    = 4    // lives of each person, from one that no table of the bench has
	first    = 1001 // seed
	arrivals = 1000
	// late is how long after its arrival a message gets its label.
	late = 6 * time.Hour
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "prior:", err)
		os.Exit(1)
	}
}

func run() error {
	var mean prior.Mean
	for _, name := range persons.Names() {
		for seed := range uint64(seeds) {
			w, err := learn(persons.Make(name, first+seed, arrivals))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			mean.Add(w)
		}
	}
	p := mean.Prior()
	p.Notes = []string{fmt.Sprintf("From %d made-up lives of each of %s, %d messages of others in each, told what the owner wanted.",
		seeds, strings.Join(persons.Names(), ", "), arrivals)}
	return p.Write(os.Stdout)
}

// learn returns the weights at the end of a life.
func learn(l *persons.Life) (*model.Weights, error) {
	o := filter.DefaultOptions()
	o.Featurize.Owner = l.Owner
	reader, err := featurize.New(o.Featurize)
	if err != nil {
		return nil, err
	}
	vectors := filter.Memory{}
	f, err := filter.New(store.NewState(), vectors)
	if err != nil {
		return nil, err
	}
	tell := func(e filter.Event) error {
		r, err := f.Apply(e)
		if err == nil && r.Decision != nil && r.Features != nil {
			vectors.Keep(r.Decision.Message, r.Features, false)
		}
		return err
	}
	if err := tell(&filter.Configured{Options: o}); err != nil {
		return nil, err
	}
	if err := tell(&filter.Primed{Weights: prior.None().Pack()}); err != nil {
		return nil, err
	}
	var waiting []*filter.Labelled
	for i := range l.Mail {
		m := &l.Mail[i]
		for len(waiting) > 0 && waiting[0].At < store.MomentOf(m.At) {
			if err := tell(waiting[0]); err != nil {
				return nil, err
			}
			waiting = waiting[1:]
		}
		read := reader.Read(m.Raw)
		meta := filter.NewMeta(read)
		if m.Folder == persons.Sent {
			meta = meta.ByOwner()
		} else {
			label := model.Ordinary
			if m.Wanted {
				label = model.Important
			}
			waiting = append(waiting, &filter.Labelled{At: store.MomentOf(m.At.Add(late)), Message: meta.Key, Label: label})
		}
		if err := tell(&filter.Arrived{At: store.MomentOf(m.At), Meta: meta, Message: read}); err != nil {
			return nil, err
		}
	}
	return f.State().Weights, nil
}
