// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// disk keeps a filter's state as the store does: a checkpoint with its summary, and a redo log.
type disk struct {
	w       *world
	rng     *rand.Rand
	chunks  [][]byte
	summary []byte
	redo    [][]byte
	used    int // loads to which the summary fitted
	changed int // those with rows that had changed since
}

// save adds what changed in st, or, now and then or if it is asked to, writes a checkpoint.
func (d *disk) save(st *store.State, anew bool) {
	d.w.t.Helper()
	record, err := st.Changes(nil)
	if err != nil {
		d.w.t.Fatal(err)
	}
	st.Settle(st.At())
	d.redo = append(d.redo, record)
	if !anew && d.chunks != nil && d.rng.IntN(6) > 0 {
		return
	}
	d.chunks, d.redo = nil, nil
	_, d.summary, err = st.Fold(2000, func(record []byte) error { d.chunks = append(d.chunks, bytes.Clone(record)); return nil })
	if err != nil {
		d.w.t.Fatal(err)
	}
}

// load returns what was saved, with a summary of the checkpoint.
func (d *disk) load(t testing.TB, summary []byte) *store.State {
	t.Helper()
	st := store.NewState()
	for _, record := range d.chunks {
		if err := st.Pack(record, store.Tally{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, record := range d.redo {
		vector := func(k store.MessageKey, _ uint32) (model.Vector, error) { return d.w.features.Vector(k, nil) }
		if err := st.Redo(record, i == len(d.redo)-1, vector); err != nil {
			t.Fatal(err)
		}
	}
	st.Settle(store.Position{Commit: 1})
	st.SetSummary(bytes.Clone(summary))
	return st
}

// open returns the filter of what was saved.
func (d *disk) open(t testing.TB, summary []byte) *Filter {
	t.Helper()
	f, err := New(d.load(t, summary), d.w.features)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// restart saves the state of the world's filter and goes on with what is loaded then. With the
// summary and without, it must be the same.
func (d *disk) restart(anew bool) {
	t := d.w.t
	t.Helper()
	d.save(d.w.f.State(), anew)
	with := d.open(t, d.summary)
	wantDerived(t, with, d.open(t, nil))
	st := d.load(t, d.summary)
	if takeSummary(st) != nil {
		d.used++
		if st.Messages.Changed() > 0 {
			d.changed++
		}
	}
	d.w.f = with
}

// derived is what a summary is for.
type derived struct {
	Standing              Standing
	Labelled, Recent      []point
	Settling, Hours, Days settleQueue
	Waiting               settleQueue
	Oldest                []store.MessageKey
	Silences              int
	Judged                Standing
	Passed                int
}

func derivedOf(f *Filter) derived {
	return derived{
		f.standing, f.labelled.sorted, f.recent.sorted, f.settling, f.hours, f.days, f.waiting, f.oldest.keys,
		f.silences, f.judged, f.passed,
	}
}

func wantDerived(t testing.TB, got, want *Filter) {
	t.Helper()
	g, w := reflect.ValueOf(derivedOf(got)), reflect.ValueOf(derivedOf(want))
	for i := range g.NumField() {
		if g, w := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(g, w) {
			t.Fatalf("with the summary %s is %v, without it %v", reflect.TypeFor[derived]().Field(i).Name, g, w)
		}
	}
}

// A restart before every event, from a checkpoint with its summary and a redo log, changes
// nothing, and each time the filter is the one that is derived from all rows.
func TestAFilterDerivedWithASummaryIsTheSame(t *testing.T) {
	few, old, learns := testOptions(), keepOptions(), DefaultOptions()
	few.Limits.Messages, few.Limits.Weights, few.Limits.Early = 100, 200, 100
	old.Limits.Keep = 12 * time.Hour
	learns.Featurize.Owner = []string{owner}
	for name, o := range map[string]Options{"few": few, "old": old, "learns": learns} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				calm, shaken := newWorld(t, o), newWorld(t, o)
				d := &disk{w: shaken, rng: rand.New(rand.NewPCG(seed, 9))}
				shaken.before = func() { d.restart(false) }
				for _, w := range []*world{calm, shaken} {
					w.undos, w.tells, w.rules = seed == 1, seed == 2, seed == 0
					w.teach()
					w.storm(seed, 180)
				}
				wantSameDigest(t, "restarted", calm.f, shaken.f)
				if d.used < 150 || d.changed < 40 || d.changed == d.used {
					t.Errorf("of all loads %d used a summary, %d of those with rows that had changed", d.used, d.changed)
				}
			})
		}
	}
}

// What was taken back or forgotten is in no summary: it is made anew with the checkpoint that a
// rewrite ends with.
func TestASummaryAfterARewriteIsOfWhatIsLeft(t *testing.T) {
	o := testOptions()
	w := newWorld(t, o)
	d := &disk{w: w, rng: rand.New(rand.NewPCG(5, 9))}
	w.teach()
	w.storm(5, 200)
	d.restart(true)
	for i, e := range []RewriteRequest{
		&UnlearnRequested{At: w.moment(), Since: w.moment().Add(-21 * 24 * time.Hour)},
		&ForgetRequested{At: w.moment(), Sender: SenderOf("person3@example.com")},
		&ForgetRequested{At: w.moment(), Before: w.moment().Add(-24 * time.Hour)},
	} {
		before := d.summary
		if r := w.rewrite(e); !r.Changed {
			t.Fatalf("rewrite %d changes nothing", i)
		}
		d.restart(true)
		if d.summary == nil || bytes.Equal(d.summary, before) {
			t.Errorf("after rewrite %d the summary has %d bytes, before it %d", i, len(d.summary), len(before))
		}
		wantSmall(t, w.f, d.summary)
	}
	if d.used != 4 {
		t.Errorf("%d of 4 summaries were used", d.used)
	}
}

