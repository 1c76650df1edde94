// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// owners writes mail of many accounts and what their owners say to it, in one
// stream.
type owners struct {
	rand  *rand.Rand
	mails []*testkit.Mail
	keys  []string
	n     int
}

func newOwners(seed uint64, accounts int) *owners {
	o := &owners{rand: rand.New(rand.NewPCG(seed, 5))}
	for i := range accounts {
		m := testkit.NewMail(seed<<16 + uint64(i))
		m.Owner = fmt.Sprintf("owner%03d@example.org", i)
		o.mails, o.keys = append(o.mails, m), append(o.keys, m.Owner)
	}
	return o
}

// next returns records: n messages, and feedback to some of them, now and then
// before its message, to none that ever comes, or with a label that does not
// exist.
func (o *owners) next(n int) (records []kafka.Record, messages int) {
	for range n {
		i := o.rand.IntN(len(o.mails))
		m := o.mails[i].Next()
		o.n++
		id := strconv.Itoa(o.n)
		mail := kafka.Encode(kafka.Message{Raw: m.Raw}, o.keys[i], "m"+id, "test", m.Date)
		say := kafka.Encode(kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(m.MessageID)}, Label: kafka.Label(m.Important), Source: "explicit"},
			o.keys[i], "f"+id, "test", m.Date.Add(time.Minute))
		switch o.rand.IntN(10) {
		case 0, 1, 2, 3:
			records = append(records, mail, say)
		case 4:
			records = append(records, say, mail)
		default:
			records = append(records, mail)
		}
		if o.rand.IntN(200) == 0 {
			var none kafka.Ref
			b, _ := hex.DecodeString(fmt.Sprintf("%032x", o.n))
			copy(none.Key[:], b)
			records = append(records, kafka.Encode(kafka.Feedback{Ref: none, Source: "explicit"}, o.keys[i], "n"+id, "test", m.Date))
			bad := kafka.Encode(kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(m.MessageID)}, Source: "explicit"}, o.keys[i], "b"+id, "test", m.Date)
			bad.Value = []byte(`{"message": "` + m.MessageID + `", "label": "splendid"}`)
			records = append(records, bad)
		}
	}
	return records, n
}

// TestR9ThreeProcessesThatDieGiveWhatOneUndisturbedGives: processes of one group
// join, leave and are killed at random while mail comes in; some come back with an empty
// disk, and files that are in use are overwritten. The broker is restarted twice. The size in
// CI is small; `make soak` takes 20,000 messages of 200 accounts, 200 kills, and three brokers, of which
// two must have each record: they are killed and stand still, one at a time, and so do
// processes, for longer than a group waits.
func TestR9ThreeProcessesThatDieGiveWhatOneUndisturbedGives(t *testing.T) {
	t.Parallel() // they mostly wait
	const partitions = 8
	total, accounts := testkit.FromEnv("HINGED_STREAM_MESSAGES", 2400), testkit.FromEnv("HINGED_STREAM_ACCOUNTS", 60)
	brokers := testkit.FromEnv("HINGED_STREAM_BROKERS", 1)
	broker := testkit.StartKafka(t, testkit.KafkaOptions{Brokers: brokers})
	in := newTopic(t, broker, "in", partitions)
	mail := newOwners(1, accounts)
	c := &chaos{t: t, chance: rand.New(rand.NewPCG(uint64(total), 9)), broker: broker, brokers: brokers, out: -1, frozen: -1}

	// Snapshots are made all the time, so that most take-overs begin from one.
	const often = "snapshot_every = 100\nsnapshot_interval = \"1s\""
	three := []*site{in.process("three", often), in.process("three", often), in.process("three", often)}
	c.three, c.up, c.spoilt = three, make([]bool, len(three)), make([]int, len(three))
	c.join(0)
	turns, kills := testkit.FromEnv("HINGED_STREAM_TURNS", 10), testkit.FromEnv("HINGED_STREAM_KILLS", 0)
	for turn := 0; turn < turns || c.did.Killed < kills; turn++ {
		records, _ := mail.next(total / turns)
		in.produce(records)
		time.Sleep(time.Duration(c.chance.IntN(1500)) * time.Millisecond)
		c.spoilTurn()
		switch {
		case brokers > 1:
			c.brokerTurn()
			c.processTurn()
		case turn == turns/3 || turn == 2*turns/3:
			broker.Restart(0)
		default:
			c.processTurn()
		}
	}
	c.calm()
	got := in.accountDigests(three...)
	for _, s := range three {
		s.end()
	}
	taken := 0
	for _, s := range three {
		taken += strings.Count(s.log.String(), "was set aside; the partition is taken over again")
	}
	t.Logf("%d messages of %d accounts, %d brokers; %+v; %d damaged files were set aside in use", total, accounts, brokers, c.did, taken)

	in.likeOneAlone("three", got)
}

// likeOneAlone compares what a group of processes came to, accounts by their digests and
// what it wrote, with what one process that nobody disturbs makes of the same mail.
func (in *topic) likeOneAlone(group string, got map[string]desk.Digest) {
	t := in.t
	t.Helper()
	alone := in.process("alone", "")
	alone.start()
	same(t, got, in.accountDigests(alone))
	alone.end()
	for _, kind := range []string{"decisions", "dead-letters"} {
		first, repeated := in.of(group).outputs(group + "." + kind)
		once, again := in.of("alone").outputs("alone." + kind)
		if again != 0 {
			t.Errorf("the undisturbed process said %d %s twice", again, kind)
		}
		for id, want := range once {
			if !bytes.Equal(first[id], want) {
				t.Errorf("%s of %s: got %q, want %q", kind, id, first[id], want)
				break
			}
		}
		if len(first) != len(once) || len(once) == 0 {
			t.Errorf("%d %s, want %d", len(first), kind, len(once))
		}
		t.Logf("%d %s, %d of them more than once", len(once), kind, repeated)
	}
}

// pin logs what a group came to, for make pins. It is the same in each run if no broker went
// away: a record is produced again then.
func (in *topic) pin(group string, digests map[string]desk.Digest) {
	all := map[string][2]string{}
	for name, d := range digests {
		all[name] = [2]string{d.Model, d.State}
	}
	var decisions [][]byte
	for _, r := range in.of(group).read(group + ".decisions") {
		decisions = append(decisions, r.Value)
	}
	testkit.PinAccounts(in.t, "kafka", all, decisions)
}

// outputs reads a topic of decisions or dead letters: the bytes of each by what
// it is about, and how many were repeats. A repeat with other bytes is an error.
func (in *topic) outputs(name string) (first map[string][]byte, repeated int) {
	in.t.Helper()
	first = map[string][]byte{}
	for _, r := range in.read(name) {
		id, _ := r.Header("ce_id")
		if offset, ok := r.Header(kafka.HeaderOffset); ok {
			partition, _ := r.Header(kafka.HeaderPartition)
			id = append(append(append([]byte{}, partition...), '/'), offset...)
		}
		whole := fmt.Appendf(nil, "%s %s", r.Key, r.Value)
		for _, h := range r.Headers {
			whole = fmt.Appendf(whole, "\n%s: %s", h.Key, h.Value)
		}
		old, there := first[string(id)]
		if there {
			repeated++
			if !bytes.Equal(old, whole) {
				in.t.Errorf("%s: %s is there twice, as %q and as %q", name, id, old, whole)
			}
		}
		first[string(id)] = whole
	}
	return first, repeated
}
