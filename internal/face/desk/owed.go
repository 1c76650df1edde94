// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
)

// GetOwed lists the letters without an answer.
var GetOwed = offer(Verb[OwedRequest, Owed]{
	Name: "owed", Text: printOwed, do: ofAccount(getOwed),
	API: &API{Summary: "Letters that you owe an answer, and those that you wait for one to", Reads: true},
	Help: &Help{
		Group: ToSee,
		Use:   "owed",
		Short: "List the letters that have no answer",
		Long: `List important letters that you didn't answer, and letters of yours that asked
something and got no answer, once that is so for some days (owed_days in the
configuration). Of a thread only the oldest letter is listed.

An entry ends with an answer in its thread, or when you mute the thread, remove
the mark, call the message ordinary, move it to Archive, Junk or Trash, or delete
it. ` + "`hinged done`" + ` ends it otherwise. After 90 days hinged gives it up.`,
		Example: `  $ hinged owed
  You owe an answer to 1 letter:
  SINCE       FROM                SUBJECT               MESSAGE
  2026-03-02  Ann <ann@example.com>  Contract until Friday  0f3b8c1de2a4

  You wait for an answer to 1 letter:
  SINCE       TO               SUBJECT           MESSAGE
  2026-03-01  bob@example.com  Shall we move it?  77c0a1f20b3d

  hinged done MESSAGE ends an entry.`,
	},
})

// OwedRequest says which letters to list; the zero value means both lists, as configured.
type OwedRequest struct {
	Days    int  `json:"days,omitempty" flag:"days" usage:"after how many DAYS without an answer; 0: as configured" jsonschema:"minimum=0,maximum=90"`
	Owed    bool `json:"owed,omitempty" flag:"owed" usage:"only what you owe"`                                                         // Owed leaves out what is waited for.
	Waiting bool `json:"waiting,omitempty" flag:"waiting" usage:"only what you wait for"`                                              // Waiting leaves out what is owed.
	Limit   int  `json:"limit,omitempty" flag:"limit" usage:"how MANY of each list to show; 0: 50" jsonschema:"minimum=0,maximum=200"` // Limit is how many of each list to show at most; 0: 50.
	Skip    int  `json:"skip,omitempty" flag:"skip" usage:"how MANY of each list to leave out, the newest" jsonschema:"minimum=0"`     // Skip is how many of each list to leave out, the newest.
}

// Wrong returns a mistake in the request.
func (q OwedRequest) Wrong() error {
	switch {
	case q.Owed && q.Waiting:
		return errors.New("owed and waiting exclude each other; without both, both are listed")
	case q.Days < 0 || q.Days > filter.OpenDays:
		return fmt.Errorf("days is %d, want 0 to %d", q.Days, filter.OpenDays)
	case q.Limit < 0 || q.Limit > messagesMost:
		return fmt.Errorf("limit is %d, want 0 to %d", q.Limit, messagesMost)
	case q.Skip < 0:
		return fmt.Errorf("skip is %d, want 0 or more", q.Skip)
	}
	return nil
}

// Owed is what `hinged owed` prints.
type Owed struct {
	Account string   `json:"account"`           // Account is the account that the letters belong to.
	Days    int      `json:"days"`              // Days is after how many days without an answer a letter is listed; 0: never.
	Owed    OpenList `json:"owed"`              // Owed are important letters that the owner did not answer.
	Waiting OpenList `json:"waiting"`           // Waiting are letters of the owner's that asked something and got no answer.
	Problem string   `json:"problem,omitempty"` // Problem says in words why subjects and names are missing, if the mail server could not be asked.
}

// OpenList is a list of letters without an answer.
type OpenList struct {
	Total   int          `json:"total"`         // Total counts all such letters, also those that are not shown.
	Letters []OpenLetter `json:"letters"`       // Letters are listed newest first.
	More    int          `json:"more"`          // More counts older letters that are not shown.
	Why     string       `json:"why,omitempty"` // Why says in words why the list can only be empty; absent if it need not be.
}

