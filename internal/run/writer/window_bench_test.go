// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// The last of so many messages are measured, the others come before them.
const (
	mostMessages     = 9000
	measuredMessages = 1000
)

// eachMail calls fn with mail and the owner's answers to it, until fn returns false.
// The mail is generated, or that of the mbox file in HINGED_BENCH_MBOX, whose owner is
// HINGED_BENCH_OWNER.
func eachMail(b *testing.B, fn func(raw []byte, at time.Time) bool) (owner string) {
	b.Helper()
	path := os.Getenv("HINGED_BENCH_MBOX")
	if path == "" {
		mail := testkit.NewMail(42)
		for n := 0; ; n++ {
			m := mail.Next()
			if !fn(m.Raw, m.Date) {
				return mail.Owner
			}
			if n%10 == 0 {
				reply := mail.Reply(m)
				if !fn(reply.Raw, reply.Date) {
					return mail.Owner
				}
			}
		}
	}
	all, err := archive.Open([]string{path}, archive.Options{Order: archive.ByDate})
	testkit.OK(b, err)
	defer all.Close()
	for {
		m, err := all.Next()
		if errors.Is(err, io.EOF) {
			return os.Getenv("HINGED_BENCH_OWNER")
		}
		testkit.OK(b, err)
		if !fn(bytes.Clone(m.Raw), m.Date()) {
			return os.Getenv("HINGED_BENCH_OWNER")
		}
	}
}

// BenchmarkWindow measures what the window of a dual learner costs a live account:
// the bytes of a message, and the time that an arrival takes to be decided and to be
// committed. It plays 9,000 messages at most,
// and measures the last 1,000 of them.
func BenchmarkWindow(b *testing.B) {
	type arrived struct {
		raw []byte
		at  time.Time
	}
	var all []arrived
	owner := eachMail(b, func(raw []byte, at time.Time) bool {
		all = append(all, arrived{raw, at})
		return len(all) < mostMessages
	})
	warm := (len(all) - measuredMessages) / 500 * 500
	all = all[:warm+measuredMessages]
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{owner}
	reader := readerOf(b, o.Featurize)
	for _, window := range []int{0, o.Dual.Window} {
		for _, together := range []int{1, 50} {
			b.Run(fmt.Sprintf("window=%d/together=%d", window, together), func(b *testing.B) {
				for b.Loop() {
					path := filepath.Join(b.TempDir(), "s.db")
					s := storeAt(b, path, boltfile.Options{NoSync: os.Getenv("HINGED_BENCH_NOSYNC") != ""})
					w := writerOf(b, s, account)
					o := o
					o.Dual.Window = window
					apply := func(e filter.Event) filter.Result {
						r, err := w.Apply(e)
						testkit.OK(b, err)
						return r
					}
					commit := func() time.Duration {
						batch := w.Batch()
						from := time.Now()
						testkit.OK(b, s.Commit(account, w.Filter().State(), batch))
						w.Committed()
						return time.Since(from)
					}
					apply(&filter.Configured{Options: o})
					apply(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
					apply(&filter.Opened{Mailbox: "Sent", UIDValidity: 1, Role: ingest.RoleSent})
					var deciding, committing []time.Duration
					var last store.Moment
					for n, m := range all {
						last = max(last, store.MomentOf(m.at))
						e := inMailbox(reader.Read(m.raw), last, n+1)
						from := time.Now()
						r := apply(e)
						took := time.Since(from)
						if n >= warm && r.Decision != nil {
							deciding = append(deciding, took)
						}
						size := together
						if n < warm {
							size = 500
						}
						if (n+1)%size == 0 {
							took := commit()
							if n >= warm {
								committing = append(committing, took)
							}
						}
					}
					inMemory := 0.0
					lessons := w.Filter().State().Window.Keys()
					for _, k := range lessons {
						row, _ := w.Filter().State().Window.Get(k)
						data, err := s.Features(account, row.Message)
						testkit.OK(b, err)
						inMemory += float64(len(data)) / float64(len(lessons))
					}
					testkit.OK(b, s.Close())
					for what, took := range map[string][]time.Duration{"decision": deciding, "commit": committing} {
						slices.Sort(took)
						sum := time.Duration(0)
						for _, d := range took {
							sum += d
						}
						b.ReportMetric(float64(sum.Microseconds())/float64(len(took)), "µs/"+what)
						b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median-"+what)
					}
					b.ReportMetric(inMemory, "B/lesson")
					reportFile(b, path)
				}
			})
		}
	}
}

// inMailbox is mail as an event of a mailbox: of INBOX, or of Sent if the owner wrote it.
func inMailbox(message *featurize.Message, at store.Moment, uid int) *filter.Arrived {
	e := &filter.Arrived{
		At: at, Place: filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: uint32(uid)},
		Meta: filter.NewMeta(message), Message: message,
	}
	if message.FromOwner {
		e.Place.Mailbox = "Sent"
	}
	return e
}

