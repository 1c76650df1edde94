// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/store"
)

// GetHeadings reads the subjects and the senders' names of messages from the mail server.
// hinged doesn't store them.
var GetHeadings = offer(Verb[HeadingsRequest, Headings]{Name: "headings", do: ofAccount(getHeadings)})

// Limits of GetHeadings.
const (
	// MostHeadings is how many messages may be asked about at once.
	MostHeadings = 500
	// headingsPatience is how long the mail server may take. A page is shown without
	// what is missing then; asked again, it may be there.
	headingsPatience = 2 * time.Second
)

// HeadingsRequest names messages by their keys, in hexadecimal: MostHeadings of them at
// most. Those that are not known are left out of the answer.
type HeadingsRequest struct {
	Messages []string `json:"messages"`
}

// Headings are read from the mail server when they are asked for, for the account's owner
// only. Nobody may store them.
type Headings struct {
	Account string `json:"account"` // Account is the account that the messages belong to.
	// Problem says in words why headings are missing, "" where it is only that a message
	// is not on the server any more, or not where it was.
	Problem  string             `json:"problem,omitempty"`
	Headings map[string]Heading `json:"headings"` // Headings are those that were found, by the key of the message as it was asked for.
}

// Heading is what a message is called.
type Heading struct {
	Subject   string `json:"subject"`              // Subject is decoded and on one line; "" if the message has none.
	From      string `json:"from"`                 // From is the sender's name, or the address where there is none or nobody vouches for it; "" where the message names no sender.
	To        string `json:"to,omitempty"`         // To is the first address of To or Cc, and how many more there are.
	Mailbox   string `json:"mailbox"`              // Mailbox is where the message lies.
	MessageID string `json:"message_id,omitempty"` // MessageID stands without angle brackets; absent if the message has none.
}

// whereabouts says where a message is to be read.
type whereabouts struct {
	key      string // as it was asked for
	row      store.Message
	places   []ingest.Place
	doubtful bool
}

func getHeadings(ctx context.Context, a Account, q HeadingsRequest) (Headings, error) {
	out := Headings{Headings: map[string]Heading{}}
	if len(q.Messages) > MostHeadings {
		return out, fmt.Errorf("headings of %d messages were asked for; it must be %d at most", len(q.Messages), MostHeadings)
	}
	var wanted []whereabouts
	err := a.Look(ctx, func(d *Desk) (err error) {
		out.Account = d.Account
		if d.Filter.State().Account.Paused {
			out.Problem = "the account is paused, so hinged is not connected to the mail server"
			return nil
		}
		wanted, err = d.whereabouts(q.Messages)
		return err
	})
	if err != nil || len(wanted) == 0 {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, headingsPatience)
	defer cancel()
	// Most messages lie in one place; the other places of a message are tried only where
	// it was not found in the first.
	for nth := 0; len(wanted) > 0 && out.Problem == "" && nth < 3; nth++ {
		if wanted, err = out.read(ctx, a, wanted, nth); err != nil {
			return out, err
		}
	}
	return out, nil
}

// whereabouts finds the messages that are known and lie somewhere.
func (d *Desk) whereabouts(keys []string) ([]whereabouts, error) {
	known := map[store.MessageKey]string{}
	for _, key := range keys {
		b, err := hex.DecodeString(key)
		if err != nil || len(b) != len(store.MessageKey{}) {
			return nil, fmt.Errorf("%w: %q is not the key of a message, which has 32 hexadecimal digits", ErrNoMessage, key)
		}
		known[store.MessageKey(b)] = key
	}
	f := d.Filter
	var out []whereabouts
	for k := range known { // in any order: the answer has none
		at := f.Ledger().Places.Find(k)
		row, ok := f.State().Messages.Get(string(k[:]))
		if !ok || len(at) == 0 {
			continue
		}
		out = append(out, whereabouts{key: known[k], row: row, places: at, doubtful: f.Options().Featurize.AuthServID != "" && !row.Vouched})
	}
	return out, nil
}

// read asks for the messages at the nth of their places and returns those that were not
// found there and have more.
func (out *Headings) read(ctx context.Context, a Account, wanted []whereabouts, nth int) (left []whereabouts, err error) {
	var places []ingest.Place
	for _, w := range wanted {
		places = append(places, w.places[nth])
	}
	var found map[ingest.Place][]byte
	mail, err := a.Mail()
	if err == nil {
		found, err = mail.Headers(ctx, places)
	}
	if err != nil {
		out.Problem = err.Error()
	}
	reader, err := a.Reader(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range wanted {
		if raw, ok := found[w.places[nth]]; ok {
			// Reading what is at hand already must not fail for want of time.
			m, err := reader.Read(context.WithoutCancel(ctx), raw)
			if err != nil {
				return nil, err
			}
			if w.is(m) {
				out.Headings[w.key] = w.heading(m, w.places[nth].Mailbox)
				continue
			}
		}
		if len(w.places) > nth+1 {
			left = append(left, w)
		}
	}
	return left, nil
}

// is reports whether a header is that of the message. Its UIDVALIDITY and UID say so
// already; but a server may break its word, and one message's subject must never be shown
// as another's.
func (w *whereabouts) is(m *featurize.Message) bool {
	meta := filter.NewMeta(m)
	return meta.ID == w.row.ID && meta.From == w.row.Sender
}

func (w *whereabouts) heading(m *featurize.Message, mailbox string) Heading {
	h := Heading{Subject: m.Subject, From: m.FromName, Mailbox: mailbox, MessageID: m.MessageID}
	if len(m.From) > 0 && (w.doubtful || h.From == "") {
		h.From = m.From[0]
	}
	if to := slices.Concat(m.To, m.Cc); len(to) > 0 {
		if h.To = to[0]; len(to) > 1 {
			h.To += fmt.Sprintf(" and %d more", len(to)-1)
		}
	}
	return h
}
