// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hinged/hinged/featurize"
)

func TestAPredicateIsAFeatureOfTheMessagesThatItMeans(t *testing.T) {
	f, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	x := f.Freeze(f.Read([]byte("From: Ann Miller <Ann@Example.org>\r\nTo: me@example.net, team@example.com\r\nCc: boss@example.com\r\n"+
		"List-Id: Developers <dev.lists.example.org>\r\nSubject: Re: [dev] The INVOICE of résumés\r\n\r\nNothing here.\r\n")), featurize.History{})
	for text, want := range map[string]bool{
		"from:ann@example.org": true, "FROM: Ann@EXAMPLE.org ": true, "from:@example.org": true, "from:@org": false,
		"from:bob@example.org": false, "from:@lists.example.org": false,
		"to:team@example.com": true, "to:boss@example.com": false, "cc:boss@example.com": true,
		"list:dev.lists.example.org": true, "list:lists.example.org": false,
		"subject:invoice": true, "subject:Invoice": true, "subject:nothing": false, "subject:RÉSUMÉS": true, "subject:dev": true,
	} {
		p, err := parsePredicate(text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := x.Has(p.index); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		value, affine := f.Lone(p.group)
		if !(value > affine && affine > 0 && value*value+affine*affine < 1) {
			t.Errorf("%q: the prototype is %v, %v", text, value, affine)
		}
		if p.sender != (text[0] == 'f' || text[0] == 'F') {
			t.Errorf("%q: Sender is %v", text, p.sender)
		}
	}
}

func TestWhatIsNoPredicate(t *testing.T) {
	for _, text := range []string{
		"", "boss@example.org", "from:", "from:boss", "from:boss@", "from:a b@example.org", "from:<boss@example.org>", "to:@example.org",
		"cc:team", "list:", "list:a b", "subject:", "subject:two words", "subject:twenty-one", "subject:!!", "body:invoice", "mailbox:INBOX",
		"from:boss\x00@example.org", "from:\xff@example.org", "subject:" + fmt.Sprintf("%041d", 1), "list:" + fmt.Sprintf("%081d", 1),
		"from:owner", "from:a@b,c@d",
	} {
		if p, err := parsePredicate(text); !errors.Is(err, errPredicate) {
			t.Errorf("%q is taken for %+v (%v)", text, p, err)
		}
	}
}

func FuzzParsePredicate(f *testing.F) {
	for _, s := range []string{"from:@example.org", "subject:Straße", "list:a.b", "to:x@y", "subject:ﬁne", "subject:ＡＢＣ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePredicate(text)
		if err != nil {
			if !errors.Is(err, errPredicate) {
				t.Fatal(err)
			}
			return
		}
		again, err := parsePredicate(p.text)
		if err != nil || again != p {
			t.Fatalf("%q is %+v, and that is %+v, %v", text, p, again, err)
		}
		if featurize.IndexOf(p.text) != p.index {
			t.Fatalf("%q: index of another name", text)
		}
	})
}
