// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// mailbag feeds messages into a history, one after the other.
type mailbag struct {
	t      *testing.T
	st     *store.State
	limits Limits
	read   *featurize.Featurizer
}

func newCorrespondence(t *testing.T) *mailbag {
	t.Helper()
	o := featurize.DefaultOptions()
	o.Owner = []string{"me@example.org"}
	f, err := featurize.New(o)
	testkit.OK(t, err)
	return &mailbag{t: t, st: store.NewState(), limits: DefaultOptions().Limits, read: f}
}

// mail enters a message and returns its key, what was remembered before it, and
// what it answers. header holds further fields, each with its line end.
func (c *mailbag) mail(from, id, header string) (store.MessageKey, featurize.History, []store.MessageKey) {
	c.t.Helper()
	c.st.Account.Messages++
	message := c.read.Read(fmt.Appendf(nil, "From: %s\nMessage-ID: <%s>\n%s\ntext of %s\n", from, id, header, id))
	m := NewMeta(message)
	if message.FromOwner {
		m = m.ByOwner()
	}
	h := facts(c.st, m)
	return m.Key, h, note(c.st, m, c.limits, first)
}

// first binds a reply to the message that had the Message-ID first.
func first(_ Meta, _ store.ID, known store.KnownID) (answered, bool) {
	return answered{known.Message, known.Sender, known.Doubtful}, true
}

func TestHistoryKnowsOnlyEarlierMail(t *testing.T) {
	c := newCorrespondence(t)
	ann1, h, answered := c.mail("Ann <Ann@example.net>", "1", "")
	if h != (featurize.History{}) || answered != nil {
		t.Errorf("first message: got %+v, answers %x; want nothing", h, answered)
	}
	_, h, answered = c.mail("me@example.org", "2", "To: ann@example.net\nIn-Reply-To: <1>\nReferences: <1>\n")
	if !slices.Equal(answered, []store.MessageKey{ann1}) {
		t.Errorf("the owner's answer: answers %x, want %x", answered, ann1)
	}
	if want := (featurize.History{ParentKnown: true}); h != want {
		t.Errorf("the owner's answer: got %+v, want %+v", h, want)
	}
	_, h, _ = c.mail("ann@example.net", "3", "In-Reply-To: <2>\nReferences: <1> <2>\n")
	if want := (featurize.History{Received: 1, Answered: 1, Written: 1, ByOwner: 1, ParentKnown: true, ParentOwn: true}); h != want {
		t.Errorf("answer to the owner: got %+v, want %+v", h, want)
	}
	_, h, _ = c.mail("bob@example.net", "4", "In-Reply-To: <1>\n")
	if want := (featurize.History{ByOwner: 1, Since: 1, ParentKnown: true, ParentAnswered: true}); h != want {
		t.Errorf("another's answer to what the owner answered: got %+v, want %+v", h, want)
	}
	_, h, _ = c.mail("ann@example.net", "5", "In-Reply-To: <3>\n")
	if want := (featurize.History{Received: 2, Answered: 1, Written: 1, ByOwner: 1, Since: 2, ParentKnown: true, ParentSender: true}); h != want {
		t.Errorf("answer to oneself: got %+v, want %+v", h, want)
	}
	_, h, _ = c.mail("ann@example.net", "6", "")
	if want := (featurize.History{Received: 3, Answered: 1, Written: 1}); h != want {
		t.Errorf("a new thread: got %+v, want %+v", h, want)
	}
	sender, _ := c.st.Senders.Get(hashID("ann@example.net").Key())
	if sender.Written != 1 {
		t.Errorf("written to ann: got %d, want 1", sender.Written)
	}
}

func TestThreadIsFoundThroughAMessageThatNeverCame(t *testing.T) {
	c := newCorrespondence(t)
	c.mail("me@example.org", "a", "References: <root>\nIn-Reply-To: <root>\n")
	_, h, _ := c.mail("ann@example.net", "b", "References: <root> <lost>\nIn-Reply-To: <lost>\n")
	if h.ByOwner != 1 {
		t.Errorf("by owner: got %d, want 1: both name <root> as the oldest", h.ByOwner)
	}
}

func TestAnsweringTwiceCountsOnce(t *testing.T) {
	c := newCorrespondence(t)
	key, _, _ := c.mail("ann@example.net", "1", "")
	c.mail("me@example.org", "2", "In-Reply-To: <1>\n")
	_, _, answered := c.mail("me@example.org", "3", "In-Reply-To: <1> <2> <1> <unknown>\n")
	if !slices.Equal(answered, []store.MessageKey{key}) {
		t.Errorf("answers %x, want %x alone", answered, key)
	}
	if sender, _ := c.st.Senders.Get(hashID("ann@example.net").Key()); sender.Answered != 1 || sender.Received != 1 {
		t.Errorf("got %+v, want one received and one answered", sender)
	}
}

func TestMessagesWithoutIDsAndSendersAreBorne(t *testing.T) {
	c := newCorrespondence(t)
	for range 3 {
		c.st.Account.Messages++
		m := NewMeta(c.read.Read([]byte("\ntext")))
		if h := facts(c.st, m); h != (featurize.History{}) {
			t.Errorf("got %+v, want nothing", h)
		}
		note(c.st, m, c.limits, first)
	}
	if n := c.st.Senders.Len() + c.st.Threads.Len() + c.st.IDs.Len(); n != 0 {
		t.Errorf("%d rows, want none", n)
	}
}

func TestParentsAreBoundedAndNearestFirst(t *testing.T) {
	c := newCorrespondence(t)
	refs := ""
	for i := range 50 {
		refs += fmt.Sprintf(" <r%d>", i)
	}
	m := NewMeta(c.read.Read([]byte("Message-ID: <m>\nIn-Reply-To: <r49>\nReferences:" + refs + "\n\n")))
	if len(m.Parents) != maxParents || m.Parents[0] != hashID("r49") || m.Parents[1] != hashID("r48") {
		t.Errorf("%d parents, want %d, r49 and r48 first", len(m.Parents), maxParents)
	}
	if !slices.Equal(m.Replies, []store.ID{hashID("r49")}) || m.Root != hashID("r0") {
		t.Errorf("replies %x, root %x; want r49 and r0", m.Replies, m.Root)
	}
}
