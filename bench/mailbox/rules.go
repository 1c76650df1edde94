// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/mail"
	"slices"
	"strings"
)

// rule is the rule "a person wrote to me, no list, not Cc", of the header alone: To names an
// address of the owner's; there is no field List-* and no Precedence; Auto-Submitted is absent
// or "no"; and the local part of From is no machine's (machine). Reply-To, the display name
// and the text don't count.
func rule(raw []byte, owner []string) bool {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return false
	}
	for name := range m.Header {
		if strings.HasPrefix(name, "List-") {
			return false
		}
	}
	if auto := m.Header.Get("Auto-Submitted"); m.Header.Get("Precedence") != "" || auto != "" && !strings.EqualFold(auto, "no") {
		return false
	}
	from, err := m.Header.AddressList("From")
	if err != nil || len(from) == 0 || machine(from[0].Address) {
		return false
	}
	to, _ := m.Header.AddressList("To")
	return slices.ContainsFunc(to, func(a *mail.Address) bool {
		return slices.ContainsFunc(owner, func(o string) bool { return strings.EqualFold(o, a.Address) })
	})
}

// machines are what the local parts of addresses that nobody reads contain, without "-", "_"
// and "."; roleAccounts are whole local parts of programs.
var (
	machines     = []string{"noreply", "donotreply", "nepasrepondre", "nichtantworten", "keineantwort", "nietbeantwoorden"}
	roleAccounts = []string{"notification", "notifications", "newsletter", "mailerdaemon", "bounce", "bounces"}
)

// machine reports whether an address says that a program writes from it.
func machine(address string) bool {
	local, _, _ := strings.Cut(strings.ToLower(address), "@")
	local = strings.NewReplacer("-", "", "_", "", ".", "").Replace(local)
	return slices.Contains(roleAccounts, local) || slices.ContainsFunc(machines, func(m string) bool { return strings.Contains(local, m) })
}
