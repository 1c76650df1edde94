// SPDX-License-Identifier: Apache-2.0

package store

import "testing"

func TestPositionsThatCantBe(t *testing.T) {
	p := Partition{Topic: "t"}
	good := LogPosition{Next: 100, Partitions: 2}
	if err := good.Check(p); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*LogPosition){
		"before the log":  func(at *LogPosition) { at.Next = -1 },
		"forgotten later": func(at *LogPosition) { at.Forgot = at.Next + 1 },
		"lost in no era":  func(at *LogPosition) { at.Cuts = []int64{50} },
	} {
		at := good
		spoil(&at)
		if at.Check(p) == nil {
			t.Errorf("%s: %+v is taken", name, at)
		}
	}
}

// Each time that the log loses its end, the offsets from there on name other records.
func TestOffsetsThatAreUsedAgain(t *testing.T) {
	at := LogPosition{Next: 100, Partitions: 1}
	if at.Reach() != 100 || at.Reused(99) != 0 {
		t.Errorf("it never lost its end: %+v", at)
	}
	once := at.Stop(60)
	if !once.Stopped || once.Era != 1 || once.Reach() != 60 || once.Reused(59) != 0 || once.Reused(60) != 1 {
		t.Errorf("it lost its end once: %+v", once)
	}
	twice := once.Lose(80)
	if twice.Era != 2 || twice.Reused(59) != 0 || twice.Reused(79) != 1 || twice.Reused(80) != 2 || len(once.Cuts) != 1 || len(at.Cuts) != 0 {
		t.Errorf("it lost its end twice: %+v", twice)
	}
	if err := twice.Check(Partition{Topic: "t"}); err != nil {
		t.Error(err)
	}
}
