// SPDX-License-Identifier: Apache-2.0

package config

// AddressBook is where an account's address book is. One of Path and URL is set.
type AddressBook struct {
	Path     string `toml:"file,omitempty"` // vCard, or a directory of such files
	URL      string `toml:"url,omitempty"`  // CardDAV
	Username string `toml:"username,omitempty"`
	Password
}

func (t table) addressBook(b *AddressBook) {
	const both = "either file or url"
	if b.Path == "" && b.URL == "" {
		t.required("file", both)
	}
	t.check(b.Path == "" || b.URL == "", "url", "a second place for the same address book", nil, both)
	t.cleanPath("file", b.Path)
	b.Path = t.env.path(b.Path)
	t.webAddress("url", b.URL, true, `a URL such as "https://dav.example.org/"`)
	t.useless(b.URL == "", "username", "without url")
	secret := len(b.keys("password")) > 0
	t.check(b.Username != "" || !secret, "username", "is missing for the password", nil, "the name to log in with")
	if b.Username != "" || secret {
		t.secret("password", &b.Password)
	}
}
