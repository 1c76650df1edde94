// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/store"
)

// GetMessages lists decided messages, the newest first.
var GetMessages = offer(Verb[MessagesRequest, Messages]{
	Name: "messages", do: ofAccount(getMessages),
	API: &API{Summary: "Recent decisions, with filters and search", Reads: true},
})

// MessagesRequest says which of the decided messages to list. The zero value means the
// newest.
type MessagesRequest struct {
	// Outcome is the decision in force: important, unsure or ordinary; any if absent. It is
	// the decision at arrival, or what the owner said of the message since.
	Outcome string `json:"outcome,omitempty" jsonschema:"enum=important,enum=unsure,enum=ordinary"`
	Wrong   bool   `json:"wrong,omitempty"` // Wrong keeps only messages whose label differs from the decision at arrival.
	// Search keeps only messages that contain all of these words in the address or name of
	// their sender, in the kept words of their subject or in the reasons, each word perhaps
	// as a part of a longer one. A Message-ID finds the messages that have it; the
	// hexadecimal key of a message, or at least its first 8 digits, finds that message.
	Search   string     `json:"search,omitempty" jsonschema:"maxLength=1000"`
	Messages []string   `json:"messages,omitempty" jsonschema:"maxItems=500"` // Messages keeps only the messages with these keys, in hexadecimal; none: all.
	Before   *time.Time `json:"before,omitempty"`                             // Before keeps only messages that arrived earlier than this.
	Below    uint64     `json:"below,omitempty" jsonschema:"minimum=0"`       // Below keeps only messages with a lower number; 0: all. See next in the answer.
	Most     int        `json:"most,omitempty" jsonschema:"minimum=0"`        // Most is how many messages to list at most; 0: 50, and never more than 200.
}

// Messages are decided messages, newest first.
type Messages struct {
	Account    string           `json:"account"`     // Account is the account that the messages belong to.
	Threshold  float64          `json:"threshold"`   // Threshold is the current threshold: a message with a higher score is important.
	UnsureFrom float64          `json:"unsure_from"` // UnsureFrom is the lower end of the band below the threshold in which messages are unsure.
	Messages   []MessageSummary `json:"messages"`    // Messages are listed newest first.
	More       bool             `json:"more"`        // More reports whether there may be older messages that match the request.
	Next       uint64           `json:"next"`        // Next is the value of below that continues the list; 0 if there is nothing more.
	// Searched counts the messages that were compared with the words of search. The
	// search stops after 2,000 of them; more is true then, and next continues it.
	Searched  int `json:"searched"`
	Important int `json:"important"` // Important counts the known messages whose decision in force is important, whatever the request is.
	Unsure    int `json:"unsure"`    // Unsure counts the known messages whose decision in force is unsure.
	Ordinary  int `json:"ordinary"`  // Ordinary counts the known messages whose decision in force is ordinary.
	Wrong     int `json:"wrong"`     // Wrong counts the known messages whose label differs from the decision at arrival.
	// Oldest is the arrival of the oldest known message; absent if there is none.
	// Earlier ones are forgotten once there are more than max_messages.
	Oldest *time.Time `json:"oldest,omitempty"`
}

// MessageSummary is one decided message in a list.
type MessageSummary struct {
	Message       string     `json:"message"`                // Message is the key of the message, in hexadecimal.
	Number        uint64     `json:"number"`                 // Number is the place of the message in the order of arrival, counted from 1.
	Arrived       *time.Time `json:"arrived,omitempty"`      // Arrived is when the message arrived, according to the mail server.
	From          string     `json:"from,omitempty"`         // From is the sender's address; absent if the words of the message are not kept.
	Facts         []string   `json:"facts,omitempty"`        // Facts say in words how the message was addressed, what it is in its thread and which list it came through.
	Subject       []string   `json:"subject,omitempty"`      // Subject has words of the subject, possibly in another order.
	Outcome       string     `json:"outcome"`                // Outcome is the decision at arrival: important, unsure or ordinary.
	Stands        string     `json:"stands"`                 // Stands is the decision in force: what the owner said of the message, or else the decision at arrival.
	Reason        string     `json:"reason"`                 // Reason is what decided: the threshold, or the reason for another outcome.
	Rule          string     `json:"rule,omitempty"`         // Rule is the rule that decided at arrival, if it is still in force.
	ScoreThen     float64    `json:"score_at_arrival"`       // ScoreThen is the score at arrival.
	ThresholdThen float64    `json:"threshold_at_arrival"`   // ThresholdThen is the threshold at arrival.
	Score         float64    `json:"score"`                  // Score is the score with the current weights.
	Probability   float64    `json:"probability,omitempty"`  // Probability is how likely the message was important at arrival, by how labels followed such scores; absent if too little was known.
	NoScore       bool       `json:"no_score,omitempty"`     // NoScore reports that the features of the message are no longer kept. Score is then that at arrival.
	Label         string     `json:"label,omitempty"`        // Label is the label learnt for the message, important or ordinary; absent if there is none.
	Source        string     `json:"label_source,omitempty"` // Source is where the label came from.
	// Mark is what became of the newest mark of hinged on the message: intended,
	// confirmed, refused, abandoned, undoing, undone or gone, as in the ledger; absent
	// if there was none.
	Mark    string   `json:"mark,omitempty"`
	Marked  bool     `json:"marked"`            // Marked reports whether a mark of hinged is on the message or about to be.
	Wrong   bool     `json:"wrong"`             // Wrong reports whether the label differs from the decision at arrival.
	Mailbox string   `json:"mailbox,omitempty"` // Mailbox is where the message lies; absent if it is in no watched mailbox.
	UID     uint32   `json:"uid,omitempty"`     // UID is the UID of the message in that mailbox.
	For     []string `json:"for"`               // For lists what speaks for the message, in a few words each, as in explain.
	Against []string `json:"against"`           // Against lists what speaks against the message.
	// name has the words of the sender's name, for the search alone.
	name []string
}