// reportFile reports what a message takes in the file: its vector, the same with keys,
// frames and index, both with the pages that they lie in, and its names.
func reportFile(b *testing.B, path string) {
	b.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	testkit.OK(b, err)
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		a := tx.Bucket([]byte("accounts")).Bucket([]byte(account))
		size := func(bucket string) (n, keys, values, pages float64) {
			c := a.Bucket([]byte(bucket)).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				n, keys, values = n+1, keys+float64(len(k)), values+float64(len(v))
			}
			s := a.Bucket([]byte(bucket)).Stats()
			return n, keys, values, float64(s.LeafAlloc + s.BranchAlloc)
		}
		n, keys, values, pages := size("features")
		_, indexKeys, indexValues, indexPages := size("featureindex")
		b.ReportMetric((values-20*n)/n, "B/vector")
		b.ReportMetric((keys+values+indexKeys+indexValues)/n, "B/record")
		b.ReportMetric((pages+indexPages)/n, "B/pages")
		if n, _, values, _ := size("names"); n > 0 {
			b.ReportMetric(values/n, "B/names")
		}
		return nil
	})
	testkit.OK(b, err)
}

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

// BenchmarkDurableLessons has owners say important and ordinary in turn of mail that arrived
// before, in a store that syncs each commit to the disk. Accounts that learn together share a
// commit, as those of a partition do; alone, an account learns several lessons in one. Each
// lesson brings the steps of replay that are due, and takes back what the message taught
// before.
func BenchmarkDurableLessons(b *testing.B) {
	for _, group := range []struct{ accounts, each int }{{1, 1}, {1, 10}, {1, 100}, {10, 1}, {100, 1}} {
		b.Run(fmt.Sprintf("accounts=%d/each=%d", group.accounts, group.each), func(b *testing.B) {
			durableLessons(b, group.accounts, group.each)
		})
	}
}

func durableLessons(b *testing.B, accounts, each int) {
	const messages = 200
	o := streamOptions()
	var all [][]byte
	owner := eachMail(b, func(raw []byte, _ time.Time) bool {
		all = append(all, raw)
		return len(all) < messages
	})
	o.Featurize.Owner = []string{owner}
	reader := readerOf(b, o.Featurize)
	g := newGrowth(b, accounts, o, boltfile.Options{})
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n, raw := range all {
		g.arrive(b, store.MomentOf(begun.Add(time.Duration(n)*time.Hour)), reader, raw)
	}
	var keys []store.MessageKey // that can be taught
	for _, key := range g.writers[0].Filter().State().Messages.Find(func(m store.Message) bool { return !m.Own }) {
		keys = append(keys, store.MessageKey([]byte(key)))
	}
	at := begun.Add(messages * time.Hour)
	lessons := 0
	b.ResetTimer()
	for b.Loop() {
		for range each {
			at = at.Add(time.Second)
			e := &filter.Labelled{At: store.MomentOf(at), Message: keys[lessons%len(keys)], Label: model.Important}
			if m, _ := g.writers[0].Filter().State().Messages.Get(string(e.Message[:])); m.Label == model.Important {
				e.Label = model.Ordinary
			}
			for _, w := range g.writers {
				r, err := w.Apply(e)
				testkit.OK(b, err)
				if len(r.Lessons) == 0 {
					b.Fatalf("lesson %d was not learnt: %+v", lessons, r)
				}
			}
			lessons++
		}
		g.commit(b)
	}
	b.ReportMetric(float64(lessons*accounts)/b.Elapsed().Seconds(), "lessons/s")
	testkit.OK(b, g.store.Close())
}
