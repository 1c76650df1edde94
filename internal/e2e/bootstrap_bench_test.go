// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/internal/testkit"
)

// BenchmarkBootstrap measures `hinged bootstrap` on a real Dovecot: how long it
// takes, in how much memory, and how good it says that it is. The mail is
// generated, or that of the mbox file in HINGED_BENCH_MBOX, whose owner is
// HINGED_BENCH_OWNER: their own mail lies in Sent, all else in INBOX, read, and
// with \Answered what the owner answered.
func BenchmarkBootstrap(b *testing.B) {
	testkit.NeedDovecot(b)
	address := "owner@example.org"
	if o := os.Getenv("HINGED_BENCH_OWNER"); o != "" {
		address = o
	}
	imap := testkit.StartDovecot(b, testkit.DovecotOptions{Users: []string{address}})
	owner := imap.Owner(b)
	defer owner.Close()
	var messages int
	if from := os.Getenv("HINGED_BENCH_MBOX"); from != "" {
		messages = livedReally(b, owner, address, from)
	} else {
		messages = lived(owner, 3, 5000)
	}
	path, err := binary()
	if err != nil {
		b.Fatal(err)
	}
	var took []float64
	var r bootstrap.Report
	var resident int64
	b.ResetTimer()
	for range b.N {
		s := siteAt(b, imap, imap.Addr, b.TempDir(), "")
		cmd := exec.Command(path, "bootstrap", "--config", s.config, "--months", "0", "--json")
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v\n%s", err, log.String())
		}
		took = append(took, time.Since(began).Seconds())
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Messages != messages {
			b.Fatalf("%v: %d messages of %d", err, r.Messages, messages)
		}
		if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			resident = max(resident, u.Maxrss)
		}
	}
	b.ReportMetric(median(took), "s-bootstrap")
	b.ReportMetric(float64(messages)/median(took), "messages/s")
	b.ReportMetric(float64(resident)/1024, "MiB-resident")
	b.ReportMetric(r.Judgement.F1, "F1")
	b.ReportMetric(r.Judgement.KnownF1(), "F1-known-correspondents")
	b.Logf("%+v", r)
}

// livedReally fills the mailboxes with an archive and returns the number of
// different messages.
func livedReally(b *testing.B, owner *testkit.Owner, address, from string) int {
	b.Helper()
	o := featurize.DefaultOptions()
	o.Owner = []string{address}
	reader, err := featurize.New(o)
	if err != nil {
		b.Fatal(err)
	}
	answered := map[string]bool{}
	eachOf(b, from, func(raw []byte, _ time.Time) {
		m := reader.ReadHeader(raw)
		for _, id := range m.InReplyTo {
			answered[id] = answered[id] || m.FromOwner
		}
	})
	known := map[[16]byte]bool{}
	eachOf(b, from, func(raw []byte, date time.Time) {
		m := reader.ReadHeader(raw)
		known[m.Key] = true
		switch {
		case m.FromOwner:
			owner.Append("Sent", raw, date, `\Seen`)
		case answered[m.MessageID] && m.MessageID != "":
			owner.Append("INBOX", raw, date, `\Seen`, `\Answered`)
		default:
			owner.Append("INBOX", raw, date, `\Seen`)
		}
	})
	return len(known)
}
