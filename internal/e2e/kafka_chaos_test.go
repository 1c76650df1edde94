// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hinged/hinged/internal/testkit"
)

// chaos does to three processes of a group, and to their brokers, what happens to such
// things, a little in each turn, at random.
type chaos struct {
	t       *testing.T
	chance  *rand.Rand
	broker  *testkit.Kafka
	brokers int
	three   []*site
	up      []bool
	out     int   // the broker that is dead or stands still; -1: none
	frozen  int   // the process that stands still; -1: none
	rest    int   // turns until it goes on
	spoilt  []int // how many files of each process, since it started
	did     struct{ Joined, Left, Killed, Wiped, Spoilt, Frozen, BrokersKilled, BrokersFrozen int }
}

// mostSpoilt: a partition whose file is damaged more often than three times a day stops, as the
// disk may be the reason.
const mostSpoilt = 3

func (c *chaos) join(i int) {
	c.three[i].start()
	c.up[i], c.spoilt[i] = true, 0
	c.did.Joined++
}

// processTurn starts a process, or ends one.
func (c *chaos) processTurn() {
	c.t.Helper()
	if c.frozen >= 0 {
		if c.rest--; c.rest <= 0 {
			c.thaw()
		}
	}
	i := c.chance.IntN(len(c.three))
	switch {
	case i == c.frozen:
	case !c.up[i]:
		c.join(i)
	case c.chance.IntN(3) == 0:
		if err := c.three[i].stop(syscall.SIGTERM); err != nil {
			c.t.Fatalf("a process that was asked to leave: %v", err)
		}
		c.up[i] = false
		c.did.Left++
	case c.brokers > 1 && c.frozen < 0 && c.chance.IntN(4) == 0:
		c.signal(i, syscall.SIGSTOP)
		c.frozen, c.rest = i, 1+c.chance.IntN(20)
		c.did.Frozen++
	default:
		c.three[i].kill()
		c.up[i] = false
		c.did.Killed++
		if c.chance.IntN(3) == 0 {
			if err := os.RemoveAll(filepath.Join(c.three[i].dir, "state")); err != nil {
				c.t.Fatal(err)
			}
			c.did.Wiped++
		}
	}
}

// spoilTurn overwrites the file of a partition that a process has in use, but for its header.
func (c *chaos) spoilTurn() {
	c.t.Helper()
	i := c.chance.IntN(len(c.three))
	files, err := filepath.Glob(filepath.Join(c.three[i].dir, "state", "*.partitions", "*.db"))
	if err != nil {
		c.t.Fatal(err)
	}
	if !c.up[i] || c.spoilt[i] == mostSpoilt || len(files) == 0 {
		return
	}
	err = testkit.Garble(files[c.chance.IntN(len(files))])
	if errors.Is(err, fs.ErrNotExist) {
		return // the partition went to another process
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.spoilt[i]++
	c.did.Spoilt++
}

// brokerTurn kills a broker or has it stand still, or brings back the one that it did this
// to. The first broker alone decides who leads a partition, so it is back at once.
func (c *chaos) brokerTurn() {
	c.t.Helper()
	switch {
	case c.out >= 0 && c.chance.IntN(2) == 0:
		c.mend()
	case c.out < 0 && c.chance.IntN(4) == 0:
		c.out = c.chance.IntN(c.brokers)
		switch {
		case c.out == 0:
			c.broker.Kill(c.out)
			c.did.BrokersKilled++
			c.mend()
		case c.chance.IntN(2) == 0:
			c.broker.Pause(c.out)
			c.did.BrokersFrozen++
		default:
			c.broker.Kill(c.out)
			c.did.BrokersKilled++
		}
	}
}

// calm brings all back.
func (c *chaos) calm() {
	c.t.Helper()
	c.mend()
	c.thaw()
	for i := range c.three {
		if !c.up[i] {
			c.join(i)
		}
	}
}

func (c *chaos) mend() {
	c.t.Helper()
	if c.out >= 0 {
		c.broker.Continue(c.out)
		c.broker.Start(c.out)
		c.out = -1
	}
}

func (c *chaos) thaw() {
	c.t.Helper()
	if c.frozen >= 0 {
		c.signal(c.frozen, syscall.SIGCONT)
		c.frozen = -1
	}
}

func (c *chaos) signal(i int, s syscall.Signal) {
	c.t.Helper()
	if err := c.three[i].cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}
