package filter

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

func FuzzDecode(f *testing.F) {
	for _, e := range everyEvent() {
		entry, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Encode(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(once) != string(twice) {
			t.Fatalf("%x, then %x", once, twice)
		}
	})
}

func everyEvent() []Event {
	return []Event{
		&Configured{At: 1, Options: DefaultOptions()},
		&Opened{At: 2, Mailbox: "INBOX", UIDValidity: 3, Role: ingest.RoleInbox},
		&Arrived{At: 3, Place: Place{"INBOX", 3, 4}, Flags: []string{`\seen`}, Meta: Meta{ID: 5, From: 6}},
		&Flagged{At: 4, Place: Place{"INBOX", 3, 4}, Flags: []string{`\flagged`}},
		&Vanished{At: 5, Mailbox: "INBOX", UIDValidity: 3, UIDs: []uint32{1, 2}},
		&Reached{Mailbox: "INBOX", UIDValidity: 3, UIDNext: 9, HighestModSeq: 77},
		&Settled{At: 6, Ledger: 1, Outcome: ingest.MarkDone, Flags: []string{"$important"}},
		&Labelled{At: 7, Message: store.MessageKey{1}, Label: model.Important},
		&Ticked{At: 8},
		&Taught{At: 9, Label: model.Ordinary, Meta: Meta{Key: store.MessageKey{2}, ID: 3}},
		&Paused{At: 10},
		&Resumed{At: 11},
		&Restored{At: 12},
		&Skipped{At: 13, Mailbox: "INBOX", UIDValidity: 3, UIDs: []uint32{1, 2}, Flags: []string{`\seen`}, Before: 5},
		&Undone{At: 14, Since: 3, Alone: true},
		&Told{At: 15, ID: 4, Label: model.Ordinary, Source: store.SourceMark, Origin: store.Origin{Topic: "mail", Partition: 1, Offset: 9, Record: []byte("{}")}},
		&Ruled{At: 16, Rules: []Rule{{"from:ann@example.org", model.Important}, {"subject:sale", model.Ordinary}}},
		&Primed{At: 17, Weights: store.PackVector(model.Vector{{Index: model.Affine, Value: -0.5}, {Index: 7, Value: 0.25}})},
	}
}

func TestSeedsOfFuzzDecodeAreEventsOfEveryType(t *testing.T) {
	for i, e := range everyEvent() {
		entry, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		if entry[0] != byte(i+1) {
			t.Fatalf("%T has type byte %d, want %d", e, entry[0], i+1)
		}
		got, err := Decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", e) {
			t.Fatalf("%T came back as %+v, want %+v", e, got, e)
		}
	}
}
