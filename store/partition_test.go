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
