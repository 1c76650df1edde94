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
listen = "LISTEN"
[[milter.recipient]]
account = "bob"
addresses = ["Sales@example.org", "both@example.org"]
[[account]]
name = "ann"
owner = ["ann@example.org", "both@example.org", "shared@example.org"]
[account.imap]
address = "x"
username = "x"
password_env = "X"
[[account]]
name = "bob"
owner = ["shared@example.org", "bob@example.org"]
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

func milterConfig(t *testing.T, listen string, more ...string) (*Config, error) {
	t.Helper()
	text := strings.NewReplacer(more...).Replace(strings.Replace(milterFile, "LISTEN", listen, 1))
	return parse(strings.NewReader(text), "h.toml", here())
}

func TestAnAddressBelongsToAnAccount(t *testing.T) {
	c, err := milterConfig(t, "unix:/m")
	if err != nil {
		t.Fatal(err)
	}
	accountOf := c.AccountOf()
	for address, want := range map[string]string{
		"ann@example.org": "ann", "ANN@Example.org": "ann", "ann+lists@example.org": "ann", "sales@example.org": "bob",
		"both@example.org": "bob", "bob@example.org": "bob", "shared@example.org": "", "seven@example.org": "kafka:7", "new@example.org": "kafka:new@example.org",
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
		listen string
		more   []string
		want   string // in the mistake; "": none
	}{
		{"unix:/var/spool/postfix/hinged/milter.sock", nil, ""},
		{"inet:127.0.0.1:7426", nil, ""},
		{"inet:[::1]:7426", nil, ""},
		{"inet:0.0.0.0:7426", nil, "whoever reaches it"},
		{"inet:mail.example.org:7426", nil, "whoever reaches it"},
		{"inet:0.0.0.0:7426", []string{"[milter]", "[milter]\nremote = true"}, ""},
		{"unix:/m", []string{"[milter]", "[milter]\nremote = true"}, "has no effect"},
		{"unix:m", nil, "not an address to listen on"},
		{"/m", nil, "not an address to listen on"},
		{"inet:127.0.0.1", nil, "not an address to listen on"},
		{"", nil, "is missing"},
		{"unix:/run/h", nil, "another socket of hinged's"},
		{"unix:/m", []string{`account = "bob"`, `account = "eve"`}, "no such account"},
		{"unix:/m", []string{`"Sales@example.org"`, `"Sales"`}, "not an address"},
		{"unix:/m", []string{"Sales@", "BOTH@"}, "is there twice"},
		{"unix:/m", []string{"[milter]", "[milter]\ndeadline = \"2m\""}, "out of range"},
	} {
		_, err := milterConfig(t, tt.listen, tt.more...)
		var wrong *Error
		switch {
		case tt.want == "" && err == nil:
		case tt.want != "" && errors.As(err, &wrong) && strings.Contains(err.Error(), tt.want):
		default:
			t.Errorf("%q, %q: %v, want %q", tt.listen, tt.more, err, tt.want)
		}
	}
}

func TestAReloadKeepsWhereAMailServerAsks(t *testing.T) {
	old, err := milterConfig(t, "unix:/m")
	if err != nil {
		t.Fatal(err)
	}
	next, err := milterConfig(t, "unix:/other", "Sales@", "office@", "[milter]", "[milter]\ndeadline = \"3s\"")
	if err != nil {
		t.Fatal(err)
	}
	merged, kept := old.Merge(next, "milter", "kafka", "account")
	if len(kept) != 1 || !strings.HasPrefix(kept[0], "milter.listen") || merged.Milter.Listen != "unix:/m" || merged.Milter.Deadline.Std().Seconds() != 3 || merged.AccountOf()("office@example.org") != "bob" {
		t.Errorf("kept %q, went on with %+v", kept, merged.Milter)
	}
	next.Milter = nil
	if merged, kept = old.Merge(next, "milter"); len(kept) == 0 || merged.Milter == nil {
		t.Errorf("without the section: kept %q, went on with %+v", kept, merged.Milter)
	}
}
