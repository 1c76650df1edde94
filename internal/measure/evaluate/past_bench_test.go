// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

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
