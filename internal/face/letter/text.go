// SPDX-License-Identifier: Apache-2.0

package letter

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/emersion/go-message/mail"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store"
)

// How much a letter names; the rest is counted.
const (
	mostMarked  = 20
	mostLessons = 15
	mostReasons = 3
	mostOpen    = 10 // of each list of letters without an answer
)

// content is what a letter tells of the time from from until to.
type content struct {
	from, to  time.Time
	marked    []desk.MessageSummary // in shadow, those that hinged would have marked
	shadow    string                // why nothing is marked; "": marks are set
	questions []desk.Question
	open      desk.Owed
	lessons   []desk.LessonSummary // from what the owner did
	silence   int                  // lessons from silence
	headings  map[string]desk.Heading
}

func (c *content) empty() bool {
	return len(c.marked)+len(c.questions)+len(c.lessons)+c.open.Owed.Total+c.open.Waiting.Total == 0
}

func (w *writing) gather(ctx context.Context, a desk.Account, from, to time.Time) (*content, error) {
	c := &content{from: from, to: to}
	s, err := a.Status(ctx)
	if err != nil {
		return nil, err
	}
	if s.InShadow {
		c.shadow = s.Marking
	}
	within := func(t *time.Time) bool { return t != nil && !t.Before(from) && t.Before(to) }
	for q := (desk.MessagesRequest{Outcome: "important", Before: &to, Most: 200}); ; {
		found, err := desk.GetMessages.Do(ctx, w.o.Host, w.Name, q)
		if err != nil {
			return nil, err
		}
		earlier := false
		for _, m := range found.Messages {
			if earlier = !within(m.Arrived); !earlier && (m.Mark == "confirmed" || m.Mark == "refused" || s.InShadow && m.Reason == store.ReasonShadow.String()) {
				c.marked = append(c.marked, m)
			}
		}
		if earlier || !found.More || len(found.Messages) == 0 {
			break
		}
		q.Below = found.Next
	}
	lessons, err := desk.GetLessons.Do(ctx, w.o.Host, w.Name, desk.LessonsRequest{Most: 200})
	if err != nil {
		return nil, err
	}
	for _, l := range lessons.Lessons {
		switch {
		case !within(l.At):
		case l.Source == "silence" || l.Source == "provisional":
			c.silence++
		default:
			c.lessons = append(c.lessons, l)
		}
	}
	ask, err := desk.Ask.Do(ctx, w.o.Host, w.Name, desk.AskRequest{Since: from, Most: desk.MostInvited})
	if err != nil {
		return nil, err
	}
	c.questions = ask.Questions
	if c.open, err = desk.GetOwed.Do(ctx, w.o.Host, w.Name, desk.OwedRequest{Limit: mostOpen}); err != nil {
		return nil, err
	}
	return c, c.readHeadings(ctx, w)
}

// readHeadings reads what the messages are called. Without that, the letter says what
// hinged knows of them.
func (c *content) readHeadings(ctx context.Context, w *writing) error {
	var keys []string
	for _, m := range c.marked[:min(len(c.marked), mostMarked)] {
		keys = append(keys, m.Message)
	}
	for _, q := range c.questions {
		keys = append(keys, q.Message)
	}
	for _, l := range c.lessons[:min(len(c.lessons), mostLessons)] {
		keys = append(keys, l.Message)
	}
	var err error
	c.headings, err = w.readHeadings(ctx, keys)
	return err
}

func (w *writing) readHeadings(ctx context.Context, keys []string) (map[string]desk.Heading, error) {
	var found desk.Headings
	var err error
	for range headingsTries {
		if found, err = desk.GetHeadings.Do(ctx, w.o.Host, w.Name, desk.HeadingsRequest{Messages: keys}); err != nil {
			return nil, err
		}
		if found.Problem == "" || !w.sleep(ctx, headingsPause) {
			break
		}
	}
	return found.Headings, ctx.Err()
}