// wantSmall demands that a summary has room for what the state has, and no more.
func wantSmall(t *testing.T, f *Filter, summary []byte) {
	t.Helper()
	st := f.State()
	points, rows := st.Labelled.Len()+st.Recent.Len(), st.Messages.Len()
	if least := pointSize*points + 6*rows; len(summary) < least || len(summary) > least+60+4*rows {
		t.Errorf("the summary of %d scores and %d messages has %d bytes", points, rows, len(summary))
	}
}

// A window that goes round and round: some scores of the checkpoint are gone, others are not,
// some are equal, and at last all have changed.
func TestAWindowIsTheSameWithASummary(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	w := newWorld(t, testOptions())
	d := &disk{w: w, rng: rng}
	st, n, used := w.f.State(), uint64(0), 0
	add := func(some int) {
		for range some {
			s := store.Scored{Score: float32(rng.IntN(90)) / 7, Label: model.Label(2*rng.IntN(2) - 1), Above: rng.IntN(2) == 0}
			s.Message[0], s.Message[1] = byte(n), byte(n>>8)
			w.f.labelled.add(n, s)
			n++
		}
		st.Account.Labels = n
	}
	for _, some := range []int{0, 1, 700, windowSize, windowSize + 300} {
		add(some)
		w.f.readWindows(nil)
		d.save(st, true)
		for _, more := range []int{0, 1, 5, 400, windowSize - 400, 300} {
			add(more)
			record, err := st.Changes(nil)
			if err != nil {
				t.Fatal(err)
			}
			st.Settle(st.At())
			d.redo = append(d.redo, record)
			wantDerived(t, d.open(t, d.summary), d.open(t, nil))
			if takeSummary(d.load(t, d.summary)) != nil {
				used++
			}
		}
	}
	if used != 30 {
		t.Errorf("of 30 loads %d used the summary", used)
	}
}

// stormed is a disk with a checkpoint and some changes since.
func stormed(t testing.TB) *disk {
	w := newWorld(t, testOptions())
	d := &disk{w: w, rng: rand.New(rand.NewPCG(6, 9))}
	w.teach()
	w.storm(6, 80)
	d.restart(true)
	w.deliver("INBOX", mail("late@x", "person1@example.com", owner, "urgent and late"))
	d.chunks, d.redo = slices.Clone(d.chunks), nil
	record, err := w.f.State().Changes(nil)
	if err != nil {
		t.Fatal(err)
	}
	d.redo = append(d.redo, record)
	return d
}

// A summary of another version, or that is not one, is passed over.
func TestASummaryThatDoesNotFitIsPassedOver(t *testing.T) {
	d := stormed(t)
	want := d.open(t, nil)
	bad := map[string][]byte{"none": nil, "of another version": append([]byte{summaryVersion + 1}, d.summary[1:]...)}
	for n := range d.summary {
		bad[fmt.Sprint("cut to ", n)] = d.summary[:n]
	}
	bad["with more"] = append(bytes.Clone(d.summary), d.summary[len(d.summary)-6:]...)
	for name, summary := range bad {
		if st := d.load(t, summary); takeSummary(st) != nil {
			t.Errorf("%s: it is used", name)
		}
	}
	for _, name := range []string{"none", "of another version", "cut to 40", "with more"} {
		wantDerived(t, d.open(t, bad[name]), want)
	}
	// One that has other scores than the checkpoint, or counts them differently.
	w := newWorld(t, testOptions())
	other := &disk{w: w, rng: d.rng}
	w.teach()
	w.storm(7, 80)
	other.restart(true)
	if st := d.load(t, other.summary); takeSummary(st) != nil {
		t.Error("that of another state is used")
	}
	lies := bytes.Clone(d.summary)
	lies[1]++ // Standing.Labels
	if st := d.load(t, lies); takeSummary(st) == nil {
		t.Fatal("the number of labels is not what was changed")
	}
	wantDerived(t, d.open(t, lies), want)
}

// Whatever a summary says, the filter goes on, with as many scores and messages as the state has.
func FuzzSummary(f *testing.F) {
	d := stormed(f)
	f.Add(d.summary)
	f.Add(d.summary[:50])
	for _, at := range []int{1, 2, 12, 14, len(d.summary) / 2, len(d.summary) - 4} {
		changed := bytes.Clone(d.summary)
		changed[at] ^= 0x21
		f.Add(changed)
	}
	m := d.w.reader.Read(mail("fuzz@x", "person2@example.com", owner, "one more"))
	f.Fuzz(func(t *testing.T, summary []byte) {
		is := d.open(t, summary)
		if !is.complete() {
			t.Fatal("it has other scores or messages than the state")
		}
		if _, err := is.Apply(&Arrived{At: d.w.moment(), Meta: NewMeta(m), Message: m}); err != nil {
			t.Fatal(err)
		}
	})
}

// A number that Standing gets one day must go into the summary.
func TestASummaryHasEveryNumber(t *testing.T) {
	var s summary
	for i, n := range s.numbers() {
		*n = i + 1
	}
	var count func(v reflect.Value) int
	count = func(v reflect.Value) (n int) {
		if v.Kind() == reflect.Int {
			if v.Int() == 0 {
				t.Error("a number is missing")
			}
			return 1
		}
		for i := range v.NumField() {
			n += count(v.Field(i))
		}
		return n
	}
	if n := count(reflect.ValueOf(s.judged)); 2*n != len(s.numbers()) {
		t.Errorf("there are %d numbers, the summary has %d", 2*n, len(s.numbers()))
	}
}
