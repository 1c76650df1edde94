// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"math"
)

// InTen says in words how many messages like one mattered, from the probability that it
// matters, 0 to 1; "" for 0, which says that too little is known.
func InTen(p float64) string {
	switch n := math.Round(10 * p); {
	case p <= 0:
		return ""
	case n < 1:
		return "hardly any such message mattered"
	case n > 9:
		return "nearly all such messages mattered"
	default:
		return fmt.Sprintf("%.0f in 10 such messages mattered", n)
	}
}
