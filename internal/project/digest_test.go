// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// played is what eval says of a stream, as far as it must be the same in every
// build: all but the seconds it took. Numbers are kept as written.
type played struct {
	Messages       json.Number     `json:"messages"`
	Important      json.Number     `json:"important"`
	Mistakes       json.Number     `json:"mistakes"`
	WrongDecisions json.Number     `json:"wrong_decisions"`
	FalseAlarms    json.Number     `json:"false_alarms"`
	Missed         json.Number     `json:"missed"`
	Unsure         json.Number     `json:"unsure"`
	HingeLoss      json.Number     `json:"hinge_loss"`
	Digest         json.RawMessage `json:"digest"`
}

func (p played) String() string {
	return fmt.Sprintf("%s messages, %s important, %s mistakes, %s wrong decisions (%s false alarms, %s missed), %s unsure, hinge loss %s, digest %s",
		p.Messages, p.Important, p.Mistakes, p.WrongDecisions, p.FalseAlarms, p.Missed, p.Unsure, p.HingeLoss, p.Digest)
}

// ways are the settings that the stream is played with: the default, and others
// that take the arithmetic elsewhere.
var ways = [][]string{
	nil,
	{"--feedback", "delayed"},
	{"--set", "learner.kind=perceptron"},
	{"--set", "learner.kind=margin"},
}

// play runs eval of one build over an mbox.
func play(t *testing.T, b *build, env []string, mbox string, way []string) played {
	t.Helper()
	args := append([]string{"eval", "--json", "--owner", "owner@example.org"}, way...)
	out := b.run(t, env, append(args, mbox)...)
	var p played
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("eval --json: %v\n%s", err, out)
	}
	for name, n := range map[string]json.Number{"messages": p.Messages, "important": p.Important, "mistakes": p.Mistakes} {
		if v, err := n.Int64(); err != nil || v < 10 {
			t.Fatalf("%s: %q is too few for the digest to mean anything\n%s", name, n, out)
		}
	}
	if len(p.Digest) < 16 {
		t.Fatalf("digest: %s", p.Digest)
	}
	return p
}

// save writes a generated stream where programs can read it.
func save(t *testing.T, n int, seed uint64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("stream-%d.mbox", seed))
	if err := os.WriteFile(path, stream(t, n, seed), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The second promise: the same events in the same order give the same state,
// bit for bit, on any machine.
func TestEveryBuildArrivesAtTheSameState(t *testing.T) {
	compiles(t)
	// Compiling is most of it, and the longest is one package of the release.
	for _, b := range []*build{release, fused, emulated} {
		go b.binary()
	}
	mbox := save(t, 250, 1)
	want := make([]played, len(ways))
	for i, way := range ways {
		want[i] = play(t, plain, nil, mbox, way)
		t.Logf("eval %v: %v", way, want[i])
	}
	for _, other := range []struct {
		name  string
		build *build
		env   []string
	}{
		{"the same program again", plain, nil},
		{"the same program on one processor", plain, []string{"GOMAXPROCS=1"}},
		{"the same program on eight threads, collecting garbage all the time", plain, []string{"GOMAXPROCS=8", "GOGC=5"}},
		{"the release", release, nil},
		{"the player", alike, nil},
		{"GOAMD64=v3", fused, nil},
		{"arm64", emulated, nil},
	} {
		t.Run(other.name, func(t *testing.T) {
			for i, way := range ways {
				got := play(t, other.build, other.env, mbox, way)
				if got.String() != want[i].String() {
					t.Errorf("eval %v\ngot  %v\nwant %v", way, got, want[i])
				}
			}
		})
	}
}

// A digest that did not depend on mail or settings would always agree.
func TestTheDigestTellsStatesApart(t *testing.T) {
	compiles(t)
	seen := map[string]string{}
	for _, seed := range []uint64{1, 2} {
		mbox := save(t, 120, seed)
		for _, way := range ways {
			digest := string(play(t, plain, nil, mbox, way).Digest)
			this := fmt.Sprintf("seed %d, %v", seed, way)
			if before, ok := seen[digest]; ok {
				t.Errorf("%s and %s have the same digest %s", before, this, digest)
			}
			seen[digest] = this
		}
	}
}
