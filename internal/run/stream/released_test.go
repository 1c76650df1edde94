// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

var updateReleased = flag.Bool("update-released", false, "write the stores of the version in VERSION")

// releasedDir has a directory for each release: the store of a mailbox, the files of the partitions of a
// stream, its topics, and what all of it should say. Once a version is released, its directory stays as it is.
const releasedDir = "../../../store/boltfile/testdata/released"

// expected is what the stores of a release say, and should go on saying.
type expected struct {
	// Accounts are by name the digests of model and state.
	Accounts map[string][2]string
	Entries  int            // the ledger's
	Marks    map[string]int // of them by state
	Lessons  uint64
	// Scores are those of messages in the store, with the features that were frozen then, by key.
	Scores map[string]string
	// Probes are scores of mail that nobody has seen. Another version of the features, of which
	// Features is the fingerprint, may read something else in it.
	Features string
	Probes   []string
}

// ann is the account of the mailbox.
const ann = "ann"

// annOptions are as simple as they can be and lead to marks.
func annOptions() filter.Options {
	o := testFilter()
	o.Featurize.Owner = []string{"ann@example.org"}
	o.Marks, o.Settle = []string{"hinged"}, 0
	o.Threshold = filter.Threshold{Mode: filter.ModeFixed}
	return o
}

// mailbox is the life of ann.
type mailbox struct {
	t      *testing.T
	s      *boltfile.Store
	w      *writer.Writer
	reader *featurize.Featurizer
	at     store.Moment
	next   uint32 // UID
}

func openMailbox(t *testing.T, s *boltfile.Store) *mailbox {
	t.Helper()
	w, err := writer.Open(s, ann)
	testkit.OK(t, err)
	reader, err := featurize.New(annOptions().Featurize)
	testkit.OK(t, err)
	return &mailbox{t: t, s: s, w: w, reader: reader, at: max(store.MomentOf(epoch), w.Filter().State().Account.Clock), next: max(1, uint32(w.Filter().State().Account.Messages)+1)}
}

// apply gives ann one event and commits; marks that it asks for are set at once.
func (m *mailbox) apply(e filter.Event) filter.Result {
	m.t.Helper()
	r, err := m.w.Apply(e)
	testkit.OK(m.t, err)
	if m.w.Dirty() {
		commit(m.t, m.s, ann, m.w)
	}
	for _, mark := range r.Marks {
		m.apply(&filter.Settled{At: m.at, Ledger: mark.ID, Outcome: ingest.MarkDone, Flags: []string{"hinged"}})
	}
	return r
}

func (m *mailbox) place(uid uint32) filter.Place {
	return filter.Place{Mailbox: "INBOX", UIDValidity: 7, UID: uid}
}

// arrive brings message n, and says what it is worth where the owner does.
func (m *mailbox) arrive(n int, label model.Label) {
	m.t.Helper()
	m.at = m.at.Add(10 * time.Minute)
	read := m.reader.Read(mail(rand.New(rand.NewPCG(uint64(n), 1)), ann, n))
	m.apply(&filter.Arrived{At: m.at, Place: m.place(m.next), Meta: filter.NewMeta(read), Message: read})
	if m.next++; label != 0 {
		m.apply(&filter.Labelled{At: m.at, Message: store.MessageKey(read.Key), Label: label})
	}
}

// worth is what the owner thinks of message n, and says of two in three.
func worth(n int) model.Label {
	switch raw := mail(rand.New(rand.NewPCG(uint64(n), 1)), ann, n); {
	case n%3 == 0:
		return 0
	case bytes.Contains(raw, []byte("plan")):
		return model.Important
	}
	return model.Ordinary
}

// rewrite takes something back.
func (m *mailbox) rewrite(e past.RewriteRequest) past.Rewritten {
	m.t.Helper()
	done, _, err := m.w.Rewrite(m.t.Context(), e, func(st *store.State, rw store.Rewrite) error { return m.s.Rewrite(ann, st, rw) })
	testkit.OK(m.t, err)
	return done
}

