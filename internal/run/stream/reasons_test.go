// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
)

// decisionReasons are what the reason of a decision in the decisions topic can be, beside
// none. The others are for mailboxes: what was there before, was read, or was handed over.
var decisionReasons = []store.Reason{
	store.ReasonTooFewLabels, store.ReasonBand, store.ReasonShadow, store.ReasonRule, store.ReasonBudget,
	store.ReasonOwner, store.ReasonRefused, store.ReasonDuplicate, store.ReasonClaimed, store.ReasonLookalike, store.ReasonStranger,
}

// reasonsOf returns the reasons of all decisions in a cluster.
func reasonsOf(t *testing.T, c *cluster) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, r := range c.all(testTopics.Decisions) {
		var d kafka.Decision
		testkit.OK(t, json.Unmarshal(r.Value, &d))
		if d.Reason != "" {
			out[d.Reason] = true
		}
	}
	return out
}

// Every reason that is listed comes about, and no other.
func TestTheReasonsOfDecisions(t *testing.T) {
	seen := map[string]bool{}
	play := func(put func(c *cluster), tunes ...tune) {
		t.Helper()
		c := newCluster(1)
		put(c)
		p := running(t, c, tunes...)
		p.stop()
		maps.Copy(seen, reasonsOf(t, c))
	}
	at := epoch
	message := func(id, from, text string) kafka.Record {
		at = at.Add(time.Minute)
		return messageRecord("a", fmt.Appendf(nil, "Message-ID: <%s@x>\r\nFrom: %s\r\nTo: a@example.org\r\nSubject: s\r\n\r\n%s\r\n", id, from, text), at)
	}
	const boss = "boss@example.net"
	rules := func(c *cluster) {
		c.put(testTopics.Input, kafka.Encode(kafka.Rules{Rules: []kafka.Rule{{Match: "from:" + boss, Label: true}, {Match: "from:a@example.org", Label: true}}}, "a", "r", "test", at))
	}
	play(func(c *cluster) {
		rules(c)
		c.put(testTopics.Input, message("1", boss, "first"))                 // a rule
		c.put(testTopics.Input, message("1", boss, "first, in other words")) // another copy
		at = at.Add(time.Minute)
		c.put(testTopics.Input, feedbackRecord("a", "2@x", "ordinary", "explicit", at))
		c.put(testTopics.Input, message("2", boss, "second"))           // the owner had said no
		c.put(testTopics.Input, message("3", "a@example.org", "third")) // it says that it is the owner's
		c.put(testTopics.Input, message("4", "x@example.net", "fourth"))
	})
	play(func(c *cluster) {
		rules(c)
		c.put(testTopics.Input, message("1", boss, "first"))
		at = at.Add(time.Minute)
		c.put(testTopics.Input, feedbackRecord("a", "1@x", "ordinary", "mark", at))
		c.put(testTopics.Input, message("5", "x@example.net", "later"))
		c.put(testTopics.Input, message("1", boss, "first, in other words")) // its mark was removed
	})
	play(func(c *cluster) {
		rules(c)
		c.put(testTopics.Input, message("1", boss, "first"))
		c.put(testTopics.Input, message("2", boss, "second")) // one too many for the day
	}, func(o *Options) { o.Filter.Threshold.PerDay = 1 })
	play(func(c *cluster) {
		rules(c)
		c.put(testTopics.Input, message("1", boss, "first"))
	}, func(o *Options) { o.Filter.Shadow = filter.ShadowOn })
	play(func(c *cluster) { fill(c, 5, 2, 400) })
	// Just below a threshold that is too high, much is important, and so unsure.
	play(func(c *cluster) { fill(c, 5, 2, 400) }, func(o *Options) {
		o.Filter.Threshold = filter.Threshold{Mode: filter.ModeFixed, Value: 2, UnsureShare: 0.5}
	})
	// Everything is important, a server found this forged, and that comes from nobody known.
	play(func(c *cluster) {
		c.put(testTopics.Input, message("6", "y@example.net\r\nAuthentication-Results: mx.example.org; dmarc=fail", "sixth"))
		c.put(testTopics.Input, message("7", "z@example.com", "https://example.com/seventh"))
	}, func(o *Options) {
		o.Filter.Shadow, o.Filter.Threshold = filter.ShadowOff, filter.Threshold{Mode: filter.ModeFixed, Value: -10}
	})
	var want []string
	for _, r := range decisionReasons {
		want = append(want, r.String())
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("there were\n%q\nlisted are\n%q", got, want)
	}
}

