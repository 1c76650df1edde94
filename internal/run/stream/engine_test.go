// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/testkit"
)

func TestAStreamComesToWhatTheFilterAloneComesTo(t *testing.T) {
	c := filled(3, 1, 7, 300)
	got, out := undisturbed(t, c)
	sameDigests(t, got, plain(t, c))
	decided, dead := out.all(testTopics.Decisions), out.all(testTopics.DeadLetters)
	if len(decided) < 250 || len(dead) < 10 {
		t.Errorf("got %d decisions, %d dead letters", len(decided), len(dead))
	}
}

// kinds of accidents at one call of Produce.
var accidents = []struct {
	name    string
	written bool // the records were written
}{{"before it is written", false}, {"written, not acknowledged", true}}

func TestKilledAtAnyStepItComesToTheSame(t *testing.T) {
	c := filled(2, 2, 5, 120)
	want, twin := undisturbed(t, c)
	for _, a := range accidents {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			own := c.anew()
			p := newProcess(t, own)
			var kills int
			for caught := false; !caught; {
				var calls atomic.Int32
				ctx, dead := context.WithCancel(t.Context())
				p.broker.produce = func(_ string, _ []kafka.Record, written bool) error {
					if ctx.Err() != nil {
						return errRefused
					}
					if written != a.written {
						return nil
					}
					if calls.Add(1) > 2 {
						dead()
						return errRefused
					}
					return nil
				}
				p.start(func(o *Options) { o.BatchRecords = 7 })
				eventually(t, func() error {
					if caught = ctx.Err() == nil; !caught {
						return nil
					}
					return caughtUp(own, p)
				})
				p.stop()
				if !caught {
					kills++
				}
				dead()
			}
			if kills < 5 {
				t.Errorf("killed %d times only", kills)
			}
			p.broker.produce = nil
			p.start()
			sameDigests(t, digests(t, p.store), want)
			sameOutput(t, own, twin)
		})
	}
}

func TestARebalanceInTheMiddleOfABatchLosesNothing(t *testing.T) {
	c := filled(4, 3, 9, 300)
	want, twin := undisturbed(t, c)
	own := c.anew()
	p := newProcess(t, own)
	var calls atomic.Int32
	p.broker.produce = func(_ string, _ []kafka.Record, written bool) error {
		if n := calls.Add(1); !written && n%5 == 0 && n < 100 {
			go own.rebalance()
			return errRefused
		}
		return nil
	}
	p.run(func(o *Options) { o.BatchRecords = 10 })
	sameDigests(t, digests(t, p.store), want)
	sameOutput(t, own, twin)
	if s := p.engine.Status(); s.Rebalances < 3 {
		t.Errorf("got %d rebalances; the test is to have several", s.Rebalances)
	}
}

func TestWhatIsHeldStaysBoundedWhileProduceIsRefused(t *testing.T) {
	c := newCluster(2)
	rng := rand.New(rand.NewPCG(4, 4))
	const messages = 4000
	for n := range messages {
		account := fmt.Sprintf("user%d", n%5)
		c.put(testTopics.Input, messageRecord(account, mail(rng, account, n), epoch.Add(time.Duration(n)*time.Second)))
	}
	p := newProcess(t, c)
	var refuse atomic.Bool
	refuse.Store(true)
	p.broker.produce = func(string, []kafka.Record, bool) error {
		if refuse.Load() {
			return errRefused
		}
		return nil
	}
	const limit = 200_000 // of each partition, so few are the bytes
	p.start(func(o *Options) { o.ReadAhead = limit; o.BatchRecords = 50 })
	full := func() (held int64, waits int) {
		s := p.engine.Status()
		for _, one := range s.Partitions {
			held += one.HeldBytes
			if one.Problem != "" && one.OldestSeconds != nil && *one.OldestSeconds > 0 && one.Lag != nil && *one.Lag > 0 && !one.Stopped {
				waits++
			}
		}
		return held, waits
	}
	eventually(t, func() error {
		if held, waits := full(); held < limit || waits != 2 {
			return fmt.Errorf("%d bytes are held, %d partitions wait and say why", held, waits)
		}
		return nil
	})
	refuse.Store(false)
	eventually(t, func() error { return caughtUp(c, p) })
	eventually(t, func() error { // the commit is seen a moment before all else that follows it
		for _, part := range p.engine.ours {
			part.intake.mu.Lock()
			widest, held := part.intake.widest, part.intake.held
			part.intake.mu.Unlock()
			if widest > limit {
				t.Fatalf("partition %d held up to %d bytes; the bound is %d", part.id.Number, widest, limit)
			}
			if held != 0 {
				return fmt.Errorf("partition %d holds %d bytes when all is done", part.id.Number, held)
			}
		}
		return nil
	})
	if n := len(c.all(testTopics.Decisions)); n < messages*8/10 {
		t.Errorf("got %d decisions", n)
	}
	p.while(func(s Status) bool {
		return s.Partitions[0].Problem != "" || !s.Partitions[0].CaughtUp() || *s.Partitions[0].OldestSeconds > 0
	})
}

