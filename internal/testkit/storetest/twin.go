// SPDX-License-Identifier: Apache-2.0

// Package storetest has what the tests of several packages that keep states share:
// random states with twins in plain maps, partitions of accounts, and processes to be
// killed. Only tests import it.
package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/hinged/hinged/internal/packed"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// Randomize sets every field of *p to something drawn from r, never leaving a
// slice empty (an empty one comes back as nil).
func Randomize(r *rand.Rand, p any) { RandomizeValue(r, reflect.ValueOf(p).Elem()) }

// RandomizeValue is Randomize of a value that can be set.
func RandomizeValue(r *rand.Rand, v reflect.Value) {
	if p, ok := v.Addr().Interface().(*store.PackedVector); ok {
		*p = store.PackVector(DrawVector(r))
		return
	}
	if l, ok := v.Addr().Interface().(*model.Label); ok {
		*l = model.Label(r.IntN(3) - 1)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString([]string{"\\seen", "$important", "INBOX", "名前", "bad \xff byte"}[r.IntN(5)])
	case reflect.Struct:
		for i := range v.NumField() {
			RandomizeValue(r, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			RandomizeValue(r, v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 3))
		for i := range v.Len() {
			RandomizeValue(r, v.Index(i))
		}
	default:
		panic(fmt.Sprintf("no random value of kind %v", v.Kind()))
	}
}

// DrawVector draws one to eight features of three values.
func DrawVector(r *rand.Rand) (x model.Vector) {
	at := map[model.Index]bool{}
	for range 1 + r.IntN(8) {
		if i := model.Index(2 + r.Uint64N(1<<40)); !at[i] {
			at[i] = true
			x = append(x, model.Feature{Index: i, Value: []float64{0.5, -3, 1e-9}[r.IntN(3)]})
		}
	}
	x.Sort()
	return x
}

// Handle is a Table without its type, for tests that treat all tables alike.
type Handle struct {
	Name string
	// Key returns under which key what is put under that one is there.
	Key    func(key string) string
	Put    func(key string, row any)
	Delete func(key string)
	Get    func(key string) (any, bool)
	Len    func() int
	Draw   func(r *rand.Rand) any
}

func handleOf[V any](name string, rows *store.Table[V]) Handle {
	return Handle{
		Name:   name,
		Key:    func(key string) string { return key },
		Put:    func(key string, row any) { rows.Put(key, row.(V)) },
		Delete: rows.Delete,
		Get:    func(key string) (any, bool) { return rows.Get(key) },
		Len:    rows.Len,
		Draw: func(r *rand.Rand) any {
			var v V
			Randomize(r, &v)
			return v
		},
	}
}

// handleOfRing is the handle of a ring. Its keys are numbers of slots, in decimal; other keys
// are of slots far behind.
func handleOfRing(name string, ring *store.Ring) Handle {
	slot := func(key string) uint32 {
		if n, err := strconv.ParseUint(key, 10, 10); err == nil {
			return uint32(n)
		}
		return uint32(1<<10 + len(key))
	}
	return Handle{
		Name:   name,
		Key:    func(key string) string { return strconv.Itoa(int(slot(key))) },
		Put:    func(key string, row any) { ring.Put(slot(key), row.(store.Scored)) },
		Delete: func(key string) { ring.Delete(slot(key)) },
		Get:    func(key string) (any, bool) { return ring.Get(slot(key)) },
		Len:    ring.Len,
		Draw: func(r *rand.Rand) any {
			var s store.Scored
			Randomize(r, &s)
			return s
		},
	}
}

// Handles are those of all tables of st, in the order in which they are stored.
func Handles(st *store.State) []Handle {
	return []Handle{
		handleOf("senders", st.Senders),
		handleOf("threads", st.Threads),
		handleOf("ids", st.IDs),
		handleOf("messages", st.Messages),
		handleOf("places", st.Places),
		handleOf("mailboxes", st.Boxes),
		handleOf("ledger", st.Ledger),
		handleOf("refusals", st.Refusals),
		handleOf("early", st.Early),
		handleOf("supports", st.Supports),
		handleOf("window", st.Window),
		handleOf("prior", st.Prior),
		handleOfRing("labelled", st.Labelled),
		handleOfRing("recent", st.Recent),
		handleOf("settings", st.Settings),
	}
}

// Twin is a State and its logs the plain way: maps and slices, no file.
type Twin struct {
	account  store.Account
	tables   map[string]map[string]any
	weights  map[model.Index]float64
	Journal  [][]byte
	Lessons  []store.Lesson
	Features map[store.MessageKey][]byte
	Names    map[store.MessageKey][]byte
	// Learns has Change take steps with vectors of earlier commits, too.
	Learns bool

	frozen map[store.MessageKey][]byte // vectors of the last Change
}

// NewTwin is the twin of store.NewState.
func NewTwin() *Twin {
	return &Twin{tables: map[string]map[string]any{}, weights: map[model.Index]float64{}, Features: map[store.MessageKey][]byte{}, Names: map[store.MessageKey][]byte{}}
}

// Compare reports where st, as loaded, differs from tw.
func (tw *Twin) Compare(t testing.TB, st *store.State) {
	t.Helper()
	if !reflect.DeepEqual(st.Account, tw.account) {
		t.Errorf("account is %+v, want %+v", st.Account, tw.account)
	}
	for _, h := range Handles(st) {
		want := tw.tables[h.Name]
		if h.Len() != len(want) {
			t.Errorf("table %s has %d rows, want %d", h.Name, h.Len(), len(want))
		}
		for key, row := range want {
			if got, ok := h.Get(key); !ok || !reflect.DeepEqual(got, row) {
				t.Errorf("table %s at %x is %+v, want %+v", h.Name, key, got, row)
			}
		}
	}
	if st.Weights.Len() != len(tw.weights) {
		t.Errorf("there are %d weights, want %d", st.Weights.Len(), len(tw.weights))
	}
	for i, want := range tw.weights {
		if got, ok := st.Weights.Lookup(i); got != want || !ok {
			t.Errorf("weight %#x is %v, want %v", uint64(i), got, want)
		}
	}
}

// Logs reads the logs of an account, as a store does.
type Logs interface {
	Journal(account string, from uint64) iter.Seq2[store.JournalEntry, error]
	Lessons(account string, from uint64) iter.Seq2[store.Lesson, error]
}

// CompareLogs reports where the logs of an account differ from tw.
func (tw *Twin) CompareLogs(t testing.TB, s Logs, account string) {
	t.Helper()
	next := 0
	for entry, err := range s.Journal(account, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			next = int(entry.Seq)
		}
		if int(entry.Seq) != next || !bytes.Equal(entry.Data, tw.Journal[next-1]) {
			t.Fatalf("journal entry %d is number %d, %q; want %q", next, entry.Seq, entry.Data, tw.Journal[next-1])
		}
		next++
	}
	if next != 0 && next != len(tw.Journal)+1 {
		t.Errorf("journal ends before entry %d, want %d", next, len(tw.Journal)+1)
	}
	next = 0
	for lesson, err := range s.Lessons(account, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			next = int(lesson.Order)
		}
		want := tw.Lessons[next-1]
		want.Order = uint64(next)
		if lesson != want {
			t.Fatalf("lesson %d is %+v, want %+v", next, lesson, want)
		}
		next++
	}
	if next != 0 && next != len(tw.Lessons)+1 {
		t.Errorf("lessons end before number %d, want %d", next, len(tw.Lessons)+1)
	}
}