// OpenLetter is a letter without an answer.
type OpenLetter struct {
	Message   string    `json:"message"`              // Message is the key of the message, in hexadecimal.
	MessageID string    `json:"message_id,omitempty"` // MessageID is its Message-ID, without angle brackets; absent if the mail server was not asked.
	Since     time.Time `json:"since"`                // Since is when the letter came, or was sent.
	Days      int       `json:"days"`                 // Days is for how many whole days it has no answer.
	Later     int       `json:"later,omitempty"`      // Later counts later letters in its thread that have no answer either.
	From      string    `json:"from,omitempty"`       // From is who wrote it, as they say; absent if that is not known.
	To        string    `json:"to,omitempty"`         // To is to whom the owner wrote; absent if that is not known.
	Subject   string    `json:"subject,omitempty"`    // Subject is the subject, or words of it in another order where the mail server was not asked.
	Mailbox   string    `json:"mailbox,omitempty"`    // Mailbox is where the letter lies.
	For       []string  `json:"for,omitempty"`        // For lists what speaks for the message, as in explain.
}

// getOwed reads what the letters are called outside of Look: from the store, and from the mail server.
func getOwed(ctx context.Context, a Account, q OwedRequest) (out Owed, err error) {
	if err := q.Wrong(); err != nil {
		return out, err
	}
	var past Past
	var owed, waiting []filter.Open
	err = a.Look(ctx, func(d *Desk) error {
		f := d.Filter
		past, out = d.Past, Owed{Account: d.Account, Days: cmp.Or(q.Days, f.Options().OwedDays)}
		now := d.Now()
		if out.Days > 0 {
			owed, waiting = f.Messages.Open(now, out.Days)
		} else {
			out.Owed.Why = "owed_days in the configuration is 0, which switches this off"
			out.Waiting.Why = out.Owed.Why
		}
		if !f.Messages.KeepsSent() && len(waiting) == 0 && out.Days > 0 {
			out.Waiting.Why = "the account has no folder for sent mail, so hinged doesn't see what you asked"
		}
		if q.Waiting {
			owed, out.Owed.Why = nil, "it was not asked for"
		}
		if q.Owed {
			waiting, out.Waiting.Why = nil, "it was not asked for"
		}
		owed, waiting = out.Owed.cut(owed, q), out.Waiting.cut(waiting, q)
		out.Owed.Letters, out.Waiting.Letters = openLetters(owed, now), openLetters(waiting, now)
		return nil
	})
	if err != nil {
		return out, err
	}
	some := make([]listed, len(owed))
	for i, o := range owed {
		some[i] = listed{o.Message, o.Row}
	}
	about, err := summariseMessages(ctx, a, writer.NewVectors(past.Store, past.Account), some)
	if err != nil {
		return out, err
	}
	for i, m := range about {
		l := &out.Owed.Letters[i]
		l.From, l.Subject, l.Mailbox, l.For = m.From, strings.Join(m.Subject, " "), m.Mailbox, m.For
	}
	return out, out.name(ctx, a)
}

// cut leaves of all letters those that are asked for.
func (l *OpenList) cut(all []filter.Open, q OwedRequest) []filter.Open {
	l.Total = len(all)
	all = all[min(q.Skip, len(all)):]
	shown := all[:min(len(all), cmp.Or(q.Limit, messagesUsual))]
	l.More = len(all) - len(shown)
	return shown
}

func openLetters(all []filter.Open, now store.Moment) []OpenLetter {
	out := make([]OpenLetter, len(all))
	for i, o := range all {
		out[i] = OpenLetter{Message: hexKey(o.Message), Since: o.Since.Time(), Later: o.More, Days: int(now.Time().Sub(o.Since.Time()) / (24 * time.Hour))}
	}
	return out
}

// name gives the letters the names that the mail server has for them.
func (out *Owed) name(ctx context.Context, a Account) error {
	var keys []string
	for _, l := range slices.Concat(out.Owed.Letters, out.Waiting.Letters) {
		keys = append(keys, l.Message)
	}
	known, err := getHeadings(ctx, a, HeadingsRequest{Messages: keys})
	out.Problem = known.Problem
	for _, list := range []*OpenList{&out.Owed, &out.Waiting} {
		for i := range list.Letters {
			l := &list.Letters[i]
			h, found := known.Headings[l.Message]
			if !found {
				continue
			}
			l.MessageID, l.Subject, l.Mailbox = h.MessageID, h.Subject, h.Mailbox
			if list == &out.Owed {
				l.From = h.From
			} else {
				l.To = h.To
			}
		}
	}
	return err
}