// live has ann do all that a store keeps something of.
func (m *mailbox) live() {
	m.t.Helper()
	m.apply(&filter.Configured{At: m.at, Options: annOptions()})
	m.apply(&filter.Primed{At: m.at, Weights: testPrior()})
	m.apply(&filter.Opened{At: m.at, Mailbox: "INBOX", UIDValidity: 7, Role: ingest.RoleInbox})
	for n := range 90 {
		m.arrive(n, worth(n))
		m.apply(&filter.Reached{Mailbox: "INBOX", UIDValidity: 7, UIDNext: m.next, HighestModSeq: uint64(m.next)})
		switch n {
		case 40: // starred, and a mark taken off
			m.apply(&filter.Flagged{At: m.at, Place: m.place(3), Flags: []string{`\Flagged`}})
			for uid := range m.next {
				m.apply(&filter.Flagged{At: m.at, Place: m.place(uid), Flags: []string{`\Seen`}})
			}
		case 50:
			m.apply(&filter.Ruled{At: m.at, Rules: []filter.Rule{{Match: "from:sender4@example.net", Label: model.Important}}})
		case 60:
			m.rewrite(&past.UnlearnRequested{At: m.at, Since: m.at.Add(-30 * time.Minute)})
		case 70:
			m.rewrite(&past.ForgetRequested{At: m.at, Sender: filter.SenderOf("sender2@example.net")})
		}
	}
	m.apply(&filter.UndoRequested{At: m.at, Since: m.at.Add(-2 * time.Hour)})
}

// says is what a store of ann's says.
func (m *mailbox) says() expected {
	m.t.Helper()
	report, err := m.s.Verify(m.t.Context())
	testkit.OK(m.t, err)
	if !report.OK() || len(report.Accounts) != 1 {
		m.t.Fatalf("verify finds %v", report)
	}
	a := report.Accounts[0]
	f := m.w.Filter()
	out := expected{
		Accounts: map[string][2]string{ann: {a.ModelDigest, a.StateDigest}}, Lessons: a.Lessons,
		Scores: map[string]string{}, Marks: map[string]int{}, Features: annOptions().Featurize.Fingerprint(),
	}
	st := f.State()
	for _, e := range st.Ledger.All() {
		out.Entries++
		out.Marks[fmt.Sprint(e.State)]++
	}
	for n, key := range st.Messages.Keys() {
		if x, err := m.w.Features(store.MessageKey([]byte(key))); err == nil && n%9 == 0 {
			out.Scores[fmt.Sprintf("%x", key)] = fmt.Sprintf("%.9f", f.Learning().Score(x.Vector()))
		}
	}
	for n := range 5 {
		read := m.reader.Read(mail(rand.New(rand.NewPCG(uint64(n), 99)), ann, 1000+n))
		testkit.OK(m.t, f.Classify(read, func(d filter.Decision, _ *featurize.Features) {
			out.Probes = append(out.Probes, fmt.Sprintf("%.9f", d.Score))
		}))
	}
	for entry, err := range m.s.Journal(ann, 0) {
		testkit.OK(m.t, err)
		if _, err := filter.Decode(entry.Data); err != nil {
			m.t.Errorf("journal entry %d: %v", entry.Seq, err)
		}
	}
	return out
}

// topics are what the brokers kept of the stream of a release.
type topics struct{ Input, Snapshots []kafka.Record }

// brokers is a cluster that has the topics.
func (k topics) brokers() *cluster {
	c := newCluster(2)
	for _, r := range k.Input {
		c.put(testTopics.Input, r)
	}
	for _, r := range k.Snapshots {
		c.put(testTopics.Snapshots, r)
	}
	return c
}