func TestTheBrokerIsGoneForAWhile(t *testing.T) {
	c := filled(2, 6, 5, 100)
	want, _ := undisturbed(t, c)
	own := c.anew()
	p := newProcess(t, own)
	var calls atomic.Int32
	gone := func() error {
		if n := calls.Add(1); n%40 > 20 {
			return errors.New("connection refused")
		}
		return nil
	}
	p.broker.read = func(string, int32) error { return gone() }
	p.broker.produce = func(string, []kafka.Record, bool) error { return gone() }
	p.run(func(o *Options) { o.BatchRecords = 5 })
	sameDigests(t, digests(t, p.store), want)
}

// TestAForgedReplyInAStreamTeachesNothing has three replies to one message: two that only
// say they are from the owner, and one that the platform says the owner sent.
func TestAForgedReplyInAStreamTeachesNothing(t *testing.T) {
	c := newCluster(1)
	reply := func(n int, from string) []byte {
		return fmt.Appendf(nil, "Message-ID: <r%d@x>\r\nFrom: %s\r\nTo: crook@example.net\r\nIn-Reply-To: <spam@x>\r\nSubject: Re: pills\r\n\r\nyes\r\n", n, from)
	}
	spam := []byte("Message-ID: <spam@x>\r\nFrom: crook@example.net\r\nSubject: pills\r\n\r\nbuy\r\n")
	c.put(testTopics.Input, messageRecord("a", spam, epoch))
	c.put(testTopics.Input, messageRecord("a", reply(1, "a@example.org"), epoch.Add(time.Minute)))
	c.put(testTopics.Input, kafka.Encode(kafka.Message{Raw: reply(2, "a@example.org")}, "a", "2", "test", epoch.Add(2*time.Minute)))
	c.put(testTopics.Input, messageRecord("a", []byte("Subject: later\r\n\r\nx"), epoch.Add(time.Hour)))
	p := newProcess(t, c)
	p.start()
	count := func(want Counts) {
		t.Helper()
		eventually(t, func() error { return caughtUp(c, p) })
		p.while(func(s Status) bool {
			return s.Own != want.Own || s.Lessons != want.Lessons || s.Decisions() != want.Important
		})
	}
	count(Counts{Important: 4})
	for _, r := range c.all(testTopics.Decisions) {
		if bytes.Contains(r.Value, []byte(`"mark":true`)) {
			t.Errorf("marked: %s", r.Value)
		}
	}
	c.put(testTopics.Input, kafka.Encode(kafka.Message{Raw: reply(3, "alias@example.com"), Sent: true}, "a", "3", "test", epoch.Add(2*time.Hour)))
	c.put(testTopics.Input, messageRecord("a", []byte("Subject: still later\r\n\r\nx"), epoch.Add(4*time.Hour)))
	count(Counts{Important: 5, Own: 1, Lessons: 1})
}

// TestFeedbackThatNamesSeveralMessagesIsADeadLetter has two messages with one Message-ID.
func TestFeedbackThatNamesSeveralMessagesIsADeadLetter(t *testing.T) {
	c := newCluster(1)
	for n := range 2 {
		c.put(testTopics.Input, messageRecord("a", fmt.Appendf(nil, "Message-ID: <1@x>\r\nFrom: s%d@example.net\r\n\r\nhello\r\n", n), epoch))
	}
	c.put(testTopics.Input, feedbackRecord("a", "1@x", "important", "explicit", epoch))
	p := running(t, c)
	p.while(func(s Status) bool { return s.Lessons != 0 || s.DeadLetters[kafka.Conflict] != 1 })
	for _, r := range c.all(testTopics.DeadLetters) {
		if why, _ := r.Header("x-hinged-reason"); string(why) != string(kafka.Conflict) {
			t.Errorf("the reason is %q", why)
		}
	}
}

