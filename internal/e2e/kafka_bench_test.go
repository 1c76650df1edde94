// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

// benchMail returns 22,000 messages of one owner, answers included, or those of
// the mbox file in HINGED_BENCH_MBOX, of HINGED_BENCH_OWNER; and writes them to
// mail.mbox in dir for eval.
func benchMail(b *testing.B, dir string) (owner string, all []testkit.Message) {
	b.Helper()
	mail := testkit.NewMail(42)
	owner = mail.Owner
	if from := os.Getenv("HINGED_BENCH_MBOX"); from != "" {
		owner = os.Getenv("HINGED_BENCH_OWNER")
		reader, err := featurize.New(featurize.DefaultOptions())
		if err != nil {
			b.Fatal(err)
		}
		eachOf(b, from, func(raw []byte, date time.Time) {
			all = append(all, testkit.Message{Raw: raw, Date: date, From: strings.Join(reader.ReadHeader(raw).From, ",")})
		})
	}
	for n := 0; len(all) < 22000 && os.Getenv("HINGED_BENCH_MBOX") == ""; n++ {
		m := mail.Next()
		all = append(all, m)
		if n%10 == 9 { // eval takes its labels from the owner's replies
			all = append(all, mail.Reply(m))
		}
	}
	var text strings.Builder
	for _, m := range all {
		quoted := strings.ReplaceAll("\n"+strings.ReplaceAll(string(m.Raw), "\r\n", "\n"), "\nFrom ", "\n>From ")
		fmt.Fprintf(&text, "From x@example.org %s%s\n", m.Date.UTC().Format(time.ANSIC), quoted)
	}
	testkit.Write(b, filepath.Join(dir, "mail.mbox"), text.String())
	return owner, all
}

// BenchmarkStreamProcessor measures the processor time of a daemon that takes
// its mail from a topic of a real Apache Kafka beside that of `hinged eval` of
// the same messages, in turn. cpu-stream/eval is the median of the rounds.
func BenchmarkStreamProcessor(b *testing.B) {
	broker := testkit.StartKafka(b, testkit.KafkaOptions{})
	dir := b.TempDir()
	owner, all := benchMail(b, dir)
	path := program(b)
	in := newTopic(b, broker, "in", 1)
	// By default a broker takes 1 MB; there is mail that is larger.
	in.configure("in", "max.message.bytes", strconv.Itoa(64<<20))
	var records []kafka.Record
	for i, m := range all {
		// An account gets 13 messages a day. So many reach into the future, where a broker takes none.
		at := time.Now().Add(-time.Duration(len(all)-i) * 24 * time.Hour / 13)
		records = append(records, kafka.Encode(kafka.Message{Raw: m.Raw, Sent: m.From == owner}, owner, strconv.Itoa(i), "bench", at))
	}
	in.produce(records)

	var cpus, walls []float64
	var resident uint64
	b.ResetTimer()
	for n := range b.N {
		s := in.process(fmt.Sprint("group", n), "")
		s.start()
		began := time.Now()
		in.doneLooking(time.Second, 5*time.Minute, s)
		walls = append(walls, time.Since(began).Seconds())
		run := s.cmd
		resident = max(resident, peakResident(b, run.Process.Pid))
		s.end()
		play := exec.Command(path, "eval", "--json", "--owner", owner, filepath.Join(dir, "mail.mbox"))
		if out, err := play.CombinedOutput(); err != nil {
			b.Fatalf("eval: %v\n%s", err, out)
		}
		b.Logf("stream %.2f s of processor time, eval %.2f s", processor(run), processor(play))
		cpus = append(cpus, processor(run)/processor(play))
	}
	b.ReportMetric(median(cpus), "cpu-stream/eval")
	b.ReportMetric(float64(len(all))/median(walls), "messages/s")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-resident")
}

// BenchmarkStreamLatency measures how long after a message is sent to the input
// topic its decision can be read, while messages come evenly at a tenth of the
// full load, which is measured first.
func BenchmarkStreamLatency(b *testing.B) {
	const partitions, accounts, atFull = 8, 200, 20000
	broker := testkit.StartKafka(b, testkit.KafkaOptions{})
	in := newTopic(b, broker, "in", partitions)
	mail := newOwners(3, accounts)
	records, _ := mail.next(atFull)
	in.produce(records)
	s := in.process("latency", "")
	s.start()
	began := time.Now()
	in.done(5*time.Minute, s)
	full := atFull / time.Since(began).Seconds()

	sent := map[string]time.Time{}
	var mu sync.Mutex
	var behind []float64
	ctx, cancel := context.WithCancel(b.Context())
	var looking sync.WaitGroup
	out := in.of("latency")
	for p, end := range out.ends("latency.decisions") {
		looking.Go(func() {
			r := out.client.Read("latency.decisions", kafka.TopicID{}, int32(p), end)
			defer r.Close()
			for ctx.Err() == nil {
				batch, err := r.Next(ctx, 1000, 1<<20)
				now := time.Now()
				if err != nil {
					continue // asked to stop, or asked again
				}
				mu.Lock()
				for _, d := range batch.Records {
					id, _ := d.Header("ce_id")
					if at, ok := sent[string(id)]; ok {
						behind = append(behind, now.Sub(at).Seconds()*1000)
						delete(sent, string(id))
					}
				}
				mu.Unlock()
			}
		})
	}
	// A message a time, as a mail server would send it; each from its own moment on
	// the clock, so that a slow answer delays none of the others.
	var sending sync.WaitGroup
	pause := time.Duration(float64(10*time.Second) / full)
	b.ResetTimer()
	ticks := time.NewTicker(pause)
	for range b.N {
		<-ticks.C
		one, _ := mail.next(1)
		one = slices.DeleteFunc(one, func(r kafka.Record) bool {
			kind, _ := r.Header("ce_type")
			return string(kind) != kafka.TypeMessage
		})
		sending.Go(func() {
			at := time.Now()
			one[0].Time = at
			offsets, err := in.client.Produce(ctx, "in", one)
			if err != nil {
				b.Error(err)
				return
			}
			p := kafka.Partition(one[0].Key, partitions)
			mu.Lock()
			defer mu.Unlock()
			sent[fmt.Sprintf("in/%d/%d", p, offsets[0])] = at
		})
	}
	ticks.Stop()
	sending.Wait()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		n := len(behind)
		mu.Unlock()
		if n == b.N {
			break
		}
	}
	b.StopTimer()
	cancel()
	looking.Wait()
	slices.Sort(behind)
	if len(behind) < b.N*99/100 {
		b.Fatalf("%d of %d decisions were seen", len(behind), b.N)
	}
	b.ReportMetric(full, "messages/s-full")
	b.ReportMetric(full/10, "messages/s")
	b.ReportMetric(behind[len(behind)/2], "ms-median")
	b.ReportMetric(behind[len(behind)*99/100], "ms-p99")
}
