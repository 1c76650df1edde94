// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
)

// script is a stream of mail in the making.
type script struct {
	t    *testing.T
	mail *testkit.Mail
	rng  *rand.Rand
	now  time.Time
	all  []read
	from *featurize.Featurizer
	open []testkit.Message // that the owner means to answer
}

func newScript(t *testing.T, seed uint64) *script {
	t.Helper()
	from := readerOf(t, testOptions().Featurize)
	return &script{
		t: t, mail: testkit.NewMail(seed), rng: rand.New(rand.NewPCG(seed, 9)),
		now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), from: from,
	}
}

func (s *script) add(m testkit.Message) {
	r := read{mail{Message: &archive.Message{Raw: m.Raw}, date: s.now}, s.from.Read(m.Raw)}
	r.message.Personal = false // as the streams are, it is mail of a list: silence about it is a no
	s.all = append(s.all, r)
}

// others write, a message every so often. The owner means to answer most of what is
// important, and now and then something else.
func (s *script) others(n int, every time.Duration) {
	for range n {
		s.now = s.now.Add(every)
		m := s.mail.Next()
		s.add(m)
		if chance := s.rng.IntN(100); m.Important && chance < 85 || chance < 4 {
			s.open = append(s.open, m)
		}
	}
}

// answers has the owner answer what they meant to, minutes apart.
func (s *script) answers() {
	for _, m := range s.open {
		s.now = s.now.Add(3 * time.Minute)
		s.add(s.mail.Reply(m))
	}
	s.open = nil
}

// days pass with 20 messages each, answered every three hours.
func (s *script) days(n int) {
	for range n * 4 {
		s.others(5, 35*time.Minute)
		s.answers()
		s.now = s.now.Add(3 * time.Hour)
	}
}

// life is a judge in the middle of a script.
type life struct {
	*judge
	t      *testing.T
	script *script
	at     int // messages played
	away   bool
}

// begin plays the first messages as the past.
func (s *script) begin(o filter.Options, past int) *life {
	s.t.Helper()
	known := answers{}
	for i, m := range s.all {
		for _, id := range m.message.InReplyTo {
			if hash := xxhash.Sum64String(id); m.message.FromOwner && known[hash] == 0 {
				known[hash] = i + 1
			}
		}
	}
	j, err := (&Play{Feedback: Live}).newJudge(o, known)
	testkit.OK(s.t, err)
	j.live, err = (&Play{Past: past}).newLive(known, len(s.all))
	testkit.OK(s.t, err)
	j.live.past = past // 0 here is no past, not the usual one
	testkit.OK(s.t, j.live.open(j.filter))
	l := &life{judge: j, t: s.t, script: s}
	l.until(past)
	return l
}

// until plays the messages before that one and returns what the marks on those that it
// played were worth.
func (l *life) until(end int) filter.Tally {
	l.t.Helper()
	before := l.live.marks
	for ; l.at < end; l.at++ {
		if l.away {
			l.live.acts = nil // who is away takes no marks off
		}
		testkit.OK(l.t, l.take(l.script.all[l.at]))
	}
	now := l.live.marks
	return filter.Tally{Hits: now.Hits - before.Hits, FalseAlarms: now.FalseAlarms - before.FalseAlarms, Missed: now.Missed - before.Missed}
}

func (l *life) lessons() uint64 {
	a := l.filter.State().Account
	return a.Important + a.Ordinary
}

// TestBulkArrival: 300 messages at once, which nobody answers, are marked as well as
// the same messages over a fortnight with the owner's answers.
func TestBulkArrival(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(3) {
		s := newScript(t, seed)
		s.days(40)
		past := len(s.all)
		s.days(15)
		spread := s.begin(testOptions(), past).until(len(s.all))

		bulk := newScript(t, seed)
		bulk.all = append(bulk.all, s.all[:past]...)
		for _, m := range s.all[past:] {
			if !m.message.FromOwner {
				m.date = s.all[past-1].date
				bulk.all = append(bulk.all, m)
			}
		}
		l := bulk.begin(testOptions(), past)
		l.truth = truthOf(s)
		learnt := l.lessons()
		got := l.until(len(bulk.all))
		if n := len(bulk.all) - past; n != 300 || l.lessons() != learnt {
			t.Fatalf("seed %d: of %d messages at once %d taught something", seed, n, l.lessons()-learnt)
		}
		if got.F1() < 0.9*spread.F1() || got.Hits < 20 {
			t.Errorf("seed %d: in bulk the marks have %+v, F1 %.3f; over days %+v, %.3f", seed, got, got.F1(), spread, spread.F1())
		}
		t.Logf("seed %d: in bulk %+v, F1 %.3f; over days %+v, %.3f", seed, got, got.F1(), spread, spread.F1())
	}
}

func truthOf(s *script) answers {
	known := answers{}
	for _, m := range s.all {
		for _, id := range m.message.InReplyTo {
			if m.message.FromOwner {
				known[xxhash.Sum64String(id)] = 1
			}
		}
	}
	return known
}

