// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// BenchmarkPast compares what the flags of a mailbox's past may count for. The
// first 70 % of a stream are the past, as bootstrap reads it; what the model is
// worth shows in the rest, which arrives without flags and is learnt from as live:
// by the owner's answers and by silence. The stream is generated, or that of the
// mbox file in HINGED_BENCH_MBOX, whose owner is HINGED_BENCH_OWNER.
func BenchmarkPast(b *testing.B) {
	path, address := os.Getenv("HINGED_BENCH_MBOX"), os.Getenv("HINGED_BENCH_OWNER")
	if path == "" {
		mbox, _ := testkit.Answered(2000, 4)
		path, address = filepath.Join(b.TempDir(), "mail.mbox"), owner
		testkit.OK(b, os.WriteFile(path, mbox, 0o600))
	}
	for _, way := range []struct {
		name          string
		important, no []string // flags of what was answered and of what was not
		shadow        filter.Shadow
	}{
		{"flags-at-arrival", []string{`\answered`, `\seen`}, []string{`\seen`}, filter.ShadowOn},
		// As the first, but what is decided important is marked, and a marked message
		// that is left alone teaches nothing.
		{"flags-at-arrival-then-marking", []string{`\answered`, `\seen`}, []string{`\seen`}, filter.ShadowOff},
		{"answers-from-Sent-alone", []string{`\seen`}, []string{`\seen`}, filter.ShadowOn},
		{"no-at-once", []string{`\answered`, `\seen`}, []string{`\deleted`}, filter.ShadowOn},
	} {
		b.Run(way.name, func(b *testing.B) {
			for range b.N {
				playPast(b, path, address, way.important, way.no, way.shadow)
			}
		})
	}
}

func playPast(b *testing.B, path, address string, important, no []string, shadow filter.Shadow) {
	b.Helper()
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{address}
	o.Shadow = shadow
	each := func(fn func(mail) error) {
		s := streamOf(b, []source{{path, 0}}, o.Featurize.MaxBytes)
		testkit.OK(b, s.each(fn))
		testkit.OK(b, s.close())
	}
	reader := readerOf(b, o.Featurize)
	total, known := 0, answers{}
	each(func(m mail) error {
		total++
		if message := reader.Read(m.Raw); message.FromOwner {
			for _, id := range message.InReplyTo {
				known[xxhash.Sum64String(id)] = 1
			}
		}
		return nil
	})
	features := filter.Memory{}
	f, err := filter.New(store.NewState(), features)
	testkit.OK(b, err)
	apply := func(e filter.Event) filter.Result {
		r, err := f.Apply(e)
		testkit.OK(b, err)
		return r
	}
	apply(&filter.Configured{Options: o})
	apply(&filter.Opened{Mailbox: "INBOX", UIDValidity: 1, Role: ingest.RoleInbox})
	apply(&filter.Opened{Mailbox: "Sent", UIDValidity: 1, Role: ingest.RoleSent})
	var past, live Stream
	n := uint32(0)
	each(func(m mail) error {
		n++
		message := reader.Read(bytes.Clone(m.Raw))
		e := &filter.Arrived{
			At: store.MomentOf(m.date), Place: filter.Place{Mailbox: "INBOX", UIDValidity: 1, UID: n},
			Backlog: int(n) <= total*7/10, Meta: filter.NewMeta(message), Message: message,
		}
		label := known.label(message, m)
		switch {
		case message.FromOwner:
			e.Place.Mailbox = "Sent"
		case e.Backlog && label == model.Important:
			e.Flags = important
		case e.Backlog:
			e.Flags = no
		}
		d := apply(e).Decision
		if d == nil {
			return nil
		}
		stream := &live
		if e.Backlog {
			stream = &past
		}
		stream.Add(d.Score, d.Above, d.Correspondent, label)
		features.Keep(d.Message, e.Features, true)
		return err
	})
	b.ReportMetric(f.Line().Standing().Decisions.Precision(), "precision-said-at-the-end")
	for name, s := range map[string]*Stream{"past": &past, "live": &live} {
		d, baselines := s.Compare()
		b.ReportMetric(d.F1, "F1-"+name)
		b.ReportMetric(d.AveragePrecision, "AP-"+name)
		b.ReportMetric(d.Precision, "precision-"+name)
		b.ReportMetric(baselines.KnownCorrespondents.F1, "F1-known-correspondents-"+name)
	}
}