// writeReleased writes the stores of a version.
func writeReleased(t *testing.T, dir string) {
	t.Helper()
	testkit.OK(t, os.RemoveAll(dir))
	testkit.OK(t, os.MkdirAll(dir, 0o755))
	s, err := boltfile.Open(filepath.Join(t.TempDir(), "hinged.db"), boltfile.Options{NoSync: true, CheckpointEvery: 40, JournalCap: 80})
	testkit.OK(t, err)
	m := openMailbox(t, s)
	m.live()
	want := m.says()
	if want.Entries < 10 || want.Lessons < 20 || len(want.Scores) < 5 || len(want.Marks) < 2 {
		t.Errorf("the mailbox has too little of something: %+v", want)
	}
	var file bytes.Buffer
	_, err = s.Backup(&file)
	testkit.OK(t, err)
	testkit.OK(t, s.Close())
	writePacked(t, filepath.Join(dir, "hinged.db.gz"), file.Bytes())

	c := newCluster(2)
	for n := range 75 {
		account := fmt.Sprintf("user%d", n%3)
		at := epoch.Add(time.Duration(n) * time.Minute)
		raw := mail(rand.New(rand.NewPCG(uint64(n), 2)), account, n)
		c.put(testTopics.Input, messageRecord(account, raw, at))
		if label := map[bool]string{true: "important", false: "ordinary"}[bytes.Contains(raw, []byte("plan"))]; n%2 == 0 {
			c.put(testTopics.Input, feedbackRecord(account, fmt.Sprintf("%d.%s@example.net", n, account), label, "explicit", at))
		}
		switch n {
		case 45:
			c.put(testTopics.Input, kafka.Encode(kafka.Unlearn{Since: at.Add(-8 * time.Minute)}, account, fmt.Sprint(n), "test", at))
		case 55:
			c.put(testTopics.Input, kafka.Encode(kafka.Forget{Sender: "sender3@example.net"}, account, fmt.Sprint(n), "test", at))
		}
	}
	p := running(t, c, small)
	allSaved(t, c)
	for name := range digests(t, p.store) {
		st, err := p.store.Load(name)
		testkit.OK(t, err)
		learnt, state := store.Digest(st)
		want.Accounts[name] = [2]string{learnt, state}
	}
	files := FilesOf(p.path)
	p.stop()
	for _, name := range namesIn(t, p.path) {
		if strings.HasSuffix(name, ".db") {
			writePacked(t, filepath.Join(dir, "partitions", name+".gz"), testkit.Read(t, filepath.Join(files, name)))
		}
	}
	kept, err := json.Marshal(topics{c.all(testTopics.Input), c.all(testTopics.Snapshots)})
	testkit.OK(t, err)
	writePacked(t, filepath.Join(dir, "topics.json.gz"), kept)
	text, err := json.MarshalIndent(want, "", "\t")
	testkit.OK(t, err)
	testkit.Write(t, filepath.Join(dir, "expected.json"), append(text, '\n'))
}

func writePacked(t *testing.T, path string, text []byte) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	testkit.OK(t, err)
	_, err = z.Write(text)
	testkit.OK(t, err)
	testkit.OK(t, z.Close())
	testkit.Write(t, path, out.Bytes())
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(testkit.Read(t, path)))
	testkit.OK(t, err)
	text, err := io.ReadAll(z)
	testkit.OK(t, err)
	return text
}

// TestR15ReleasedStoresOpen, say what they said, and go on learning.
func TestR15ReleasedStoresOpen(t *testing.T) {
	version := strings.TrimSpace(string(testkit.Read(t, "../../../VERSION")))
	if *updateReleased {
		writeReleased(t, filepath.Join(releasedDir, version))
	}
	entries, err := os.ReadDir(releasedDir)
	testkit.OK(t, err)
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == version }) {
		t.Errorf("no store of version %s is kept (go test ./internal/run/stream -run Released -update-released)", version)
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			dir := filepath.Join(releasedDir, e.Name())
			var want expected
			testkit.OK(t, json.Unmarshal(testkit.Read(t, filepath.Join(dir, "expected.json")), &want))
			t.Run("mailbox", func(t *testing.T) { mailboxOpens(t, dir, want) })
			var kept topics
			testkit.OK(t, json.Unmarshal(unpacked(t, filepath.Join(dir, "topics.json.gz")), &kept))
			stream := map[string]string{}
			for name, digests := range want.Accounts {
				if name != ann {
					stream[name] = digests[1]
				}
			}
			t.Run("partitions", func(t *testing.T) { partitionsOpen(t, dir, kept, stream) })
			t.Run("snapshots", func(t *testing.T) { snapshotsAreTaken(t, kept, stream) })
		})
	}
}

