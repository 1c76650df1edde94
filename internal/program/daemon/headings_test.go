// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// reading is a script whose server has what a test says, wherever a message was.
type reading struct {
	*script
	mu      sync.Mutex
	headers map[ingest.Place]string
	fail    error
	asked   [][]ingest.Place
}

func (r *reading) Headers(_ context.Context, places []ingest.Place) (map[ingest.Place][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, places)
	out := map[ingest.Place][]byte{}
	for _, p := range places {
		if h, ok := r.headers[p]; ok {
			out[p] = []byte(h)
		}
	}
	return out, r.fail
}

func inbox(uid uint32) ingest.Place {
	return ingest.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uid}
}

func keyOf(t *testing.T, raw []byte) string {
	t.Helper()
	key, err := desk.KeyOf(raw, len(raw))
	testkit.OK(t, err)
	return key
}

func TestAHeadingIsThatOfTheMessageOrMissing(t *testing.T) {
	t.Parallel()
	s := &reading{script: newScript(), headers: map[ingest.Place]string{}}
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	dir := t.TempDir()
	d, stop := launch(t, options(dir, from("me", o, s)), nil)
	const doubtful, vouched = "From: \"Your bank\" <x@example.com>\r\n", "From: Théo <theo@example.com>\r\n"
	raw := map[uint32]string{
		1: doubtful + "Subject: one\r\nMessage-ID: <1@x>\r\n\r\n",
		2: "Authentication-Results: mx.example.org; dmarc=pass header.from=example.com\r\n" + vouched + "Subject: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?_au_lait?=\r\nMessage-ID: <2@x>\r\n\r\n",
		3: doubtful + "Subject: three\r\nMessage-ID: <3@x>\r\n\r\n",
		4: doubtful + "Subject: four\r\nMessage-ID: <4@x>\r\n\r\n",
		5: "Subject: bare\r\n\r\n",
		6: doubtful + "Subject: six\r\nMessage-ID: <6@x>\r\n\r\n",
	}
	s.events <- opened
	keys := map[uint32]string{}
	var all []string
	for uid := uint32(1); uid <= 6; uid++ {
		keys[uid] = keyOf(t, []byte(raw[uid]))
		all = append(all, keys[uid])
		s.events <- arrival(uid, []byte(raw[uid]))
	}
	twice := arrival(9, []byte(raw[6])) // a second copy
	s.events <- twice
	until(t, d, "six messages", func(a desk.AccountStatus) bool { return a.Messages == 6 })
	s.mu.Lock()
	s.headers = map[ingest.Place]string{
		inbox(1): raw[1],
		inbox(2): vouched + "Subject: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?_au_lait?=\r\nMessage-ID: <2@x>\r\n\r\n",
		inbox(3): doubtful + "Subject: another's\r\nMessage-ID: <33@x>\r\n\r\n",
		inbox(4): vouched + "Subject: another's\r\nMessage-ID: <4@x>\r\n\r\n",
		inbox(5): raw[5],
		inbox(9): raw[6],
	}
	s.mu.Unlock()
	ask := func(keys ...string) desk.Headings {
		t.Helper()
		h := must(t, d, desk.GetHeadings, desk.HeadingsRequest{Messages: keys})
		return h
	}
	await(t, "the second copy", func() (any, bool) { return nil, len(ask(keys[6]).Headings) > 0 })
	got := ask(append(all, strings.Repeat("f", 32))...)
	want := map[string]desk.Heading{
		keys[1]: {Subject: "one", From: "x@example.com", Mailbox: "INBOX", MessageID: "1@x"}, // the name is not vouched for
		keys[2]: {Subject: "café au lait", From: "Théo", Mailbox: "INBOX", MessageID: "2@x"},
		keys[5]: {Subject: "bare", Mailbox: "INBOX"},
		keys[6]: {Subject: "six", From: "x@example.com", Mailbox: "INBOX", MessageID: "6@x"}, // from its second place
	}
	if got.Account != "me" || got.Problem != "" || len(got.Headings) != len(want) {
		t.Errorf("got %+v, want %d headings", got, len(want))
	}
	for key, h := range want {
		if got.Headings[key] != h {
			t.Errorf("%s: got %+v, want %+v", key, got.Headings[key], h)
		}
	}

	s.mu.Lock()
	s.fail, s.asked = errors.New("the server is away"), nil
	s.mu.Unlock()
	if got := ask(all...); got.Problem != "the server is away" || len(got.Headings) == 0 {
		t.Errorf("with the server away: got %+v, want what was there, and why there is no more", got)
	}
	if len(s.asked) != 1 {
		t.Errorf("with the server away it was asked %d times", len(s.asked))
	}

	most := make([]string, desk.MostHeadings)
	for i := range most {
		most[i] = keys[1]
	}
	if got := ask(most...); len(got.Headings) != 1 {
		t.Errorf("the most that may be asked for: got %+v", got)
	}
	for _, wrong := range [][]string{append(most, keys[1]), {"abc"}, {keys[1][:30]}, {"é"}} {
		if _, err := do(t.Context(), d, desk.GetHeadings, "", desk.HeadingsRequest{Messages: wrong}); err == nil {
			t.Errorf("%d keys, the first %q: no error", len(wrong), wrong[0])
		}
	}

	must(t, d, desk.Pause, desk.SwitchRequest{})
	if got := ask(all...); !strings.Contains(got.Problem, "paused") || len(got.Headings) > 0 {
		t.Errorf("paused: got %+v", got)
	}
	stop()
	h := stored(t, dir)
	must(t, h, desk.Resume, desk.SwitchRequest{})
	offline, err := do(t.Context(), h, desk.GetHeadings, "", desk.HeadingsRequest{Messages: all})
	if err != nil || !strings.Contains(offline.Problem, "not running") || len(offline.Headings) > 0 {
		t.Errorf("without a daemon: got %+v, %v", offline, err)
	}
}

func TestASourceThatReadsNoHeadingsSaysSo(t *testing.T) {
	t.Parallel()
	s := newScript()
	d, _ := start(t, t.TempDir(), s)
	raw := mail(1, "a@example.com", "words")
	s.events <- opened
	s.events <- arrival(1, raw)
	until(t, d, "a message", func(a desk.AccountStatus) bool { return a.Messages == 1 })
	h, err := do(t.Context(), d, desk.GetHeadings, "me", desk.HeadingsRequest{Messages: []string{keyOf(t, raw)}})
	if err != nil || h.Problem != errNoHeadings.Error() || len(h.Headings) > 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}
