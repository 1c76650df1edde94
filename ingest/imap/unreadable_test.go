// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// TestOnlyOfLargeMessagesAPartIsAskedFor has one message at the limit and one past it.
func TestOnlyOfLargeMessagesAPartIsAskedFor(t *testing.T) {
	t.Parallel()
	const most = 1024
	var asked testkit.Transcript
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(_ *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			fmt.Fprintln(&asked, cmd.Name, cmd.Args)
			return false
		}
	})
	f.Add(strings.Repeat("x", most), "")
	f.Add(strings.Repeat("y", most+1), "")
	o := only(f)
	o.MaxBytes = most
	for name, read := range map[string]func() []ingest.Arrival{
		"live": func() []ingest.Arrival {
			r := startSource(t, o)
			r.await("scan", 0, cursorOf("INBOX", 3))
			r.stop()
			return arrivals(r.all())
		},
		"history": func() []ingest.Arrival {
			r, _ := readPast(t, o, HistoryOptions{}, nil, nil)
			return arrivals(r.all())
		},
	} {
		got := read()
		if len(got) != 2 || len(got[0].Raw) != most || len(got[1].Raw) != most || got[1].Size != most+1 {
			t.Fatalf("%s: %d arrivals", name, len(got))
		}
	}
	for _, line := range strings.Split(asked.String(), "\n") {
		if !strings.Contains(line, "BODY") {
			continue
		}
		if part := strings.Contains(line, "<0.1024>"); part != strings.HasPrefix(line, "UID FETCH 2 ") {
			t.Errorf("asked for %s", line)
		}
	}
}

// TestServerOfWhichNoMessageCanBeReadEndsTheReading has every text come in a form that
// is no IMAP. The reading of the past must end with an error that says what could not
// be read, after a few connections.
func TestServerOfWhichNoMessageCanBeReadEndsTheReading(t *testing.T) {
	t.Parallel()
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if cmd.Name != "UID FETCH" || !strings.Contains(cmd.Args, "BODY") {
				return false
			}
			c.Line("* 1 FETCH (UID 1 BODY[] !)")
			c.OK(cmd)
			return true
		}
	})
	for range 50 {
		f.Add(plainMail, "")
	}
	o := only(f)
	o.BackoffMin, o.BackoffMax = time.Millisecond, 5*time.Millisecond
	h, err := NewHistory(o, HistoryOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder(t)
	err = h.Run(t.Context(), r.emit)
	if !errors.Is(err, errUnreadable) || !strings.Contains(err.Error(), "UID ") || h.Complete() {
		t.Errorf("got %v, complete %v; want an error that names a message", err, h.Complete())
	}
	if n, most := f.Connections(), maxUnreadable*maxBlame/blameServer+1; n > most {
		t.Errorf("%d connections were made, want at most %d", n, most)
	}
	// check finds it, too.
	_, _, err = probe(t, o).ReadNewest(t.Context(), "INBOX")
	if err == nil || !strings.Contains(err.Error(), "UID 50 in INBOX") || !strings.Contains(err.Error(), "UID FETCH") {
		t.Errorf("reading one message gave %v", err)
	}
}
