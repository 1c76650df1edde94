// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"
)

// manyRows are the rows that rowReader reads.
var manyRows = []quickRow{&Sender{}, &Thread{}, &KnownID{}, &Message{}, &Place{}, &Windowed{}}

// drawRow draws a row like the given one, of which some fields are zero.
func drawRow(t *testing.T, r *rand.Rand, like quickRow) (row quickRow, encoded []byte) {
	t.Helper()
	kind := reflect.TypeOf(like).Elem()
	drawn, ok := quick.Value(kind, r)
	if !ok {
		t.Fatalf("%v cannot be drawn", kind)
	}
	v := reflect.New(kind)
	v.Elem().Set(drawn)
	for i := range kind.NumField() {
		if r.Intn(3) == 0 {
			v.Elem().Field(i).SetZero()
		} else if f := v.Elem().Field(i); f.Kind() == reflect.Float64 && r.Intn(2) == 0 {
			f.SetFloat([]float64{0.5, -1, 1.0 / 1024, -0.1, 65504, 1 << 20, 6e-8}[r.Intn(7)]) // also what is short
		}
	}
	encoded, err := EncodeRow(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return v.Interface().(quickRow), encoded
}

// slowly reads a row with DecodeRow.
func slowly(like quickRow, data []byte) (any, error) {
	row := reflect.New(reflect.TypeOf(like).Elem()).Interface()
	return row, DecodeRow(data, row)
}

func TestEveryRowOfWhichThereAreManyIsReadQuickly(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var reader rowReader
	for range 500 {
		for _, like := range manyRows {
			drawn, data := drawRow(t, r, like)
			want, err := slowly(like, data)
			if err != nil {
				t.Fatalf("%+v: %v", drawn, err)
			}
			got := reflect.New(reflect.TypeOf(like).Elem()).Interface().(quickRow)
			if !reader.read(data, got) {
				t.Fatalf("%x, which is %+v, is not read quickly", data, drawn)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%x is read as\n%+v, want\n%+v", data, got, want)
			}
		}
	}
}

// What is not a row as EncodeRow writes it is read as DecodeRow reads it, or not at all.
func TestWhatIsReadQuicklyIsWhatDecodeRowReads(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	var reader rowReader
	read := 0
	for range 3000 {
		for _, like := range manyRows {
			_, data := drawRow(t, r, like)
			switch data = bytes.Clone(data); r.Intn(4) {
			case 0:
				data = data[:r.Intn(len(data))]
			case 1:
				data = append(data, byte(r.Intn(256)))
			default:
				data[r.Intn(len(data))] = byte(r.Intn(256))
			}
			got := reflect.New(reflect.TypeOf(like).Elem()).Interface().(quickRow)
			if !reader.read(data, got) {
				continue
			}
			read++
			want, err := slowly(like, data)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%x is read as\n%+v; DecodeRow reads it as\n%+v, %v", data, got, want, err)
			}
		}
	}
	if read < 1000 {
		t.Errorf("only %d rows were read quickly", read)
	}
}
