// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/url"
	"time"
)

// AddressBook is where an account's address book is. One of Path and URL is set.
type AddressBook struct {
	Path     string `toml:"file,omitempty"` // vCard, or a directory of such files
	URL      string `toml:"url,omitempty"`  // CardDAV
	Username string `toml:"username,omitempty"`
	Password
	CAFile   string   `toml:"ca_file,omitempty"`
	Interval Duration `toml:"interval"`
}

func defaultAddressBook() AddressBook { return AddressBook{Interval: Duration(day)} }

func (t table) addressBook(b *AddressBook) {
	const both = "either file or url"
	secret := len(b.keys("password")) > 0
	switch {
	case b.Path == "" && b.URL == "":
		t.required("file", both)
	case b.Path != "" && b.URL != "":
		t.check(false, "url", "a second place for the same address book", nil, both)
	}
	t.cleanPath("file", b.Path)
	b.Path = t.env.path(b.Path)
	if t.webAddress("url", b.URL, false, `a URL such as "https://dav.example.org/"`) && b.URL != "" {
		u, _ := url.Parse(b.URL)
		t.check(u.Scheme == "https" || IsLoopback(u.Hostname()), "url", "the address book would cross the network unencrypted", nil, "https")
	}
	t.useless(b.URL == "", "username", "without url")
	t.check(b.Username != "" || !secret, "username", "is missing for the password", nil, "the name to log in with")
	if b.Username != "" || secret {
		t.secret("password", &b.Password)
	}
	t.certificates("tls", &b.CAFile, new(string), new(string))
	t.duration("interval", b.Interval, time.Minute, 30*day)
}
