// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

const owner = "owner@example.org"

func testOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{owner}
	return o
}

func save(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.OK(t, os.WriteFile(path, content, 0o644))
	return path
}

func readerOf(tb testing.TB, o featurize.Options) *featurize.Featurizer {
	tb.Helper()
	f, err := featurize.New(o)
	testkit.OK(tb, err)
	return f
}

func streamOf(tb testing.TB, sources []source, most int) *stream {
	tb.Helper()
	s, err := openStream(sources, most)
	testkit.OK(tb, err)
	return s
}

func ran(t *testing.T, p Play) *Result {
	t.Helper()
	r, err := p.Run(t.Context())
	testkit.OK(t, err)
	return r
}

// messages returns everything in an mbox, read.
func messages(t *testing.T, path string, o featurize.Options) (all []*featurize.Message, dates []time.Time) {
	t.Helper()
	reader := readerOf(t, o)
	r, err := archive.Open([]string{path}, archive.Options{})
	testkit.OK(t, err)
	defer r.Close()
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, dates
		}
		testkit.OK(t, err)
		all, dates = append(all, reader.Read(m.Raw)), append(dates, m.Date())
	}
}

// plain plays an mbox the obvious way: one message after the other, one
// goroutine, the filter and nothing else.
func plain(t *testing.T, path string, o filter.Options) *store.State {
	t.Helper()
	st := store.NewState()
	vectors := filter.Memory{}
	f, err := filter.New(st, vectors)
	testkit.OK(t, err)
	apply := func(e filter.Event) filter.Result {
		r, err := f.Apply(e)
		testkit.OK(t, err)
		if r.Decision != nil {
			vectors.Keep(r.Decision.Message, r.Features, true)
		}
		return r
	}
	o.Shadow, o.Settle, o.SilenceDays = filter.ShadowOn, 0, 0
	apply(&filter.Configured{Options: o})
	all, dates := messages(t, path, o.Featurize)
	answered := map[string]bool{}
	for _, m := range all {
		for _, id := range m.InReplyTo {
			answered[id] = answered[id] || m.FromOwner
		}
	}
	for i, m := range all {
		at := store.MomentOf(dates[i])
		meta := filter.NewMeta(m)
		if m.FromOwner {
			meta = meta.ByOwner()
		}
		got := apply(&filter.Arrived{At: at, Meta: meta, Message: m})
		if got.Decision == nil {
			continue
		}
		label := model.Ordinary
		if answered[m.MessageID] {
			label = model.Important
		}
		apply(&filter.Labelled{At: at, Message: got.Decision.Message, Label: label})
	}
	return st
}

func TestPlayIsTheFilterAndNothingElse(t *testing.T) {
	mbox, important := testkit.Answered(150, 7)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	want := plain(t, path, testOptions())
	_, digest := store.Digest(want)
	for _, workers := range []int{1, 4} {
		r := ran(t, Play{Paths: []string{path}, Options: testOptions(), Workers: workers})
		if r.Digest != digest {
			t.Errorf("%d workers: got digest %s, want %s", workers, r.Digest, digest)
		}
		a := want.Account
		if r.Mistakes != a.Mistakes || r.Updates != a.Updates || r.HingeLoss != a.HingeLoss ||
			uint64(r.Unsure) != a.Unsure {
			t.Errorf("%d workers: got %+v, want the counts of %+v", workers, r, a)
		}
		if r.Examples != 150 || r.Important != important || r.Own != important || r.Messages != 150+important || r.Lessons != 150 {
			t.Errorf("%d workers: got %d messages, %d own, %d examples, %d important, %d lessons; %d were important of 150",
				workers, r.Messages, r.Own, r.Examples, r.Important, r.Lessons, important)
		}
	}
}

func TestPlayLearns(t *testing.T) {
	mbox, important := testkit.Answered(400, 3)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	r := ran(t, Play{Paths: []string{path}, Options: testOptions()})
	// Scores that knew nothing would have the share of important mail as their
	// average precision, and 50 % of the area above the curve.
	share := float64(important) / 400
	if r.AveragePrecision < share+(1-share)/2 || r.OneMinusROCAPercent > 25 || r.F1 < 0.5 || r.BestF1 < r.F1-0.15 {
		t.Errorf("got average precision %.3f (share %.3f), 1-ROCA%% %.1f, F1 %.3f, best %.3f", r.AveragePrecision, share, r.OneMinusROCAPercent, r.F1, r.BestF1)
	}
}

// simple makes a small message.
func simple(from, id, inReplyTo string) []byte {
	header := fmt.Sprintf("From: <%s>\nTo: <%s>\nMessage-ID: <%s>\nSubject: about %s\n", from, owner, id, id)
	if inReplyTo != "" {
		header += "In-Reply-To: <" + inReplyTo + ">\n"
	}
	return []byte(header + "\nsome words of " + id + "\n")
}

