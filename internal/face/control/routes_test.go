// SPDX-License-Identifier: Apache-2.0

package control

import "testing"

func TestNoTwoRoutesHaveOneName(t *testing.T) {
	for i, r := range routes[1:] { // sorted
		if r.name == routes[i].name {
			t.Errorf("%s stands twice", r.name)
		}
	}
}
