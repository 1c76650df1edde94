// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

const mbox = `From a@example.org Thu Jan  4 10:00:00 2024
From: Ann <ann@example.org>
To: me@example.org
Subject: budget question
Message-ID: <1@example.org>

Where is the budget?

From a@example.org Thu Jan  4 11:00:00 2024
From: News <news@example.org>
To: me@example.org
Subject: offers
Message-ID: <2@example.org>

All cheap.

From a@example.org Thu Jan  4 11:00:00 2024
From: News <news@example.org>
To: me@example.org
Subject: offers
Message-ID: <2@example.org>

All cheap.

From me@example.org Thu Jan  4 12:00:00 2024
From: me@example.org
To: Ann <ann@example.org>
Subject: Re: budget question
Message-ID: <3@example.org>
In-Reply-To: <1@example.org>

Here.

From a@example.org Thu Jan  4 13:00:00 2024
From: Ann <ann@example.org>
To: me@example.org
Subject: thanks
Message-ID: <4@example.org>

Thanks.
`

// told runs the program and returns its lines.
func told(t *testing.T, tl *teller, sources ...source) []line {
	t.Helper()
	var out bytes.Buffer
	testkit.OK(t, tl.tell(&out, sources))
	var lines []line
	for d := json.NewDecoder(&out); ; {
		var l line
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return lines
		} else if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestExamplesAreThoseOfEval(t *testing.T) {
	raw := t.TempDir()
	lines := told(t, &teller{owner: []string{"me@example.org"}, raw: raw}, source{path: file(t, "mail.mbox", mbox)})
	if len(lines) != 5 {
		t.Fatalf("%d lines, want one for each of 5 messages", len(lines))
	}
	for i, want := range []struct {
		example                  int // -1: none
		important, correspondent bool
		answers                  []int
	}{
		{0, true, false, nil},
		{1, false, false, nil},
		{-1, false, false, nil}, // a second copy
		{-1, false, false, []int{0}},
		{2, false, true, nil},
	} {
		l := lines[i]
		example := -1
		if l.Example != nil {
			example = *l.Example
		}
		if example != want.example || l.Important != want.important || l.Correspondent != want.correspondent || !slices.Equal(l.Answers, want.answers) {
			t.Errorf("message %d: %+v, want %+v", i, l, want)
		}
		if example >= 0 && (l.Vector == "" || len(l.Words) == 0) {
			t.Errorf("message %d: no vector or no words", i)
		}
	}
	if !slices.Contains(lines[0].Words, "budget") {
		t.Errorf("the words %q lack one of the text", lines[0].Words)
	}
	if hour := lines[1].At - lines[0].At; hour != 3_600_000 {
		t.Errorf("%d ms between the first two messages, want an hour", hour)
	}
	kept, err := os.ReadFile(filepath.Join(raw, "000002"))
	if err != nil || !bytes.Contains(kept, []byte("\nThanks.\n")) {
		t.Errorf("the third example's message is %q (%v)", kept, err)
	}
}

func TestArchivesGiveLabelsAndMergeByDate(t *testing.T) {
	ham := file(t, "ham", "From: a@example.org\nDate: Thu, 4 Jan 2024 12:00:00 +0000\nSubject: two\n\nTwo.\n")
	spam := file(t, "spam", "From: b@example.org\nDate: Thu, 4 Jan 2024 11:00:00 +0000\nSubject: one\n\nOne.\n")
	lines := told(t, &teller{}, source{path: ham, label: 1}, source{path: spam, label: -1})
	if len(lines) != 2 || lines[0].Important || !lines[1].Important {
		t.Errorf("got %+v, want the spam and then the ham", lines)
	}
}
