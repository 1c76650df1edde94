// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"strings"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
)

const booked = "history:in the address book"

// know has the account know an address book.
func (w *world) know(addresses ...string) {
	if e := w.f.People.BookOf(addresses); e != nil {
		w.apply(e)
	}
}

// has reports whether a message came with the fact that its sender is in the address book.
func (w *world) has(l letter) bool {
	w.t.Helper()
	x, err := w.f.Explainer.Features(l.key)
	if err != nil {
		w.t.Fatal(err)
	}
	for n := range x.All() {
		if strings.HasPrefix(n.Name, booked) {
			return true
		}
	}
	return false
}

func TestASenderInTheAddressBookIsAFactOfTheirNextMessages(t *testing.T) {
	w := newWorld(t, testOptions())
	from := func(id, sender string) letter {
		l, _ := w.deliver("INBOX", mail(id, sender, "me@example.org", "hello"))
		return l
	}
	if w.has(from("a", "Ann@Example.com")) {
		t.Error("the fact is there without a book")
	}
	w.know(" ANN@example.com", owner, "b@example.com")
	if n := w.f.State().Book.Len(); n != 2 {
		t.Errorf("%d addresses are known, want 2: the owner's own is left out", n)
	}
	if !w.has(from("b", "ann@example.com")) || w.has(from("c", "c@example.com")) {
		t.Error("who is in the book has the fact, and nobody else")
	}
	w.know("b@example.com")
	if w.has(from("d", "ann@example.com")) {
		t.Error("who left the book has no such fact")
	}
	if w.f.People.BookOf([]string{"B@example.com"}) != nil {
		t.Error("the same book is no event")
	}
}

// TestAForgedSenderIsNotInTheAddressBook: anybody can write a name into From.
func TestAForgedSenderIsNotInTheAddressBook(t *testing.T) {
	o := testOptions()
	o.Featurize.AuthServID = "mx.example.org"
	w := newWorld(t, o)
	w.know("ann@example.com")
	forged, _ := w.deliver("INBOX", mail("a", "ann@example.com", "me@example.org", "hello", "Authentication-Results: mx.example.org; dmarc=fail header.from=example.com"))
	genuine, _ := w.deliver("INBOX", mail("b", "ann@example.com", "me@example.org", "hello", "Authentication-Results: mx.example.org; dmarc=pass header.from=example.com"))
	if w.has(forged) || !w.has(genuine) {
		t.Errorf("the fact is on the forged message: %v, on the real one: %v", w.has(forged), w.has(genuine))
	}
}

func TestAnAddressBookGivesTheSameStateLiveRestartedAndReplayed(t *testing.T) {
	for seed := range uint64(3) {
		calm, _ := threeWays(t, testOptions(), func(w *world) {
			w.know("person1@example.com", "person2@example.com")
			w.teach()
			w.storm(seed, 200)
			w.know("person2@example.com", "person3@example.com")
			w.storm(seed+1, 200)
		})
		if calm.f.State().Book.Len() != 2 || calm.f.State().Weights.Get(featurize.IndexOf(booked)) == 0 {
			t.Fatalf("seed %d: %d addresses; the fact must weigh something for this test to mean anything", seed, calm.f.State().Book.Len())
		}
	}
}

func TestAForgottenSenderIsNotInTheAddressBookAnyMore(t *testing.T) {
	w := newWorld(t, forgetOptions())
	w.know("ann@example.com", "b@example.com")
	w.deliver("INBOX", mail("a", "b@example.com", "me@example.org", "hello"))
	w.rewrite(&past.ForgetRequested{Sender: filter.SenderOf("ann@example.com")})
	if _, there := w.f.State().Book.Get(filter.SenderOf("ann@example.com").Key()); there || w.f.State().Book.Len() != 1 {
		t.Error("a forgotten sender is in the address book")
	}
}