// mailboxOpens opens the store of ann's mailbox.
func mailboxOpens(t *testing.T, dir string, want expected) {
	path := filepath.Join(t.TempDir(), "hinged.db")
	testkit.Write(t, path, unpacked(t, filepath.Join(dir, "hinged.db.gz")))
	s, err := boltfile.Open(path, boltfile.Options{NoSync: true})
	testkit.OK(t, err)
	defer func() { testkit.OK(t, s.Close()) }()
	m := openMailbox(t, s)
	got := m.says()
	if got.Features != want.Features {
		t.Logf("mail is read otherwise since (%s, %s): scores of other mail are not compared", want.Features, got.Features)
		got.Features, got.Probes = want.Features, want.Probes
	}
	if want.Accounts = map[string][2]string{ann: want.Accounts[ann]}; !sameJSON(t, got, want) {
		t.Errorf("it says\n%+v, want\n%+v", got, want)
	}
	// It goes on, with the options of today, and takes back what it learnt before and since.
	m.apply(&filter.Configured{At: m.at, Options: annOptions()})
	for n := range 30 {
		m.arrive(200+n, worth(200+n))
	}
	if done := m.rewrite(&past.UnlearnRequested{At: m.at, Since: m.at.Add(-6 * time.Hour)}); done.Lessons < 21 {
		t.Errorf("of the lessons of 6 hours it takes %d back, want those from before the upgrade, too", done.Lessons)
	}
	m.rewrite(&past.ForgetRequested{At: m.at, Sender: filter.SenderOf("sender1@example.net")})
	m.says()
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	testkit.OK(t, err)
	y, err := json.Marshal(b)
	testkit.OK(t, err)
	return bytes.Equal(x, y)
}

// partitionsOpen starts a process with the files of a release, which then reads more.
func partitionsOpen(t *testing.T, dir string, kept topics, want map[string]string) {
	c := kept.brokers()
	p := newProcess(t, c)
	entries, err := os.ReadDir(filepath.Join(dir, "partitions"))
	testkit.OK(t, err)
	testkit.OK(t, os.MkdirAll(FilesOf(p.path), 0o700))
	for _, e := range entries {
		testkit.Write(t, filepath.Join(FilesOf(p.path), strings.TrimSuffix(e.Name(), ".gz")), unpacked(t, filepath.Join(dir, "partitions", e.Name())))
	}
	p.run()
	sameDigests(t, digests(t, p.store), want)
	goesOn(t, c, p)
}

// snapshotsAreTaken has a process take over what a release left in its topics.
func snapshotsAreTaken(t *testing.T, kept topics, want map[string]string) {
	c := kept.brokers()
	retain(t, c)
	p := newProcess(t, c)
	takesOver(t, c, p, want)
	goesOn(t, c, p)
}

// goesOn has a process learn from more mail.
func goesOn(t *testing.T, c *cluster, p *process) {
	t.Helper()
	before := digests(t, p.store)
	for n := range 20 {
		account, at := fmt.Sprintf("user%d", n%3), epoch.Add(time.Duration(200+n)*time.Minute)
		c.put(testTopics.Input, messageRecord(account, mail(rand.New(rand.NewPCG(uint64(n), 3)), account, 500+n), at))
		c.put(testTopics.Input, feedbackRecord(account, fmt.Sprintf("%d.%s@example.net", 500+n, account), "important", "explicit", at))
	}
	eventually(t, func() error { return caughtUp(c, p) })
	for name, digest := range digests(t, p.store) {
		if before[name] == digest {
			t.Errorf("%s has learnt nothing more", name)
		}
	}
	sound(t, p.store)
	if len(before) != 3 {
		t.Errorf("there are %d accounts, want 3", len(before))
	}
}
