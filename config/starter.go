// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// Starter is the configuration that a first day needs: one account, with the
// keys that matter, each with what it is for. Every other key keeps its default
// and stays out of the file.
type Starter struct {
	Account Account // from DefaultAccount, with name, owner and imap filled in
	// StateDir is where the state is kept; "" leaves the default.
	StateDir string
	// Found is told at the top of the file, a line each.
	Found []string
	// WhyMark is told above the key mark, a line each.
	WhyMark []string
}

// Encode returns the file. The error is a *Error when it would not be valid, as
// with an address that is none.
func (s *Starter) Encode() ([]byte, error) {
	a := &s.Account
	i, f := &a.IMAP, &a.Featurize
	var b bytes.Buffer
	note := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			for _, part := range wrap(commentable(line)) {
				b.WriteString(strings.TrimRight("# "+part, " ") + "\n")
			}
		}
	}
	var failed error
	set := func(path string, value any, more ...string) {
		note(explanations()[path])
		for _, line := range more {
			note(line)
		}
		key := path[strings.LastIndexByte(path, '.')+1:]
		line, err := toml.Marshal(map[string]any{key: value})
		if err != nil && failed == nil {
			failed = fmt.Errorf("encode %s: %w", path, err)
		}
		b.Write(line)
	}
	note("The configuration of hinged, as hinged init wrote it. Every other key has a good\ndefault; docs/config.md explains them all.")
	if len(s.Found) > 0 {
		note("\nWhat was found on the server:")
		for _, line := range s.Found {
			note("  " + line)
		}
	}
	b.WriteByte('\n')
	if s.StateDir != "" {
		set("state_dir", s.StateDir)
		b.WriteByte('\n')
	}
	note(explanations()["dashboard"])
	b.WriteString("[dashboard]\n")
	set("dashboard.listen", DefaultDashboard().Listen)
	b.WriteString("\n[[account]]\n")
	set("account.name", a.Name)
	set("account.owner", a.Owner, "Add your other addresses, if you have some; these were found in Sent.")
	set("account.time_zone", a.TimeZone)
	set("account.mark", a.Mark, s.WhyMark...)
	set("account.shadow", a.Shadow)
	b.WriteString("\n[account.imap]\n")
	set("account.imap.address", i.Address)
	set("account.imap.tls", i.TLS)
	if i.CAFile != "" {
		set("account.imap.ca_file", i.CAFile)
	}
	if i.Auth != DefaultAccount().IMAP.Auth {
		set("account.imap.auth", i.Auth)
	}
	set("account.imap.username", i.Username)
	s.encodePassword(set)
	if f.AuthservID != "" {
		b.WriteString("\n[account.featurize]\n")
		set("account.featurize.authserv_id", f.AuthservID, "Found in nearly all of the newest mail in INBOX. It must be a server that you trust: your provider's.")
	}
	if d := a.Digest; d != nil {
		b.WriteString("\n[account.digest]\n")
		set("account.digest.at", d.At)
		set("account.digest.questions", d.Questions)
	}
	if failed != nil {
		return nil, failed
	}
	if _, err := Parse(bytes.NewReader(b.Bytes()), "the new configuration"); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (s *Starter) encodePassword(set func(path string, value any, more ...string)) {
	i := &s.Account.IMAP
	switch {
	case i.File != "":
		set("account.imap.password_file", i.File, "The others are password_command, password_env and password_credential.")
	case len(i.Command) > 0:
		set("account.imap.password_command", i.Command)
	case i.Env != "":
		set("account.imap.password_env", i.Env)
	case i.Credential != "":
		set("account.imap.password_credential", i.Credential)
	}
}

// wrapAt is how long a line of a comment may be, in bytes.
const wrapAt = 110

// wrap breaks a line at spaces; what goes on is indented as the line was.
func wrap(line string) []string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var out []string
	for len(line) > wrapAt {
		at := strings.LastIndexByte(line[:wrapAt+1], ' ')
		if at <= len(indent) {
			break // one long word
		}
		out = append(out, line[:at])
		line = indent + line[at+1:]
	}
	return append(out, line)
}

func commentable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