func TestCountsAndSkippedMarkers(t *testing.T) {
	c := newCluster(1)
	raw := []byte("Message-ID: <1@x>\r\nSubject: one\r\n\r\nfirst\r\n")
	own := []byte("Message-ID: <2@x>\r\nFrom: a@example.org\r\nSubject: mine\r\n\r\nmine\r\n")
	c.put(testTopics.Input, messageRecord("a", raw, epoch))
	c.put(testTopics.Input, messageRecord("a", raw, epoch))
	c.marker(testTopics.Input, 0)
	c.put(testTopics.Input, kafka.Encode(kafka.Message{Raw: own, Sent: true}, "a", "own", "test", epoch))
	c.put(testTopics.Input, feedbackRecord("a", "1@x", "important", "explicit", epoch))
	c.put(testTopics.Input, feedbackRecord("a", "9@x", "important", "explicit", epoch))
	c.put(testTopics.Input, feedbackRecord("a", "1@x", "perhaps", "explicit", epoch))
	c.put(testTopics.Input, messageRecord("a", []byte("Subject: later\r\n\r\nx"), epoch.Add(time.Hour)))
	c.marker(testTopics.Input, 0)
	c.marker(testTopics.Input, 0)
	p := running(t, c)
	var n Counts
	eventually(t, func() error { // they are counted a moment after the commit
		n = p.engine.Status().Counts
		if n.Records != 7 || n.Messages != 4 || n.Repeated != 1 || n.Own != 1 || n.Decisions() != 3 || n.Feedback != 2 || n.Lessons != 1 || n.Markers != 3 {
			return fmt.Errorf("got %+v", n)
		}
		return nil
	})
	if n.DeadLetters[kafka.BadValue] != 1 || n.DeadLetters[kafka.Expired] != 1 || len(n.DeadLetters) != 2 {
		t.Errorf("got dead letters %v", n.DeadLetters)
	}
	for _, r := range c.all(testTopics.DeadLetters) {
		why, _ := r.Header(kafka.HeaderReason)
		kind, _ := r.Header("ce_type")
		at, _ := r.Header(kafka.HeaderOffset)
		want := map[string]string{"expired": "5", "bad-value": "6"}[string(why)]
		if string(at) != want || string(kind) != kafka.TypeFeedback || string(r.Key) != "a" || len(r.Value) == 0 {
			t.Errorf("dead letter %s of offset %s, want %s: %q %q", why, at, want, r.Value, r.Headers)
		}
	}
}

func TestUndoAndForgetAreEventsOfTheirPlace(t *testing.T) {
	c := newCluster(1)
	put := func(n int, e kafka.Event) {
		c.put(testTopics.Input, kafka.Encode(e, "a", fmt.Sprint(n), "test", epoch.Add(time.Duration(n)*time.Minute)))
	}
	say := func(n, message int, important bool) {
		put(n, kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(fmt.Sprintf("%d@x", message))}, Label: kafka.Label(important), Source: "explicit"})
	}
	put(0, kafka.Unlearn{Since: epoch}) // of an account that nobody has heard of
	for n := 1; n <= 4; n++ {
		put(n, kafka.Message{Raw: fmt.Appendf(nil, "Message-ID: <%d@x>\r\nFrom: s%d@example.net\r\nSubject: plan %d\r\n\r\nsecret%d\r\n", n, n, n, n)})
	}
	say(5, 1, true)
	say(6, 2, false)
	put(7, kafka.Unlearn{Since: epoch.Add(6 * time.Minute)})
	put(8, kafka.Forget{Ref: kafka.Ref{Message: "4@x"}})
	put(9, kafka.Forget{Ref: kafka.Ref{Message: "40@x"}}) // unknown
	put(10, kafka.Forget{Sender: "a@example.org"})        // the owner
	say(11, 3, true)
	p := running(t, c, func(o *Options) { o.SnapshotEvery = 1 << 40 })
	p.while(func(s Status) bool {
		return s.Rewritten != 2 || s.DeadLetters[kafka.UnknownAccount] != 1 || s.DeadLetters[kafka.UnknownMessage] != 1 || s.DeadLetters[kafka.BadValue] != 1
	})
	_, f, err := p.engine.View(t.Context(), "kafka:a")
	testkit.OK(t, err)
	if a := f.State().Account; a.Important != 2 || a.Ordinary != 0 || f.State().Messages.Len() != 3 {
		t.Errorf("learnt %d important, %d ordinary, %d messages are known; want 2, 0, 3", a.Important, a.Ordinary, f.State().Messages.Len())
	}
	// What is forgotten is in no snapshot that is left, and not in the file.
	eventually(t, func() error {
		err := scrubbed(p)
		if err == nil && snapshots(t, c)[0] < 9 {
			err = errors.New("there is no snapshot from after it")
		}
		return err
	})
}
