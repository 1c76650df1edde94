// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Milter is where a mail server asks what hinged makes of a message before it delivers it.
type Milter struct {
	Listen   string   `toml:"listen"`   // "unix:" and a path from /, or "inet:" and host:port
	Remote   bool     `toml:"remote"`   // whether other machines may reach it
	Deadline Duration `toml:"deadline"` // of an answer
	// MaxConnections of mail servers are answered at a time.
	MaxConnections int `toml:"max_connections"`
	// Recipients are whose mail an address gets, beside the owners' own addresses.
	Recipients []Recipient `toml:"recipient,omitempty"`
}

// Recipient says whose mail some addresses get.
type Recipient struct {
	Account   string   `toml:"account"`   // of Kafka: kafka:KEY
	Addresses []string `toml:"addresses"` // lower case, at least one
}

// DefaultMilter returns the values of the keys that a section [milter] leaves out.
func DefaultMilter() Milter {
	return Milter{Deadline: Duration(2 * time.Second), MaxConnections: 200}
}

// Socket returns the path to listen on; ok is false where it is a port.
func (m *Milter) Socket() (path string, ok bool) { return strings.CutPrefix(m.Listen, "unix:") }

// AccountOf returns a function that says whose mail an address gets: that of its
// [[milter.recipient]], else of the only account whose owner writes from it, else of the
// address without what follows a "+", else that of Kafka with the address as its key; "" for
// nobody's. The account need not exist. It is safe for concurrent use.
func (c *Config) AccountOf() func(address string) (account string) {
	all := c.owners()
	return func(address string) string {
		address = strings.ToLower(address)
		if account, ok := all[address]; ok {
			return account
		}
		at := strings.LastIndexByte(address, '@')
		if plus := strings.IndexByte(address, '+'); plus > 0 && plus < at {
			address = address[:plus] + address[at:]
			if account, ok := all[address]; ok {
				return account
			}
		}
		if c.Kafka != nil && c.Kafka.OwnerOf(address) != nil {
			return "kafka:" + address // as the key of its records
		}
		return ""
	}
}

// owners returns whose the addresses are that the configuration names.
func (c *Config) owners() map[string]string {
	all := map[string]string{}
	own := func(name string, addresses []string) {
		for _, address := range addresses {
			whose := name
			if other, taken := all[address]; taken && other != name {
				whose = "" // who of the two?
			}
			all[address] = whose
		}
	}
	for i := range c.Accounts {
		own(c.Accounts[i].Name, c.Accounts[i].Owner)
	}
	if c.Kafka != nil {
		for i := range c.Kafka.Accounts {
			own("kafka:"+c.Kafka.Accounts[i].Key, c.Kafka.Accounts[i].Owner)
		}
	}
	if c.Milter != nil {
		for _, r := range c.Milter.Recipients {
			for _, address := range r.Addresses {
				all[address] = r.Account
			}
		}
	}
	return all
}

func (t table) milter(m *Milter, c *Config) {
	const want = `"unix:" and a path, such as "unix:/var/spool/postfix/hinged/milter.sock", or "inet:127.0.0.1:7426"`
	path, isPath := m.Socket()
	address, isPort := strings.CutPrefix(m.Listen, "inet:")
	switch {
	case m.Listen == "":
		t.required("listen", want)
	case isPath && strings.HasPrefix(path, "/"):
		path = t.socket("listen", path)
		m.Listen = "unix:" + path
		t.check(path != c.Socket && path != c.FilterSocket, "listen", "it is another socket of hinged's", m.Listen, "another path")
		t.useless(m.Remote, "remote", "with a path in listen")
	case isPort:
		host, port, err := net.SplitHostPort(address)
		number, notNumber := strconv.Atoi(port)
		if t.check(err == nil && isHost(host) && notNumber == nil && number >= 0 && number <= 65535, "listen", "not an address to listen on", m.Listen, want) {
			t.check(IsLoopback(host) || m.Remote, "listen", "whoever reaches it learns what the accounts would make of a message, unencrypted",
				m.Listen, `"inet:127.0.0.1:`+port+`", or remote = true where a firewall lets only your mail server in`)
		}
	default:
		t.check(false, "listen", "not an address to listen on", m.Listen, want)
	}
	t.duration("deadline", m.Deadline, 10*time.Millisecond, time.Minute)
	t.integer("max_connections", m.MaxConnections, 1, 10_000)
	seen := map[string]bool{}
	list := t.sub("recipient")
	for i := range m.Recipients {
		at := list.at.elem(i)
		table{t.validator, at, lineOf(at, list.at), list.path}.recipient(&m.Recipients[i], c, seen)
	}
}

func (t table) recipient(r *Recipient, c *Config, seen map[string]bool) {
	if r.Account == "" {
		t.required("account", wantAccount(c, ""))
	} else {
		t.check(c.hasAccount(r.Account), "account", "there is no such account", r.Account, wantAccount(c, r.Account))
	}
	if len(r.Addresses) == 0 {
		t.required("addresses", `the addresses whose mail that account gets, such as ["sales@example.org"]`)
	}
	list := t.at.kid("addresses")
	for i, address := range r.Addresses {
		line := lineOf(list.elem(i), list)
		r.Addresses[i] = strings.ToLower(address)
		switch {
		case !isAddress(address):
			t.checkAt(line, "addresses", "not an address", address, `a bare address such as "sales@example.org"`)
		case seen[r.Addresses[i]]:
			t.checkAt(line, "addresses", "is there twice", address, "each address once")
		}
		seen[r.Addresses[i]] = true
	}
}

// merge is Merge for the section [milter]; nil: there is none.
func (m *Milter) merge(next *Milter, kept []string) (merged *Milter, _ []string) {
	if m == nil || next == nil {
		if m != next {
			kept = append(kept, "milter")
		}
		return m, kept
	}
	out := *next
	if was := fmt.Sprint(m.Listen, m.Remote, m.MaxConnections); fmt.Sprint(next.Listen, next.Remote, next.MaxConnections) != was {
		kept = append(kept, "milter.listen, milter.remote or milter.max_connections")
		out.Listen, out.Remote, out.MaxConnections = m.Listen, m.Remote, m.MaxConnections
	}
	return &out, kept
}
