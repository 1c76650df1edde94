// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"strings"

	"github.com/hinged/hinged/config"
)

func ExampleParse() {
	c, err := config.Parse(strings.NewReader(`
[[account]]
name = "ann"
owner = ["ann@example.org"]
silence = "5d"
[account.imap]
address = "imap.example.org"
username = "ann"
password_command = ["pass", "show", "mail"]
`), "hinged.toml")
	if err != nil {
		fmt.Println(err)
		return
	}
	a := c.Accounts[0]
	fmt.Println(a.Name, a.IMAP.Address, a.Silence, a.Mark)
	// Output:
	// ann imap.example.org:993 5d [$Important]
}

// All mistakes are reported together, with their lines.
func ExampleParse_mistakes() {
	_, err := config.Parse(strings.NewReader(`
log_level = "loud"
[[account]]
name = "ann"
owner = ["ann@example.org"]
settle = 60
marks = ["$Important"]
[account.imap]
address = "imap.example.org"
username = "ann"
password_command = ["pass", "show", "mail"]
`), "hinged.toml")
	fmt.Println(err)
	// Output:
	// hinged.toml:2: log_level: unknown choice, got "loud", want "debug", "info", "warn" or "error"
	// hinged.toml:6: account.settle: wrong type, got 60, want a duration such as "60s", "15m" or "7d"
	// hinged.toml:7: account.marks: unknown key, want account.mark (did you mean that?)
}
