// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"slices"
	"strings"
	"testing"
)

func TestWhoIsVouchedFor(t *testing.T) {
	f := newFor(t, "mx.example.net")
	for name, c := range map[string]struct {
		results []string
		want    bool
	}{
		"nothing":                       {nil, false},
		"dmarc":                         {[]string{"mx.example.net; dmarc=pass header.from=example.org"}, true},
		"dmarc with a policy":           {[]string{"mx.example.net 1; spf=pass (mx.example.net: domain of a@b designates 1.2.3.4; really) smtp.mailfrom=a@b; DMARC=pass (p=REJECT; sp=NONE) header.from=Example.org"}, true},
		"dmarc with spaces":             {[]string{"mx.example.net; dmarc = pass (ok)\r\n\theader.from = example.org"}, true},
		"dmarc failed":                  {[]string{"mx.example.net; dmarc=fail header.from=example.org"}, false},
		"dmarc of another":              {[]string{"mx.example.net; dmarc=pass header.from=example.com"}, false},
		"dmarc of the domain above":     {[]string{"mx.example.net; dmarc=pass header.from=org"}, false},
		"dmarc of nobody":               {[]string{"mx.example.net; dmarc=pass"}, false},
		"another server":                {[]string{"mx.example.com; dmarc=pass header.from=example.org"}, false},
		"dkim":                          {[]string{"mx.example.net; dkim=pass header.d=example.org header.s=x"}, true},
		"dkim by its identity":          {[]string{"mx.example.net; dkim=pass header.i=@example.org header.s=x"}, true},
		"dkim in quotes":                {[]string{`mx.example.net; dkim=pass header.i="ann@example.org"`}, true},
		"dkim of another":               {[]string{"mx.example.net; dkim=pass header.d=list.example.com; dkim=fail header.d=example.org"}, false},
		"dkim of a domain below":        {[]string{"mx.example.net; dkim=pass header.d=mail.example.org"}, false},
		"dkim of the top":               {[]string{"mx.example.net; dkim=pass header.d=org"}, false},
		"dkim of a name alike":          {[]string{"mx.example.net; dkim=pass header.d=ample.org"}, false},
		"the upper of two fields":       {[]string{"mx.example.net; dkim=pass header.d=example.org", "mx.example.net; dkim=fail"}, true},
		"the lower of two fields":       {[]string{"mx.example.net; spf=pass", "mx.example.net; dkim=pass header.d=example.org"}, false},
		"below another server's":        {[]string{"mx.example.com; dkim=fail", "mx.example.net; dkim=pass header.d=example.org"}, true},
		"in a comment before the name":  {[]string{"(mx.example.net; dmarc=pass header.from=example.org"}, false},
		"folded":                        {[]string{"mx.example.com;\r\n\tx=y;\r\n mx.example.net; dmarc=pass header.from=example.org"}, false},
		"none":                          {[]string{"mx.example.net; none"}, false},
		"pass within a comment":         {[]string{"mx.example.net; dmarc=fail (header.from=example.org; dmarc=pass header.from=example.org)"}, false},
		"pass within quotes":            {[]string{`mx.example.net; spf=pass reason="x; dmarc=pass header.from=example.org"`}, false},
		"pass within an unclosed one":   {[]string{"mx.example.net; spf=pass (; dmarc=pass header.from=example.org"}, false},
		"a parenthesis that is escaped": {[]string{`mx.example.net; spf=pass (a \) ; dmarc=pass header.from=example.org) x=y`}, false},
		"a property within quotes":      {[]string{`mx.example.net; dkim=pass header.d=example.com header.i="a header.d=example.org b"@example.com`}, false},
		"a property within a reason":    {[]string{`mx.example.net; dkim=pass reason="good header.d=example.org signature" header.d=example.com`}, false},
		"a property within a policy":    {[]string{`mx.example.net; dmarc=pass policy.x="p header.from=example.org q" header.from=example.com`}, false},
		"a property with a space there": {[]string{`mx.example.net; dkim=pass reason="header.d = example.org"`}, false},
		"a property behind a quote":     {[]string{`mx.example.net; dkim=pass reason="\" header.d=example.org"`}, false},
		"a result within quotes":        {[]string{`mx.example.net; spf=fail reason="x;dkim=pass header.d=example.org"`}, false},
		"an identity in quotes":         {[]string{`mx.example.net; dkim=pass header.i="a header.d=example.com; b"@example.org`}, true},
		"behind a reason":               {[]string{`mx.example.net; dkim=pass reason="2048 bits; good" header.d="example.org"`}, true},
		"a comment with a semicolon":    {[]string{`mx.example.net (a; dkim=pass header.d=example.org); dkim=fail`}, false},
		"behind a comment":              {[]string{`(a; b) mx.example.net 1; dkim=pass header.d=example.org`}, true},
		"spf alone":                     {[]string{"mx.example.net; spf=pass smtp.mailfrom=example.org"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			header := ""
			for _, r := range c.results {
				header += "Authentication-Results: " + r + "\r\n"
			}
			if got := f.Read([]byte(header + "From: Ann <ann@example.org>\r\n\r\nx\r\n")).Vouched; got != c.want {
				t.Errorf("vouched is %v, want %v", got, c.want)
			}
			// Behind From as well as before it; with a second address never.
			if got := f.Read([]byte("From: ann@example.org\r\n" + header + "\r\nx\r\n")).Vouched; got != c.want {
				t.Errorf("behind From it is %v, want %v", got, c.want)
			}
			for _, from := range []string{"From: ann@example.org, bob@example.org\r\n", "From: ann@example.org\r\nFrom: bob@example.com\r\n", ""} {
				if f.Read([]byte(header + from + "\r\nx\r\n")).Vouched {
					t.Errorf("vouched with %q", from)
				}
			}
		})
	}
	below := f.Read([]byte("Authentication-Results: mx.example.net; dkim=pass header.d=example.org\r\nFrom: ann@mail.example.org\r\n\r\nx"))
	if !below.Vouched {
		t.Error("a domain does not vouch for one below it")
	}
	if newFor(t, "").Read([]byte("Authentication-Results: ; dmarc=pass header.from=example.org\r\nFrom: ann@example.org\r\n\r\nx")).Vouched {
		t.Error("without a server to believe, somebody is believed")
	}
}

