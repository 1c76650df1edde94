// SPDX-License-Identifier: Apache-2.0

package reason

import "testing"

func TestAProbabilityIsSaidAsSoManyInTen(t *testing.T) {
	for p, want := range map[float64]string{
		0: "", 0.02: "hardly any such message mattered", 0.1: "1 in 10 such messages mattered",
		0.68: "7 in 10 such messages mattered", 0.94: "9 in 10 such messages mattered", 0.96: "nearly all such messages mattered", 1: "nearly all such messages mattered",
	} {
		if got := InTen(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}
