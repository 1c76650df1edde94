// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"time"
)

// Milter is where a mail server asks what hinged makes of a message before it delivers it.
type Milter struct {
	Socket   string   `toml:"socket"`   // its path
	Deadline Duration `toml:"deadline"` // of an answer
}

// DefaultMilter returns the values of the keys that a section [milter] leaves out.
func DefaultMilter() Milter { return Milter{Deadline: Duration(2 * time.Second)} }

// AccountOf returns a function that says whose mail an address gets: that of the only account
// that has it among its recipients, or its owner's addresses if it has none; else of the
// address without what follows a "+", else that of Kafka with the address as its key; "" for
// nobody's. The account need not exist. It is safe for concurrent use.
func (c *Config) AccountOf() func(address string) (account string) {
	all := map[string]string{}
	own := func(account string, addresses []string) {
		for _, address := range addresses {
			_, shared := all[address]
			if all[address] = account; shared {
				all[address] = "" // neither may see what the other's account says
			}
		}
	}
	for i := range c.Accounts {
		addresses := c.Accounts[i].Recipients
		if len(addresses) == 0 {
			addresses = c.Accounts[i].Owner
		}
		own(c.Accounts[i].Name, addresses)
	}
	if c.Kafka != nil {
		for i := range c.Kafka.Accounts {
			own("kafka:"+c.Kafka.Accounts[i].Key, c.Kafka.Accounts[i].Owner)
		}
	}
	return func(address string) string {
		address = strings.ToLower(address)
		account, ok := all[address]
		if plus, at := strings.IndexByte(address, '+'), strings.LastIndexByte(address, '@'); !ok && plus > 0 && plus < at {
			address = address[:plus] + address[at:]
			account, ok = all[address]
		}
		if !ok && c.Kafka != nil && c.Kafka.OwnerOf(address) != nil {
			return "kafka:" + address // as the key of its records
		}
		return account
	}
}

func (t table) milter(m *Milter, c *Config) {
	if m.Socket == "" {
		t.required("socket", `a path such as "/var/spool/postfix/hinged/milter.sock"`)
	} else {
		m.Socket = t.socket("socket", m.Socket)
		t.check(m.Socket != c.Socket && m.Socket != c.FilterSocket, "socket", "it is another socket of hinged's", m.Socket, "another path")
	}
	t.duration("deadline", m.Deadline, 10*time.Millisecond, time.Minute)
}