// What stands in quotes or a comment is no result of its own.
func TestResultsBecomeFeatures(t *testing.T) {
	got := wordsWith(newBelieving(t).Read([]byte("Authentication-Results: MX.example.org 1; spf=fail reason=\"x; dmarc=pass \\\"; arc=pass\" y=z;\r\n"+
		" dkim = pass (2048 bits; dmarc=pass) header.d=x; iprev/1=pass; none\r\nFrom: a@example.net\r\n\r\nx")), "auth:")
	if want := []string{"spf=fail", "dkim=pass", "iprev/1=pass"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The sign for kelvin is a k but for case. No server takes another's results out for that.
func TestAServerIsNotBelievedUnderALikeName(t *testing.T) {
	f := newFor(t, "mx.kiosk.example")
	for name, want := range map[string]bool{"MX.Kiosk.Example": true, "mx.\u212aiosk.example": false, "mx.kio\u017fk.example": false} {
		m := f.Read([]byte("Authentication-Results: " + name + "; dkim=pass header.d=example.org\r\nFrom: ann@example.org\r\n\r\nx"))
		if m.Vouched != want {
			t.Errorf("%q: vouched is %v, want %v", name, m.Vouched, want)
		}
	}
}

func FuzzPlainResults(f *testing.F) {
	for _, s := range []string{`a (b (c) d) "e;(" f\(`, `(\`, `"\`, ")(", `a="b c=d"e=f`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := plainResults(s)
		if len(got) != len(s) {
			t.Fatalf("%q became %q", s, got)
		}
		for i := range len(s) {
			if got[i] != s[i] && got[i] != ' ' && got[i] != '_' {
				t.Fatalf("%q became %q", s, got)
			}
		}
		for i, part := range strings.Split(got, `"`) {
			if i%2 == 1 && strings.ContainsAny(part, "; =\t") {
				t.Fatalf("%q became %q", s, got)
			}
		}
	})
}

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
