// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
)

// Kinds of notifications.
const (
	KindMessage = "message" // one message
	KindSummary = "summary" // several, or what waited
	KindConsent = "consent" // hinged can't read the mail before the owner consents again
	KindTest    = "test"
)

// Notification is what a command reads from its standard input and a webhook is posted,
// as JSON.
type Notification struct {
	Kind      string    `json:"kind"`                 // Kind is message, summary, consent or test.
	Account   string    `json:"account"`              // Account is the account that the mail belongs to.
	Title     string    `json:"title"`                // Title is the title from the configuration.
	Text      string    `json:"text"`                 // Text says in words what this is about.
	At        time.Time `json:"at"`                   // At is when the (first) message was marked.
	Count     int       `json:"count"`                // Count is the number of messages.
	Message   string    `json:"message,omitempty"`    // Message is the key of the one message, as `hinged explain` takes it.
	From      string    `json:"from,omitempty"`       // From is the sender, with sender = true.
	Subject   string    `json:"subject,omitempty"`    // Subject is there only with subject = true, as are the reasons.
	Why       []string  `json:"why,omitempty"`        // Why gives the reasons in words.
	Senders   []string  `json:"senders,omitempty"`    // Senders are those of several messages, each once, with sender = true.
	LastToday bool      `json:"last_today,omitempty"` // LastToday: per_day allows no more until tomorrow.
}

// item is what is known of a message that waits. It is nowhere but in memory.
type item struct {
	from, subject string
	why           []string
}

func (t *Target) message(w waiting, it item) *Notification {
	n := &Notification{Kind: KindMessage, Account: t.Account, Title: t.Title, At: w.At, Count: 1, Message: w.Key}
	n.Text = "A new message"
	if t.Sender && it.from != "" {
		n.From = desk.OneLine(it.from, 100)
		n.Text = "From " + n.From
	}
	if t.Subject && it.subject != "" {
		n.Subject = desk.OneLine(it.subject, 200)
		n.Text += ": " + n.Subject
	}
	if t.Subject && len(it.why) > 0 {
		n.Why = it.why
		n.Text += " (" + desk.OneLine(strings.Join(it.why, "; "), 200) + ")"
	}
	return n
}

// consent makes the one notification that neither waits for others nor counts messages.
func (t *Target) consent(w waiting, it item) *Notification {
	mend := "`hinged status` says what to do"
	if len(it.why) > 0 {
		mend = it.why[0]
	}
	return &Notification{
		Kind: KindConsent, Account: t.Account, Title: "hinged needs your consent", At: w.At,
		Text: "hinged can no longer read the mail of " + t.Account + ": " + mend,
	}
}

const mostSenders = 5

// summary makes the notification of several messages; more of them are not known.
func (t *Target) summary(all []waiting, more int, items map[string]item) *Notification {
	n := &Notification{Kind: KindSummary, Account: t.Account, Title: t.Title, Count: len(all) + more}
	if len(all) > 0 {
		n.At = all[0].At
	}
	counts, named := map[string]int{}, 0
	for _, w := range all {
		if from := items[w.Key].from; t.Sender && from != "" {
			if counts[from]++; counts[from] == 1 {
				n.Senders = append(n.Senders, from)
			}
			named++
		}
	}
	n.Text = fmt.Sprintf("%d messages", n.Count)
	if n.Count == 1 {
		n.Text = "1 message"
	}
	if !n.At.IsZero() {
		n.Text += " since " + n.At.In(t.Zone).Format("15:04")
	}
	if len(n.Senders) == 0 {
		return n
	}
	var names []string
	shown := 0
	for i, from := range n.Senders[:min(len(n.Senders), mostSenders)] {
		name := desk.OneLine(from, 100)
		n.Senders[i] = name
		if shown += counts[from]; counts[from] > 1 {
			name = fmt.Sprintf("%s (%d)", name, counts[from])
		}
		names = append(names, name)
	}
	n.Senders = n.Senders[:len(names)]
	n.Text += ", from " + strings.Join(names, ", ")
	if rest := n.Count - shown; rest > 0 {
		n.Text += fmt.Sprintf(" and %d more", rest)
	}
	return n
}
