// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/d--j/go-milter"

	"github.com/hinged/hinged/internal/testkit"
)

// benchSite is a daemon with [milter] for ann.
func benchSite(b *testing.B) (s *filterSite, socket string) {
	b.Helper()
	s = newFilterSite(b)
	dir := filepath.Join(s.dir, "queue/hinged")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("install", "-d", "-o", s.user.Username, "-g", "postfix", "-m", "2770", dir).CombinedOutput(); err != nil {
		b.Fatalf("install: %v\n%s", err, out)
	}
	socket = filepath.Join(dir, "milter.sock")
	s.write(filepath.Join(s.home, ".config/hinged/hinged.toml"), fmt.Sprintf(`state_dir = %q
socket = %q
[milter]
socket = %q
[[account]]
name = "ann"
owner = ["ann@example.org"]
shadow = "off"
[account.imap]
address = "127.0.0.1:1"
tls = "none"
username = "me"
password_command = ["echo", "none"]
`, filepath.Join(s.dir, "state"), s.socket, socket), 0o600)
	s.runDaemon()
	return s, socket
}

// BenchmarkMilter has a mail server's connections hand over generated mail as fast as hinged
// answers, and reports messages a second, and how long the answers to the ends of messages took.
func BenchmarkMilter(b *testing.B) {
	_, socket := benchSite(b)
	client := milter.NewClient("unix", socket, milter.WithReadTimeout(patience), milter.WithWriteTimeout(patience))
	mail := testkit.NewMail(1)
	var bodies [][2]string
	for range 200 {
		head, body, _ := bytes.Cut(mail.Next().Raw, []byte("\r\n\r\n"))
		bodies = append(bodies, [2]string{string(head), string(body)})
	}
	for _, connections := range []int{1, 8, 50} {
		b.Run(fmt.Sprint(connections, "-connections"), func(b *testing.B) {
			var all sync.WaitGroup
			var next, got atomic.Int64
			took := make([][]time.Duration, connections)
			for n := range connections {
				all.Go(func() {
					c, err := client.Session(milter.NewMacroBag())
					if err != nil {
						b.Error(err)
						return
					}
					defer c.Close()
					_, err1 := c.Conn("host", milter.FamilyInet, 25, "127.0.0.1")
					_, err2 := c.Helo("host")
					if err1 != nil || err2 != nil {
						b.Error(err1, err2)
						return
					}
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						added, end, err := handOver(c, bodies[i%int64(len(bodies))])
						if err != nil {
							b.Error(err)
							return
						}
						took[n] = append(took[n], end)
						if added == 2 {
							got.Add(1)
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
			every := slices.Concat(took...)
			slices.Sort(every)
			if len(every) > 0 {
				b.ReportMetric(float64(every[len(every)/2].Microseconds())/1000, "ms-median")
				b.ReportMetric(float64(every[len(every)*99/100].Microseconds())/1000, "ms-99%")
			}
			b.ReportMetric(float64(got.Load())/float64(b.N)*100, "%-with-header")
		})
	}
}

// handOver hands one message over, and returns how many fields it got and how long the answer
// took.
func handOver(c *milter.ClientSession, m [2]string) (added int, took time.Duration, err error) {
	if _, err := c.Mail("sender@example.net", ""); err != nil {
		return 0, 0, err
	}
	if _, err := c.Rcpt("ann@example.org", ""); err != nil {
		return 0, 0, err
	}
	if _, err := c.DataStart(); err != nil {
		return 0, 0, err
	}
	for _, line := range strings.Split(strings.ReplaceAll(m[0], "\r\n ", "\n "), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		if _, err := c.HeaderField(name, value, nil); err != nil {
			return 0, 0, err
		}
	}
	if _, err := c.HeaderEnd(); err != nil {
		return 0, 0, err
	}
	if _, err := c.BodyChunk([]byte(m[1])); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	acts, _, err := c.End()
	return len(acts), time.Since(began), err
}

// BenchmarkMilterPostfix sends messages through a real Postfix, which throws them away, with
// and without hinged. Run with -benchtime 1x.
func BenchmarkMilterPostfix(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("SKIPPED: Postfix wants to be started by root")
	}
	const messages = 3000
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprint("milter-", with), func(b *testing.B) {
			s, _ := benchSite(b)
			addr := fmt.Sprint("127.0.0.1:", testkit.FreePorts(b, 1)[0])
			main := "virtual_transport = discard:\nvirtual_mailbox_maps = static:x\n"
			if with {
				main += "smtpd_milters = unix:hinged/milter.sock\nmilter_default_action = accept\n"
			}
			said := s.runPostfix(addr, "", main, addr+" inet n - y - - smtpd\n")
			b.ResetTimer()
			for range b.N {
				if out, err := exec.Command("smtp-source", "-s", "20", "-m", fmt.Sprint(messages), "-l", "4000",
					"-f", "sender@example.net", "-t", "ann@example.org", addr).CombinedOutput(); err != nil {
					b.Fatalf("smtp-source: %v\n%s\n%s", err, out, tail(said()))
				}
			}
			b.ReportMetric(float64(b.N*messages)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