// TestHoliday: while there is no sign of the owner for two weeks, nothing is learnt from
// their silence; afterwards, with all of it answered late, marks are as before.
func TestHoliday(t *testing.T) {
	testkit.Computes(t)
	var sum [3]filter.Tally // before, away, after; one holiday alone has too few marks
	for seed := range uint64(3) {
		s := newScript(t, 10+seed)
		s.days(40)
		past := len(s.all)
		s.days(15)
		leaves := len(s.all)
		s.others(280, 72*time.Minute)
		returns := len(s.all)
		s.answers()
		back := len(s.all)
		s.days(15)
		l := s.begin(testOptions(), past)
		before := l.until(leaves)
		l.away = true
		// What they said, or left alone, before they left may still teach something: the
		// last of it is marked mail, three days later.
		l.until(leaves + 61)
		learnt := l.lessons()
		away := l.until(returns)
		l.away = false
		if n := l.lessons() - learnt; n != 0 {
			t.Errorf("seed %d: %d lessons in a holiday of two weeks", seed, n)
		}
		l.until(back)
		if l.lessons() == learnt {
			t.Errorf("seed %d: nothing was learnt after the holiday", seed)
		}
		after := l.until(len(s.all))
		t.Logf("seed %d: before %+v, F1 %.3f; away %+v, %.3f; after %+v, %.3f", seed, before, before.F1(), away, away.F1(), after, after.F1())
		for i, part := range []filter.Tally{before, away, after} {
			sum[i].Hits += part.Hits
			sum[i].FalseAlarms += part.FalseAlarms
			sum[i].Missed += part.Missed
		}
	}
	if before := sum[0].F1(); sum[1].F1() < 0.95*before || sum[2].F1() < 0.95*before {
		t.Errorf("the marks have F1 %.3f before the holidays, %.3f in them, %.3f after them", before, sum[1].F1(), sum[2].F1())
	}
}

// TestFirstStart: without a past nothing is marked until enough is learnt, and few of
// the marks that come then are wrong; with a past marks come from the first message on,
// and in the end both are as good.
func TestFirstStart(t *testing.T) {
	testkit.Computes(t)
	for seed := range uint64(3) {
		s := newScript(t, 20+seed)
		s.days(30)
		past := len(s.all)
		s.days(15)
		end := len(s.all)

		cold := s.begin(testOptions(), 0)
		for first := true; cold.at < past; {
			cold.until(cold.at + 1)
			st := cold.filter.Line().Standing()
			switch marks := cold.live.r.Marked; {
			case marks > 0 && st.Important < filter.FirstLabels && first:
				t.Errorf("seed %d: marked after %d important labels, standing %+v", seed, st.Important, st)
			case marks > 0:
				first = false
			}
		}
		begun := cold.live.marks
		if begun.Hits == 0 || begun.Precision() < testOptions().Threshold.Precision {
			t.Errorf("seed %d: the first marks are %+v", seed, begun)
		}
		warm := s.begin(testOptions(), past)
		if warm.filter.Line().InShadow() {
			t.Errorf("seed %d: after the past: %+v", seed, warm.filter.Line().Standing())
		}
		c, w := cold.until(end), warm.until(end)
		t.Logf("seed %d: first marks %+v; then without a past %+v, F1 %.3f; with one %+v, %.3f", seed, begun, c, c.F1(), w, w.F1())
		if w.F1() < 0.9*c.F1() {
			t.Errorf("seed %d: with a past the marks have F1 %.3f, without %.3f", seed, w.F1(), c.F1())
		}
	}
}

// TestLiveWithRules: a live play is compared with one without rules, as the others are.
func TestLiveWithRules(t *testing.T) {
	s := newScript(t, 3)
	s.days(10)
	var b bytes.Buffer
	for _, m := range s.all {
		testkit.AppendMbox(&b, m.Raw, m.date)
	}
	o := testOptions()
	o.Rules = []filter.Rule{{Match: "from:ann@example.org", Label: model.Important}}
	for _, judge := range []int{0, 20} {
		play := Play{Paths: []string{save(t, t.TempDir(), "mail.mbox", b.Bytes())}, Options: o, Feedback: Live, Judge: judge}
		r := ran(t, play)
		if r.Rules == nil || r.Rules.Matched+r.Rules.Unmatched != r.Examples || r.Rules.Unmatched == 0 {
			t.Errorf("of %d examples the rules decided %+v", r.Examples, r.Rules)
		}
	}
}

// TestLivePastAndJudge: they say what is judged, and change nothing of it.
func TestLivePastAndJudge(t *testing.T) {
	s := newScript(t, 5)
	s.days(30)
	var b bytes.Buffer
	others := 0
	for i, m := range s.all {
		testkit.AppendMbox(&b, m.Raw, m.date)
		if i >= 400 && !m.message.FromOwner {
			others++
		}
	}
	play := Play{
		Paths: []string{save(t, t.TempDir(), "mail.mbox", b.Bytes())}, Options: testOptions(), Feedback: Live, Past: 400,
	}
	run := func(judge int) *Result {
		t.Helper()
		play.Judge = judge
		r := ran(t, play)
		if r.Live.Past != 400 || judge > 0 && r.Examples != judge {
			t.Fatalf("after %d messages of the past %d were judged; want 400, %d", r.Live.Past, r.Examples, judge)
		}
		return r
	}
	all, same, some := run(0), run(others), run(40)
	if all.Examples != others || all.Live.Marked != same.Live.Marked || all.AveragePrecision != same.AveragePrecision {
		t.Errorf("judged are %d of %d, marked %d and %d", all.Examples, others, all.Live.Marked, same.Live.Marked)
	}
	if some.Live.Marked == 0 || some.Live.Marked >= all.Live.Marked || some.Live.FirstMark != all.Live.FirstMark || some.Messages >= all.Messages {
		t.Errorf("of the first 40 messages %d are marked, the first is number %d; of all %d, %d", some.Live.Marked, some.Live.FirstMark, all.Live.Marked, all.Live.FirstMark)
	}
	for _, p := range [][2]int{{-1, 0}, {0, -1}, {len(s.all), 0}} {
		play.Past, play.Judge = p[0], p[1]
		if _, err := play.Run(t.Context()); !errors.Is(err, ErrPlay) {
			t.Errorf("past %d, judge %d: %v", p[0], p[1], err)
		}
	}
}