// KeyOf is the key of message n, for n below 50 in the batches of Change.
func KeyOf(n int) (key store.MessageKey) {
	copy(key[:], fmt.Sprintf("message %d", n))
	return key
}

// Change makes a few random changes to st and tw alike, and returns what else
// the commit shall bring.
func Change(r *rand.Rand, st *store.State, tw *Twin) store.Batch {
	Randomize(r, &st.Account)
	st.Account.Rewrites = 0
	st.Account.Entries = 0 // the store goes by what an account says that it can take back
	tw.account = st.Account
	all := Handles(st)
	for range r.IntN(20) {
		h := all[r.IntN(len(all))]
		width := []int{8, 16, 1 + r.IntN(20)}[r.IntN(3)]
		key := h.Key(fmt.Sprintf("%0*d", width, r.IntN(30)))
		if tw.tables[h.Name] == nil {
			tw.tables[h.Name] = map[string]any{}
		}
		if r.IntN(3) == 0 {
			h.Delete(key)
			delete(tw.tables[h.Name], key)
			continue
		}
		row := h.Draw(r)
		h.Put(key, row)
		tw.tables[h.Name][key] = row
	}
	tw.frozen = map[store.MessageKey][]byte{}
	var b store.Batch
	for range r.IntN(4) {
		b.Journal = append(b.Journal, fmt.Appendf(nil, "entry %d", r.IntN(1000)))
	}
	for range r.IntN(3) {
		var lesson store.Lesson
		Randomize(r, &lesson)
		lesson.Order = 0
		b.Lessons = append(b.Lessons, lesson)
	}
	for range r.IntN(3) {
		b.Features = append(b.Features, freeze(r, st, tw))
		changeWeights(r, st, tw)
	}
	changeWeights(r, st, tw)
	return b
}

