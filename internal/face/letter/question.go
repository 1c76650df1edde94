// SPDX-License-Identifier: Apache-2.0

package letter

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/account/ledger"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store"
)

// openDays is for how many days' letters may lie unanswered. No more are written then:
// nobody reads them.
const openDays = 2

// question writes the letters that ask about a message each and were due at a moment,
// unless that was done, is too late, or marks are set by now.
func (w *writing) question(ctx context.Context, at, now time.Time) error {
	a, err := w.o.Host.Account(ctx, w.Name)
	if err != nil {
		return err
	}
	todays, err := w.letters(ctx, a, asking, at, now)
	if err != nil || now.Sub(at) > late {
		return err
	}
	if len(todays) == 0 {
		if todays, err = w.choose(ctx, a, at); err != nil {
			return err
		}
	}
	todays = slices.DeleteFunc(todays, func(l ledger.Letter) bool { return l.State != store.LetterSending })
	var keys []string
	for _, l := range todays {
		keys = append(keys, hex.EncodeToString(l.Asks[:]))
	}
	if len(keys) == 0 {
		return nil
	}
	known, err := desk.GetMessages.Do(ctx, w.o.Host, w.Name, desk.MessagesRequest{Messages: keys})
	if err != nil {
		return err
	}
	headings, err := w.readHeadings(ctx, keys)
	if err != nil {
		return err
	}
	for i, l := range todays {
		about := slices.IndexFunc(known.Messages, func(m desk.MessageSummary) bool { return m.Message == keys[i] })
		if about < 0 { // it was forgotten
			if err := w.settle(ctx, a, l.Number, false); err != nil {
				return err
			}
			continue
		}
		subject, text := w.asks(&known.Messages[about], headings)
		raw, err := w.compose(subject, text, l.MessageID, now)
		if err != nil {
			return err
		}
		if err := w.post(ctx, a, l, raw); err != nil {
			return err
		}
	}
	return nil
}

// choose enters the letters of the day of at about the messages whose labels would teach
// most and about which no letter has asked.
func (w *writing) choose(ctx context.Context, a desk.Account, at time.Time) ([]ledger.Letter, error) {
	asked, open := map[string]bool{}, 0
	marks := false
	err := a.Look(ctx, func(d *desk.Desk) error {
		marks = !d.Filter.Line().InShadow() && d.Filter.Line().Trained()
		for _, l := range d.Filter.Ledger().Letters.All() {
			if l.Asks == (store.MessageKey{}) {
				continue
			}
			asked[hex.EncodeToString(l.Asks[:])] = true
			if l.State == store.LetterSent && l.Answer == 0 && !d.Filter.Messages.SpokenOf(l.Asks) {
				open++
			}
		}
		return nil
	})
	if err != nil || marks || open >= openDays*w.Questions {
		return nil, err
	}
	q, err := desk.Ask.Do(ctx, w.o.Host, w.Name, desk.AskRequest{Since: at.AddDate(0, 0, -desk.AskDays), Most: w.Questions + len(asked)})
	if err != nil {
		return nil, err
	}
	var about []store.MessageKey
	for _, one := range q.Questions {
		if k, err := hex.DecodeString(one.Message); err == nil && !asked[one.Message] && len(about) < w.Questions {
			about = append(about, store.MessageKey(k))
		}
	}
	if len(about) == 0 {
		return nil, nil
	}
	return w.intend(ctx, a, asking, at, about...)
}

// asks returns subject and text of the letter about a message. The subject has the whole
// question, so that it can be answered in the list of messages. The letter belongs to no
// thread: who deletes it must not delete the message with it.
func (w *writing) asks(m *desk.MessageSummary, headings map[string]desk.Heading) (subject, text string) {
	h, ok := headings[m.Message]
	if !ok {
		h = desk.Heading{From: m.From, Subject: strings.Join(m.Subject, " ")}
	}
	from, about := desk.OneLine(cmp.Or(h.From, "an unknown sender"), 80), desk.OneLine(cmp.Or(h.Subject, "(no subject)"), 200)
	var b strings.Builder
	fmt.Fprintf(&b, "Does this message matter to you?\n\n  %s\n  from %s\n", about, from)
	if m.Arrived != nil {
		fmt.Fprintf(&b, "  %s\n", m.Arrived.In(w.Zone).Format("Monday, 2 January, 15:04"))
	}
	if h.MessageID != "" && len(h.MessageID) < 300 {
		fmt.Fprintf(&b, "  mid:%s\n", url.PathEscape(h.MessageID))
	}
	b.WriteString("\nYes: star (flag) this letter.\nNo: delete this letter.\n\n" +
		"The message itself stays where it is. If you don't know, archive this letter: that\nanswers nothing. You can change your mind within some minutes.\n\n" +
		"-- \nhinged wrote this into your mailbox because of questions in [account.digest] in its\nconfiguration. It asks until it has learnt enough to mark your mail.\n")
	return fmt.Sprintf("Does this matter to you? %s: %s", from, about), b.String()
}