// lessonsOf plays an archive with immediate feedback and returns what was learnt, in
// order.
func lessonsOf(tb testing.TB, path, owner string) []model.Lesson {
	tb.Helper()
	var out []model.Lesson
	p := Play{Paths: []string{path}, Options: filter.DefaultOptions(), Learnt: func(e model.Lesson) { out = append(out, e) }}
	p.Options.Featurize.Owner = []string{owner}
	if _, err := p.Run(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return out
}

// BenchmarkKernelsOnMail measures kernel learners on an archive of one's own: average
// precision, mistakes, supports, and the time of a score against that of the loop of
// sparse dot products over the same supports.
func BenchmarkKernelsOnMail(b *testing.B) {
	path, owner := os.Getenv("HINGED_BENCH_MBOX"), os.Getenv("HINGED_BENCH_OWNER")
	if path == "" || owner == "" {
		b.Skip("HINGED_BENCH_MBOX and HINGED_BENCH_OWNER name an archive and its owner")
	}
	lessons := lessonsOf(b, path, owner)
	pa := model.DefaultSpec()
	perceptron := pa
	perceptron.Kind = model.KindPerceptron
	type test struct {
		name string
		spec model.KernelSpec
	}
	var tests []test
	for d := model.Kernel(1); d <= 3; d++ {
		tests = append(tests,
			test{fmt.Sprintf("perceptron degree %d", d), model.KernelSpec{Spec: perceptron, Kernel: d}},
			test{fmt.Sprintf("PA-II degree %d", d), model.KernelSpec{Spec: pa, Kernel: d}})
	}
	for _, budget := range []int{500, 2000, 5000} {
		tests = append(tests,
			test{fmt.Sprintf("budget %d perceptron degree 2", budget), model.KernelSpec{Spec: perceptron, Kernel: 2, Budget: budget}},
			test{fmt.Sprintf("budget %d PA-II degree 2", budget), model.KernelSpec{Spec: pa, Kernel: 2, Budget: budget}})
	}
	for _, c := range tests {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				l, err := model.NewKernel(c.spec)
				testkit.OK(b, err)
				var judged []Judged
				mistakes := 0
				start := time.Now()
				for _, e := range lessons {
					u := l.Learn(e)
					judged = append(judged, Judged{u.Score, e.Label})
					if u.Mistake {
						mistakes++
					}
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/float64(len(lessons)), "µs/lesson")
				b.ReportMetric(AveragePrecision(judged), "AP")
				b.ReportMetric(float64(mistakes), "mistakes")
				b.ReportMetric(float64(l.Len()), "supports")
				b.ReportMetric(l.TakeDisplaced(), "displaced")
			}
		})
	}
	const supports = 5000
	l, err := model.NewKernel(model.KernelSpec{Spec: model.Spec{Kind: model.KindMargin, Margin: 1e9}, Kernel: 2})
	testkit.OK(b, err)
	for _, e := range lessons { // with so great a margin every one becomes a support
		if l.Len() < supports {
			l.Learn(e)
		}
	}
	all := l.Supports()
	asked := lessons[len(lessons)-200:]
	b.Run(fmt.Sprintf("score %d supports by the index", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			l.Score(asked[n%len(asked)].Vector)
		}
	})
	b.Run(fmt.Sprintf("score %d supports in a loop", len(all)), func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			sum, x := 0.0, asked[n%len(asked)].Vector[1:]
			for _, s := range all {
				k := 1 + model.Dot(s.Vector, x)
				sum += s.Alpha * k * k
			}
		}
	})
}
