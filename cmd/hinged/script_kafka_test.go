// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/snapshot"
)

// kafkaServer is a broker inside the test, with the four topics: kafka file. It
// appends a section [kafka] to that file, and sets $KAFKA.
func kafkaServer() func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: kafka file")
		}
		c, err := kfake.NewCluster(kfake.NumBrokers(1))
		ts.Check(err)
		ts.Defer(c.Close)
		address := c.ListenAddrs()[0]
		ts.Setenv("KAFKA", address)
		client, err := kafka.New(kafka.Options{Brokers: []string{address}, Topics: kafka.Topics(config.DefaultKafka().Topics)})
		ts.Check(err)
		defer client.Close()
		_, _, err = client.EnsureTopics(context.Background(), kafka.Wanted{Create: true, Partitions: 2, Replication: 1})
		ts.Check(err)
		f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		ts.Check(err)
		_, err = fmt.Fprintf(f, "[kafka]\nbrokers = [%q]\ntls = \"none\"\nmin_important = 2\nmin_ordinary = 2\n", address)
		ts.Check(err)
		ts.Check(f.Close())
	}
}

// incoming sends mail of three accounts to $KAFKA, with feedback on each second
// message: incoming seed messages. The first of account 7 is $MESSAGE. Each call with another seed sends other mail.
func incoming(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: incoming seed messages")
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	c, err := kafka.New(kafka.Options{Brokers: []string{ts.Getenv("KAFKA")}, Topics: kafka.Topics(config.DefaultKafka().Topics)})
	ts.Check(err)
	defer c.Close()
	mail := testkit.NewMail(seed)
	var all []kafka.Record
	for i := range n {
		m := mail.Next()
		key := []string{"ann@example.org", "bob@example.org", "7"}[i%3]
		all = append(all, kafka.Encode(kafka.Message{Raw: m.Raw}, key, fmt.Sprint(i), "test", m.Date))
		if i == 2 {
			ts.Setenv("MESSAGE", m.MessageID) // of account 7
		}
		if i%2 == 0 {
			f := kafka.Feedback{Message: kafka.Ref{MessageID: m.MessageID}, Important: m.Important, Source: "explicit"}
			all = append(all, kafka.Encode(f, key, fmt.Sprint(i, "f"), "test", m.Date))
		}
	}
	_, err = c.Produce(context.Background(), c.Options().Topics.Input, all)
	ts.Check(err)
}

var digestLine = regexp.MustCompile(`(?m)^ *(\S+?):? model ([0-9a-f]{32}) state ([0-9a-f]{32})$`)

// samedigests wants two outputs to give the same digests of the same accounts, or
// with ! not to: samedigests file file.
func samedigests(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: samedigests file file")
	}
	var all [2][]string
	for i, file := range args {
		for _, m := range digestLine.FindAllStringSubmatch(ts.ReadFile(file), -1) {
			all[i] = append(all[i], strings.Join(m[1:], " "))
		}
	}
	if len(all[0]) == 0 || slices.Equal(all[0], all[1]) == neg {
		ts.Fatalf("%s has %q\n%s has %q", args[0], all[0], args[1], all[1])
	}
}

// caughtup waits until a daemon has committed so many records of its stream and
// none waits: caughtup socket records.
func caughtup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: caughtup socket records")
	}
	want, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var s desk.Status
		c, err := control.Dial(context.Background(), ts.MkAbs(args[0]))
		if err == nil {
			s, err = control.Ask(context.Background(), c, desk.GetStatus, "", desk.None{})
			ts.Check(c.Close())
		}
		if err == nil && s.Stream != nil && s.Stream.Records >= want && s.Stream.Lag == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d records were not read: %v, %+v", want, err, s.Stream)
		}
	}
}

// takenOver makes a store one whose partitions were taken over a moment ago, from
// what it has itself: takenover file account. Of that account the state has come
// in, the others are still in the snapshot.
func takenOver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: takenover file account")
	}
	s, err := boltfile.Open(ts.MkAbs(args[0]), boltfile.Options{})
	ts.Check(err)
	all, err := s.Partitions()
	ts.Check(err)
	for _, p := range all {
		chunks := map[snapshot.ChunkID][]byte{}
		m, err := snapshot.Dump(s, p, nil, func(id snapshot.ChunkID, data []byte) error { chunks[id] = slices.Clone(data); return nil })
		ts.Check(err)
		ts.Check(snapshot.BeginRestore(s, p, m))
		for _, a := range m.Accounts {
			if a.Account == args[1] {
				ts.Check(snapshot.RestoreState(s, p, a.Account, func(id snapshot.ChunkID) ([]byte, error) { return chunks[id], nil }))
			}
		}
	}
	ts.Check(s.Close())
}
