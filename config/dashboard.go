// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/alexedwards/argon2id"
)

// Dashboard is where the accounts are shown in a browser, and who may sign in there.
type Dashboard struct {
	Listen   string `toml:"listen"` // host:port; port 0: a free one
	CertFile string `toml:"cert_file,omitempty"`
	KeyFile  string `toml:"key_file,omitempty"`
	// PublicURL is how browsers reach a reverse proxy in front of it, without a path; "":
	// there is none.
	PublicURL   string   `toml:"public_url,omitempty"`
	Session     Duration `toml:"session"`
	SessionIdle Duration `toml:"session_idle"`
	// Users may sign in. None: Listen is an address of the loopback interface, and whoever
	// reaches it owns all accounts.
	Users []User `toml:"user,omitempty"`
}

// User may sign in at the dashboard. There is a password or a token.
type User struct {
	Name             string   `toml:"name"`
	PasswordHash     string   `toml:"password_hash,omitempty"` // a PHC string of argon2id
	PasswordHashFile string   `toml:"password_hash_file,omitempty"`
	Token                     // where the token is; its keys are in this same table
	Accounts         []string `toml:"accounts"` // the user's own; of Kafka: kafka:KEY
	Operator         bool     `toml:"operator"` // sees the figures of all accounts
}

// Token says where a token for programs is. One of the four is set, or none: there is no
// token.
type Token struct {
	File       string   `toml:"token_file,omitempty"`
	Command    []string `toml:"token_command,omitempty"` // program and arguments; no shell
	Env        string   `toml:"token_env,omitempty"`
	Credential string   `toml:"token_credential,omitempty"` // as in Password
}

// DefaultDashboard returns the values of the keys that the section [dashboard] leaves out.
func DefaultDashboard() Dashboard {
	return Dashboard{Listen: "127.0.0.1:7425", Session: Duration(12 * time.Hour), SessionIdle: Duration(2 * time.Hour)}
}

// ReadToken fetches the token as ReadPassword does a password; "" where there is none.
func (t *Token) ReadToken(ctx context.Context) (string, error) {
	p := Password(*t)
	if len(p.keys("token")) == 0 {
		return "", nil
	}
	return p.read(ctx, "token")
}

// ReadHash returns the hash of the user's password; "" where there is none.
func (u *User) ReadHash() (string, error) {
	if u.PasswordHashFile == "" {
		return u.PasswordHash, nil
	}
	data, err := os.ReadFile(u.PasswordHashFile)
	if err != nil {
		return "", fmt.Errorf("password_hash_file: %w", err)
	}
	hash, err := cleanSecret(data)
	if err != nil {
		return "", fmt.Errorf("password_hash_file: %w", err)
	}
	return hash, nil
}

func (t table) dashboard(d *Dashboard, c *Config) {
	host, fit := t.listen(d)
	t.check((d.CertFile == "") == (d.KeyFile == ""), "cert_file", "cert_file and key_file belong together", nil, "both, or neither")
	for key, path := range map[string]*string{"cert_file": &d.CertFile, "key_file": &d.KeyFile} {
		t.cleanPath(key, *path)
		*path = t.env.path(*path)
	}
	t.publicURL(d)
	t.duration("session", d.Session, time.Minute, 365*day)
	t.duration("session_idle", d.SessionIdle, time.Minute, 365*day)
	if len(d.Users) == 0 {
		const problem = "whoever reaches it could read everybody's mail, since nobody has to sign in"
		if fit && !IsLoopback(host) {
			t.check(false, "listen", problem, d.Listen, `"127.0.0.1:7425", or a [[dashboard.user]]`)
		}
		t.check(d.PublicURL == "", "public_url", problem, d.PublicURL, "a [[dashboard.user]]")
	}
	names := map[string]int{}
	list := t.sub("user")
	for i := range d.Users {
		at := list.at.elem(i)
		user := table{t.validator, at, lineOf(at, list.at), list.path}
		user.user(&d.Users[i], c)
		name := d.Users[i].Name
		if first, taken := names[name]; taken && name != "" {
			user.check(false, "name", fmt.Sprintf("is the name of the user on line %d", first), name, "another name")
		} else {
			names[name] = user.lineOf("name")
		}
	}
}

