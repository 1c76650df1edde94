// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var accountLink = regexp.MustCompile(`<th scope="row"><a href="/a/([^/]+)/">`)

// listed are the accounts on a page, in their order.
func listed(page string) (names []string) {
	for _, m := range accountLink.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestTheFirstPageListsTheAccountsOfItsViewer(t *testing.T) {
	t.Parallel()
	hash := quickHash(t, "correct horse")
	s := serving(t, Options{Host: having("ann", "bob", "sick-carl", "dora"), Several: true, Users: []User{
		{Name: "op", PasswordHash: hash, Operator: true},
		{Name: "ann", PasswordHash: hash, Accounts: []string{"ann"}},
		{Name: "both", PasswordHash: hash, Accounts: []string{"dora", "bob", "removed"}},
	}})
	for user, want := range map[string][]string{"op": {"sick-carl", "ann", "bob", "dora"}, "both": {"bob", "dora"}} {
		b := browse(t, s)
		b.signIn(user, "correct horse", "/")
		got := b.get("/")
		if got.code != http.StatusOK || !slices.Equal(listed(got.body), want) {
			t.Errorf("%s: %d, %v, want %v", user, got.code, listed(got.body), want)
		}
		if foreign := strings.Contains(got.body, "figures of other people"); foreign != (user == "op") {
			t.Errorf("%s: told of other people's accounts: %t", user, foreign)
		}
	}
	b := browse(t, s)
	b.signIn("op", "correct horse", "/")
	if page := b.get("/").body; !strings.Contains(page, "4 accounts. 1 needs a look.") || !strings.Contains(page, "the mail server can’t be reached. Nothing is lost.") || !strings.Contains(page, "not at hand") {
		t.Errorf("the page is\n%s", page)
	}
	if got := listed(b.get("/?q=+DO+").body); !slices.Equal(got, []string{"dora"}) {
		t.Errorf("searching finds %v", got)
	}
	if page := b.get("/?q=nobody").body; !strings.Contains(page, "0 accounts. 0 need a look.") {
		t.Errorf("searching for nobody:\n%s", page)
	}
	if got := b.get("/?account=kafka:a/b%40c"); got.to() != "/a/kafka:a%2Fb@c/" {
		t.Errorf("opening an account leads to %s", got.to())
	}
	b = browse(t, s)
	b.signIn("ann", "correct horse", "/")
	if got := b.get("/"); got.to() != "/a/ann/" {
		t.Errorf("the owner of one: %d to %s", got.code, got.to())
	}
}

// The key of an account of a stream may have a backslash in it, as names of Windows do.
func TestTheOwnerOfAnAccountWithABackslashGetsToIt(t *testing.T) {
	t.Parallel()
	const name, path = `kafka:CORP\ann`, "/a/kafka:CORP%5Cann/"
	s := serving(t, Options{Host: having(name, "kafka:bob"), Several: true, Users: []User{
		{Name: "ann", PasswordHash: quickHash(t, "correct horse"), Accounts: []string{name}},
	}})
	b := browse(t, s)
	if to := b.signIn("ann", "correct horse", path); to != path {
		t.Errorf("signing in leads to %q, want %q", to, path)
	}
	if to := b.get("/").to(); to != path {
		t.Errorf("the first page leads to %q, want %q", to, path)
	}
	if got := b.get(path + "mail"); got.code != http.StatusOK || !strings.HasPrefix(got.body, name+" own true") {
		t.Errorf("its mail: %d %s", got.code, got.body)
	}
}

func TestManyAccountsTakeSeveralPages(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 2*accountsEach + 1 {
		names = append(names, fmt.Sprintf("a%02d", i))
	}
	names[30] = "sick"
	b := browse(t, serving(t, Options{Host: having(names...), Several: true}))
	want := slices.Concat([]string{"sick"}, names[:30], names[31:])
	var got []string
	for path := "/"; path != ""; {
		page := b.get(path).body
		here := listed(page)
		if len(here) > accountsEach {
			t.Fatalf("%s lists %d", path, len(here))
		}
		got = append(got, here...)
		path = ""
		if m := regexp.MustCompile(`<a href="([^"]+)">More accounts`).FindStringSubmatch(page); m != nil {
			path = m[1]
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for _, from := range []string{"-1", "x", "999999"} {
		if got := b.get("/?from=" + from); got.code != http.StatusOK || len(listed(got.body)) == 0 {
			t.Errorf("from=%s: %d", from, got.code)
		}
	}
}
