// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/ingest/kafka"
)

func TestTopicsAreThereBeforeTheGroupIsJoined(t *testing.T) {
	for _, create := range []bool{true, false} {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fake.Close)
		c := kafka.New(kafka.Options{Brokers: fake.ListenAddrs(), Topics: testTopics, MetadataAge: time.Minute, MaxWait: 50 * time.Millisecond})
		t.Cleanup(func() { _ = c.Close() })
		b := Ensured(c, kafka.Wanted{Create: create, Partitions: 3, Replication: 1}, nil)
		b.(*ensured).pause = func(int) time.Duration { return 10 * time.Millisecond }
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		var got []int32
		var problems []error
		err = b.Run(ctx, kafka.Member{
			Generation: func(over context.Context, g kafka.Generation) {
				if got = g.Partitions; len(got) > 0 {
					cancel()
				}
				<-over.Done()
			},
			Problem: func(err error) {
				if problems = append(problems, err); !create && len(problems) == 3 {
					cancel()
				}
			},
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
		if create && len(got) != 3 {
			t.Errorf("got partitions %v, want three; problems %v", got, problems)
		}
		if !create && (len(got) > 0 || len(problems) < 3 || !errors.Is(problems[0], kafka.ErrNoTopic)) {
			t.Errorf("got partitions %v and problems %v, want that topics are missing", got, problems)
		}
	}
}
