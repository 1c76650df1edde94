// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
	"testing"
)

// namesOf are the names of all features of a message, sorted.
func namesOf(t *testing.T, o Options, raw string, h History) []string {
	t.Helper()
	f, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for x := range f.Freeze(f.Read([]byte(raw)), h).All() {
		names = append(names, x.Name)
	}
	slices.Sort(names)
	return names
}

const claimedMail = "From: Ann Boss <ann@example.net>\r\nSender: ann@example.net\r\nReply-To: ann@example.net\r\n" +
	"List-Id: <team.example.net>\r\nDKIM-Signature: v=1; d=example.net; b=x\r\nTo: bob@example.org\r\nSubject: Re: plan\r\n" +
	"Message-ID: <1@x>\r\nIn-Reply-To: <0@x>\r\n\r\nhello\r\n"

// TestWhatNobodyVouchesForHasFeaturesOfItsOwn compares one message with and without a
// result, under the same options.
func TestWhatNobodyVouchesForHasFeaturesOfItsOwn(t *testing.T) {
	o := DefaultOptions()
	o.Owner = []string{"bob@example.org"}
	h := History{Received: 9, Answered: 9, ByOwner: 2, Since: 1, ParentKnown: true, ParentOwn: true}
	plain := namesOf(t, o, claimedMail, h)
	o.AuthServID = "mx.example.org"
	vouched := namesOf(t, o, "Authentication-Results: mx.example.org; dkim=pass header.d=example.net\r\n"+claimedMail, h)
	claimed := namesOf(t, o, claimedMail, h)
	isClaim := func(name string) bool {
		prefix, _, _ := strings.Cut(name, ":")
		return slices.Contains(strings.Fields("from name sender reply-to list dkim history invitation"), prefix) || strings.HasPrefix(prefix, "name@")
	}
	claimsMade := 0
	for _, name := range vouched {
		switch {
		case strings.Contains(name, "?:"):
			t.Errorf("%q, of what is vouched for", name)
		case strings.HasPrefix(name, "name:"):
			t.Errorf("%q, without the domain", name)
		case isClaim(name):
			claimsMade++
		case !slices.Contains(plain, name) && !strings.HasPrefix(name, "auth:"):
			t.Errorf("%q appears with a server to believe", name)
		}
	}
	if claimsMade < 20 {
		t.Errorf("only %d features are claims", claimsMade)
	}
	doubtful := 0
	for _, name := range claimed {
		if isClaim(name) {
			t.Errorf("%q, of what nobody vouches for", name)
		}
		if strings.Contains(name, "?:") {
			doubtful++
			if back := strings.Replace(name, "?:", ":", 1); !slices.Contains(plain, back) {
				t.Errorf("%q has no like", name)
			}
		}
	}
	if doubtful < 20 {
		t.Errorf("only %d features are of what nobody vouches for:\n%s", doubtful, strings.Join(claimed, "\n"))
	}
	// With another's signature, From is claimed, and what is the signer's is not.
	signed := namesOf(t, o, "Authentication-Results: mx.example.org; dkim=pass header.d=lists.example\r\n"+
		strings.ReplaceAll(claimedMail, "team.example.net", "team.lists.example"), h)
	for _, want := range []string{"from?:ann@example.net", "list:team.lists.example", "dkim?:example.net"} {
		if !slices.Contains(signed, want) {
			t.Errorf("%q is missing from a list's mail", want)
		}
	}
	// A display name counts with its domain alone.
	spoof := namesOf(t, o, "Authentication-Results: mx.example.org; dkim=pass header.d=example.com\r\n"+
		strings.Replace(claimedMail, "<ann@example.net>", "<ann@example.com>", 1), h)
	for _, name := range spoof {
		if strings.HasPrefix(name, "name") && slices.Contains(vouched, name) {
			t.Errorf("%q of another domain", name)
		}
	}
}
