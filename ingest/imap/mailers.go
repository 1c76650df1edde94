// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
)

// Mailer is what a mail program calls itself in the messages that it writes.
type Mailer struct {
	Field    string // X-Mailer or User-Agent
	Name     string // the field's value, in one line
	Messages int    // with that value
}

// Mailers reads which programs wrote the messages of the open mailbox that arrived on
// the day of since or later, the newest limit of them: the most frequent first. Nothing
// becomes \Seen. Messages without such a field count for none.
func (p *Probe) Mailers(since time.Time, limit int) ([]Mailer, error) {
	type key struct{ field, name string }
	counts := map[key]int{}
	names := []string{"X-Mailer", "User-Agent"}
	_, err := p.eachField(since, limit, names, func(fields []byte) {
		header := headerOf(fields)
		for _, field := range names {
			if v := ingest.OneLine(strings.TrimSpace(header.Get(field))); v != "" {
				counts[key{field, v}]++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var out []Mailer
	for k, n := range counts {
		out = append(out, Mailer{k.field, k.name, n})
	}
	slices.SortFunc(out, func(a, b Mailer) int {
		return cmp.Or(b.Messages-a.Messages, strings.Compare(a.Name, b.Name), strings.Compare(a.Field, b.Field))
	})
	return out, nil
}
