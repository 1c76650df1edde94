// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/prior"
	"github.com/hinged/hinged/internal/testkit"
)

// bulkPast and bulkJudged are those of TestLife in internal/e2e.
const (
	bulkPast   = 3000
	bulkJudged = 300
)

// BenchmarkBulk compares mail that arrives at once, all of it a minute after the past, to
// which nobody answers, with the same mail as it came and was answered. At each place of a
// stream the 3,000 messages before it are the past and the next 300 from others are judged;
// F1 is that of all marks. TestLife does the same with a real mail server, at a few places.
// HINGED_BENCH_MBOX and HINGED_BENCH_OWNER say what stream, HINGED_BENCH_PRIOR the prior
// (default: none), HINGED_BENCH_STEP how far the places are apart (250). Without a stream
// it is generated, and shorter.
func BenchmarkBulk(b *testing.B) {
	path, address, step, past, judged := os.Getenv("HINGED_BENCH_MBOX"), os.Getenv("HINGED_BENCH_OWNER"), 250, bulkPast, bulkJudged
	if path == "" {
		mbox, _ := testkit.Answered(1500, 4)
		path, address, past, judged = filepath.Join(b.TempDir(), "mail.mbox"), owner, 800, 100
		if err := os.WriteFile(path, mbox, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if s := os.Getenv("HINGED_BENCH_STEP"); s != "" {
		var err error
		if step, err = strconv.Atoi(s); err != nil || step < 1 {
			b.Fatalf("HINGED_BENCH_STEP=%q; want a number above 0", s)
		}
	}
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{address}
	o.Shadow = filter.ShadowOff
	all := readStream(b, path, o.Featurize)
	for b.Loop() {
		var live, bulk filter.Tally
		places := 0
		for place := past; place+judged < len(all); place += step {
			places++
			p := bulkPlay{b: b, o: o, mail: all[place-past:], past: past, judged: judged}
			p.play(&live, false)
			p.play(&bulk, true)
		}
		b.ReportMetric(float64(places), "places")
		b.ReportMetric(live.F1(), "F1-as-it-came")
		b.ReportMetric(bulk.F1(), "F1-in-bulk")
	}
}

// readStream reads all messages of an archive.
func readStream(b *testing.B, path string, o featurize.Options) (all []read) {
	b.Helper()
	reader, err := featurize.New(o)
	if err != nil {
		b.Fatal(err)
	}
	s, err := openStream([]source{{path, 0}}, o.MaxBytes)
	if err != nil {
		b.Fatal(err)
	}
	err = s.each(func(m mail) error {
		message := reader.Read(bytes.Clone(m.Raw))
		own := *m.Message
		own.Raw = nil
		m.Message = &own
		all = append(all, read{m, message})
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.close(); err != nil {
		b.Fatal(err)
	}
	return all
}

// bulkPlay is one place of a stream.
type bulkPlay struct {
	b            *testing.B
	o            filter.Options
	mail         []read
	past, judged int
}

// play adds the marks of this place to sum. atOnce: what comes after the past comes within
// one moment, without the owner's own mail.
func (p bulkPlay) play(sum *filter.Tally, atOnce bool) {
	p.b.Helper()
	known := answers{}
	for i, m := range p.mail {
		if m.message.FromOwner {
			known.add(m.message, i+1, 0)
		}
	}
	play := Play{Feedback: Live, Past: p.past, Judge: p.judged, Options: p.o, NoCeiling: true}
	if name := os.Getenv("HINGED_BENCH_PRIOR"); name != "" {
		w, err := prior.Named(name)
		if err != nil {
			p.b.Fatal(err)
		}
		if w != nil {
			play.Prior = w.Pack()
		}
	}
	j, err := play.newJudge(p.o, known)
	if err != nil {
		p.b.Fatal(err)
	}
	if j.live, err = play.newLive(known, len(p.mail)); err != nil {
		p.b.Fatal(err)
	}
	if err := j.live.open(j.filter); err != nil {
		p.b.Fatal(err)
	}
	then := p.mail[p.past-1].date.Add(time.Minute)
	for i, m := range p.mail {
		if atOnce && i >= p.past {
			if m.message.FromOwner {
				continue
			}
			m.date, j.live.acts = then, nil
		}
		if err := j.take(m); err != nil {
			p.b.Fatal(err)
		}
		if j.live.over() {
			break
		}
	}
	sum.Hits += j.live.marks.Hits
	sum.FalseAlarms += j.live.marks.FalseAlarms
	sum.Missed += j.live.marks.Missed
}
