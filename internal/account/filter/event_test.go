// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func FuzzDecode(f *testing.F) {
	for _, e := range everyEvent() {
		entry, err := Encode(e.event)
		testkit.OK(f, err)
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		e, err := Decode(entry)
		if err != nil {
			if !errors.Is(err, ErrBadEvent) {
				t.Fatalf("error %v is not an ErrBadEvent", err)
			}
			return
		}
		// What was understood can be written again and read back unchanged.
		once, err := Encode(e)
		testkit.OK(t, err)
		again, err := Decode(once)
		testkit.OK(t, err)
		twice, err := Encode(again)
		testkit.OK(t, err)
		if string(once) != string(twice) {
			t.Fatalf("%x, then %x", once, twice)
		}
	})
}

type tagged struct {
	tag   byte
	event Event
}

func everyEvent() []tagged {
	return []tagged{
		{1, &Configured{At: 1, Options: DefaultOptions()}},
		{2, &Opened{At: 2, Mailbox: "INBOX", UIDValidity: 3, Role: ingest.RoleInbox}},
		{3, &Arrived{At: 3, Place: Place{Mailbox: "INBOX", UIDValidity: 3, UID: 4}, Flags: []string{`\seen`}, Meta: Meta{ID: 5, From: 6}}},
		{4, &Flagged{At: 4, Place: Place{Mailbox: "INBOX", UIDValidity: 3, UID: 4}, Flags: []string{`\flagged`}}},
		{5, &Vanished{At: 5, Mailbox: "INBOX", UIDValidity: 3, UIDs: []uint32{1, 2}}},
		{6, &Reached{Mailbox: "INBOX", UIDValidity: 3, UIDNext: 9, HighestModSeq: 77}},
		{7, &Settled{At: 6, Ledger: 1, Outcome: ingest.MarkDone, Flags: []string{"$important"}}},
		{8, &Labelled{At: 7, Message: store.MessageKey{1}, Label: model.Important}},
		{8, &Labelled{At: 7, Label: model.Ordinary, Handed: &Arrived{Meta: Meta{Key: store.MessageKey{2}, ID: 3}}}},
		{8, &Labelled{At: 7, ID: 4, Label: model.Ordinary, Source: store.SourceMark, Waits: true, Origin: store.Origin{Topic: "mail", Partition: 1, Offset: 9, Record: []byte("{}")}}},
		{9, &Ticked{At: 8}},
		{11, &Paused{At: 10}},
		{12, &Resumed{At: 11}},
		{13, &Restored{At: 12}},
		{14, &Skipped{At: 13, Mailbox: "INBOX", UIDValidity: 3, UIDs: []uint32{1, 2}, Flags: []string{`\seen`}, Before: 5}},
		{15, &UndoRequested{At: 14, Since: 3, Alone: true}},
		{17, &Ruled{At: 16, Rules: []Rule{{"from:ann@example.org", model.Important}, {"subject:sale", model.Ordinary}}}},
		{19, &LetterIntended{At: 18, Mailbox: "INBOX", MessageID: "a@x"}},
		{20, &LetterSettled{At: 19, Ledger: 4, Sent: true}},
		{21, &Closed{At: 20, Message: store.MessageKey{3}}},
		{22, &AddressBook{Senders: []store.ID{1, 2}}},
		{18, &Primed{At: 17, Weights: store.PackVector(model.Vector{{Index: model.Affine, Value: -0.5}, {Index: 7, Value: 0.25}})}},
	}
}

func TestSeedsOfFuzzDecodeAreEventsOfEveryType(t *testing.T) {
	met := map[byte]bool{}
	for _, want := range everyEvent() {
		entry, err := Encode(want.event)
		testkit.OK(t, err)
		if entry[0] != want.tag {
			t.Fatalf("%T has type byte %d, want %d", want.event, entry[0], want.tag)
		}
		got, err := Decode(entry)
		testkit.OK(t, err)
		if !reflect.DeepEqual(got, want.event) {
			t.Fatalf("%T came back as %+v, want %+v", got, got, want.event)
		}
		met[want.tag] = true
	}
	if len(met) != len(kinds) {
		t.Fatalf("met events of %d types, want all %d", len(met), len(kinds))
	}
}

// TestOptionsAreKeptWhole: of two fields with the same number the encoding drops both.
func TestOptionsAreKeptWhole(t *testing.T) {
	o := DefaultOptions()
	enc, err := encMode.Marshal(o)
	testkit.OK(t, err)
	st := store.NewState()
	st.Settings.Put(store.SettingsKey, store.Settings{Options: enc})
	if got, err := optionsOf(st); err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("kept are %+v (%v), want %+v", got, err, o)
	}
	numbers := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		tag := f.Tag.Get("cbor")
		if before, taken := numbers[tag[:min(2, len(tag))]]; taken || tag == "" {
			t.Errorf("field %s has the number of %s: %q", f.Name, before, tag)
		}
		numbers[tag[:min(2, len(tag))]] = f.Name
	}
}

func TestAPredicateIsAFeatureOfTheMessagesThatItMeans(t *testing.T) {
	f, err := featurize.New(featurize.DefaultOptions())
	testkit.OK(t, err)
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
