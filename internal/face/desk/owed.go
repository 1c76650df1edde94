// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"cmp"
	"context"
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

// OwedRequest says which letters to list; the zero value means the newest, as configured.
type OwedRequest struct {
	Days  int `json:"days,omitempty" flag:"days" usage:"after how many DAYS without an answer; 0: as configured" jsonschema:"minimum=0,maximum=90"`
	Limit int `json:"limit,omitempty" flag:"limit" usage:"how MANY of each list to show; 0: 50" jsonschema:"minimum=0,maximum=200"` // Limit is how many of each list to show at most; 0: 50.
	Skip  int `json:"skip,omitempty" flag:"skip" usage:"how MANY of each list to leave out, the newest" jsonschema:"minimum=0"`     // Skip is how many of each list to leave out, the newest.
}

// Wrong returns a mistake in the request.
func (q OwedRequest) Wrong() error {
	switch {
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
	Problem string   `json:"problem,omitempty"` // Problem says in words why something is missing in the lists, if so.
}

// OpenList is a list of letters without an answer.
type OpenList struct {
	Total   int          `json:"total"`   // Total counts all such letters, also those that are not shown.
	Letters []OpenLetter `json:"letters"` // Letters are listed newest first.
	More    int          `json:"more"`    // More counts older letters that are not shown.
}

// OpenLetter is a letter without an answer.
type OpenLetter struct {
	Message   string    `json:"message"`              // Message is the key of the message, in hexadecimal.
	MessageID string    `json:"message_id,omitempty"` // MessageID is its Message-ID, without angle brackets; absent if the mail server was not asked.
	Since     time.Time `json:"since"`                // Since is when the letter came, or was sent.
	Days      int       `json:"days"`                 // Days is for how many whole days it has no answer.
	With      string    `json:"with,omitempty"`       // With is who wrote it, as they say, or to whom the owner wrote; absent if that is not known.
	Subject   string    `json:"subject,omitempty"`    // Subject is the subject, or words of it in another order where the mail server was not asked.
}

// getOwed reads what the letters are called outside of Look: from the store, and from the mail server.
func getOwed(ctx context.Context, a Account, q OwedRequest) (out Owed, err error) {
	if err := q.Wrong(); err != nil {
		return out, err
	}
	var past Past
	var owed []listed
	err = a.Look(ctx, func(d *Desk) error {
		f := d.Filter
		past, out = d.Past, Owed{Account: d.Account, Days: cmp.Or(q.Days, f.Options().OwedDays)}
		var theirs, mine []filter.Open
		if out.Days > 0 {
			theirs, mine = f.Messages.Open(d.Now(), out.Days)
		} else {
			out.Problem = "owed_days in the configuration is 0, which switches this off"
		}
		if out.Problem == "" && len(mine) == 0 && !f.Messages.KeepsSent() {
			out.Problem = "the account has no folder for sent mail, so hinged doesn't see what you asked"
		}
		out.Owed, owed = openList(theirs, q, d.Now())
		out.Waiting, _ = openList(mine, q, d.Now())
		return nil
	})
	if err != nil {
		return out, err
	}
	about, err := summariseMessages(ctx, a, writer.NewVectors(past.Store, past.Account), owed)
	if err != nil {
		return out, err
	}
	for i, m := range about {
		out.Owed.Letters[i].With, out.Owed.Letters[i].Subject = m.From, strings.Join(m.Subject, " ")
	}
	return out, out.name(ctx, a)
}

// openList shows of all letters those that are asked for.
func openList(all []filter.Open, q OwedRequest, now store.Moment) (OpenList, []listed) {
	left := all[min(q.Skip, len(all)):]
	shown := left[:min(len(left), cmp.Or(q.Limit, messagesUsual))]
	out := OpenList{Total: len(all), More: len(left) - len(shown), Letters: make([]OpenLetter, len(shown))}
	keys := make([]listed, len(shown))
	for i, o := range shown {
		out.Letters[i] = OpenLetter{Message: hexKey(o.Message), Since: o.Since.Time(), Days: int(now.Time().Sub(o.Since.Time()) / (24 * time.Hour))}
		keys[i].key = o.Message
	}
	return out, keys
}

// name gives the letters the names that the mail server has for them.
func (out *Owed) name(ctx context.Context, a Account) error {
	var keys []string
	for _, l := range slices.Concat(out.Owed.Letters, out.Waiting.Letters) {
		keys = append(keys, l.Message)
	}
	known, err := getHeadings(ctx, a, HeadingsRequest{Messages: keys})
	if known.Problem != "" && out.Problem == "" {
		out.Problem = "full subjects are missing: " + known.Problem
	}
	for _, list := range []*OpenList{&out.Owed, &out.Waiting} {
		for i := range list.Letters {
			l := &list.Letters[i]
			if h, found := known.Headings[l.Message]; found {
				l.MessageID, l.Subject, l.With = h.MessageID, h.Subject, h.From
				if list == &out.Waiting {
					l.With = h.To
				}
			}
		}
	}
	return err
}

func printOwed(w io.Writer, o Owed) (err error) {
	say := lines(w, &err)
	o.Owed.print(w, say, "You owe an answer to", "FROM")
	say("")
	o.Waiting.print(w, say, "You wait for an answer to", "TO")
	if o.Problem != "" {
		say("\nNote: %s.", o.Problem)
	}
	if o.Owed.Total+o.Waiting.Total > 0 {
		say("\n`hinged done MESSAGE` ends an entry.")
	}
	return err
}

func (l *OpenList) print(w io.Writer, say func(string, ...any), what, with string) {
	if l.Total == 0 {
		say("%s nothing.", what)
		return
	}
	say("%s %s:", what, Count(l.Total, "letter"))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "SINCE\t%s\tSUBJECT\tMESSAGE\n", with)
	for _, one := range l.Letters {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", one.Since.Format(time.DateOnly), OneLine(cmp.Or(one.With, "-"), 40), OneLine(cmp.Or(one.Subject, "-"), 50), one.Message[:12])
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
