// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/testkit/storetest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// leafFields returns the paths of all fields of a struct that hold no struct,
// with whether the digest leaves them out.
func leafFields(t reflect.Type, above []int, out bool) (paths [][]int, blanked []bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		path := append(above[:len(above):len(above)], i)
		skip := out || f.Type == reflect.TypeFor[store.Moment]() || f.Tag.Get("digest") == "-"
		if f.Type.Kind() == reflect.Struct {
			p, b := leafFields(f.Type, path, skip)
			paths, blanked = append(paths, p...), append(blanked, b...)
			continue
		}
		paths, blanked = append(paths, path), append(blanked, skip)
	}
	return paths, blanked
}

// checkFields sets each field of a row to something else, in turn, and checks
// whether the digest of the state follows as it should. It returns how many
// fields were left out.
func checkFields(t *testing.T, name string, row reflect.Type, digest func(row reflect.Value) string) (out int) {
	r := rand.New(rand.NewPCG(4, 4))
	paths, blanked := leafFields(row, nil, false)
	for i, path := range paths {
		v := reflect.New(row).Elem()
		storetest.RandomizeValue(r, v)
		before := digest(v)
		for old := v.FieldByIndex(path).Interface(); reflect.DeepEqual(old, v.FieldByIndex(path).Interface()); {
			storetest.RandomizeValue(r, v.FieldByIndex(path))
		}
		if changed := digest(v) != before; changed == blanked[i] {
			t.Errorf("%s.%s: digest follows it: %v, want %v", name, row.FieldByIndex(path).Name, changed, !blanked[i])
		}
		if blanked[i] {
			out++
		}
	}
	return out
}

func TestDigestCoversEveryFieldButMomentsAndThoseTagged(t *testing.T) {
	out := checkFields(t, "Account", reflect.TypeFor[store.Account](), func(row reflect.Value) string {
		st := store.NewState()
		st.Account = row.Interface().(store.Account)
		_, digest := store.Digest(st)
		return digest
	})
	for i, h := range storetest.Handles(store.NewState()) {
		row := reflect.TypeOf(h.Draw(rand.New(rand.NewPCG(0, 0))))
		out += checkFields(t, row.Name(), row, func(row reflect.Value) string {
			st := store.NewState()
			storetest.Handles(st)[i].Put("key", row.Interface())
			_, digest := store.Digest(st)
			return digest
		})
	}
	if out < 12 {
		t.Errorf("%d fields are left out, want 12 or more", out)
	}
}

// What the comment says and what the tag does agree.
func TestFieldsSaidNotToBeInTheDigestAreTagged(t *testing.T) {
	source, err := os.ReadFile("rows.go")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`cbor:.*//.*not in the digest`).FindAllString(string(source), -1)
	if len(said) < 4 {
		t.Errorf("found %d comments, want 4 or more", len(said))
	}
	for _, line := range said {
		if !strings.Contains(line, `digest:"-"`) {
			t.Errorf("not tagged: %s", line)
		}
	}
}

// No row type hides a Moment where blanker does not look.
func TestNoMomentBehindASliceMapOrPointer(t *testing.T) {
	var look func(name string, ty reflect.Type, inside bool)
	look = func(name string, ty reflect.Type, inside bool) {
		if ty == reflect.TypeFor[store.Moment]() && inside {
			t.Errorf("%s is a Moment that the digest would cover", name)
		}
		switch ty.Kind() {
		case reflect.Struct:
			for i := range ty.NumField() {
				look(name+"."+ty.Field(i).Name, ty.Field(i).Type, inside)
			}
		case reflect.Slice, reflect.Array, reflect.Pointer:
			look(name, ty.Elem(), true)
		case reflect.Map:
			look(name, ty.Key(), true)
			look(name, ty.Elem(), true)
		default:
		}
	}
	look("Account", reflect.TypeFor[store.Account](), false)
	for _, h := range storetest.Handles(store.NewState()) {
		row := reflect.TypeOf(h.Draw(rand.New(rand.NewPCG(0, 0))))
		look(row.Name(), row, false)
	}
}

func TestDigestDoesNotDependOnTheOrderOfInsertion(t *testing.T) {
	build := func(order *rand.Rand) (string, string) {
		r := rand.New(rand.NewPCG(6, 6))
		type put struct {
			table int
			key   string
			row   any
		}
		var puts []put
		for i, h := range storetest.Handles(store.NewState()) {
			for n := range 50 {
				puts = append(puts, put{i, fmt.Sprintf("%0*d", []int{4, 8, 16}[n%3], n), h.Draw(r)})
			}
		}
		order.Shuffle(len(puts), func(i, j int) { puts[i], puts[j] = puts[j], puts[i] })
		st := store.NewState()
		all := storetest.Handles(st)
		for _, p := range puts {
			all[p.table].Put("passing", p.row)
			all[p.table].Put(p.key, p.row)
		}
		for _, h := range all {
			h.Delete("passing")
		}
		for _, i := range order.Perm(1000) {
			st.Weights.Set(model.Index(i+1), float64(i))
		}
		return store.Digest(st)
	}
	wantModel, wantState := build(rand.New(rand.NewPCG(0, 0)))
	for seed := range uint64(5) {
		if m, s := build(rand.New(rand.NewPCG(seed, 1))); m != wantModel || s != wantState {
			t.Errorf("order %d: digest %s %s, want %s %s", seed, m, s, wantModel, wantState)
		}
	}
}

func TestWeightsMoveBothDigests(t *testing.T) {
	st := store.NewState()
	m0, s0 := store.Digest(st)
	st.Weights.Set(7, 0)
	m1, s1 := store.Digest(st)
	st.Weights.Set(7, 1)
	m2, s2 := store.Digest(st)
	if m0 == m1 || m1 == m2 || s0 == s1 || s1 == s2 {
		t.Errorf("digests without a weight, with one of 0, with one of 1: %s %s, %s %s, %s %s", m0, s0, m1, s1, m2, s2)
	}
	if len(m0) != 32 || len(s0) != 32 {
		t.Errorf("digests have %d and %d characters, want 32", len(m0), len(s0))
	}
}
