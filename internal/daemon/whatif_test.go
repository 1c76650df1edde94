// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/whatif"
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
	dir := t.TempDir()
	d, stop, status := live(t, dir)
	faces(t, dir, d, stop, func(name string, b answerer) {
		before := must(t, b, desk.GetDigests, desk.None{})
		got := replayed(t, b, "", whatif.Settings{Learner: "perceptron"})
		all := must(t, b, desk.GetMessages, desk.MessagesRequest{Most: 200})
		a := got.Today
		if got.Account != "me" || !got.FromStart || uint64(got.Messages) != status.Decided || got.Live != (whatif.Live{Decided: got.Messages}) {
			t.Errorf("%s: %+v", name, got)
		}
		if a.Decided != len(all.Messages) || a.Marked != decidedSo(all, "important") || a.Unsure != decidedSo(all, "unsure") || a.Missed < status.Judgement.Missed || uint64(a.Mistakes) != status.Mistakes || a.HingeLoss != status.HingeLoss {
			t.Errorf("%s: today %+v; status %+v", name, a, status)
		}
		if got.Other.Mistakes == a.Mistakes && got.Other.HingeLoss == a.HingeLoss {
			t.Errorf("%s: the perceptron has learnt the same: %+v", name, got.Other)
		}
		for _, diff := range got.Differences {
			m := must(t, b, desk.Explain, desk.ExplainRequest{Message: desk.Message{Name: diff.Message}})
			if m.ScoreThen != diff.Today.Score || m.Threshold != diff.Today.Threshold || m.Outcome != diff.Today.Outcome {
				t.Errorf("%s: %+v, explained as %+v", name, diff, m)
			}
		}
		if after := must(t, b, desk.GetDigests, desk.None{}); after[0] != before[0] {
			t.Errorf("%s: the account was %+v, is %+v", name, before[0], after[0])
		}
		if _, err := do(t.Context(), b, desk.GetWhatIf, "", desk.WhatIfQuery{ID: "nonsense"}); !errors.Is(err, desk.ErrNoWhatIf) {
			t.Errorf("%s: an unknown run: %v", name, err)
		}
		if _, err := do(t.Context(), b, desk.StartWhatIf, "", whatif.Settings{Threshold: "guess"}); !errors.Is(err, desk.ErrWhatIfSettings) {
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
