// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"strings"
	"testing"
)

const milterFile = `state_dir = "/s"
socket = "/run/h"
[milter]
socket = "SOCKET"
[[account]]
name = "ann"
owner = ["ann@example.org", "both@example.org", "shared@example.org"]
[account.imap]
address = "x"
username = "x"
password_env = "X"
[[account]]
name = "bob"
owner = ["bob@example.org", "both@example.org"]
recipients = ["bob@example.org", "Sales@example.org", "shared@example.org"]
[account.imap]
address = "x"
username = "x"
password_env = "X"
[kafka]
brokers = ["x"]
[[kafka.account]]
key = "7"
owner = ["seven@example.org"]
`

func milterConfig(t *testing.T, socket string, more ...string) (*Config, error) {
	t.Helper()
	text := strings.NewReplacer(more...).Replace(strings.Replace(milterFile, "SOCKET", socket, 1))
	return parse(strings.NewReader(text), "h.toml", here())
}

func TestAnAddressBelongsToAnAccount(t *testing.T) {
	c, err := milterConfig(t, "/m")
	if err != nil {
		t.Fatal(err)
	}
	accountOf := c.AccountOf()
	for address, want := range map[string]string{
		"ann@example.org": "ann", "ANN@Example.org": "ann", "ann+lists@example.org": "ann", "sales@example.org": "bob",
		"both@example.org": "ann", "bob@example.org": "bob", "shared@example.org": "", "seven@example.org": "kafka:7", "new@example.org": "kafka:new@example.org",
		"new+x@example.org": "kafka:new@example.org", "": "", "+": "", "+@example.org": "kafka:+@example.org", "postmaster": "",
	} {
		if got := accountOf(address); got != want {
			t.Errorf("%q belongs to %q, want %q", address, got, want)
		}
	}
	c.Kafka = nil
	if got := c.AccountOf()("new@example.org"); got != "" {
		t.Errorf("without Kafka an unknown address belongs to %q", got)
	}
}

func TestWhereAMailServerMayAsk(t *testing.T) {
	for _, tt := range []struct {
		socket string
		more   []string
		want   string // in the mistake; "": none
	}{
		{"/var/spool/postfix/hinged/milter.sock", nil, ""},
		{"", nil, "is missing"},
		{"/run/h", nil, "another socket of hinged's"},
		{"/" + strings.Repeat("m", 108), nil, "too long"},
		{"/m", []string{`"Sales@example.org"`, `"Sales"`}, "not an address"},
		{"/m", []string{"Sales@", "Bob@"}, "is there twice"},
		{"/m", []string{"[milter]", "[milter]\ndeadline = \"2m\""}, "out of range"},
	} {
		_, err := milterConfig(t, tt.socket, tt.more...)
		var wrong *Error
		switch {
		case tt.want == "" && err == nil:
		case tt.want != "" && errors.As(err, &wrong) && strings.Contains(err.Error(), tt.want):
		default:
			t.Errorf("%q, %q: %v, want %q", tt.socket, tt.more, err, tt.want)
		}
	}
}

func TestAReloadKeepsWhereAMailServerAsks(t *testing.T) {
	old, err := milterConfig(t, "/m")
	if err != nil {
		t.Fatal(err)
	}
	next, err := milterConfig(t, "/m", "Sales@", "office@", "[milter]", "[milter]\ndeadline = \"3s\"")
	if err != nil {
		t.Fatal(err)
	}
	merged, kept := old.Merge(next, "milter", "kafka", "account")
	if len(kept) > 0 || merged.Milter.Deadline.Std().Seconds() != 3 || merged.AccountOf()("office@example.org") != "bob" {
		t.Errorf("kept %q, went on with %+v", kept, merged.Milter)
	}
	next.Milter.Socket = "/other"
	for _, next.Milter = range []*Milter{next.Milter, nil} {
		if merged, kept = old.Merge(next, "milter"); len(kept) != 2 || kept[0] != "milter.socket" || merged.Milter.Socket != "/m" {
			t.Errorf("kept %q, went on with %+v", kept, merged.Milter)
		}
	}
}
