// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
)

const mail = `From a@example.org Thu Jan  4 10:00:00 2024
From: Ann <ann@example.org>
To: me@example.org
Subject: budget
Message-ID: <1@example.org>

Where is it?

From a@example.org Thu Jan  4 11:00:00 2024
From: News <news@example.org>
Subject: offers
Message-ID: <2@example.org>

All cheap.
>From us, for you.

From me@example.org Thu Jan  4 12:00:00 2024
From: me@example.org
To: ann@example.org
Subject: Re: budget
Message-ID: <3@example.org>
In-Reply-To: <1@example.org>

Here.
`

func TestPrepareTeachesAnAccountAndSortsItsMail(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive")
	testkit.OK(t, os.WriteFile(archive, []byte(mail), 0o600))
	n, err := prepare("me@example.org", dir, archive)
	if err != nil || n != 3 {
		t.Fatalf("%d messages, want 3: %v", n, err)
	}
	for file, want := range map[string]string{"mail.mbox": "1@ 2@ 3@ 1@", "important": "1@", "ordinary": "2@"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		testkit.OK(t, err)
		var got []string
		for line := range strings.Lines(string(data)) {
			if _, id, ok := strings.Cut(line, ": <"); ok && strings.HasSuffix(line, ">\n") && !strings.Contains(line, "From:") {
				got = append(got, strings.TrimSuffix(id, "example.org>\n"))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
		if bytes.Contains(data, []byte("\nFrom us")) {
			t.Errorf("%s has a line of text that begins a message", file)
		}
	}
	s, err := boltfile.Open(filepath.Join(dir, "hinged.db"), boltfile.Options{})
	testkit.OK(t, err)
	defer s.Close()
	w, err := writer.Open(s, account)
	testkit.OK(t, err)
	if a := w.Filter().State().Account; a.Messages != 3 || a.Important != 1 || a.Ordinary != 1 {
		t.Errorf("the account has %d messages, %d important, %d ordinary; want 3, 1, 1", a.Messages, a.Important, a.Ordinary)
	}
}
