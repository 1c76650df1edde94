// SPDX-License-Identifier: Apache-2.0

package ceiling

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// has reports for which of the accounts a to d something is kept.
func has(c *Kept) (out string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range []string{"a", "b", "c", "d"} {
		for _, k := range c.kept {
			if k.account == name {
				out += name
			}
		}
	}
	return out
}

func TestLessonsAreKeptWithinOneLimitForAllAccounts(t *testing.T) {
	c := NewKept()
	for i, step := range []struct {
		account string
		bytes   int
		want    string
	}{
		{"a", keepBytes / 2, "a"},
		{"b", keepBytes / 4, "ab"},
		{"c", keepBytes / 4, "abc"},
		{"a", keepBytes / 2, "abc"},         // asked for again
		{"d", keepBytes / 4, "acd"},         // b was not asked for as long
		{"c", keepBytes/4 + 1, "cd"},        // it grew; a gives way
		{"b", keepBytes + 1, "cd"},          // too large for all the room there is
		{"d", keepBytes - keepBytes/4, "d"}, // with c too much by a byte
	} {
		c.keep(step.account, c.take(step.account), step.bytes)
		if got := has(c); got != step.want {
			t.Errorf("step %d, %s: kept is %q, want %q", i, step.account, got, step.want)
		}
		if c.bytes() > keepBytes {
			t.Errorf("step %d: %d bytes are kept", i, c.bytes())
		}
	}
}

func TestLessonsAreLetGoOfAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewKept()
		c.keep("a", new(hindsight), 1)
		time.Sleep(keepTime / 2)
		c.keep("b", new(hindsight), 1)
		time.Sleep(keepTime/2 + time.Second)
		synctest.Wait()
		if got := has(c); got != "b" {
			t.Errorf("kept is %q, want b", got)
		}
		c.keep("b", c.take("b"), 1) // asked for again
		time.Sleep(keepTime - time.Second)
		synctest.Wait()
		if got := has(c); got != "b" {
			t.Errorf("kept is %q, want b, which was asked for", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := has(c); got != "" {
			t.Errorf("kept is %q, want nothing", got)
		}
	})
}

func TestWhatIsKeptIsTakenOnce(t *testing.T) {
	c := NewKept()
	h := new(hindsight)
	c.keep("a", h, 1)
	if got := c.take("a"); got != h {
		t.Error("it began anew")
	}
	if got := c.take("a"); got == h {
		t.Error("two have the same")
	}
	if s := fmt.Sprint(has(c)); s != "" {
		t.Errorf("kept is %q", s)
	}
}
