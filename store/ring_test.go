// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
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
// slot and read again, and as it was in the checkpoint.
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
		var redo [][]byte
		var checkpoint [][]byte
		loaded := func(pack bool) *State {
			out := NewState()
			for _, record := range checkpoint {
				apply := out.Apply
				if pack {
					apply = out.Pack
				}
				if err := apply(record, Tally{}); err != nil {
					t.Fatal(err)
				}
			}
			for _, record := range redo {
				if err := out.Redo(record, true, nil); err != nil {
					t.Fatal(err)
				}
			}
			return out
		}
		based := map[uint32]Scored{}
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
				if _, _, err := st.Fold(1<<16, func(record []byte) error {
					checkpoint = append(checkpoint, bytes.Clone(record))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				based = maps.Clone(want)
			}
			for name, is := range map[string]*Ring{"kept": st.Labelled, "applied": loaded(false).Labelled, "packed": loaded(true).Labelled} {
				wantRing(t, is, want)
				if t.Failed() {
					t.Fatalf("seed %d, step %d: the ring that was %s", seed, step, name)
				}
			}
			wantSince(t, st.Labelled, based, want)
			_, digest := Digest(st)
			if _, other := Digest(loaded(step%2 == 0)); other != digest {
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

// wantSince demands that Since and BasedAt tell what became of the entries of the checkpoint.
func wantSince(t *testing.T, ring *Ring, based, want map[uint32]Scored) {
	t.Helper()
	bare := func(m map[uint32]Scored) map[uint32]Scored {
		out := map[uint32]Scored{}
		for slot, s := range m {
			s.Message = MessageKey{}
			out[slot] = s
		}
		return out
	}
	is, now := bare(based), bare(want)
	for slot, s := range is {
		if got, inForce := ring.BasedAt(slot); got != s || inForce != (has(now, slot) && now[slot] == s) {
			t.Fatalf("slot %d was %+v, in force %v; want %+v", slot, got, inForce, s)
		}
	}
	ring.Since(func(slot uint32, s Scored) {
		if is[slot] != s {
			t.Fatalf("slot %d is said to have been %+v; want %+v", slot, s, is[slot])
		}
		delete(is, slot)
	}, func(slot uint32, s Scored) { is[slot] = s })
	if !maps.Equal(is, now) {
		t.Fatalf("what Since tells leads to %v, want %v", is, now)
	}
}

func has(m map[uint32]Scored, slot uint32) bool { _, ok := m[slot]; return ok }

// An entry of a window takes 5 bytes in a checkpoint, and 16 more while its message is known.
func TestAnEntryOfARingTakesFiveBytes(t *testing.T) {
	st := NewState()
	for slot := range uint32(2000) {
		s := Scored{Score: float32(slot) / 7, Label: model.Important, Above: true}
		if slot < 100 {
			s.Message = MessageKey{1, byte(slot)}
		}
		st.Labelled.Put(slot, s)
	}
	size := 0
	if _, err := st.Records(1<<16, func(record []byte) error { size += len(record); return nil }); err != nil {
		t.Fatal(err)
	}
	if most := 5*2000 + 16*100 + 64; size > most {
		t.Errorf("the records have %d bytes, want at most %d", size, most)
	}
}

// Each entry that Put takes can be read again, alone and in columns.
func TestEachEntryOfARingIsReadAgain(t *testing.T) {
	for flags := range 1 << 5 {
		is := func(bit int) bool { return flags&(1<<bit) != 0 }
		s := Scored{Score: 0.5, Label: model.Important, Above: is(0), Correspondent: is(1), Read: is(2), Unknown: is(3)}
		if is(4) {
			s.Message = MessageKey{1}
		}
		ring, one, all := new(Ring), new(Ring), new(Ring)
		ring.Put(7, s)
		var entry bytes.Buffer
		key := ring.Keys()[0]
		if _, err := ring.encode(&entry, key); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(one.decode(key, entry.Bytes(), nil), all.load(ring.columns(nil))); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		for _, r := range []*Ring{one, all} {
			if got, _ := r.Get(7); got != s {
				t.Errorf("read %+v, want %+v", got, s)
			}
		}
	}
}

// FuzzRing: what is no ring is refused, and what is read is written as it was.
func FuzzRing(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	ring := new(Ring)
	for range 20 {
		ring.Put(uint32(r.IntN(30)), drawScored(r))
	}
	f.Add("", ring.columns(nil))
	var entry bytes.Buffer
	key := ring.Keys()[3]
	if _, err := ring.encode(&entry, key); err != nil {
		f.Fatal(err)
	}
	f.Add(key, entry.Bytes())
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		got := new(Ring)
		if err := got.decode(key, value, nil); err != nil {
			return
		}
		var again bytes.Buffer
		if ok, err := got.encode(&again, key); !ok || err != nil {
			t.Fatalf("%x at %x is not there: %v", value, key, err)
		}
		if !bytes.Equal(again.Bytes(), value) {
			t.Fatalf("%x at %x is written as %x", value, key, again.Bytes())
		}
		n := 0
		got.Each(func(slot uint32, s Scored) {
			n++
			other := new(Ring)
			other.Put(slot, s)
			if is, _ := other.Get(slot); math.Float32bits(is.Score) != math.Float32bits(s.Score) || is.Label != s.Label || is.Message != s.Message {
				t.Fatalf("slot %d holds %+v, put anew %+v", slot, s, is)
			}
		})
		if n != got.Len() || !slices.IsSorted(got.Keys()) || len(got.Keys()) != n {
			t.Fatalf("%d entries of %d", n, got.Len())
		}
	})
}
