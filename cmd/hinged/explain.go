// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/face/desk"
)

type explainQuery struct {
	Message string   `arg:"MESSAGE"`
	Words   []string `flag:"word" usage:"show the weights of a WORD instead; may be repeated"`
	All     bool     `flag:"all" usage:"show every part and every lesson, also those of no weight"`
}

// Wrong implements what verb says.
func (q *explainQuery) Wrong() error {
	switch {
	case q.Message != "" && len(q.Words) > 0:
		return errors.New("hinged explain takes a message or --word, and not both")
	case slices.ContainsFunc(q.Words, func(word string) bool { return strings.TrimSpace(word) == "" }):
		return errors.New("--word is empty")
	}
	return nil
}

type shownExplanation struct {
	desk.Explanation
	message string
	all     bool
}

const mostWords = 20

var explain = of(desk.Help{
	Group: desk.ToSee,
	Use:   "explain [MESSAGE]",
	Short: "Say which words and facts made a message important or not",
	Long: `Explain a message's score with the weights as they are now. The first lines say in
a few words what speaks for the message and what against it. Then come the parts
that raise or lower the score, and by how much. The parts add up to the score;
small ones are summed up by what they are about, and --all shows each. The next
lines name the lessons that the score comes from: earlier messages like it, and
what you did with them.
The last lines say what would have changed the decision: the fewest parts without
which it would be different, and what your label would do to the score. All of
this is computed, not guessed.

MESSAGE is a Message-ID, the key of a message or its first 8 digits or more, or
a file with a message, which need not be known ("-" is standard input).

With --word, show the weights of a word wherever a message can contain it: in the
subject, the text, a quotation, and so on. It may also be two words, an address, a
domain, a mailing list, a header or a path. A weight above zero pulls towards
important, one below zero towards ordinary. Without MESSAGE and --word, list the
largest weights in both directions.

Features that name nobody, such as how a message is addressed, always have a name.
Other features get their names from learnt messages: only if at least three of them
have the feature, and only if it doesn't look like a code or a number. With names =
false in the configuration, words and addresses have no names. With a kernel, a
word's weight depends on the rest of the message; --word shows what it weighs by
itself.`,
	Example: `  $ hinged explain 'abc123@example.org'
  important, score +1.274, threshold +0.801
  7 in 10 such messages mattered
  for it: you answered 8 of 9 messages from ann@example.org; only to you
  against it: the word "newsletter"

    *  +0.412  from ann@example.org, to you alone
    *  +0.377  "invoice" in the subject
       -0.101  "newsletter" in the text
       +0.386  24 facts about the sender
       +0.200  120 words of the text
       +1.274  score

  Because of these:
    +0.523  you answered "invoice roof" from ann@example.org, 2026-03-02
    +0.288  you starred "invoice" from bob@example.net, 2026-02-19
    +0.463  all else that it has learnt

  Without the 2 parts marked * the score would be +0.485: ordinary.
  Called ordinary by you, it would have the score +0.310: ordinary.
  To say so: hinged learn --ordinary 0f3b8c1de2a4
  $ hinged explain --word invoice --word ann@example.org
  invoice
    +0.412  "invoice" in the subject
    -0.038  "invoice" in quoted text
  ann@example.org
    +0.377  from ann@example.org, to you alone`,
}, func(c *call, q *explainQuery) (any, error) {
	if q.Message == "" {
		return ask(c.Context(), c.config, desk.GetWords, c.account, desk.WordsRequest{Words: q.Words, Most: mostWords})
	}
	m, err := messageAt(c.Command, q.Message)
	if err != nil {
		return nil, err
	}
	ex, err := ask(c.Context(), c.config, desk.Explain, c.account, desk.ExplainRequest{Message: m})
	return shownExplanation{ex, q.Message, q.All}, err
}, func(w io.Writer, a any) error {
	if words, ok := a.(desk.Words); ok {
		return desk.GetWords.Text(w, words)
	}
	e := a.(shownExplanation)
	_, err := io.WriteString(w, explanationText(e.Explanation, e.message, e.all))
	return err
}, desk.Explanation{}, desk.Words{})

// messageAt names a known message, or has the one in a file read.
func messageAt(cmd *cobra.Command, message string) (m desk.Message, err error) {
	m.Name = message
	if !isFile(message) {
		return m, nil
	}
	// An empty file is an empty message here: it was named.
	m.Content = new([]byte{})
	n := 0
	err = eachMessage(message, cmd.InOrStdin(), func(found *archive.Message) error {
		if n++; n > 1 {
			return fmt.Errorf("%s holds more than one message; ask for one at a time", message)
		}
		*m.Content = append(*m.Content, found.Raw...) // the reader uses it again
		return nil
	})
	return m, err
}

// isFile reports whether a message is given as a file or on standard input, and not
// named.
func isFile(message string) bool {
	info, err := os.Stat(message)
	return message == "-" || err == nil && !info.IsDir()
}

// messageName turns a file into the key of the message in it; anything else names a message
// by itself.
func messageName(call *call, message string) (string, error) {
	if message == "" {
		return "", nil
	}
	m, err := messageAt(call.Command, message)
	if err != nil || m.Content == nil {
		return message, err
	}
	if len(*m.Content) == 0 {
		return "", fmt.Errorf("%s holds no message", message)
	}
	c, err := config.Load(call.config)
	if err != nil {
		return "", err
	}
	return desk.KeyOf(*m.Content, judgingOf(c, call.account).Featurize.MaxBytes)
}

// judgingOf is how the mail of an account is judged. One that there is not has the defaults;
// whoever is asked about it says so.
func judgingOf(c *config.Config, account string) *config.Judging {
	if a, err := configured(c, account); err == nil {
		return &a.Judging
	}
	if c.Kafka != nil {
		return &c.Kafka.Judging
	}
	a := config.DefaultAccount()
	return &a.Judging
}
