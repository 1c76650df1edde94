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
