// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// BenchmarkWritten measures what one message, in a commit of its own, has written: into the redo
// log, and in all, with the pages of the database and checkpoints. It plays 9,000 messages of
// one account at most and measures the last 1,000.
func BenchmarkWritten(b *testing.B) {
	for name, o := range map[string]filter.Options{"mailbox": filter.DefaultOptions(), "stream": streamOptions()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				play(b, name == "stream", o)
			}
		})
	}
}

func play(b *testing.B, stream bool, o filter.Options) {
	b.Helper()
	type arrived struct {
		raw []byte
		at  time.Time
	}
	var all []arrived
	o.Featurize.Owner = []string{eachMail(b, func(raw []byte, at time.Time) bool {
		all = append(all, arrived{raw, at})
		return len(all) < mostMessages
	})}
	reader := readerOf(b, o.Featurize)
	s := storeAt(b, filepath.Join(b.TempDir(), "s.db"), boltfile.Options{NoSync: true})
	if stream {
		testkit.OK(b, s.BeginPartition(store.Partition{Topic: "in"}, store.LogPosition{Partitions: 1}))
	}
	w := writerOf(b, s, account)
	apply := func(e filter.Event) {
		if _, err := w.Apply(e); err != nil {
			b.Fatal(err)
		}
	}
	apply(&filter.Configured{Options: o})
	if !stream {
		apply(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
		apply(&filter.Opened{Mailbox: "Sent", UIDValidity: 1, Role: ingest.RoleSent})
	}
	first, redo, written := len(all)-min(measuredMessages, len(all)/2), 0, 0
	var last store.Moment
	for n, m := range all {
		if n == first {
			redo, written = 0, writtenBytes(b)
		}
		message := reader.Read(m.raw)
		last = max(last, store.MomentOf(m.at))
		e := inMailbox(message, last, n+1)
		if stream {
			e.Place = filter.Place{}
			if message.FromOwner {
				e.Meta = e.Meta.ByOwner()
			}
		}
		apply(e)
		st := w.Filter().State()
		record, err := st.Changes(nil)
		testkit.OK(b, err)
		redo += len(record)
		if stream {
			err = s.CommitPartition(store.LogPosition{Next: int64(n + 1)}, []store.AccountCommit{{Account: account, State: st, Batch: w.Batch()}})
		} else {
			err = s.Commit(account, st, w.Batch())
		}
		testkit.OK(b, err)
		w.Committed()
	}
	messages := float64(len(all) - first)
	b.ReportMetric(float64(redo)/messages, "redoB/message")
	b.ReportMetric(float64(writtenBytes(b)-written)/messages, "writtenB/message")
	testkit.OK(b, s.Close())
}

// writtenBytes is how many bytes the process has written so far.
func writtenBytes(b *testing.B) (n int) {
	b.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip("it is not known how much the process writes: ", err)
	}
	_, after, _ := strings.Cut(string(data), "wchar: ")
	if _, err := fmt.Sscan(after, &n); err != nil {
		b.Fatal(err)
	}
	return n
}
