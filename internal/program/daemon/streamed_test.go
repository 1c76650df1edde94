// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/internal/testkit"
)

// streamWorld is a daemon with a stream on a broker in the test's process.
type streamWorld struct {
	*control.At
	client  *kafka.Client
	path    string
	daemon  *Daemon
	options stream.Options // that the daemon began with
}

const streamedAccount = "kafka:alice"

// startStream runs a daemon with a stream until the test ends or stop is called.
func startStream(t *testing.T) (w *streamWorld, stop func()) {
	t.Helper()
	topics := kafka.Topics{Input: "in", Decisions: "out", DeadLetters: "dead", Snapshots: "snap"}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topics.All()...))
	testkit.OK(t, err)
	t.Cleanup(cluster.Close)
	client := kafka.New(kafka.Options{Brokers: cluster.ListenAddrs(), Group: "g", Topics: topics})
	dir := t.TempDir()
	o := filter.DefaultOptions()
	o.Shadow = filter.ShadowOff
	w = &streamWorld{client: client, path: filepath.Join(dir, "store.db"), options: stream.Options{
		Broker: stream.Client(client), Topics: topics, Filter: o,
		Owner: func(key string) []string { return []string{key + "@example.org"} },
	}}
	first := w.options
	with := options(dir)
	with.Stream = &first
	d, stop := launch(t, with, nil)
	t.Cleanup(func() { stop(); testkit.OK(t, client.Close()) })
	w.daemon, w.At = d, dialled(t, dir)
	return w, stop
}

func (w *streamWorld) put(t *testing.T, events ...kafka.Event) {
	t.Helper()
	var all []kafka.Record
	for i, e := range events {
		all = append(all, kafka.Encode(e, strings.TrimPrefix(streamedAccount, kafka.AccountPrefix), fmt.Sprint(i), "test", time.Now()))
	}
	if _, err := w.client.Produce(t.Context(), "in", all); err != nil {
		t.Fatal(err)
	}
}

// done waits until so many records are committed.
func (w *streamWorld) done(t *testing.T, records uint64) desk.Status {
	t.Helper()
	var s desk.Status
	await(t, fmt.Sprint(records, " records"), func() (any, bool) {
		s = must(t, w.At, desk.GetStatus, desk.None{})
		return s.Stream, s.Stream.Records >= records && s.Stream.CaughtUp()
	})
	return s
}

func streamMail(n int) kafka.Message {
	return kafka.Message{Raw: fmt.Appendf(nil, "Message-ID: <%d@example.net>\r\nFrom: bob@example.net\r\nTo: alice@example.org\r\nSubject: plan %d\r\n\r\nthe plan number %d\r\n", n, n, n)}
}

