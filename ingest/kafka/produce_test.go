// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// noise is what no compression makes smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(b) // never fails
	return b
}

func TestOnlyTheRecordThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 2, func(o *Options) { o.BatchBytes = 8 << 20 })
		records := numbered(0, 20)
		for i := range records {
			records[i].Partition = int32(i % 2)
		}
		records[7].Value, records[12].Value = noise(1_200_000), noise(2_000_000)
		offsets, err := c.Produce(t.Context(), b.topics.DeadLetters, records)
		var failed *ProduceError
		if !errors.As(err, &failed) || !errors.Is(err, ErrTooLarge) || !slices.Equal(failed.TooLarge, []int{7, 12}) || !slices.Equal(failed.Failed, []int{7, 12}) || Retryable(err) {
			t.Fatalf("got %v, %+v, want 7 and 12 too large", err, failed)
		}
		for i, o := range offsets {
			if (o == -1) != (i == 7 || i == 12) {
				t.Errorf("record %d has offset %d", i, o)
			}
		}
		even, _ := readAll(t, c, b.topics.DeadLetters, 0, 0)
		odd, _ := readAll(t, c, b.topics.DeadLetters, 1, 0)
		if values(even) != "0 2 4 6 8 10 14 16 18" || values(odd) != "1 3 5 9 11 13 15 17 19" {
			t.Errorf("got %q and %q", values(even), values(odd))
		}
	})
}

func TestAPartitionThatIsNotThereIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := b.client(t, 2)
		if _, err := c.Produce(t.Context(), b.topics.Input, []Record{{Key: []byte("a")}, {Partition: 2}}); err == nil {
			t.Error("partition 2 of 2 was taken")
		}
		marks, err := c.Watermarks(t.Context(), b.topics.Input)
		if err != nil || marks[0].End != 0 || marks[1].End != 0 {
			t.Errorf("got %v, %v, want empty partitions", marks, err)
		}
		if _, err := c.Produce(t.Context(), "nowhere", numbered(0, 1)); !errors.Is(err, ErrNoTopic) {
			t.Errorf("got %v for a topic that is not there", err)
		}
		if offsets, err := c.Produce(t.Context(), b.topics.Input, nil); err != nil || offsets != nil {
			t.Errorf("got %v, %v for no records", offsets, err)
		}
	})
}

func TestTopicsAreMadeAsTheyMustBeOrItIsSaidWhatToDo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *broker) {
		c := New(b.options())
		defer c.Close()
		_, _, err := c.EnsureTopics(t.Context(), Wanted{Partitions: 3, Replication: 1})
		if !errors.Is(err, ErrNoTopic) || strings.Count(fmt.Sprint(err), "kafka-topics.sh") != 4 ||
			!strings.Contains(err.Error(), "--topic "+b.topics.Snapshots+" --partitions 3 --replication-factor 1 --config cleanup.policy=compact") {
			t.Errorf("without topics got %v", err)
		}
		created, n, err := c.EnsureTopics(t.Context(), Wanted{Create: true, Partitions: 3})
		if err != nil || n != 3 || !slices.Equal(created, b.topics.All()) {
			t.Fatalf("got %q, %d, %v", created, n, err)
		}
		if created, n, err = c.EnsureTopics(t.Context(), Wanted{Create: true, Partitions: 5}); err != nil || n != 3 || created != nil {
			t.Errorf("the second time got %q, %d, %v", created, n, err)
		}
		// Another client, whose snapshots are our decisions and whose input our snapshots.
		o := b.options()
		o.Topics.Snapshots, o.Topics.Decisions, o.Topics.Input = b.topics.Decisions, b.topics.Input, b.topics.Snapshots
		wrong := New(o)
		defer wrong.Close()
		if _, _, err = wrong.EnsureTopics(t.Context(), Wanted{}); !errors.Is(err, ErrUnfit) || strings.Count(fmt.Sprint(err), "kafka-configs.sh") != 2 {
			t.Errorf("with the wrong policies got %v", err)
		}
		other := newBroker(b.addrs, b.real)
		_ = other.client(t, 2)
		o = b.options()
		o.Topics.Snapshots = other.topics.Snapshots
		uneven := New(o)
		defer uneven.Close()
		if _, _, err = uneven.EnsureTopics(t.Context(), Wanted{}); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), "2 partitions") {
			t.Errorf("with too few partitions for snapshots got %v", err)
		}
	})
}

// The hashes are those of Apache Kafka's UtilsTest.testMurmur2.
func TestKeysGoWhereJavaPutsThem(t *testing.T) {
	t.Parallel()
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
	} {
		for _, n := range []int32{1, 2, 8, 100} {
			if got, want := Partition([]byte(key), n), (hash&0x7fffffff)%n; got != want {
				t.Errorf("%q of %d partitions: got %d, want %d", key, n, got, want)
			}
		}
	}
}
