package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/hinged/hinged/model"
)

// randomize sets every field of *p to something drawn from r, never leaving a
// slice empty (an empty one comes back as nil).
func randomize(r *rand.Rand, p any) { randomizeValue(r, reflect.ValueOf(p).Elem()) }

func randomizeValue(r *rand.Rand, v reflect.Value) {
	if p, ok := v.Addr().Interface().(*PackedVector); ok {
		*p = PackVector(drawVector(r))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString([]string{"\\seen", "$important", "INBOX", "名前", "bad \xff byte"}[r.IntN(5)])
	case reflect.Struct:
		for i := range v.NumField() {
			randomizeValue(r, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			randomizeValue(r, v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 3))
		for i := range v.Len() {
			randomizeValue(r, v.Index(i))
		}
	default:
		panic(fmt.Sprintf("no random value of kind %v", v.Kind()))
	}
}

// drawVector draws one to eight features of three values.
func drawVector(r *rand.Rand) (x model.Vector) {
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

// handle is a Table without its type, for tests that treat all tables alike.
type handle struct {
	table
	put  func(key string, row any)
	del  func(key string)
	get  func(key string) (any, bool)
	draw func(r *rand.Rand) any
}

func handleOf[V any](t table) handle {
	rows := t.rows.(*Table[V])
	return handle{
		table: t,
		put:   func(key string, row any) { rows.Put(key, row.(V)) },
		del:   rows.Delete,
		get:   func(key string) (any, bool) { return rows.Get(key) },
		draw: func(r *rand.Rand) any {
			var v V
			randomize(r, &v)
			return v
		},
	}
}

func handles(st *State) (all []handle) {
	for _, t := range st.tables() {
		switch t.rows.(type) {
		case *Table[Sender]:
			all = append(all, handleOf[Sender](t))
		case *Table[Thread]:
			all = append(all, handleOf[Thread](t))
		case *Table[KnownID]:
			all = append(all, handleOf[KnownID](t))
		case *Table[Message]:
			all = append(all, handleOf[Message](t))
		case *Table[Place]:
			all = append(all, handleOf[Place](t))
		case *Table[Mailbox]:
			all = append(all, handleOf[Mailbox](t))
		case *Table[LedgerEntry]:
			all = append(all, handleOf[LedgerEntry](t))
		case *Table[Refusal]:
			all = append(all, handleOf[Refusal](t))
		case *Table[Support]:
			all = append(all, handleOf[Support](t))
		case *Table[Coefficient]:
			all = append(all, handleOf[Coefficient](t))
		case *Table[Scored]:
			all = append(all, handleOf[Scored](t))
		case *Table[Early]:
			all = append(all, handleOf[Early](t))
		case *Table[Windowed]:
			all = append(all, handleOf[Windowed](t))
		case *Table[Prior]:
			all = append(all, handleOf[Prior](t))
		default:
			panic(fmt.Sprintf("table %s has rows that the tests do not know", t.name))
		}
	}
	return all
}

// twin is a State and its logs the plain way: maps and slices, no file.
type twin struct {
	account  Account
	tables   map[tableID]map[string]any
	weights  map[model.Index]float64
	journal  [][]byte
	lessons  []Lesson
	features map[MessageKey][]byte
	names    map[MessageKey][]byte
}

func newTwin() *twin {
	return &twin{tables: map[tableID]map[string]any{}, weights: map[model.Index]float64{}, features: map[MessageKey][]byte{}, names: map[MessageKey][]byte{}}
}

// compare reports where st, as loaded, differs from tw.
func (tw *twin) compare(t testing.TB, st *State) {
	t.Helper()
	if !reflect.DeepEqual(st.Account, tw.account) {
		t.Errorf("account is %+v, want %+v", st.Account, tw.account)
	}
	for _, h := range handles(st) {
		want := tw.tables[h.id]
		if h.rows.Len() != len(want) {
			t.Errorf("table %s has %d rows, want %d", h.name, h.rows.Len(), len(want))
		}
		for key, row := range want {
			if got, ok := h.get(key); !ok || !reflect.DeepEqual(got, row) {
				t.Errorf("table %s at %x is %+v, want %+v", h.name, key, got, row)
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

// compareLogs reports where the logs of an account differ from tw.
func (tw *twin) compareLogs(t testing.TB, s *Store, account string) {
	t.Helper()
	next := 0
	for entry, err := range s.Journal(account, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			next = int(entry.Seq)
		}
		if int(entry.Seq) != next || !bytes.Equal(entry.Data, tw.journal[next-1]) {
			t.Fatalf("journal entry %d is number %d, %q; want %q", next, entry.Seq, entry.Data, tw.journal[next-1])
		}
		next++
	}
	if next != 0 && next != len(tw.journal)+1 {
		t.Errorf("journal ends before entry %d, want %d", next, len(tw.journal)+1)
	}
	next = 0
	for lesson, err := range s.Lessons(account, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if next == 0 {
			next = int(lesson.Order)
		}
		want := tw.lessons[next-1]
		want.Order = uint64(next)
		if lesson != want {
			t.Fatalf("lesson %d is %+v, want %+v", next, lesson, want)
		}
		next++
	}
	if next != 0 && next != len(tw.lessons)+1 {
		t.Errorf("lessons end before number %d, want %d", next, len(tw.lessons)+1)
	}
}

func messageKey(n int) (key MessageKey) {
	copy(key[:], fmt.Sprintf("message %d", n))
	return key
}

// change makes a few random changes to st and tw alike, and returns what else
// the commit shall bring.
func change(r *rand.Rand, st *State, tw *twin) Batch {
	randomize(r, &st.Account)
	tw.account = st.Account
	all := handles(st)
	for range r.IntN(20) {
		h := all[r.IntN(len(all))]
		width := []int{8, 16, 1 + r.IntN(20)}[r.IntN(3)]
		key := fmt.Sprintf("%0*d", width, r.IntN(30))
		if tw.tables[h.id] == nil {
			tw.tables[h.id] = map[string]any{}
		}
		if r.IntN(3) == 0 {
			h.del(key)
			delete(tw.tables[h.id], key)
			continue
		}
		row := h.draw(r)
		h.put(key, row)
		tw.tables[h.id][key] = row
	}
	var x model.Vector
	for i := range 40 {
		if r.IntN(4) == 0 {
			x = append(x, model.Feature{Index: model.Index(1 + i*i), Value: 1})
		}
	}
	st.TouchWeights(x)
	for _, f := range x {
		switch r.IntN(4) {
		case 0:
			st.Weights.Delete(f.Index)
			delete(tw.weights, f.Index)
		case 1:
			st.Weights.Set(f.Index, 0)
			tw.weights[f.Index] = 0
		default:
			v := r.NormFloat64()
			st.Weights.Set(f.Index, v)
			tw.weights[f.Index] = v
		}
	}
	var b Batch
	for range r.IntN(4) {
		b.Journal = append(b.Journal, fmt.Appendf(nil, "entry %d", r.IntN(1000)))
	}
	for range r.IntN(3) {
		var lesson Lesson
		randomize(r, &lesson)
		lesson.Order = 0
		b.Lessons = append(b.Lessons, lesson)
	}
	for range r.IntN(3) {
		key := messageKey(r.IntN(50))
		data := fmt.Appendf(nil, "features %d", r.IntN(1000))
		record := FeatureRecord{Key: key, Data: data}
		if r.IntN(4) > 0 {
			record.Names = fmt.Appendf(nil, "names of %s", data)
		}
		b.Features = append(b.Features, record)
	}
	return b
}

func (tw *twin) committed(b Batch) {
	tw.journal = append(tw.journal, b.Journal...)
	tw.lessons = append(tw.lessons, b.Lessons...)
	for _, f := range b.Features {
		tw.features[f.Key], tw.names[f.Key] = f.Data, f.Names
	}
}

// Random changes, commits and restarts give what plain maps give.
func TestStoreEqualsItsTwinOver600Commits(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			path := tempStore(t)
			o := testOptions()
			s, err := Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			st, tw := NewState(), newTwin()
			for range 150 {
				b := change(r, st, tw)
				if err := s.Commit("ann", st, b); err != nil {
					t.Fatal(err)
				}
				tw.committed(b)
				wantModel, wantState := Digest(st)
				if r.IntN(10) > 0 {
					continue
				}
				closeVerified(t, s)
				if s, err = Open(path, o); err != nil {
					t.Fatal(err)
				}
				if st, err = s.Load("ann"); err != nil {
					t.Fatal(err)
				}
				if m, d := Digest(st); m != wantModel || d != wantState {
					t.Fatalf("digest after restart is %s %s, before it was %s %s", m, d, wantModel, wantState)
				}
				tw.compare(t, st)
				tw.compareLogs(t, s, "ann")
				if t.Failed() {
					t.FailNow()
				}
			}
			closeVerified(t, s)
		})
	}
}

// What failed is repeated with more in it, as the filter does, and nothing is
// there twice.
func TestEverySaveStepMayFail(t *testing.T) {
	broken := errors.New("broken on purpose")
	for _, step := range []string{"begin", "redo", "journal", "features", "lessons", "sweep", "names", "progress", "committed", "chunks", "swap"} {
		t.Run(step, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			path := tempStore(t)
			o := testOptions()
			fail := false
			hit := 0
			o.step = func(at string) error {
				if fail && at == step && r.IntN(2) == 0 {
					hit++
					return broken
				}
				return nil
			}
			s := openTest(t, path, o)
			fail = true
			st, tw := NewState(), newTwin()
			var b Batch
			for range 120 {
				more := change(r, st, tw)
				if r.IntN(3) == 0 { // the repeat may also bring less than what failed
					b = Batch{}
				}
				b.Journal = append(b.Journal, more.Journal...)
				b.Features = append(b.Features, more.Features...)
				b.Lessons = append(b.Lessons, more.Lessons...)
				err := s.Commit("ann", st, b)
				if err != nil {
					if !errors.Is(err, broken) {
						t.Fatal(err)
					}
					continue
				}
				tw.committed(b)
				b = Batch{}
				again, err := s.Load("ann")
				if err != nil {
					t.Fatal(err)
				}
				tw.compare(t, again)
				if t.Failed() {
					t.FailNow()
				}
			}
			if hit < 5 {
				t.Fatalf("step failed %d times, want 5 or more", hit)
			}
			fail = false
			if err := s.Commit("ann", st, b); err != nil {
				t.Fatal(err)
			}
			tw.committed(b)
			tw.compareLogs(t, s, "ann")
			for key, want := range tw.features {
				got, err := s.Features("ann", key)
				if err == nil && !bytes.Equal(got, want) {
					t.Errorf("features of %x are %q, want %q", key, got, want)
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				got, err = s.Names("ann", key)
				if err == nil && !bytes.Equal(got, tw.names[key]) {
					t.Errorf("names of %x are %q, want %q", key, got, tw.names[key])
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
}

func TestCommitWithNothingNewLeavesTheFileAlone(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	st := NewState()
	st.Account.Messages = 3
	if err := s.Commit("ann", st, Batch{}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("ann", st, Batch{}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("a commit with nothing new changed the file")
	}
}

func TestOnlyTheCurrentStateMayBeCommitted(t *testing.T) {
	s := openTest(t, tempStore(t), testOptions())
	st := NewState()
	commit := func(st *State, n uint64) error {
		st.Account.Messages = n
		return s.Commit("ann", st, Batch{Journal: [][]byte{{1}}})
	}
	if err := commit(st, 1); err != nil {
		t.Fatal(err)
	}
	earlier, err := s.Load("ann")
	if err != nil {
		t.Fatal(err)
	}
	if err := commit(st, 2); err != nil {
		t.Fatal(err)
	}
	base, _, err := s.Base("ann")
	if err != nil {
		t.Fatal(err)
	}
	for name, stale := range map[string]*State{"loaded before the last commit": earlier, "new": NewState(), "the base": base} {
		for range 2 { // also when repeated
			if err := commit(stale, 9); !errors.Is(err, ErrStale) {
				t.Errorf("committing a state that is %s: %v, want ErrStale", name, err)
			}
		}
	}
	if err := commit(st, 3); err != nil {
		t.Error(err)
	}
}
