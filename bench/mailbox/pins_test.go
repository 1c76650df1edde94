// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// TestPins logs what made-up mailboxes come to, for make pins.
func TestPins(t *testing.T) {
	if os.Getenv("HINGED_PINS") == "" {
		t.Skip("make pins runs it")
	}
	for _, args := range []string{"-seeds 2", "-seeds 2 -csv", "-seeds 1 -csv -scores -filed -questions 3 -first 5 -pasts 0,130"} {
		c, err := parse(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := c.run(&out); err != nil {
			t.Fatal(err)
		}
		testkit.Pin(t, "mailbox", "table "+args, out.String())
		if !c.filed {
			continue
		}
		for _, person := range c.persons {
			o, err := c.open(persons.Make(person, 1, longestPast+c.live))
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.play(o, 130)
			if err != nil {
				t.Fatal(err)
			}
			var decided strings.Builder
			for _, v := range p.verdicts {
				fmt.Fprintf(&decided, "%d %v %v %x\n", v.mail, v.decided, v.marked, math.Float64bits(v.score))
			}
			model, state := store.Digest(p.filter.State())
			testkit.Pin(t, "mailbox", person+" decisions", decided.String())
			testkit.Pin(t, "mailbox", person+" model", model)
			testkit.Pin(t, "mailbox", person+" state", state)
		}
	}
}
