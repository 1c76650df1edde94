// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkMarkLatency measures, for one message after the other, how long after
// a bare IDLE client heard of it the daemon's mark is visible to a second
// client, which looks as often as it can. Run with -benchtime 40x or so.
func BenchmarkMarkLatency(b *testing.B) {
	s := newSite(b, quick)
	s.start()
	owner, idler, looker := s.imap.Owner(b), s.imap.Owner(b), s.imap.Owner(b)
	messages, _ := teach(s, owner)
	looker.Select("INBOX")

	var behind []float64
	b.ResetTimer()
	for n := range b.N {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		ready, heard := make(chan struct{}), make(chan time.Time, 1)
		go func() {
			at, err := idler.IdleUntilNews(ctx, "INBOX", ready)
			if err != nil {
				b.Error(err)
			}
			heard <- at
		}()
		<-ready
		uid := owner.Append("INBOX", letter(1000+n, boss, s.imap.User, fmt.Sprint("urgent matter ", n)), time.Now())
		var seen time.Time
		for seen.IsZero() {
			if flags, there := looker.Flags("INBOX", uid); there && slices.Contains(flags, "$important") {
				seen = time.Now()
			}
			if ctx.Err() != nil {
				b.Fatal("the mark did not appear within 30 s")
			}
		}
		behind = append(behind, seen.Sub(<-heard).Seconds()*1000)
		cancel()
		messages++
		s.until("the message settled", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 })
	}
	slices.Sort(behind)
	b.ReportMetric(behind[len(behind)/2], "ms-median-behind-idle")
	b.ReportMetric(behind[len(behind)*9/10], "ms-p90-behind-idle")
}

// BenchmarkFirstScan measures the daemon's first scan of a large mailbox beside
// the same FETCH commands with the bodies thrown away and beside `hinged eval`
// of the same mail, in turn, each on both cores as it comes. The ratios are the
// medians of those of each round, since a neighbour on the machine disturbs one
// round and not the next; cpu-scan/eval leaves the mail server and any neighbour
// out. The mail is generated, or that of the mbox file in HINGED_BENCH_MBOX,
// whose owner is HINGED_BENCH_OWNER.
func BenchmarkFirstScan(b *testing.B) {
	imap := testkit.StartDovecot(b, testkit.DovecotOptions{})
	dir := b.TempDir()
	const chunk = 100 // as ingest/imap asks for them
	n := fillMailbox(b, imap, dir)
	path := program(b) // builds it, if no test has yet
	owner := imap.User
	if o := os.Getenv("HINGED_BENCH_OWNER"); o != "" {
		owner = o
	}
	imap.FetchAll(b, n, chunk, 16<<20) // Dovecot builds its cache

	var scans, bares, evals, cpus []float64 // of each round, in seconds; the last a ratio
	var resident uint64
	b.ResetTimer()
	for range b.N {
		bares = append(bares, imap.FetchAll(b, n, chunk, 16<<20).Seconds())

		s := siteLogging(b, imap, imap.Addr, b.TempDir(), "info", "") // as it runs unless told otherwise
		began := time.Now()
		s.start()
		s.until("the whole mailbox", func(a desk.AccountStatus) bool {
			time.Sleep(30 * time.Millisecond) // asking costs the daemon, too
			return slices.ContainsFunc(a.Mailboxes, func(m desk.MailboxStatus) bool { return m.Mailbox == "INBOX" && m.UIDNext == uint32(n)+1 })
		})
		scans = append(scans, time.Since(began).Seconds())
		run := s.cmd
		resident = max(resident, peakResident(b, run.Process.Pid))
		s.kill()

		play := exec.Command(path, "eval", "--json", "--owner", owner, filepath.Join(dir, "mail.mbox"))
		began = time.Now()
		if out, err := play.CombinedOutput(); err != nil {
			b.Fatalf("eval: %v\n%s", err, out)
		}
		evals = append(evals, time.Since(began).Seconds())
		cpus = append(cpus, processor(run)/processor(play))
	}
	b.ReportMetric(median(scans), "s-scan")
	b.ReportMetric(median(bares), "s-bare-fetch")
	b.ReportMetric(median(evals), "s-eval")
	b.ReportMetric(median(ratios(scans, bares)), "scan/bare")
	b.ReportMetric(median(ratios(scans, evals)), "scan/eval")
	b.ReportMetric(median(cpus), "cpu-scan/eval")
	b.ReportMetric(float64(resident)/(1<<20), "MiB-resident")
}

// processor returns the processor time of a process that has ended, in seconds.
func processor(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(x)-1)/2] + sorted[len(x)/2]) / 2
}

// fillMailbox puts the mail into INBOX and into mail.mbox, and returns how many
// messages there are.
func fillMailbox(b *testing.B, imap *testkit.Dovecot, dir string) int {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "mail.mbox"))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	var all []testkit.Message
	add := func(raw []byte, date time.Time) {
		all = append(all, testkit.Message{Raw: raw, Date: date})
		n++
		text := strings.ReplaceAll("\n"+strings.ReplaceAll(string(raw), "\r\n", "\n"), "\nFrom ", "\n>From ")
		if _, err := fmt.Fprintf(f, "From x@example.org %s%s\n", date.UTC().Format(time.ANSIC), text); err != nil {
			b.Fatal(err)
		}
	}
	if from := os.Getenv("HINGED_BENCH_MBOX"); from != "" {
		eachOf(b, from, add)
	} else {
		mail := testkit.NewMail(42)
		for n < 20000 {
			m := mail.Next()
			add(m.Raw, m.Date)
			if n%10 == 0 { // eval takes its labels from the owner's replies
				reply := mail.Reply(m)
				add(reply.Raw, reply.Date)
			}
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	next := 0
	imap.Fill(n, func() testkit.Message { next++; return all[next-1] })
	return n
}

// eachOf calls fn with every message of an mbox file, its lines ended as they are
// on the wire.
func eachOf(b testing.TB, file string, fn func(raw []byte, date time.Time)) {
	b.Helper()
	mail, err := archive.Open([]string{file}, archive.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer mail.Close()
	for {
		m, err := mail.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		fn([]byte(strings.ReplaceAll(strings.ReplaceAll(string(m.Raw), "\r\n", "\n"), "\n", "\r\n")), m.Date())
	}
}

// peakResident reads a process's peak resident memory, in bytes.
func peakResident(b *testing.B, pid int) uint64 {
	b.Helper()
	return memoryOf(b, pid, "VmHWM:")
}

// memoryOf reads one figure of /proc/PID/status, in bytes.
func memoryOf(b testing.TB, pid int, field string) uint64 {
	b.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Error(err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				b.Error(err)
			}
			return kib << 10
		}
	}
	b.Errorf("no %s in the process's status", field)
	return 0
}