func (w *writing) compose(subject, text, id string, now time.Time) ([]byte, error) {
	var h mail.Header
	h.SetDate(now.In(w.Zone))
	h.SetAddressList("From", []*mail.Address{{Name: "hinged", Address: "digest@" + domain}})
	h.SetAddressList("To", []*mail.Address{{Address: w.To}})
	h.SetSubject(subject)
	h.SetMessageID(id)
	h.Set("Auto-Submitted", "auto-generated") // RFC 3834
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	var out bytes.Buffer
	body, err := mail.CreateSingleInlineWriter(&out, h)
	if err != nil {
		return nil, err
	}
	if _, err := body.Write([]byte(strings.ReplaceAll(text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	if err := body.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (w *writing) subject(c *content) string {
	day := c.to.Format("Monday, 2 January")
	if c.shadow != "" {
		return fmt.Sprintf("hinged: it would have marked %s, until %s", desk.Count(len(c.marked), "message"), day)
	}
	return fmt.Sprintf("hinged: %s, until %s", desk.Count(len(c.marked), "important message"), day)
}

func (w *writing) text(c *content) string {
	var b strings.Builder
	const moment = "Monday, 2 January 15:04"
	fmt.Fprintf(&b, "What hinged did for your account %s from %s\nuntil %s.\n\n", w.Name, c.from.Format(moment), c.to.Format(moment))

	if c.shadow == "" {
		fmt.Fprintf(&b, "MARKED AS IMPORTANT: %d\n\n", len(c.marked))
	} else {
		fmt.Fprintf(&b, "WOULD HAVE MARKED: %d\n\nhinged marks nothing yet. Marking: %s.\n\n", len(c.marked), c.shadow)
	}
	for _, m := range c.marked[:min(len(c.marked), mostMarked)] {
		c.item(&b, m.Message, m.From, m.Subject)
		why := strings.Join(m.For[:min(len(m.For), mostReasons)], "; ")
		if m.Rule != "" {
			why = "your rule " + m.Rule
		}
		if why != "" {
			fmt.Fprintf(&b, "  because: %s\n", desk.OneLine(why, 300))
		}
		if odds := words.InTen(m.Probability); odds != "" {
			fmt.Fprintf(&b, "  %s\n", odds)
		}
		if m.Mark == "refused" {
			b.WriteString("  you took the mark off\n")
		}
	}
	more(&b, len(c.marked)-mostMarked)

	if len(c.questions) > 0 {
		b.WriteString("YOUR ANSWER WOULD TEACH MOST ABOUT\n\n")
		for _, q := range c.questions {
			c.item(&b, q.Message, q.From, q.Subject)
			fmt.Fprintf(&b, "  hinged called it %s (score %+.2f)\n", q.OutcomeNow, q.Score)
		}
		b.WriteString("\nIf such a message is important, flag it (star it) in your mail program. If it is not,\nleave it, or remove its mark. To flag this digest answers nothing.\n\n")
	}

	c.unanswered(&b, "YOU OWE AN ANSWER", &c.open.Owed)
	c.unanswered(&b, "YOU WAIT FOR AN ANSWER", &c.open.Waiting)

	fmt.Fprintf(&b, "LEARNT FROM WHAT YOU DID: %d\n\n", len(c.lessons))
	for _, l := range c.lessons[:min(len(c.lessons), mostLessons)] {
		c.item(&b, l.Message, l.From, l.Subject)
		fmt.Fprintf(&b, "  %s: %s\n", l.Label, words.Deed(l.Label, l.Source))
	}
	more(&b, len(c.lessons)-mostLessons)
	if c.silence > 0 {
		fmt.Fprintf(&b, "From messages that you left alone, hinged learnt %s.\n\n", desk.Count(c.silence, "more lesson"))
	}
	b.WriteString("-- \nhinged wrote this into your mailbox because of [account.digest] in its configuration.\nIt learns nothing from what you do with this message.\n")
	return b.String()
}

// item names a message, with a link that some mail programs open (RFC 2392).
func (c *content) item(b *strings.Builder, key, address string, words []string) {
	h, ok := c.headings[key]
	if !ok {
		h = desk.Heading{From: address, Subject: strings.Join(words, " ")}
	}
	fmt.Fprintf(b, "* %s: %s\n", desk.OneLine(cmp.Or(h.From, "(unknown sender)"), 80), desk.OneLine(cmp.Or(h.Subject, "(no subject)"), 200))
	if h.MessageID != "" && len(h.MessageID) < 300 {
		fmt.Fprintf(b, "  mid:%s\n", url.PathEscape(h.MessageID))
	}
}

// unanswered lists letters without an answer.
func (c *content) unanswered(b *strings.Builder, title string, list *desk.OpenList) {
	if list.Total == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %d\n\n", title, list.Total)
	for _, l := range list.Letters {
		one := content{headings: map[string]desk.Heading{"": {From: l.With, Subject: l.Subject, MessageID: l.MessageID}}}
		one.item(b, "", "", nil)
		fmt.Fprintf(b, "  for %s\n", desk.Count(l.Days, "day"))
	}
	more(b, list.More)
}

func more(b *strings.Builder, n int) {
	if n > 0 {
		b.WriteString(message.NewPrinter(language.English).Sprintf("and %d more\n", n))
	}
	b.WriteString("\n")
}