func TestVerbsLookAtAnAccountOfTheStream(t *testing.T) {
	t.Parallel()
	w, stop := startStream(t)
	w.put(t, streamMail(1), streamMail(2), streamMail(3),
		kafka.Feedback{Ref: kafka.Ref{Message: "1@example.net"}, Label: true, Source: "explicit"},
		kafka.Feedback{Ref: kafka.Ref{Message: "2@example.net"}, Label: false, Source: "explicit"})
	s := w.done(t, 5)
	if len(s.Accounts) != 1 || s.Accounts[0].Account != streamedAccount || s.Accounts[0].Messages != 3 || s.Accounts[0].Important != 1 || len(s.Accounts[0].Warnings) != 0 {
		t.Errorf("got accounts %+v", s.Accounts)
	}
	if st := s.Stream; !st.Connected || st.Messages != 3 || st.Feedback != 2 || st.Lessons != 2 || len(st.Partitions) != 2 || st.Accounts != 1 || st.Problem != "" {
		t.Errorf("got stream %+v", st)
	}
	ctx := t.Context()
	ex, err := do(ctx, w.At, desk.Explain, streamedAccount, desk.ExplainRequest{Message: desk.Message{Name: "<1@example.net>"}})
	if err != nil || ex.Label != "important" || len(ex.Parts) == 0 {
		t.Errorf("explain: %+v, %v", ex, err)
	}
	if ex, err := do(ctx, w.At, desk.Explain, streamedAccount, desk.ExplainRequest{Message: desk.Message{Content: new(streamMail(3).Raw)}}); err != nil || !ex.Known {
		t.Errorf("explain of a file: %+v, %v", ex, err)
	}
	if c, err := do(ctx, w.At, desk.Classify, streamedAccount, desk.ClassifyRequest{Mail: streamMail(4).Raw}); err != nil || c.Outcome == "" {
		t.Errorf("classify: %+v, %v", c, err)
	}
	if words, err := do(ctx, w.At, desk.GetWords, streamedAccount, desk.WordsRequest{Most: 5}); err != nil || words.Weights == 0 || len(words.Important) == 0 {
		t.Errorf("words: %+v, %v", words, err)
	}
	if asked, err := do(ctx, w.At, desk.Ask, streamedAccount, desk.AskRequest{Most: 5}); err != nil || len(asked.Questions) != 1 || asked.Questions[0].From == "" {
		t.Errorf("ask: %+v, %v", asked, err)
	}
	if l, err := do(ctx, w.At, desk.GetLedger, streamedAccount, desk.LedgerRequest{}); err != nil || l.Account != streamedAccount {
		t.Errorf("ledger: %+v, %v", l, err)
	}
	if b, err := do(ctx, w.At, desk.GetBound, streamedAccount, desk.None{}); err != nil || b.Lessons != 2 {
		t.Errorf("bound: %+v, %v", b, err)
	}
	if r := replayed(t, w.At, streamedAccount, whatif.Settings{Learner: "perceptron"}); r.Messages != 3 || r.Live != (whatif.Live{Decided: 3}) || r.Today.Lessons != 2 {
		t.Errorf("what if: %+v", r)
	}
	v, err := do(ctx, w.At, desk.Verify, "", desk.VerifyRequest{})
	if err != nil || !v.OK || len(v.Accounts) != 1 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	running, err := digestsOf(ctx, w.At)
	if err != nil || len(running) != 1 || running[0].Account != streamedAccount {
		t.Fatalf("digest: %+v, %v", running, err)
	}
	for name, refused := range map[string]func() error{
		"pause":  func() error { _, err := do(ctx, w.At, desk.Pause, streamedAccount, desk.SwitchRequest{}); return err },
		"resume": func() error { _, err := do(ctx, w.At, desk.Resume, streamedAccount, desk.SwitchRequest{}); return err },
		"undo": func() error {
			_, err := do(ctx, w.At, desk.UndoMarks, streamedAccount, desk.UndoMarksRequest{})
			return err
		},
	} {
		if err := refused(); !errors.Is(err, desk.ErrStreamAccount) {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	if _, err := do(ctx, w.At, desk.Explain, "kafka:nobody", desk.ExplainRequest{Message: desk.Message{Name: "<1@example.net>"}}); !errors.Is(err, desk.ErrNoAccount) {
		t.Errorf("an account that nobody has heard of: %v", err)
	}
	stop()

	o := stored(t, filepath.Dir(w.path))
	stored, err := digestsOf(ctx, o)
	if err != nil || len(stored) != 1 || stored[0] != running[0] {
		t.Errorf("stored digest %+v, %v; while it ran %+v", stored, err, running)
	}
	if v, err := do(ctx, o, desk.Verify, "", desk.VerifyRequest{}); err != nil || !v.OK || len(v.Accounts) != 1 {
		t.Errorf("verify of the store: %+v, %v", v, err)
	}
	if s, err := do(ctx, o, desk.GetStatus, "", desk.None{}); err != nil || s.Stream == nil || s.Stream.Accounts != 1 || len(s.Accounts) != 1 {
		t.Errorf("status of the store: %+v, %v", s, err)
	}
	if _, err := do(ctx, o, desk.Label, streamedAccount, desk.LabelRequest{Label: "important"}); !errors.Is(err, desk.ErrStreamAccount) {
		t.Errorf("learn without a daemon: %v", err)
	}
}

func TestALessonForAnAccountOfTheStreamGoesThroughTheTopic(t *testing.T) {
	t.Parallel()
	w, _ := startStream(t)
	w.put(t, streamMail(1), streamMail(2))
	w.done(t, 2)
	out, err := do(t.Context(), w.At, desk.Label, streamedAccount, desk.LabelRequest{Label: "important", Messages: []desk.Message{
		{Name: "<1@example.net>"}, {Name: "a file", Content: new(streamMail(2).Raw)},
		{Name: "<9@example.net>"}, {Name: "another file", Content: new(streamMail(9).Raw)},
	}})
	if err != nil || out.Sent != 2 || out.Refused != 2 || out.Lessons[0].Result != desk.LessonSent || out.Lessons[3].Why == "" {
		t.Fatalf("got %+v, %v", out, err)
	}
	if s := w.done(t, 4); s.Stream.Feedback != 2 || s.Accounts[0].Important != 2 {
		t.Errorf("got %+v, %+v", s.Stream, s.Accounts[0])
	}
}

func TestUndoingAndForgettingInTheStreamGoThroughTheTopic(t *testing.T) {
	t.Parallel()
	w, _ := startStream(t)
	w.put(t, streamMail(1), streamMail(2), kafka.Feedback{Ref: kafka.Ref{Message: "1@example.net"}, Label: true, Source: "explicit"})
	w.done(t, 3)
	before := time.Now().Add(-time.Hour)
	dry, err := do(t.Context(), w.At, desk.Unlearn, streamedAccount, desk.UnlearnRequest{To: before, DryRun: true})
	if err != nil || dry.Lessons != 1 || dry.Sent {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if out, err := do(t.Context(), w.At, desk.Unlearn, streamedAccount, desk.UnlearnRequest{To: before}); err != nil || !out.Sent || out.DryRun || out.Lessons != 1 {
		t.Fatalf("undo: %+v, %v", out, err)
	}
	if s := w.done(t, 4); s.Accounts[0].Important != 0 || s.Stream.Rewritten != 1 {
		t.Errorf("after the undo: %+v, %+v", s.Stream, s.Accounts[0])
	}
	if out, err := do(t.Context(), w.At, desk.Forget, streamedAccount, desk.ForgetRequest{Message: "<2@example.net>"}); err != nil || !out.Sent || out.Messages != 1 {
		t.Fatalf("forget: %+v, %v", out, err)
	}
	w.done(t, 5)
	if _, err := do(t.Context(), w.At, desk.Explain, streamedAccount, desk.ExplainRequest{Message: desk.Message{Name: "<2@example.net>"}}); !errors.Is(err, desk.ErrNoMessage) {
		t.Errorf("the forgotten message: %v", err)
	}
	if _, err := do(t.Context(), w.At, desk.Forget, streamedAccount, desk.ForgetRequest{Message: "<9@example.net>"}); !errors.Is(err, desk.ErrNoMessage) {
		t.Errorf("a message that nobody knows: %v", err)
	}
}

// TestAReloadGivesTheStreamOtherSettings: with the same connection, with another one, and
// with settings that can't be.
func TestAReloadGivesTheStreamOtherSettings(t *testing.T) {
	t.Parallel()
	w, _ := startStream(t)
	next := w.options
	other := kafka.New(w.client.Options())
	t.Cleanup(func() { other.Close() })
	for n := range 4 {
		w.put(t, streamMail(3*n), streamMail(3*n+1), streamMail(3*n+2))
		o := &next.Filter
		o.SilenceDays, o.Threshold = 10+n, filter.Threshold{Mode: filter.ModeFixed, Value: float64(10 + n)}
		if n == 2 {
			next.Broker = stream.Client(other)
		}
		if got, err := w.daemon.Reload(t.Context(), nil, &next); err != nil || !got.Stream {
			t.Fatalf("Reload = %+v, %v", got, err)
		}
		wrong := next
		wrong.Filter.TimeZone, wrong.Filter.SilenceDays = "Nowhere/Land", 77
		if got, err := w.daemon.Reload(t.Context(), nil, &wrong); err == nil || got.Stream {
			t.Fatalf("settings that can't be: %+v, %v", got, err)
		}
		// One more, whose record is certainly after them.
		w.put(t, kafka.Feedback{Ref: kafka.Ref{Message: kafka.MessageID(fmt.Sprintf("%d@example.net", 3*n))}, Label: true, Source: "explicit"})
		s := w.done(t, uint64(4*(n+1)))
		if a := s.Accounts[0]; a.Threshold != float64(10+n) || a.Messages != uint64(3*(n+1)) || a.Important != uint64(n+1) {
			t.Errorf("after reload %d: %+v", n, a)
		}
	}
	sound(t, w.At)
}
