// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
)

// takeout writes an mbox as Google Takeout does: the labels above what the sender wrote.
func takeout(t *testing.T, labels ...string) string {
	t.Helper()
	var b strings.Builder
	for i, l := range labels {
		date := time.Date(2026, 3, 1+i, 10, 0, 0, 0, time.UTC)
		fmt.Fprintf(&b, "From 17%d@xxx %s\nX-GM-THRID: 17%d\n", i, date.Format("Mon Jan 02 15:04:05 -0700 2006"), i)
		if l != "" {
			fmt.Fprintf(&b, "X-Gmail-Labels: %s\n", mime.QEncoding.Encode("utf-8", l))
		}
		fmt.Fprintf(&b, "X-Gmail-Labels: Sent,Starred\nMessage-ID: <%d@quay.example>\nFrom: a@quay.example\nDate: %s\n\ntext\n\n", i, date.Format(time.RFC1123Z))
	}
	path := filepath.Join(t.TempDir(), "All mail Including Spam and Trash.mbox")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTakeoutsLabelsSayWhereAMessageLay: a label is believed in seven languages, above what
// the sender wrote, and nothing that it doesn't know changes anything.
func TestTakeoutsLabelsSayWhereAMessageLay(t *testing.T) {
	for labels, want := range map[string]string{
		"Inbox,Opened,Category Updates":    `inbox \seen`,
		"Inbox,Unread,Category Promotions": `inbox `,
		"Inbox,Important,Starred,Opened":   `inbox+important \flagged \seen`,
		"Sent,Opened":                      `sent \seen`,
		"Spam,Unread":                      `junk `,
		"Trash,Inbox,Unread":               `trash `,
		"Drafts":                           `drafts \seen`,
		"Archived,Opened,Not so important": `archive \seen`,
		"Posteingang,Wichtig,Geöffnet,Kategorie: Persönlich": `inbox+important \seen`,
		"Gesendet,Markiert":                                        `sent \flagged \seen`,
		"Papierkorb,Ungelesen":                                     `trash `,
		"Boîte de réception,Non lus,Importants":                    `inbox+important `,
		"Messages envoyés":                                         `sent \seen`,
		"Recibidos,Destacados,No leídos":                           `inbox \flagged`,
		"Caixa de entrada,Com estrela,Importante":                  `inbox+important \flagged \seen`,
		"Posta in arrivo,Speciali,Non letti":                       `inbox \flagged`,
		"Postvak IN,Met ster,Belangrijk,Ongelezen":                 `inbox+important \flagged`,
		strings.Repeat("a long label of the owner's,", 9) + "Sent": `sent \seen`,
	} {
		p, err := NewPast([]string{takeout(t, labels)}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		var where, flags []string
		if err := p.Run(t.Context(), func(_ context.Context, e ingest.Event) error {
			switch e := e.(type) {
			case ingest.MailboxOpened:
				where = append(where, e.Role.String())
			case ingest.Arrival:
				flags = e.Flags
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(flags)
		if got := strings.Join(where, "+") + " " + strings.Join(flags, " "); got != want {
			t.Errorf("%s: got %q, want %q", labels, got, want)
		}
	}
}

// TestLabelsOfASenderAreNotBelieved: in an archive that is none of Google Takeout, what the
// mail server wrote stands above them.
func TestLabelsOfASenderAreNotBelieved(t *testing.T) {
	const labels = "X-Gmail-Labels: Sent,Starred\n"
	for head, want := range map[string]string{
		"Received: from x; Mon, 2 Mar 2026 08:00:00 +0000\n" + labels:                `archive \seen`,
		"X-GM-THRID: 1\nReceived: from x; Mon, 2 Mar 2026 08:00:00 +0000\n" + labels: `archive \seen`,
		"X-GM-THRID: 1\nX-Gmail-Labels: Inbox,\n Unread\n" + labels:                  `inbox `,
		labels + "X-GM-THRID: 1\n":                                                   `sent \flagged \seen`,
	} {
		m := &Message{Raw: []byte(head + "Subject: hello\n\ntext\n")}
		roles, flags := m.Labels()
		flags = ingest.CanonicalFlags(flags)
		if got := roles[0].String() + " " + strings.Join(flags, " "); len(roles) != 1 || got != want {
			t.Errorf("%q: got %q, %v, want %q", head, got, roles, want)
		}
	}
}

// TestPastOfAnArchiveComesAtTheSamePlaceAgain, in order of date, without what is too old;
// another archive's has other places.
func TestPastOfAnArchiveComesAtTheSamePlaceAgain(t *testing.T) {
	read := func(path string) (places []ingest.Place) {
		p, err := NewPast([]string{path}, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		last := time.Time{}
		if err := p.Run(t.Context(), func(_ context.Context, e ingest.Event) error {
			if a, ok := e.(ingest.Arrival); ok {
				places = append(places, a.Place)
				if a.Internal.Before(last) || !a.Backlog {
					t.Errorf("%+v came out of order, or is no backlog", a.Place)
				}
				last = a.Internal
			}
			return nil
		}); err != nil || !p.Complete() {
			t.Fatalf("Run returned %v, complete: %v", err, p.Complete())
		}
		if done, total := p.Progress(); done != total || done == 0 {
			t.Errorf("read %d of %d", done, total)
		}
		return places
	}
	path := takeout(t, "Inbox", "Inbox,Important", "Sent", "")
	first := read(path)
	if len(first) != 4 || !slices.Equal(first, read(path)) {
		t.Errorf("the places are %v, and then %v", first, read(path))
	}
	if other := read(takeout(t, "Inbox", "Inbox", "Sent", "Trash", "Inbox")); other[0].UIDValidity == first[0].UIDValidity {
		t.Errorf("another archive has the same places: %v", other)
	}
	if _, err := NewPast([]string{filepath.Join(t.TempDir(), "nothing.mbox")}, time.Time{}); err == nil || !strings.Contains(err.Error(), "nothing.mbox") {
		t.Errorf("a file that is not there gave %v", err)
	}
}
