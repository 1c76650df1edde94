// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testOptions are the defaults for an owner who believes no server.
func testOptions() Options {
	o := DefaultOptions()
	o.Owner = []string{"Owner@Example.org"}
	return o
}

// newFor is for an owner with these addresses who believes that server; "": none.
func newFor(t testing.TB, server string, owner ...string) *Featurizer {
	t.Helper()
	o := DefaultOptions()
	o.AuthServID, o.Owner = server, owner
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newTest(t testing.TB) *Featurizer { return newFor(t, "", "Owner@Example.org") }

func newBelieving(t testing.TB) *Featurizer { return newFor(t, "mx.example.org", "Owner@Example.org") }

// sampleMails are the messages of testdata, by name.
func sampleMails(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 5 {
		t.Fatalf("messages in testdata: got %v (%v), want 5 or more", files, err)
	}
	mails := map[string][]byte{}
	for _, file := range files {
		if mails[strings.TrimSuffix(filepath.Base(file), ".eml")], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return mails
}

// describe lists all that was read of a message.
func describe(f *Featurizer, m *Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "key %x\nmessage-id %q\nin-reply-to %q\nreferences %q\nfrom %q\nto %q\ncc %q\nsubject %q\ndate %s\nown %v\ndefects %q\n",
		m.Key, m.MessageID, m.InReplyTo, m.References, m.From, m.To, m.Cc, m.Subject, m.Date.UTC().Format("2006-01-02 15:04:05"), m.FromOwner, m.Defects)
	var lines []string
	for n := range f.Freeze(m, History{}).All() {
		lines = append(lines, fmt.Sprintf("%-8s %.4f %s", n.Group, n.Value, n.Name))
	}
	slices.Sort(lines)
	return b.String() + strings.Join(lines, "\n") + "\n"
}

func TestMessagesReadAsGoldenFilesSay(t *testing.T) {
	for file, raw := range sampleMails(t) {
		t.Run(file, func(t *testing.T) {
			f := newTest(t)
			got := describe(f, f.Read(raw))
			golden := "testdata/" + file + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := testkit.Read(t, golden)
			if got != string(want) {
				t.Errorf("%s differs from %s (go test ./featurize -update writes it anew); got:\n%s", file, golden, got)
			}
		})
	}
}
