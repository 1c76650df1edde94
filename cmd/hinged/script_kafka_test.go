// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
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
		client := kafka.New(kafka.Options{Brokers: []string{address}, Topics: kafka.Topics(config.DefaultKafka().Topics), RequestTimeout: time.Minute})
		defer client.Close()
		_, _, err = client.EnsureTopics(context.Background(), kafka.Wanted{Create: true, Partitions: 2, Replication: 1})
		ts.Check(err)
		f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		ts.Check(err)
		_, err = fmt.Fprintf(f, "[kafka]\nbrokers = [%q]\ntls = \"none\"\n", address)
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
	c := kafka.New(kafka.Options{Brokers: []string{ts.Getenv("KAFKA")}, Topics: kafka.Topics(config.DefaultKafka().Topics), RequestTimeout: time.Minute})
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
			f := kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(m.MessageID)}, Label: kafka.Label(m.Important), Source: "explicit"}
			all = append(all, kafka.Encode(f, key, fmt.Sprint(i, "f"), "test", m.Date))
		}
	}
	_, err = c.Produce(context.Background(), c.Options().Topics.Input, all)
	ts.Check(err)
}

// recreate deletes a topic of $KAFKA and creates it again: recreate topic partitions.
func recreate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recreate topic partitions")
	}
	partitions, err := strconv.ParseInt(args[1], 10, 32)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := kgo.NewClient(kgo.SeedBrokers(ts.Getenv("KAFKA")))
	ts.Check(err)
	defer c.Close()
	gone := kmsg.NewPtrDeleteTopicsRequest()
	gone.TopicNames, gone.Topics = args[:1], []kmsg.DeleteTopicsRequestTopic{{Topic: &args[0]}}
	deleted, err := gone.RequestWith(ctx, c)
	ts.Check(err)
	made := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = args[0], int32(partitions), 1
	made.Topics = []kmsg.CreateTopicsRequestTopic{topic}
	created, err := made.RequestWith(ctx, c)
	ts.Check(err)
	if deleted.Topics[0].ErrorCode != 0 || created.Topics[0].ErrorCode != 0 {
		ts.Fatalf("delete: %+v, create: %+v", deleted, created)
	}
}

// stopped waits until partitions of $KAFKA are stopped, and what they have learnt of a
// topic that was created again is in the snapshots topic: stopped partition...
func stopped(ts *testscript.TestScript, neg bool, args []string) {
	c := kafka.New(kafka.Options{Brokers: []string{ts.Getenv("KAFKA")}, Topics: kafka.Topics(config.DefaultKafka().Topics), RequestTimeout: time.Minute})
	defer c.Close()
	r := &stream.Recoverer{Broker: stream.Client(c), Topics: c.Options().Topics}
	for _, arg := range args {
		n, err := strconv.ParseInt(arg, 10, 32)
		ts.Check(err)
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			found, err := r.Examine(context.Background(), int32(n))
			if err == nil && found.Stopped && found.Snapshot != nil {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("partition %d is not stopped: %+v, %v", n, found, err)
			}
		}
	}
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
		if err == nil && s.Stream != nil && s.Stream.Records >= want && s.Stream.CaughtUp() {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%d records were not read: %v, %+v", want, err, s.Stream)
		}
	}
}

// takenOver makes a store one whose partitions were taken over a moment ago, from
// what it has itself: takenover file account. That account has come in, the others are still in
// the snapshot.
func takenOver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: takenover file account")
	}
	files, err := stream.OpenFiles(ts.MkAbs(args[0]), boltfile.Options{})
	ts.Check(err)
	for _, s := range files.All() {
		chunks := map[snapshot.ChunkID][]byte{}
		m, err := snapshot.Dump(s, nil, func(id snapshot.ChunkID, data []byte) error { chunks[id] = slices.Clone(data); return nil })
		ts.Check(err)
		ts.Check(files.Begin(m.Partition, func(f *boltfile.Store) error { return snapshot.Begin(context.Background(), f, &m) }))
		for _, a := range m.Accounts {
			if a.Account == args[1] {
				ts.Check(snapshot.Restore(files.Of(m.Partition), a.Account, func(id snapshot.ChunkID) ([]byte, error) { return chunks[id], nil }))
			}
		}
	}
	ts.Check(files.Close())
}

// badRecords writes dead letters to $KAFKA, of records of ann@example.org whose type is
// unknown: badrecords number. $LETTER is the partition and offset of the first.
func badRecords(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: badrecords number")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	c := streamClient(ts)
	defer c.Close()
	const key = "ann@example.org"
	at := kafka.Partition([]byte(key), 2)
	ts.Setenv("LETTER", fmt.Sprintf("%d/100", at))
	for i := range n {
		r := kafka.Record{Partition: at, Offset: int64(100 + i), Key: []byte(key), Value: fmt.Appendf(nil, "bad record %d\n", i), Headers: []kafka.Header{{Key: "ce_type", Value: []byte("nonsense")}}}
		_, err := kafka.Parse(r, 2)
		var why *kafka.Refusal
		if !errors.As(err, &why) {
			ts.Fatalf("record %d was taken", i)
		}
		_, err = c.Produce(context.Background(), c.Options().Topics.DeadLetters, []kafka.Record{kafka.DeadLetter(c.Options().Topics.Input, r, *why)})
		ts.Check(err)
	}
}

func streamClient(ts *testscript.TestScript) *kafka.Client {
	c := kafka.New(kafka.Options{Brokers: []string{ts.Getenv("KAFKA")}, Topics: kafka.Topics(config.DefaultKafka().Topics), RequestTimeout: time.Minute})
	return c
}

// appendTo appends one file to another: appendto file other.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: appendto file other")
	}
	text := ts.ReadFile(args[0]) + ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