// A message was to be marked. When it comes again, it is not to be marked if its owner has removed
// the mark, or called it ordinary.
func TestAMessageThatComesAgainIsNotMarkedAgainAgainstItsOwnersWord(t *testing.T) {
	for _, x := range []struct {
		label, source string // what the owner says between the two; "": nothing
		mark          bool
		reason        store.Reason
	}{
		{"", "", true, store.ReasonRule},
		{"important", "explicit", true, store.ReasonRule},
		{"ordinary", "mark", false, store.ReasonRefused},
		{"ordinary", "explicit", false, store.ReasonOwner},
		{"ordinary", "junk", false, store.ReasonOwner},
	} {
		t.Run(x.label+" "+x.source, func(t *testing.T) {
			c := newCluster(1)
			message := messageRecord("a", []byte("Message-ID: <1@x>\r\nFrom: boss@example.net\r\nTo: a@example.org\r\nSubject: s\r\n\r\nplan\r\n"), epoch)
			c.put(testTopics.Input, kafka.Encode(kafka.Rules{Rules: []kafka.Rule{{Match: "from:boss@example.net", Label: true}}}, "a", "r", "test", epoch))
			c.put(testTopics.Input, message)
			if x.label != "" {
				c.put(testTopics.Input, feedbackRecord("a", "1@x", x.label, x.source, epoch))
			}
			c.put(testTopics.Input, message)
			running(t, c)
			var got []kafka.Decision
			for _, r := range c.all(testTopics.Decisions) {
				var d kafka.Decision
				testkit.OK(t, json.Unmarshal(r.Value, &d))
				got = append(got, d)
			}
			if len(got) != 2 || !got[0].Mark || got[1].Decision != got[0].Decision || got[1].Mark != x.mark || got[1].Reason != x.reason.String() {
				t.Errorf("got %+v, want the second with mark %v and reason %q", got, x.mark, x.reason)
			}
		})
	}
}

// Issue 16, fault 8: the page did not name shadow, nor that the owner had labelled a
// message. The page and the schema have what the code has.
func TestThePageHasEveryReason(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kafka.md")
	testkit.OK(t, err)
	rows := func(head string) (out []string) {
		t.Helper()
		table := regexp.MustCompile("(?s)\n\\| `" + regexp.QuoteMeta(head) + "` \\| +\\|\n\\|---\\|---\\|\n(.*?)\n\n").FindSubmatch(text)
		if table == nil {
			t.Fatalf("the page has no table of %s", head)
		}
		for _, row := range regexp.MustCompile(`(?m)^\|([^|]*)\|`).FindAllSubmatch(table[1], -1) {
			for _, word := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(row[1], -1) {
				out = append(out, string(word[1]))
			}
		}
		slices.Sort(out)
		return out
	}
	var decisions, letters []string
	for _, r := range decisionReasons {
		decisions = append(decisions, r.String())
	}
	for _, r := range kafka.Reasons() {
		letters = append(letters, string(r))
	}
	slices.Sort(decisions)
	slices.Sort(letters)
	if got := rows("reason"); !slices.Equal(got, decisions) {
		t.Errorf("the page has the reasons of decisions\n%q, want\n%q", got, decisions)
	}
	if got := rows("x-hinged-reason"); !slices.Equal(got, letters) {
		t.Errorf("the page has the reasons of dead letters\n%q, want\n%q", got, letters)
	}
	var schema struct {
		Properties struct {
			Reason struct{ Enum []string }
		}
	}
	text, err = os.ReadFile("../../../docs/json/kafka-decision.schema.json")
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	slices.Sort(schema.Properties.Reason.Enum)
	if err != nil || !slices.Equal(schema.Properties.Reason.Enum, decisions) {
		t.Errorf("the schema has %q, %v, want %q", schema.Properties.Reason.Enum, err, decisions)
	}
}

// forgetful are the options of accounts that soon forget: what can be taken back begins later
// again and again, by time and by number, and so do the windows.
func forgetful(o *Options) {
	l := &o.Filter.Limits
	l.Keep, l.Journal, l.Messages, l.Weights, l.Senders, l.IDs = 400*time.Second, 40, 100, 150, 100, 100
	o.Filter.Dual.Window, o.Filter.Dual.Steps = 30, 3
}

