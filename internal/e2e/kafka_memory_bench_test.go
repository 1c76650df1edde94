// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkStreamMemory gives a daemon 200,000 messages (HINGED_STREAM_MESSAGES) of
// 20 accounts, and an eighth as many again while its decisions are refused, with the
// broker standing still in between, for long stretches; and the same without any such
// trouble. Each account knows of its last 500 messages (HINGED_STREAM_KNOWN) and 2,000
// scores. Both are reached before the second quarter: from then on nothing that is
// meant to be kept grows, but for the ledger. It reports the largest memory over the
// second and over the last quarter of the time: what of the process is resident, and
// what of that is anonymous; the rest are pages of the store's file, which the system
// takes back when it needs the room. And of the second and the last quarter of all
// collections of garbage: what was in use after them.
func BenchmarkStreamMemory(b *testing.B) {
	for _, c := range []struct {
		name    string
		trouble bool
	}{{"refused-and-stopped", true}, {"calm", false}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				streamMemory(b, testkit.FromEnv("HINGED_STREAM_MESSAGES", 200000), c.trouble)
			}
		})
	}
}

// collection finds what was in use after a collection, in MiB.
var collection = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB, `)

func streamMemory(b *testing.B, total int, trouble bool) {
	broker := testkit.StartKafka(b, testkit.KafkaOptions{})
	in := newTopic(b, broker, "in", 4)
	mail := newOwners(4, 20)
	s := in.process("memory", fmt.Sprintf("max_messages = %d", testkit.FromEnv("HINGED_STREAM_KNOWN", 500)))
	b.Setenv("GODEBUG", "gctrace=1")
	s.start()
	pid := s.cmd.Process.Pid
	var resident, anonymous []uint64
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				resident = append(resident, memoryOf(b, pid, "VmRSS:"))
				anonymous = append(anonymous, memoryOf(b, pid, "RssAnon:"))
			}
		}
	})
	const turns = 20
	for turn := range turns {
		records, _ := mail.next(total / turns)
		in.produce(records)
		switch turn % 4 {
		case 1: // more comes in than is let out
			if trouble {
				// It demands more replicas in sync than there are.
				in.configure("memory.decisions", "min.insync.replicas", "2")
			}
			more, _ := mail.next(total / turns / 2)
			in.produce(more)
			if trouble {
				time.Sleep(5 * time.Second)
				in.configure("memory.decisions", "min.insync.replicas", "1")
			}
		case 3:
			if trouble {
				broker.Pause(0)
				time.Sleep(12 * time.Second) // longer than a request may take
				broker.Continue(0)
			}
		}
	}
	in.done(10*time.Minute, s)
	close(stop)
	watching.Wait()
	s.end()
	report := func(samples []uint64, unit string) {
		q := len(samples) / 4
		b.ReportMetric(float64(slices.Max(samples[q:2*q]))/(1<<20), "MiB-"+unit+"-second")
		b.ReportMetric(float64(slices.Max(samples[3*q:]))/(1<<20), "MiB-"+unit+"-last")
	}
	var live []uint64
	for _, gc := range collection.FindAllStringSubmatch(s.log.String(), -1) {
		mib, err := strconv.ParseUint(gc[1], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		live = append(live, mib<<20)
	}
	report(live, "live")
	report(resident, "resident")
	report(anonymous, "anonymous")
}