// freeze has the message be known from then on, and returns its features.
func freeze(r *rand.Rand, st *store.State, tw *Twin) store.FeatureRecord {
	key := KeyOf(r.IntN(50))
	for k := range tw.frozen {
		if len(tw.frozen) == 1 && r.IntN(3) == 0 {
			key = k // the same message once more
		}
	}
	st.Messages.Put(string(key[:]), store.Message{Seq: 1})
	if tw.tables["messages"] == nil {
		tw.tables["messages"] = map[string]any{}
	}
	tw.tables["messages"][string(key[:])] = store.Message{Seq: 1}
	st.Froze()
	data := Vector(r)
	tw.frozen[key] = data
	record := store.FeatureRecord{Key: key, Data: data}
	if r.IntN(4) > 0 {
		record.Names = fmt.Appendf(nil, "names of %x", data)
	}
	return record
}

// Vector draws a frozen vector.
func Vector(r *rand.Rand) []byte {
	x := packed.Vector{Affine: 0.25, Factors: [packed.Groups]float64{0.3, 0.7, 0.1, 1.0 / 3}}
	for i := range 40 {
		if r.IntN(4) == 0 {
			x.Features = append(x.Features, packed.Feature{Index: model.Index(2 + i*i), Value: uint16(1 + r.IntN(2)), Group: uint8(r.IntN(packed.Groups))})
		}
	}
	return x.Append(nil, packed.Vocabulary{})
}

// changeWeights changes the weights in a few of the ways that there are.
func changeWeights(r *rand.Rand, st *store.State, tw *Twin) {
	for range r.IntN(4) {
		switch r.IntN(12) {
		case 0:
			st.ClearWeights()
			clear(tw.weights)
		case 1:
			n := 1 + r.IntN(10)
			st.DropSmallest(n)
			tw.drop(n)
		case 2, 3:
			x := model.Vector{{Index: model.Affine, Value: r.NormFloat64()}, {Index: model.Index(2 + r.IntN(100)), Value: float64(r.IntN(2))}}
			st.SetWeights(x)
			for _, f := range x {
				tw.weights[f.Index] = f.Value
			}
		default:
			tw.step(r, st)
		}
	}
}

// step takes a step with one of the vectors that can be had.
func (tw *Twin) step(r *rand.Rand, st *store.State) {
	of := tw.frozen
	if tw.Learns && r.IntN(2) == 0 {
		of = maps.Clone(tw.Features)
		maps.Copy(of, tw.frozen)
	}
	keys := slices.Collect(maps.Keys(of))
	if len(keys) == 0 {
		return
	}
	slices.SortFunc(keys, func(a, b store.MessageKey) int { return bytes.Compare(a[:], b[:]) })
	key := keys[r.IntN(len(keys))]
	x, err := packed.AppendVector(nil, of[key], packed.Vocabulary{})
	if err != nil {
		panic(err)
	}
	a := r.NormFloat64()
	st.Step(key, a, x, new(model.Slots))
	for _, f := range x {
		tw.weights[f.Index] += float64(a * f.Value)
	}
}

// drop gives up the n smallest weights.
func (tw *Twin) drop(n int) {
	all := slices.SortedFunc(maps.Keys(tw.weights), func(a, b model.Index) int {
		return cmp.Or(cmp.Compare(math.Abs(tw.weights[a]), math.Abs(tw.weights[b])), cmp.Compare(a, b))
	})
	all = slices.DeleteFunc(all, func(i model.Index) bool { return i == model.Affine })
	for _, i := range all[:min(n, len(all))] {
		delete(tw.weights, i)
	}
}

// Committed adds what a commit brought to the logs.
func (tw *Twin) Committed(b store.Batch) {
	tw.Journal = append(tw.Journal, b.Journal...)
	tw.Lessons = append(tw.Lessons, b.Lessons...)
	for _, f := range b.Features {
		tw.Features[f.Key], tw.Names[f.Key] = f.Data, f.Names
	}
}
