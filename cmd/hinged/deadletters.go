// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/deadletters"
)

type lettersQuery struct {
	IDs    []string `arg:"ID"`
	Reason string   `flag:"reason" usage:"only letters with this WORD as their reason"`
	Raw    bool     `flag:"raw" usage:"print the value of one letter, byte for byte"`
}

// Wrong implements what verb says.
func (q *lettersQuery) Wrong() error {
	var words []string
	for _, r := range kafka.Reasons() {
		words = append(words, string(r))
	}
	switch {
	case q.Reason != "" && !slices.Contains(words, q.Reason):
		return fmt.Errorf("--reason is %q; the reasons are %s", q.Reason, strings.Join(words, ", "))
	case q.Raw && len(q.IDs) != 1:
		return errors.New("--raw prints one letter: it needs one ID")
	}
	return nil
}

// letterList are dead letters with how they are shown, or the value of one.
type letterList struct {
	deadletters.Listing
	brief bool
	value []byte
}

var kafkaLetters = of(desk.Help{
	Use:   "dead-letters [ID…]",
	Short: "List the records from Kafka that could not be used",
	Long: `List the dead letters of [kafka] by reason, or only those with an ID: the
partition and offset of the record, and the first digits of a hash of it. The
digits are needed only if several letters have the rest.

To have hinged try a record again after you have mended the cause, produce it again
with its key, its value and its own headers; --raw prints the value.`,
	Example: `  $ hinged kafka dead-letters
  unknown-message: 2 letters
    3/1207-9f2c1a7b  2026-03-02 08:00  ann@example.org  412 bytes
    5/88-03d1e0aa    2026-03-02 09:30  bob@example.org  97 bytes`,
	All: true,
}, listLetters, printLetters, deadletters.Listing{})

func listLetters(c *call, q *lettersQuery) (out letterList, err error) {
	if q.Raw && c.json {
		return out, cli.Misuse(c.Command, "--raw prints the value as it is, so it excludes --json")
	}
	client, _, err := kafkaClient(c.config, "there are no dead letters")
	if err != nil {
		return out, err
	}
	defer client.Close()
	out.brief = q.Reason == "" && len(q.IDs) == 0
	if out.Listing, err = deadletters.List(c.Context(), client, deadletters.Selection{Reason: kafka.Reason(q.Reason), IDs: q.IDs}); err != nil || !q.Raw {
		return out, err
	}
	r, err := deadletters.Read(c.Context(), client, &out.Letters[0])
	if err == nil {
		out.value = append([]byte{}, r.Value...)
	}
	return out, err
}

const mostLetters = 10

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

func printLetters(w io.Writer, found letterList) error {
	if found.value != nil {
		_, err := w.Write(found.value)
		return err
	}
	of := map[kafka.Reason][]deadletters.Letter{}
	for _, l := range found.Letters {
		of[l.Reason] = append(of[l.Reason], l)
	}
	var out strings.Builder
	for _, reason := range append(kafka.Reasons(), unknownReasons(of)...) {
		list := of[reason]
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s: %s\n", reason, desk.Count(len(list), "letter"))
		for i, l := range list {
			if found.brief && i == mostLetters {
				fmt.Fprintf(&out, "  and %d more: hinged kafka dead-letters --reason %s\n", len(list)-i, reason)
				break
			}
			fmt.Fprintf(&out, "  %s  %s  %s  %s", l.ID, minute(l.Since), desk.OneLine(l.Account, 60), desk.Count(l.Bytes, "byte"))
			out.WriteString("\n")
			if !found.brief {
				fmt.Fprintf(&out, "    %s\n", desk.OneLine(l.Detail, 400))
			}
		}
	}
	if len(found.Letters) == 0 {
		fmt.Fprintf(&out, "no dead letters in %s\n", found.Topic)
	}
	if found.Others > 0 {
		fmt.Fprintf(&out, "%s there that are no dead letters of hinged\n", desk.Count(found.Others, "record"))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// unknownReasons are those of a newer hinged.
func unknownReasons(of map[kafka.Reason][]deadletters.Letter) (out []kafka.Reason) {
	for reason := range of {
		if !slices.Contains(kafka.Reasons(), reason) {
			out = append(out, reason)
		}
	}
	slices.Sort(out)
	return out
}
