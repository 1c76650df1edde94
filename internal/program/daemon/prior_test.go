// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bytes"
	"context"
	"testing"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

var strong = store.PackVector(model.Vector{
	{Index: model.Affine, Value: -0.25},
	{Index: featurize.IndexOf("addressed:to alone"), Value: 0.75},
})

// primed runs a daemon whose one account begins with a prior, until stop.
func primed(t *testing.T, dir string, o filter.Options, prior store.PackedVector) (d *Daemon, stop func()) {
	t.Helper()
	a := from("me", o, newScript())
	a.Prior = prior
	return launch(t, options(dir, a), nil)
}

// TestAPriorLivesThroughRestartsUndoAndReplay: it is there after a restart, replaced
// while nothing was learnt and kept afterwards; a replay of the journal, the ceiling and
// what is taken back all begin with it.
func TestAPriorLivesThroughRestartsUndoAndReplay(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), context.Background()
	o := testOptions()
	o.Learner.Kind = model.KindPassiveAggressive
	weak := store.PackVector(model.Vector{{Index: model.Affine, Value: 0.5}})
	_, stop := primed(t, dir, o, weak)
	stop()
	d, stop := primed(t, dir, o, strong)
	lessons(t, d, 0, 12)
	if b := ask(t, d); b.NoCeiling != "" || b.Lessons != 12 {
		t.Errorf("no ceiling with a prior: %+v", b)
	}
	stop()
	d, stop = primed(t, dir, o, nil)
	check := func(b answerer) {
		t.Helper()
		v, err := do(ctx, b, desk.Verify, "", desk.VerifyRequest{})
		if err != nil || !v.OK {
			t.Fatalf("%+v, %v", v, err)
		}
		got, err := do(ctx, b, desk.GetWords, "", desk.WordsRequest{Words: []string{"place:cover", "addressed:to alone"}, Most: 1})
		if err != nil || len(got.Words[1].Features) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	check(d)
	if out, err := do(ctx, d, desk.Unlearn, "", desk.UnlearnRequest{}); err != nil || out.Lessons != 12 || out.Left != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	stop()

	off := stored(t, dir)
	check(off)
	lessons(t, off, 100, 2) // writes with the options of the store, and its prior
	a, err := off.load("me")
	if err != nil || !bytes.Equal(a.filter.Prior(), strong) {
		t.Fatalf("the prior is %x (%v), want %x", a.filter.Prior(), err, strong)
	}
	if b := ask(t, off); b.NoCeiling != "" {
		t.Errorf("no ceiling: %s", b.NoCeiling)
	}
	check(off)
}
