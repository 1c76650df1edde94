// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
)

// sender says what kind of sender a message has, as far as its header tells.
type sender uint8

const (
	senderPerson    sender = iota // nothing says anything else
	senderMachine                 // a person reads no answers there: no-reply, notifications
	senderBulk                    // one text for many
	senderList                    // a person, through a mailing list
	senderAutomatic               // a program answers, reports, or tells of a change
)

func (s sender) String() string {
	return [...]string{"a person", "a machine", "bulk", "a list", "a program"}[s]
}

// senderOf reads the kind from the header. A list that people write to
// says how to do that, or to join it (RFC 2369); who sends in bulk has but a way out (RFC
// 8058), or names a campaign for complaints.
func (f *Featurizer) senderOf(m *Message) sender {
	var is [senderAutomatic + 1]bool
	for _, fd := range f.fields {
		switch name := fd.name; {
		case beginsWith(name, "list-post", "list-subscribe", "list-archive", "x-mailing-list", "mailing-list", "x-mailman"),
			equalFold(name, "precedence") && beginsWith(fd.value, "list"):
			is[senderList] = true
		case beginsWith(name, "list-", "feedback-id", "x-feedback-id", "x-csa-complaints", "x-campaign", "x-mailgun-", "x-sg-", "x-mc-", "x-ses-"),
			equalFold(name, "precedence") && beginsWith(fd.value, "bulk", "junk"):
			is[senderBulk] = true
		case beginsWith(name, programFields...):
			is[senderAutomatic] = true
		case equalFold(name, "return-path"):
			back := strings.ToLower(bracketed(fd.value))
			is[senderAutomatic] = is[senderAutomatic] || back == ""
			is[senderMachine] = machineAddress(back)
		}
	}
	m.crowd = is[senderBulk] || is[senderList]
	switch {
	case is[senderAutomatic] || f.automatic() && !is[senderList]:
		return senderAutomatic
	case is[senderList]:
		return senderList
	case is[senderBulk]:
		return senderBulk
	case is[senderMachine] || machineAddress(first(m.From)):
		return senderMachine
	default:
		return senderPerson
	}
}

// programFields are those that ticket systems, trackers and calendars write.
var programFields = []string{
	"x-github-", "x-gitlab-", "x-jira-", "x-zendesk-", "x-rt-", "x-otrs-", "x-redmine-", "x-bugzilla-", "x-launchpad-", "x-ticket-",
	"x-pagerduty-", "x-trac-", "x-phabricator-", "x-freshdesk-", "x-auto-response-",
}

// machineAddress reports whether an address says that nobody reads what is sent there, or
// that what comes from it is sent by a program.
func machineAddress(address string) bool {
	local, _, _ := cutAddress(address)
	local = machineJoins.Replace(local)
	local = local[:min(len(local), 64)] // the longest that a local part may be (RFC 5321)
	return slices.ContainsFunc(machineWords, func(word string) bool { return strings.Contains(local, word) })
}

var machineJoins = strings.NewReplacer("-", "", "_", "", ".", "", "+", "")

// machineWords are parts of such addresses, without what parts words.
var machineWords = []string{
	"noreply", "donotreply", "dontreply", "nichtantworten", "keineantwort", "nepasrepondre", "noresponder", "nonrispondere", "norespond",
	"mailerdaemon", "postmaster", "bounce", "notification", "notify", "benachrichtigung", "newsletter", "mailing", "marketing", "alert", "automat", "robot",
}

// personal is Message.Personal.
func (m *Message) personal() bool {
	return m.address >= addressedTo && len(m.From) > 0 && !m.FromOwner && !m.crowd
}