func (t table) listen(d *Dashboard) (host string, fit bool) {
	const want = `an address with a port, such as "127.0.0.1:7425", or "0.0.0.0:7425" for every network`
	host, port, err := net.SplitHostPort(d.Listen)
	number, notNumber := strconv.Atoi(port)
	fit = err == nil && isHost(host) && notNumber == nil && number >= 0 && number <= 65535
	return host, t.check(fit, "listen", "not an address to listen on", d.Listen, want)
}

// IsLoopback reports whether only this machine reaches a host.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

func (t table) publicURL(d *Dashboard) {
	if d.PublicURL == "" {
		return
	}
	u, err := url.Parse(d.PublicURL)
	ok := err == nil && (u.Scheme == "https" || u.Scheme == "http") && isHost(u.Hostname()) && strings.Trim(u.Path, "/") == "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && len(d.PublicURL) <= 300
	if t.check(ok, "public_url", "not the address of a site", d.PublicURL, `the address of the proxy without a path, such as "https://mail.example.org"`) {
		d.PublicURL = u.Scheme + "://" + u.Host
	}
}

func (t table) user(u *User, c *Config) {
	t.name(u.Name)
	const want = "password_hash (`hinged init --user` prints one), password_hash_file, or one of token_file, token_command, token_env and token_credential"
	if u.PasswordHash == "" && u.PasswordHashFile == "" && !t.has("password") && !t.has("token") && len((*Password)(&u.Token).keys("token")) == 0 {
		t.required("password_hash", want)
	}
	t.check(u.PasswordHash == "" || u.PasswordHashFile == "", "password_hash_file", "a second place for the same hash", nil, "either it or password_hash")
	if u.PasswordHash != "" {
		p, _, _, err := argon2id.DecodeHash(u.PasswordHash)
		fit := err == nil && p.Iterations > 0 && p.Parallelism > 0
		// It is not shown: it might be the password.
		t.check(fit, "password_hash", "not a hash of argon2id", nil, "what `hinged init --user` prints; a password itself doesn't belong here")
	}
	t.cleanPath("password_hash_file", u.PasswordHashFile)
	u.PasswordHashFile = t.env.path(u.PasswordHashFile)
	if p := (*Password)(&u.Token); len(p.keys("token")) > 0 {
		t.secret("token", p)
	}
	if len(u.Accounts) == 0 && !u.Operator {
		t.required("accounts", "the accounts whose mail is the user's, such as [\"me\"], or operator = true")
	}
	list := t.at.kid("accounts")
	for i, name := range u.Accounts {
		line := lineOf(list.elem(i), list)
		if !c.hasAccount(name) {
			t.checkAt(line, "accounts", "there is no such account", name, wantAccount(c, name))
			continue
		}
		if slices.Contains(u.Accounts[:i], name) {
			t.checkAt(line, "accounts", "is there twice", name, "each account once")
		}
	}
}

// hasAccount reports whether there is an account with a name, or may be one in Kafka.
func (c *Config) hasAccount(name string) bool {
	if key, ok := strings.CutPrefix(name, "kafka:"); ok && c.Kafka != nil && key != "" && len(key) <= maxKafkaKey && !strings.ContainsFunc(key, unicode.IsControl) {
		return true
	}
	return slices.ContainsFunc(c.Accounts, func(a Account) bool { return a.Name == name })
}

func wantAccount(c *Config, name string) string {
	var names []string
	for i := range c.Accounts {
		names = append(names, c.Accounts[i].Name)
	}
	want := "the name of an [[account]]"
	if near := nearest(name, names); near != "" {
		want += fmt.Sprintf(" (did you mean %q?)", near)
	}
	if c.Kafka != nil {
		want += `, or "kafka:" and the key of one`
	}
	return want
}
