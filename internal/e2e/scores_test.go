// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// known reads what the store of a stopped daemon remembers of each message, and what a
// replay of its journal does.
func (s *site) known() (committed, replayed map[string]store.Message) {
	s.t.Helper()
	db, err := boltfile.OpenReadOnly(filepath.Join(s.dir, "state", "hinged.db"), boltfile.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	st, err := db.Load("me")
	if err != nil {
		s.t.Fatal(err)
	}
	base, next, err := db.Base("me")
	if err != nil {
		s.t.Fatal(err)
	}
	f, _, err := past.Replay(base, db.Journal("me", next), writer.NewReplayVectors(db, "me"))
	if err != nil {
		s.t.Fatal(err)
	}
	of := func(st *store.State) map[string]store.Message {
		out := map[string]store.Message{}
		for _, k := range st.Messages.Keys() {
			m, _ := st.Messages.Get(k)
			out[fmt.Sprintf("%x", k)] = m
		}
		return out
	}
	return of(st), of(f.State())
}

// TestR11LiveReplayAndDryRunGiveTheSameScores: of the past, a dry run and then learning from
// it; of new mail, classify and then its arrival; of all of it, the replay of the journal.
// Every server gives the same ones, to the bit.
func TestR11LiveReplayAndDryRunGiveTheSameScores(t *testing.T) {
	var mu sync.Mutex
	var first map[string]float64
	onEveryServer(t, func(o *resident) {
		scores := sameScores(o)
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = scores
			testkit.Pin(t, "imap", t.Name()+" scores", fmt.Sprint(scores))
		} else if !maps.Equal(scores, first) {
			o.Errorf("%d scores here are not those of another server", len(scores))
		}
	})
}

func sameScores(o *resident) map[string]float64 {
	s := o.daemon(quick)
	lived(o.Owner, 7, 150)
	mail := testkit.NewMail(8)
	dry, learnt := s.bootstrap("--dry-run", "--last", "1000", "--show", "1000"), s.bootstrap()
	if !reflect.DeepEqual(dry.Judgement, learnt.Judgement) || learnt.Judgement.Messages == 0 {
		o.Errorf("the dry run found\n%+v\nand the other\n%+v", dry, learnt)
	}
	s.start()
	messages := s.until("the mailboxes", func(a desk.AccountStatus) bool { return a.Connected }).Messages
	dryScores := map[string]float64{}
	for _, w := range dry.DryRun.WouldMarked {
		dryScores[w.Message] = w.Score
	}
	tried := len(dryScores)
	for i := range 24 {
		m := mail.Next()
		c := ask(s, desk.Classify, desk.ClassifyRequest{Mail: m.Raw})
		uid := o.Append("INBOX", m.Raw, m.Date)
		messages++
		s.until("the message", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 })
		ex := ask(s, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: m.MessageID}})
		if ex.Outcome != c.Outcome || ex.ThresholdThen != c.Threshold {
			o.Errorf("message %d is %s over %v; classify said %s over %v", i, ex.Outcome, ex.ThresholdThen, c.Outcome, c.Threshold)
		}
		dryScores[ex.Message] = c.Score
		if i%3 == 0 { // the weights move
			lessons, _ := s.status()
			o.Set("INBOX", uid, map[bool]string{true: `\Flagged`, false: "$Junk"}[m.Important])
			s.until("the lesson", func(a desk.AccountStatus) bool {
				return a.Important+a.Ordinary > lessons.Important+lessons.Ordinary && a.Pending == 0
			})
		}
	}
	s.end()
	s.wantReplay("at the end")
	committed, replayed := s.known()
	scores := map[string]float64{}
	for key, m := range committed {
		scores[key] = m.Score
		if r := replayed[key]; r.Score != m.Score || r.Outcome != m.Outcome || r.Threshold != m.Threshold {
			o.Errorf("%s: %+v live and %+v in the replay", key, m, r)
		}
	}
	for key, score := range dryScores {
		if live, there := scores[key]; !there || live != score {
			o.Errorf("%s: %v in the dry run, %v (%v) live", key, score, live, there)
		}
	}
	if tried < 10 || len(dryScores) != tried+24 {
		o.Errorf("%d messages were compared, %d of them by the dry run; want more than 10 and 24", len(dryScores), tried)
	}
	o.Logf("%d scores live and replayed, %d of them by bootstrap --dry-run, 24 by classify", len(scores), tried)
	return scores
}

// ask asks the running daemon.
func ask[Q, A any](s *site, verb desk.Verb[Q, A], q Q) A {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := control.Dial(ctx, s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	a, err := control.Ask(ctx, c, verb, "", q)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestR13ExplanationsOfRealDecisionsFitAndAddUp: of mail of the past and of new mail, marked
// and not. As printed it is at most a screen, 24 lines of 80 columns.
func TestR13ExplanationsOfRealDecisionsFitAndAddUp(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon(quick)
		lived(o.Owner, 7, 100)
		mail := testkit.NewMail(8)
		s.bootstrap()
		s.start()
		messages := s.until("the mailboxes", func(a desk.AccountStatus) bool { return a.Connected }).Messages
		for range 10 {
			m := mail.Next()
			o.Append("INBOX", m.Raw, m.Date)
			messages++
		}
		s.until("the messages", func(a desk.AccountStatus) bool { return a.Messages == messages && a.MarksIntended == 0 })
		n, outcomes := 0, map[string]int{}
		for _, m := range o.All("INBOX") {
			_, rest, _ := strings.Cut(string(m.Raw), "Message-ID: <")
			id, _, _ := strings.Cut(rest, ">")
			ex := ask(s, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: id}})
			sum := 0.0
			for _, p := range ex.Parts {
				sum += p.Amount
			}
			if d := math.Abs(sum - ex.Score); d > 1e-9 || len(ex.Parts) == 0 {
				o.Errorf("%s: %d parts add up to %v, the score is %v", id, len(ex.Parts), sum, ex.Score)
			}
			if outcomes[ex.Outcome]++; outcomes[ex.Outcome] <= 6 {
				out, err := s.hinged("explain", "--config", s.config, id)
				if err != nil || !oneScreen(out) {
					o.Errorf("explain %s: %v\n%s", id, err, out)
				}
				n++
			}
		}
		if outcomes["important"] == 0 || outcomes["ordinary"] == 0 {
			o.Errorf("the decisions are %v; some must be important and some ordinary", outcomes)
		}
		o.Logf("decisions: %v; %d explanations printed", outcomes, n)
	})
}

// oneScreen reports whether text has at most 24 lines of at most 80 columns.
func oneScreen(text string) bool {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range lines {
		if testkit.Columns(line) > 80 {
			return false
		}
	}
	return len(lines) <= 24
}