func TestDelayedFeedbackComesWhenTheAnswerComesOrAfterAWeek(t *testing.T) {
	final := testOptions()
	final.Dual.Horizon = 0
	day := func(n float64) time.Time {
		return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(24*time.Hour)))
	}
	type step struct {
		raw []byte
		at  time.Time
	}
	soon := step{simple("a@example.org", "soon", ""), day(0)}
	never := step{simple("b@example.org", "never", ""), day(0.5)}
	late := step{simple("c@example.org", "late", ""), day(0.6)}
	answer := step{simple(owner, "r1", "soon"), day(1)}
	wait6 := step{simple("d@example.org", "six days on", ""), day(6.9)}
	wait8 := step{simple("d@example.org", "eight days on", ""), day(8)}
	answerLate := step{simple(owner, "r2", "late"), day(9)}
	for _, tt := range []struct {
		name                string
		steps               []step
		lessons, examples   int
		important, ordinary uint64
	}{
		{"the answer is in the future", []step{soon, answer}, 1, 1, 1, 0},
		{"six days teach nothing", []step{soon, never, late, answer, wait6}, 1, 4, 1, 0},
		{"a week teaches no", []step{soon, never, late, answer, wait6, wait8}, 3, 5, 1, 2},
		{"a late answer teaches yes after all", []step{soon, never, late, answer, wait6, wait8, answerLate}, 4, 5, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mbox bytes.Buffer
			for _, s := range tt.steps {
				testkit.AppendMbox(&mbox, s.raw, s.at)
			}
			path := save(t, t.TempDir(), "m.mbox", mbox.Bytes())
			r := ran(t, Play{Paths: []string{path}, Options: final, Feedback: Delayed})
			if r.Lessons != uint64(tt.lessons) || r.Examples != tt.examples || r.Lessons != tt.important+tt.ordinary {
				t.Errorf("got %d lessons and %d examples, want %d (%d + %d) and %d", r.Lessons, r.Examples, tt.lessons, tt.important, tt.ordinary, tt.examples)
			}
			immediate := ran(t, Play{Paths: []string{path}, Options: testOptions()})
			if immediate.Lessons != uint64(tt.examples) {
				t.Errorf("immediate: got %d lessons, want one for each of %d examples", immediate.Lessons, tt.examples)
			}
		})
	}
}

// judged plays an mbox and returns the examples.
func judged(t *testing.T, mbox []byte, feedback Feedback, known truth) []Judged {
	t.Helper()
	path := save(t, t.TempDir(), "m.mbox", mbox)
	p := Play{Paths: []string{path}, Options: testOptions(), Feedback: feedback}
	p.Feedback = feedback
	j, err := p.newJudge(p.options(), known)
	testkit.OK(t, err)
	s := streamOf(t, []source{{path, 0}}, 1<<20)
	defer s.close()
	testkit.OK(t, p.play(t.Context(), s, j))
	return j.stream.scores
}

func TestScoresKnowNothingOfLaterMessages(t *testing.T) {
	mbox, important := testkit.Answered(200, 11)
	stream := streamOf(t, []source{{save(t, t.TempDir(), "m", mbox), 0}}, 1<<20)
	defer stream.close()
	known, own, _, err := findAnswers(t.Context(), stream, testOptions().Featurize, 0, 2)
	if err != nil || own != important || len(known) != important {
		t.Fatalf("got %d answers in %d messages of the owner's, %v, want %d", len(known), own, err, important)
	}
	cut := bytes.Index(mbox[len(mbox)/2:], []byte("\nFrom someone@")) + len(mbox)/2 + 1
	scores := map[Feedback][]Judged{}
	for _, feedback := range []Feedback{Immediate, Delayed} {
		all, half := judged(t, mbox, feedback, known), judged(t, mbox[:cut], feedback, known)
		if len(all) != 200 || len(half) < 80 || len(half) > 120 {
			t.Fatalf("%s: %d examples, %d in the first half", feedback, len(all), len(half))
		}
		if !slices.Equal(all[:len(half)], half) {
			t.Errorf("%s: the scores of the first half depend on the second", feedback)
		}
		scores[feedback] = all
	}
	if slices.Equal(scores[Immediate], scores[Delayed]) {
		t.Error("immediate and delayed feedback give the same scores")
	}
}