func printOwed(w io.Writer, o Owed) (err error) {
	say := lines(w, &err)
	o.Owed.print(w, say, "You owe an answer to", "FROM", func(l *OpenLetter) string { return l.From })
	say("")
	o.Waiting.print(w, say, "You wait for an answer to", "TO", func(l *OpenLetter) string { return l.To })
	if o.Problem != "" {
		say("\nFull subjects are missing: %s.", o.Problem)
	}
	if o.Owed.Total+o.Waiting.Total > 0 {
		say("\n`hinged done MESSAGE` ends an entry.")
	}
	return err
}

func (l *OpenList) print(w io.Writer, say func(string, ...any), what, whose string, who func(*OpenLetter) string) {
	switch {
	case l.Total == 0 && l.Why != "":
		say("%s nothing: %s.", what, l.Why)
		return
	case l.Total == 0:
		say("%s nothing.", what)
		return
	}
	say("%s %s:", what, Count(l.Total, "letter"))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "SINCE\t%s\tSUBJECT\tMESSAGE\n", whose)
	for i := range l.Letters {
		one := &l.Letters[i]
		subject := OneLine(cmp.Or(one.Subject, "-"), 50)
		if one.Later > 0 {
			subject += fmt.Sprintf(" (and %d more in its thread)", one.Later)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", one.Since.Format(time.DateOnly), OneLine(cmp.Or(who(one), "-"), 40), subject, one.Message[:12])
	}
	if err := t.Flush(); err == nil && l.More > 0 {
		say("and %d more; --skip and --limit show them", l.More)
	}
}

// Done ends the entries of GetOwed about the thread of a message, until more comes in it.
var Done = offer(Verb[DoneRequest, Closed]{
	Name: "done", do: ofAccount(done), Text: printClosed,
	API: &API{Summary: "Say that nothing is left to answer in the thread of a message"},
	Help: &Help{
		Group: ToCorrect,
		Use:   "done MESSAGE",
		Short: "Take a letter off the list of `hinged owed`",
		Long: `Say that nothing is left to answer in the thread of a message, whether you owe the
answer or wait for it. That holds until another letter comes in the thread. hinged
learns nothing from it, and changes nothing in your mailbox.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or a
file with it ("-" is standard input).`,
		Example: `  $ hinged done 0f3b8c1de2a4
  0f3b8c1de2a4: done, until another letter comes in its thread`,
	},
})

// DoneRequest names a message.
type DoneRequest struct {
	// Message is a Message-ID, or the hexadecimal key of a message or the beginning of one, at
	// least 8 digits.
	Message string `json:"message" arg:"MESSAGE" file:"key" jsonschema:"required,minLength=1,maxLength=1000"`
}

// Closed is what `hinged done` did.
type Closed struct {
	Name    string `json:"name"`           // Name is the Message-ID or key as it was given.
	Message string `json:"message"`        // Message is the key of the message, in hexadecimal.
	Changed bool   `json:"changed"`        // Changed is false if it was done already, and nothing has come since.
	Sent    bool   `json:"sent,omitempty"` // Sent reports whether it was handed to the input topic, to be done in its turn.
}

func done(ctx context.Context, a Account, q DoneRequest) (out Closed, err error) {
	var k store.MessageKey
	find := func(d *Desk) (err error) {
		if d.Filter.State().Account.Paused {
			return fmt.Errorf("%w; `hinged resume` ends that", ErrPaused)
		}
		k, err = findMessage(d.Filter, q.Message)
		out = Closed{Name: q.Message, Message: hexKey(k)}
		return err
	}
	if to, sends := a.(Sender); sends {
		if err = a.Look(ctx, find); err == nil {
			out.Changed, out.Sent = true, true
			err = send(ctx, to, kafka.Done{Ref: kafka.Ref{Key: kafka.Key(k)}})
		}
		return out, err
	}
	err = a.Change(ctx, func(d *Desk) error {
		if err := find(d); err != nil {
			return err
		}
		r, err := d.Apply(&filter.Closed{At: d.Now(), Message: k})
		out.Changed = r.Changed
		return err
	})
	return out, err
}

func printClosed(w io.Writer, c Closed) (err error) {
	say := lines(w, &err)
	switch {
	case c.Sent:
		say("%s: handed to the input topic, to be done in its turn", c.Name)
	case c.Changed:
		say("%s: done, until another letter comes in its thread", c.Name)
	default:
		say("%s: was done already", c.Name)
	}
	return err
}
