// SPDX-License-Identifier: Apache-2.0

// Package writer holds what every owner of an account's state does alike, be its
// mail from IMAP or from Kafka: an event is applied to the account's filter, and
// what it led to is gathered until it is committed.
//
// Data flow: filter.Event → Apply → Batch → the store, → Committed.
//
// It leaves to its callers where events come from, when to commit, and what may
// be shown or done once that is durable.
package writer

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Writer is one account's filter and what is to be committed of it. One goroutine
// owns it.
type Writer struct {
	filter  *filter.Filter
	vectors *Vectors
	batch   store.Batch
	frozen  []*freezing // features of the batch, in the order of their arrivals
}

// Open loads an account as of its last commit. One that was never committed is
// new.
func Open(s *boltfile.Store, account string) (*Writer, error) {
	st, err := s.Load(account)
	if err != nil {
		return nil, err
	}
	v := NewVectors(s, account)
	f, err := filter.New(st, v)
	if err != nil {
		return nil, err
	}
	return &Writer{filter: f, vectors: v}, nil
}

// Filter returns the account's filter. Events go through Apply.
func (w *Writer) Filter() *filter.Filter { return w.filter }

// Features returns the frozen features of a message, those not yet committed
// included.
func (w *Writer) Features(k store.MessageKey) (*featurize.Features, error) {
	return w.vectors.Features(k)
}

// Apply gives one event to the filter and keeps what is to be committed with it.
// After an error the account cannot go on.
func (w *Writer) Apply(e filter.Event) (filter.Result, error) {
	r, err := w.filter.Apply(e)
	if err != nil || !r.Changed {
		return r, err
	}
	entry, err := filter.Encode(e)
	if err != nil {
		return r, err
	}
	w.batch.Journal = append(w.batch.Journal, entry)
	w.batch.Lessons = append(w.batch.Lessons, r.Lessons...)
	if r.Features != nil {
		if r.Decision == nil {
			return r, fmt.Errorf("features came without a decision from an event of type %T", e)
		}
		f := freeze(r.Decision.Message, r.Features)
		w.frozen = append(w.frozen, f)
		w.vectors.batch[f.key] = f
	}
	return r, nil
}

// Dirty reports whether anything is gathered that is not committed.
func (w *Writer) Dirty() bool { return len(w.batch.Journal) > 0 }

// Lessons returns what was learnt since the last commit. It must not be changed.
func (w *Writer) Lessons() []store.Lesson { return w.batch.Lessons }

// Batch returns what is to be committed together with the filter's state. It
// belongs to the Writer still and may be asked for again should the commit fail.
func (w *Writer) Batch() store.Batch {
	for _, f := range w.frozen {
		w.batch.Features = append(w.batch.Features, f.wait())
	}
	w.frozen = nil // and with it what it still holds of the batch
	w.batch.NamesFor = w.filter.Options().NamesFor
	return w.batch
}

// Committed notes that what Batch returned last is durable.
func (w *Writer) Committed() {
	w.batch = store.Batch{}
	clear(w.vectors.batch)
	w.filter.Release()
}

// freezing is the encoding of one message's features. It goes on beside the
// writer, since it is a third of what a first scan would cost that goroutine;
// commit waits for all of them. Encoded, features take a tenth of the memory,
// which counts while a batch waits for its commit.
type freezing struct {
	key    store.MessageKey
	done   chan struct{}
	packed []byte // the vector
	names  []byte // nil without
}

func freeze(k store.MessageKey, x *featurize.Features) *freezing {
	f := &freezing{key: k, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.packed, f.names = x.Pack(), x.PackNames()
	}()
	return f
}

// wait returns the encoded features.
func (f *freezing) wait() store.FeatureRecord {
	<-f.done
	return store.FeatureRecord{Key: f.key, Data: f.packed, Names: f.names}
}
