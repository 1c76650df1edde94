// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "testing"

// TestNoSenderFillsTheList: of the clearest messages three of one sender are listed at
// most, each with the number of all of them.
func TestNoSenderFillsTheList(t *testing.T) {
	var list []WouldMark
	for range 20 {
		list = append(list, WouldMark{From: "ann@example.org"})
	}
	list = append(list, WouldMark{From: "bob@example.org"}, WouldMark{From: "eve@example.org"})
	got := map[string]int{}
	for _, w := range spread(list, 4) {
		got[w.From]++
		if want := map[string]int{"ann@example.org": 20, "bob@example.org": 1}[w.From]; w.OfSender != want {
			t.Errorf("%s has %d messages, want %d", w.From, w.OfSender, want)
		}
	}
	if len(got) != 2 || got["ann@example.org"] != 3 || got["bob@example.org"] != 1 {
		t.Errorf("listed are %v", got)
	}
}
