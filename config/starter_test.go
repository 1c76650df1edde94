// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func starter() Starter {
	a := DefaultAccount()
	a.Name = "ann"
	a.Owner = []string{"ann@example.org"}
	a.TimeZone = "Europe/Zurich"
	a.IMAP.Address = "imap.example.org:993"
	a.IMAP.Username = "ann@example.org"
	a.IMAP.File = "password"
	return Starter{Account: a, Found: []string{"512 messages"}, WhyMark: []string{"No known mail program detected."}}
}

func TestStarterIsReadBackAsItIsMeant(t *testing.T) {
	for name, change := range map[string]func(*Starter){
		"as it is":           func(*Starter) {},
		"state of a machine": func(s *Starter) { s.StateDir = "/var/lib/hinged" },
		"a star, never set":  func(s *Starter) { s.Account.Mark = []string{`\Flagged`}; s.Account.Shadow = "on" },
		"another authority":  func(s *Starter) { s.Account.IMAP.CAFile = "/etc/ca.pem" },
		"a token from a command": func(s *Starter) {
			s.Account.IMAP.Auth = "xoauth2"
			s.Account.IMAP.Password = Password{Command: []string{"oama", "access", "it's me"}}
		},
		"environment": func(s *Starter) { s.Account.IMAP.Password = Password{Env: "SECRET"} },
		"credential, in the clear": func(s *Starter) {
			s.Account.IMAP.Password = Password{Credential: "imap"}
			s.Account.IMAP.TLS = "none"
			s.Account.IMAP.Address = "127.0.0.1:143"
		},
		"names from a bad server": func(s *Starter) { s.Found = []string{"a\nname = \"x\"\x00\x1b[2J\xff", "\r\n[[account]]"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := starter()
			change(&s)
			data, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			c, err := Parse(bytes.NewReader(data), "new.toml")
			if err != nil {
				t.Fatalf("%v in\n%s", err, data)
			}
			want := s.Account
			if c.Accounts[0].IMAP.Mailboxes == nil {
				want.IMAP.Mailboxes, want.IMAP.Exclude = nil, nil
			}
			if len(c.Accounts) != 1 || !reflect.DeepEqual(c.Accounts[0], want) {
				t.Errorf("got %+v\nwant %+v\nfrom\n%s", c.Accounts[0], want, data)
			}
			if s.StateDir != "" && c.StateDir != s.StateDir {
				t.Errorf("state in %s", c.StateDir)
			}
		})
	}
}

func TestStarterExplainsEachKeyAndHoldsNoOther(t *testing.T) {
	s := starter()
	s.WhyMark = append(s.WhyMark, strings.Repeat("many words ", 40)+strings.Repeat("x", 200))
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	previous := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, " = ") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(previous, "# ") {
			t.Errorf("%s has no comment", line)
		}
		if len(line) > wrapAt+2 && strings.Contains(strings.TrimPrefix(line, "# "), " ") {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
		previous = line
	}
	for _, not := range []string{"learner", "threshold", "max_weights", "poll_interval"} {
		if strings.Contains(string(data), not) {
			t.Errorf("%s is in the file", not)
		}
	}
	for _, want := range []string{"#   512 messages\n", "# No known mail program detected.\n", "docs/config.md"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in\n%s", want, data)
		}
	}
}

func TestStarterThatWouldNotLoadIsRefused(t *testing.T) {
	s := starter()
	s.Account.Owner = []string{"ann"}
	s.Account.Name = "Ann!"
	_, err := s.Encode()
	var wrong *Error
	if !errors.As(err, &wrong) || len(wrong.Mistakes) != 2 {
		t.Errorf("got %v, want two mistakes", err)
	}
}
