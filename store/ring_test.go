// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/hinged/hinged/model"
)

// drawScored draws an entry; half of them name a message.
func drawScored(r *rand.Rand) Scored {
	s := Scored{
		Score: float32(r.NormFloat64()), Label: model.Label(r.IntN(3) - 1),
		Above: r.IntN(2) == 0, Correspondent: r.IntN(2) == 0,
	}
	if r.IntN(2) == 0 {
		s.Message = MessageKey{byte(r.IntN(256)), byte(r.IntN(256)), 1}
	}
	return s
}

// A ring holds what a map of rows would: after puts and deletions, written down whole or slot by
// slot and read again.
func TestARingIsAMapOfEntries(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		st, want := NewState(), map[uint32]Scored{}
		change := func() {
			for range r.IntN(60) {
				slot := uint32(r.IntN(100))
				if r.IntN(4) == 0 {
					st.Labelled.Delete(slot)
					delete(want, slot)
					continue
				}
				want[slot] = drawScored(r)
				st.Labelled.Put(slot, want[slot])
			}
		}
		var redo, checkpoint [][]byte
		for step := range 30 {
			change()
			record, err := st.Changes(nil)
			if err != nil {
				t.Fatal(err)
			}
			st.Settle(st.At())
			redo = append(redo, record)
			if r.IntN(4) == 0 {
				checkpoint, redo = nil, nil
				if err := st.Records(1<<10, func(record []byte) error {
					checkpoint = append(checkpoint, bytes.Clone(record))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			loaded := NewState()
			for _, record := range checkpoint {
				if err := loaded.Apply(record); err != nil {
					t.Fatal(err)
				}
			}
			for _, record := range redo {
				if err := loaded.Redo(record, true, nil); err != nil {
					t.Fatal(err)
				}
			}
			wantRing(t, st.Labelled, want)
			wantRing(t, loaded.Labelled, want)
			_, digest := Digest(st)
			if _, other := Digest(loaded); other != digest || t.Failed() {
				t.Fatalf("seed %d, step %d: the digest is %s, of what was loaded %s", seed, step, digest, other)
			}
		}
	}
}

func wantRing(t *testing.T, ring *Ring, want map[uint32]Scored) {
	t.Helper()
	got := map[uint32]Scored{}
	ring.Each(func(slot uint32, s Scored) {
		got[slot] = s
		if found, ok := ring.Find(s.Message); s.Message != (MessageKey{}) && (!ok || want[found].Message != s.Message) {
			t.Errorf("the message of slot %d is found in slot %d, %v", slot, found, ok)
		}
	})
	if !maps.Equal(got, want) || ring.Len() != len(want) {
		t.Errorf("it has %d entries, %v; want %v", ring.Len(), got, want)
	}
	if _, ok := ring.Find(MessageKey{9, 9, 9}); ok {
		t.Error("a message that no entry names is found")
	}
}

// Each entry that Put takes can be read again.
func TestEachEntryOfARingIsReadAgain(t *testing.T) {
	for flags := range 1 << 5 {
		is := func(bit int) bool { return flags&(1<<bit) != 0 }
		s := Scored{Score: 0.5, Label: model.Important, Above: is(0), Correspondent: is(1), Read: is(2), Unknown: is(3)}
		if is(4) {
			s.Message = MessageKey{1}
		}
		ring, again := NewState().Recent, NewState().Recent
		ring.Put(7, s)
		var entry bytes.Buffer
		key := ring.Keys()[0]
		if _, err := ring.encode(&entry, key, false); err != nil {
			t.Fatal(err)
		}
		if err := again.load([]byte(key), entry.Bytes()); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if got, _ := again.Get(7); got != s {
			t.Errorf("read %+v, want %+v", got, s)
		}
	}
}

// FuzzRing: what is no entry of a ring is refused, and what is read is written as it was.
func FuzzRing(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		ring := NewState().Recent
		ring.Put(uint32(r.IntN(30)), drawScored(r))
		var entry bytes.Buffer
		key := ring.Keys()[0]
		if _, err := ring.encode(&entry, key, false); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(key), entry.Bytes())
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		got := NewState().Recent
		if err := got.load(key, value); err != nil {
			return
		}
		var again bytes.Buffer
		if ok, err := got.encode(&again, string(key), false); !ok || err != nil {
			t.Fatalf("%x at %x is not there: %v", value, key, err)
		}
		if !bytes.Equal(again.Bytes(), value) {
			t.Fatalf("%x at %x is written as %x", value, key, again.Bytes())
		}
		if got.Len() != 1 || len(got.Keys()) != 1 {
			t.Fatalf("there are %d entries", got.Len())
		}
	})
}
