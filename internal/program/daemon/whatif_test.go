// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/store"
)

// replayed starts a what-if and waits for its end.
func replayed(t *testing.T, b answerer, account string, s whatif.Settings) whatif.Run {
	t.Helper()
	r, err := do(t.Context(), b, desk.StartWhatIf, account, s)
	for ; err == nil && !r.State.Ended(); time.Sleep(5 * time.Millisecond) {
		r, err = do(t.Context(), b, desk.GetWhatIf, account, desk.WhatIfQuery{ID: r.ID})
	}
	if err != nil || r.State != whatif.Done {
		t.Fatalf("the replay is %s: %s %v", r.State, r.Problem, err)
	}
	return r
}

// TestAWhatIfAgreesWithEverythingElse compares today's column with status and the list of
// messages, for the daemon, its socket and the store without a daemon.
func TestAWhatIfAgreesWithEverythingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, stop, status := live(t, dir)
	faces(t, dir, d, stop, func(name string, b answerer) {
		before := must(t, b, desk.Verify, desk.VerifyRequest{}).Digests()
		got := replayed(t, b, "", whatif.Settings{Learner: "perceptron"})
		all := must(t, b, desk.GetMessages, desk.MessagesRequest{Most: 200})
		a := got.Today
		early := 0 // important, but decided before there were labels of both kinds: no decision to judge
		for _, m := range all.Messages {
			if m.Label == "important" && m.Reason == store.ReasonTooFewLabels.String() {
				early++
			}
		}
		if got.Account != "me" || !got.FromStart || uint64(got.Messages) != status.Decided || got.Live != (whatif.Live{Decided: got.Messages}) {
			t.Errorf("%s: %+v", name, got)
		}
		if a.Decided != len(all.Messages) || a.Marked != decidedSo(all, "important") || a.Unsure != decidedSo(all, "unsure") || a.Missed != status.Judgement.Missed+early || uint64(a.Mistakes) != status.Mistakes || a.HingeLoss != status.HingeLoss {
			t.Errorf("%s: today %+v; status %+v", name, a, status)
		}
		if got.Other.Mistakes == a.Mistakes && got.Other.HingeLoss == a.HingeLoss {
			t.Errorf("%s: the perceptron has learnt the same: %+v", name, got.Other)
		}
		for _, diff := range got.Differences {
			m := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: diff.Message}})
			if m.ScoreThen != diff.Today.Score || m.ThresholdThen != diff.Today.Threshold || m.Outcome != diff.Today.Outcome {
				t.Errorf("%s: %+v, explained as %+v", name, diff, m)
			}
		}
		if after := must(t, b, desk.Verify, desk.VerifyRequest{}).Digests(); after[0] != before[0] {
			t.Errorf("%s: the account was %+v, is %+v", name, before[0], after[0])
		}
		if _, err := do(t.Context(), b, desk.GetWhatIf, "", desk.WhatIfQuery{ID: "nonsense"}); !errors.Is(err, whatif.ErrNoRun) {
			t.Errorf("%s: an unknown run: %v", name, err)
		}
		if _, err := do(t.Context(), b, desk.StartWhatIf, "", whatif.Settings{Threshold: "guess"}); !errors.Is(err, whatif.ErrSettings) {
			t.Errorf("%s: an unknown threshold: %v", name, err)
		}
		if _, err := do(t.Context(), b, desk.GetWhatIf, "nobody", desk.WhatIfQuery{ID: got.ID}); !errors.Is(err, desk.ErrNoAccount) {
			t.Errorf("%s: of an unknown account: %v", name, err)
		}
		stopped := must(t, b, desk.StopWhatIf, desk.WhatIfQuery{ID: got.ID})
		if stopped.State != whatif.Done {
			t.Errorf("%s: stopped after its end it is %s", name, stopped.State)
		}
	})
}

// TestAfterForgettingAWhatIfSaysWhatCanBeReplayed, and replays it: the mail since then.
func TestAfterForgettingAWhatIfSaysWhatCanBeReplayed(t *testing.T) {
	t.Parallel()
	d, s, _ := began(t, t.TempDir())
	teach(s)
	deliver := func(from, to uint32) {
		for n := from; n <= to; n++ {
			s.events <- arrival(n, mail(int(n), "news@example.net", "newsletter"), `\Seen`)
		}
		until(t, d, "the mail", func(a desk.AccountStatus) bool { return a.Messages == uint64(to) && a.Pending == 0 })
	}
	deliver(3, 8)
	must(t, d, desk.Forget, desk.ForgetRequest{Message: "m4@x"})
	r := must(t, d, desk.StartWhatIf, whatif.Settings{Learner: "perceptron"})
	for ; !r.State.Ended(); time.Sleep(5 * time.Millisecond) {
		r = must(t, d, desk.GetWhatIf, desk.WhatIfQuery{ID: r.ID})
	}
	if r.State != whatif.Failed || !strings.HasPrefix(r.Problem, "nothing can be replayed yet: what is kept of your mail begins on ") {
		t.Fatalf("the replay is %s: %q", r.State, r.Problem)
	}
	deliver(9, 11)
	if r := replayed(t, d, "", whatif.Settings{Learner: "perceptron"}); r.Messages != 3 || r.Total != 3 || r.FromStart {
		t.Errorf("%d of %d messages are replayed, from the start: %v; want 3", r.Messages, r.Total, r.FromStart)
	}
}