func TestCopiesAreOneExample(t *testing.T) {
	var mbox bytes.Buffer
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 3 {
		testkit.AppendMbox(&mbox, simple("a@example.org", "one", ""), at)
	}
	testkit.AppendMbox(&mbox, simple(owner, "r", "one"), at.Add(time.Hour))
	r := ran(t, Play{Paths: []string{save(t, t.TempDir(), "m", mbox.Bytes())}, Options: testOptions()})
	if r.Messages != 4 || r.Examples != 1 || r.Lessons != 1 || r.Own != 1 {
		t.Errorf("got %d messages, %d examples, %d lessons, %d own, want 4, 1, 1, 1", r.Messages, r.Examples, r.Lessons, r.Own)
	}
}

func TestWhatCanNotBePlayed(t *testing.T) {
	dir := t.TempDir()
	mbox, _ := testkit.Answered(10, 1)
	path := save(t, dir, "m.mbox", mbox)
	labels, err := ReadLabels(strings.NewReader("a\timportant\n"), "l")
	testkit.OK(t, err)
	stranger := testOptions()
	stranger.Featurize.Owner = []string{"stranger@example.org"}
	ownerless := testOptions()
	ownerless.Featurize.Owner = nil
	for _, tt := range []struct {
		name string
		play Play
		want string
	}{
		{"nothing", Play{Options: testOptions()}, "there is no archive"},
		{"no owner", Play{Paths: []string{path}, Options: ownerless}, "need the owner's addresses"},
		{"another owner", Play{Paths: []string{path}, Options: stranger}, "no message is from the owner [stranger@example.org]"},
		{"standard input", Play{Paths: []string{"-"}, Options: testOptions()}, "read twice"},
		{"one folder", Play{Important: []string{path}, Options: testOptions()}, "both important and ordinary"},
		{"folders and archives", Play{Paths: []string{path}, Important: []string{path}, Ordinary: []string{path}, Options: testOptions()}, "combined with other archives"},
		{"delayed labels of a file", Play{Paths: []string{path}, Labels: labels, Feedback: Delayed, Options: testOptions()}, "have no time of their own"},
		{"unknown feedback", Play{Paths: []string{path}, Feedback: "soon", Options: testOptions()}, `unknown feedback "soon"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.play.Run(t.Context())
			if !errors.Is(err, ErrPlay) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want ErrPlay with %q", err, tt.want)
			}
		})
	}
	if _, err := (Play{Paths: []string{filepath.Join(dir, "none")}, Options: testOptions()}).Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
	broken := save(t, dir, "cut.gz", []byte("\x1f\x8b\x08\x00"))
	if _, err := (Play{Paths: []string{path, broken}, Options: testOptions()}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("got %v, want an error that names %s", err, broken)
	}
}

func TestPlayEndsWithItsContext(t *testing.T) {
	mbox, _ := testkit.Answered(300, 1)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, err := Play{Paths: []string{path}, Options: testOptions(), Progress: func(int64, int64) {
		calls++
		cancel()
	}}.Run(ctx)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestProgressReachesTheEnd(t *testing.T) {
	mbox, _ := testkit.Answered(200, 1)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	var last, total int64
	_, err := Play{Paths: []string{path}, Options: testOptions(), Progress: func(done, all int64) {
		if done < last {
			t.Errorf("progress went back from %d to %d", last, done)
		}
		last, total = done, all
	}}.Run(t.Context())
	if err != nil || last != int64(len(mbox)) || total != last {
		t.Errorf("got %v; %d of %d bytes, want %d", err, last, total, len(mbox))
	}
}

func TestResultHasThePromisedKeys(t *testing.T) {
	mbox, _ := testkit.Answered(30, 1)
	path := save(t, t.TempDir(), "m.mbox", mbox)
	r := ran(t, Play{Paths: []string{path}, Options: testOptions()})
	var out bytes.Buffer
	testkit.OK(t, r.WriteJSON(&out))
	var object map[string]any
	testkit.OK(t, json.Unmarshal(out.Bytes(), &object))
	keys := slices.Sorted(maps.Keys(object))
	for _, want := range []string{"messages", "important", "mistakes", "wrong_decisions", "false_alarms", "missed", "unsure", "average_precision",
		"one_minus_roca_percent", "f1", "best_f1", "hinge_loss", "seconds", "messages_per_second", "digest", "examples", "updates", "features",
		"bytes", "megabytes_per_second", "learner", "feedback"} {
		if !slices.Contains(keys, want) {
			t.Errorf("%s is missing from %v", want, keys)
		}
	}
	if r.Seconds <= 0 || r.MessagesPerSecond <= 0 || r.MegabytesPerSecond <= 0 || r.Bytes == 0 || r.Features < 30 {
		t.Errorf("got %+v", r)
	}
	var table bytes.Buffer
	testkit.OK(t, r.WriteTable(&table))
	if !strings.Contains(table.String(), "average precision") || !strings.Contains(table.String(), "1-ROCA%  ") || !strings.Contains(table.String(), r.Digest) {
		t.Errorf("got\n%s", &table)
	}
}
