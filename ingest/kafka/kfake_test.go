package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// fake starts a broker in this process with the four topics of testTopics.
func fake(t testing.TB, partitions int32, o ...kfake.Opt) []string {
	t.Helper()
	o = append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(partitions, testTopics.All()...)}, o...)
	c, err := kfake.NewCluster(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.ListenAddrs()
}

var testTopics = Topics{Input: "mail", Decisions: "decisions", DeadLetters: "dead", Snapshots: "snapshots"}

// client returns a Client of brokers, with short times.
func client(t testing.TB, brokers []string, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{
		Brokers: brokers, Topics: testTopics,
		RequestTimeout: 5 * time.Second, MetadataAge: 500 * time.Millisecond, MaxWait: 50 * time.Millisecond,
		HeartbeatInterval: 200 * time.Millisecond, SessionTimeout: 6 * time.Second, JoinBackoff: 100 * time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
