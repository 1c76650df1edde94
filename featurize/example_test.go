// SPDX-License-Identifier: Apache-2.0

package featurize_test

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
)

func Example() {
	f, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	m := f.Read([]byte("From: Ann <ann@example.org>\r\nTo: bob@example.org\r\nSubject: the budget\r\n\r\nPlease look at it today.\r\n"))
	// The sender wrote 9 messages before, and the owner answered 6 of them.
	x := f.Freeze(m, featurize.History{Received: 9, Answered: 6})
	for feature := range x.All() {
		switch feature.Name {
		case "from:ann@example.org", "subject:budget", "body:today", "history:sender answered under 50%":
			fmt.Printf("%-8v %+.3f  %s\n", feature.Group, feature.Value, feature.Name)
		}
	}
	fmt.Printf("squared length %.2f\n", x.Vector().SquaredNorm())
	// Output:
	// subject  +0.226  subject:budget
	// body     +0.186  body:today
	// social   +0.062  from:ann@example.org
	// social   +0.062  history:sender answered under 50%
	// squared length 1.00
}