const (
	messagesUsual = 50
	messagesMost  = 200
	// searchMost is how many messages one request compares with its words: their features
	// are read from the store, about 10,000 a second.
	searchMost = 2000
	// summariseAtOnce is how many messages are summarised in one turn of the account's
	// writer, which waits meanwhile.
	summariseAtOnce = 50
)

// listed is a message that may be listed.
type listed struct {
	key store.MessageKey
	row store.Message
}

// getMessages reads the features of the messages outside of Look: only the list of them
// and their scores wait for the account's writer.
func getMessages(ctx context.Context, a Account, q MessagesRequest) (out Messages, err error) {
	if q.Outcome != "" && !slices.Contains(decidedOutcomes, q.Outcome) {
		return out, fmt.Errorf("outcome %q is not one of %s", q.Outcome, strings.Join(decidedOutcomes, ", "))
	}
	most := min(max(q.Most, 0), messagesMost)
	if most == 0 {
		most = messagesUsual
	}
	words := strings.Fields(folded(q.Search))
	var past Past
	var found []listed
	err = a.Look(ctx, func(d *Desk) error {
		past = d.Past
		var exact bool
		if out, found, exact = d.messages(&q, max(most, searchMost)+1); exact {
			words = nil
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if len(words) == 0 {
		found = found[:min(len(found), most+1)]
	}
	left, err := out.fill(ctx, a, past, found, words, most)
	if err != nil {
		return out, err
	}
	if out.More = left; !left {
		out.Next = 0
	}
	return out, nil
}

// fill lists the messages in found that have all the words, until there are enough, and
// reports whether it stopped before the end.
func (out *Messages) fill(ctx context.Context, a Account, past Past, found []listed, words []string, most int) (left bool, err error) {
	vectors := writer.NewVectors(past.Store, past.Account)
	for len(found) > 0 && len(out.Messages) < most && out.Searched < searchMost {
		n := summariseAtOnce
		if len(words) == 0 {
			n = min(n, most-len(out.Messages))
		}
		n = min(n, len(found))
		some, err := summariseMessages(ctx, a, vectors, found[:n])
		if err != nil {
			return false, err
		}
		for i := 0; i < n && len(out.Messages) < most; i++ {
			out.Next = found[0].row.Seq
			found = found[1:]
			if len(words) > 0 {
				out.Searched++
			}
			if some[i].Message != "" && some[i].has(words) {
				out.Messages = append(out.Messages, some[i])
			}
		}
	}
	return len(found) > 0, nil
}

var decidedOutcomes = []string{store.DecidedImportant.String(), store.DecidedUnsure.String(), store.DecidedOrdinary.String()}

// messages counts all messages that were decided, and gathers those that a request may
// be about, the newest first, most at most. exact: they are those that the search names.
func (d *Desk) messages(q *MessagesRequest, most int) (out Messages, found []listed, exact bool) {
	f := d.Filter
	out = Messages{Account: d.Account, Messages: []MessageSummary{}}
	cut := f.Line().Cut()
	out.Threshold, out.UnsureFrom = cut.Threshold, cut.Low
	named := namer(q.Search)
	if len(q.Messages) > 0 {
		named = oneOf(q.Messages)
	}
	var exactly []listed
	for k, m := range f.Messages.Newest() {
		judged, wrong := filter.Judged(&m)
		if !judged {
			continue
		}
		out.Oldest = TimeOf(m.Arrived)
		stands := filter.Stands(&m)
		switch stands {
		case store.DecidedImportant:
			out.Important++
		case store.DecidedUnsure:
			out.Unsure++
		default:
			out.Ordinary++
		}
		if wrong {
			out.Wrong++
		}
		switch {
		case q.Outcome != "" && stands.String() != q.Outcome, q.Wrong && !wrong:
		case q.Below > 0 && m.Seq >= q.Below, q.Before != nil && !m.Arrived.Time().Before(*q.Before):
		default:
			if len(found) < most {
				found = append(found, listed{k, m})
			}
			if len(exactly) < most && named(k, &m) {
				exactly = append(exactly, listed{k, m})
			}
		}
	}
	if len(exactly) > 0 || len(q.Messages) > 0 {
		return out, exactly, true
	}
	return out, found, false
}

// oneOf reports whether a message has one of some keys. What is no key names none.
func oneOf(keys []string) func(k store.MessageKey, m *store.Message) bool {
	wanted := map[store.MessageKey]bool{}
	for _, key := range keys {
		if b, err := hex.DecodeString(key); err == nil && len(b) == len(store.MessageKey{}) {
			wanted[store.MessageKey(b)] = true
		}
	}
	return func(k store.MessageKey, _ *store.Message) bool { return wanted[k] }
}

// namer reports whether a search is a name of a message: its Message-ID, its key or the
// beginning of that.
func namer(search string) func(k store.MessageKey, m *store.Message) bool {
	search = strings.TrimSpace(search)
	if search == "" {
		return func(store.MessageKey, *store.Message) bool { return false }
	}
	id := filter.IDOf(search)
	digits := strings.ToLower(search)
	if len(digits) < 8 || len(digits) > 2*len(store.MessageKey{}) || strings.Trim(digits, "0123456789abcdef") != "" {
		digits = ""
	}
	return func(k store.MessageKey, m *store.Message) bool {
		return id != 0 && m.ID == id || digits != "" && strings.HasPrefix(hex.EncodeToString(k[:]), digits)
	}
}

// summariseMessages reads messages and says what became of each. One that is forgotten
// meanwhile is left empty.
func summariseMessages(ctx context.Context, a Account, vectors *writer.Vectors, some []listed) ([]MessageSummary, error) {
	features := make([]*featurize.Features, len(some))
	for i, l := range some {
		x, err := vectors.Features(l.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			features[i] = x
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	out := make([]MessageSummary, len(some))
	err := a.Look(ctx, func(d *Desk) error {
		for i, l := range some {
			if m, ok := d.Filter.State().Messages.Get(string(l.key[:])); ok {
				out[i] = summarise(d.Filter, l.key, &m, features[i])
			}
		}
		return nil
	})
	return out, err
}

// summarise says what is known of a message, what became of it and where it lies. x are its
// features; nil: they are no longer kept.
func summarise(f *filter.Filter, k store.MessageKey, m *store.Message, x *featurize.Features) MessageSummary {
	out := MessageSummary{
		Message: hexKey(k), Number: m.Seq, Arrived: TimeOf(m.Arrived), Outcome: m.Outcome.String(), Stands: filter.Stands(m).String(), Reason: m.Reason.String(),
		ScoreThen: m.Score, ThresholdThen: m.Threshold, Score: m.Score, NoScore: x == nil,
		Probability: filter.Rounded(m.Probability),
		Marked:      f.Ledger().Marked(k), For: []string{}, Against: []string{},
	}
	_, out.Wrong = filter.Judged(m)
	if rule := f.Explainer.RuleOf(m); rule != nil {
		out.Rule = rule.Match
	}
	if m.Label != 0 {
		out.Label, out.Source = m.Label.String(), m.Source.String()
	}
	if state, ok := f.Ledger().LastMark(k); ok {
		out.Mark = state.String()
	}
	if found := f.Ledger().Places.Find(k); len(found) > 0 {
		out.Mailbox, out.UID = found[0].Mailbox, found[0].UID
	}
	if x != nil {
		gist := words.GistOf(x)
		out.From, out.Facts, out.Subject, out.name = gist.From, gist.Facts, gist.Subject, gist.Name
		why := words.ReasonsOf(x, f.Explainer.Parts(x), f.People.Correspondence(m.Sender), false)
		out.For, out.Against = words.Texts(why.For), words.Texts(why.Against)
		out.Score = f.Learning().Score(x.Vector())
	}
	return out
}

// has reports whether all words are in what is known of a message.
func (m *MessageSummary) has(words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := folded(strings.Join(slices.Concat([]string{m.From}, m.name, m.Subject, m.Facts, m.For, m.Against), "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// folded is a text in the form in which texts are compared.
func folded(s string) string { return cases.Fold().String(norm.NFKC.String(s)) }
