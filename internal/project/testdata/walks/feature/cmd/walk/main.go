// SPDX-License-Identifier: Apache-2.0

// Walk prints the features of one message, with their names in words.
package main

import (
	"fmt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/words"
)

func main() {
	f, err := featurize.New(featurize.DefaultOptions())
	if err != nil {
		panic(err)
	}
	m := f.Read([]byte("From: ann@example.org\r\nSubject: the budget\r\n\r\nPlease look.\r\n"))
	for x := range f.Freeze(m, featurize.History{}).All() {
		fmt.Printf("%s: %s = %s\n", x.Group, x.Name, words.Describe(x.Name))
	}
}