// states are the digests of all accounts, and what digests leave out of their rows.
func states(t *testing.T, p *process) (map[string]string, map[string]store.Account) {
	t.Helper()
	names, err := p.store.Accounts()
	testkit.OK(t, err)
	rows := map[string]store.Account{}
	for _, n := range names {
		st, err := p.store.Load(n)
		testkit.OK(t, err)
		rows[n] = st.Account
	}
	return digests(t, p.store), rows
}

// The store keeps more or less of the past by when it commits and makes checkpoints. None of
// that decides what a record does: what is carried out, what is refused, and the bytes of every
// decision are those of a run that commits after each record and drops nothing.
func TestWhenItIsCommittedDecidesNothing(t *testing.T) {
	ways := testkit.Rounds(t, 5, 1)
	t.Parallel()
	c := newCluster(2)
	c.frequent = true
	fill(c, 81, 3, 500)
	run := func(n uint64) (*process, *cluster) {
		own := c.anew()
		p := newProcess(t, own)
		rng := rand.New(rand.NewPCG(n, 2))
		limits := func(o *Options) { o.BatchRecords = 1 }
		if n > 0 {
			p.journalCap, p.checkpointEvery = 1+rng.IntN(30), 1+rng.IntN(12)
			limits = func(o *Options) { o.BatchRecords, o.CacheAccounts = 1+rng.IntN(60), 1+rng.IntN(3) }
		}
		for stops := rng.IntN(6); n > 0 && stops > 0; stops-- {
			p.start(forgetful, limits)
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
			p.stop()
		}
		p.run(forgetful, limits)
		return p, own
	}
	p, want := run(0)
	digest, rows := states(t, p)
	pin(t, p, want)
	p.stop()
	if !slices.ContainsFunc(slices.Collect(maps.Values(rows)), func(a store.Account) bool { return a.Reach.Entries > 0 }) {
		t.Fatal("in no account what can be taken back has moved on")
	}
	for n := range uint64(ways) {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			p, got := run(n + 1)
			again, others := states(t, p)
			p.stop()
			sameDigests(t, again, digest)
			for name, row := range rows {
				if !reflect.DeepEqual(row, others[name]) {
					t.Errorf("account %s is\n%+v, want\n%+v", name, others[name], row)
				}
			}
			sameOutput(t, got, want)
		})
	}
}

// Two processes that come to different states by the same records, as with other settings, are
// noticed by the snapshots.
func TestProcessesThatDifferAreNoticed(t *testing.T) {
	for name, steps := range map[string]int{"the same": 0, "other settings": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(1)
			c.mindful = true // what is to be forgotten makes a snapshot
			never := func(o *Options) { o.SnapshotEvery, o.SnapshotInterval = 1<<40, time.Hour }
			p, q := newProcess(t, c), newProcess(t, c)
			run := func(p *process, tunes ...tune) {
				p.run(tunes...)
			}
			fill(c, 91, 3, 60)
			run(p, never)
			p.stop()
			fill(c, 92, 1, 300)
			snap := func(o *Options) { o.SnapshotEvery = 1 }
			made := func(p *process) (out PartitionStatus) {
				eventually(t, func() error {
					if out = p.engine.Status().Partitions[0]; out.Snapshots == 0 || len(snapshots(t, c)) == 0 {
						return fmt.Errorf("no snapshot yet: %+v", out)
					}
					return nil
				})
				return out
			}
			saved := func(p *process, more ...tune) PartitionStatus {
				run(p, append(more, never)...)
				p.stop()
				fill(c, 93, 1, 1) // so that a snapshot is due
				run(p, append(more, snap)...)
				return made(p)
			}
			saved(q, func(o *Options) { o.Filter.Dual.Steps += steps })
			q.stop()
			if got := saved(p).Differs; (len(got) > 0) != (steps > 0) {
				t.Errorf("the accounts %q differ", got)
			}
			if carried := c.all(testTopics.Decisions); !slices.ContainsFunc(carried, func(r kafka.Record) bool { _, ok := r.Header(kafka.HeaderState); return ok }) {
				t.Errorf("none of %d decisions has the digest of its account's state", len(carried))
			}
		})
	}
}
