// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"reflect"
	"testing"
)

func aside() LogPosition {
	return LogPosition{Next: 100, Partitions: 2, Behind: 40, Aside: []Aside{
		{"kafka:a", 30, 90, 20}, {"kafka:b", 60, 70, 3}, {"kafka:c", 95, 99, 2},
	}}
}

// A log that lost records at its beginning, or at its end, is read on as far as it goes.
func TestAPositionIsClippedToALog(t *testing.T) {
	for _, c := range []struct {
		first, next int64
		want        LogPosition
	}{
		{0, 100, aside()},
		{40, 200, aside()},
		{75, 100, LogPosition{Next: 100, Behind: 75, Aside: []Aside{{"kafka:a", 30, 90, 20}, {"kafka:c", 95, 99, 2}}}},
		{100, 100, LogPosition{Next: 100}},
		{150, 150, LogPosition{Next: 150}},
		{0, 65, LogPosition{Next: 65, Behind: 40, Aside: []Aside{{"kafka:a", 30, 64, 20}, {"kafka:b", 60, 64, 3}}}},
		{0, 40, LogPosition{Next: 40}},
		{50, 96, LogPosition{Next: 96, Behind: 50, Aside: []Aside{{"kafka:a", 30, 90, 20}, {"kafka:b", 60, 70, 3}, {"kafka:c", 95, 95, 2}}}},
	} {
		c.want.Partitions = 2
		got := aside().Clip(c.first, c.next)
		if err := got.Check(Partition{Topic: "t", Number: 1}); err != nil {
			t.Errorf("to %d, %d: %v", c.first, c.next, err)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("to %d, %d it is\n%+v, want\n%+v", c.first, c.next, got, c.want)
		}
	}
	if !reflect.DeepEqual(aside().Clip(0, 100), aside()) {
		t.Error("it has changed what it was called with")
	}
}

func TestPositionsThatCantBe(t *testing.T) {
	p := Partition{Topic: "t"}
	if err := aside().Check(p); err != nil || aside().Whole() != 40 || aside().Steps() != 140 {
		t.Fatalf("%v, whole up to %d, %d steps", err, aside().Whole(), aside().Steps())
	}
	if at := (LogPosition{Next: 7}); at.Whole() != 7 || at.Steps() != 14 {
		t.Errorf("without any it is whole up to %d, %d steps", at.Whole(), at.Steps())
	}
	for name, spoil := range map[string]func(*LogPosition){
		"none is behind":         func(at *LogPosition) { at.Aside = nil },
		"behind is not":          func(at *LogPosition) { at.Behind = at.Next },
		"behind is before all":   func(at *LogPosition) { at.Behind = -1 },
		"two are one":            func(at *LogPosition) { at.Aside[1].Account = at.Aside[0].Account },
		"out of order":           func(at *LogPosition) { at.Aside[0], at.Aside[1] = at.Aside[1], at.Aside[0] },
		"no name":                func(at *LogPosition) { at.Aside[0].Account = "" },
		"its last is not passed": func(at *LogPosition) { at.Aside[2].Last = at.Next },
		"its last is before":     func(at *LogPosition) { at.Aside[2].Last = 94 },
		"fewer than none wait":   func(at *LogPosition) { at.Aside[2].Records = -1 },
		"forgotten later":        func(at *LogPosition) { at.Forgot = at.Steps() + 1 },
		"lost in no era":         func(at *LogPosition) { at.Cuts = []int64{50} },
		"too many": func(at *LogPosition) {
			at.Aside = nil
			for n := range MostAside + 1 {
				at.Aside = append(at.Aside, Aside{fmt.Sprintf("kafka:%04d", n), 50, 50, 1})
			}
		},
	} {
		at := aside()
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
	if got := (LogPosition{Next: 100, Forgot: 150}).Clip(0, 60); got.Forgot != 120 {
		t.Errorf("what was forgotten at step 150 is of step %d in a log that ends at 60", got.Forgot)
	}
}
