// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/past"
	"github.com/hinged/hinged/internal/testkit"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// world is a filter with what a daemon would keep beside it, and a mailbox to
// play in. Its clock moves only when a test says so.
type world struct {
	t        testing.TB
	f        *filter.Filter
	features filter.Memory
	frozen   []freezing // all that were frozen, in order
	journal  [][]byte
	now      time.Time
	uids     map[string]uint32
	validity map[string]uint32
	reader   *featurize.Featurizer
	lessons  []store.Lesson
	past     []store.Lesson // all that the store would have
	marks    []ingest.MarkRequest
	// restart rebuilds the filter from its state before every event, as a crash
	// and a restart would.
	restart bool
	before  func() // called before every event, if it is there
	undos   bool   // a storm has marks taken back, too
	tells   bool   // a storm has feedback by name, also before its message
	rules   bool   // a storm has rules come and go
	expired []filter.Expired
	// takes: what the owner takes back is taken back at once, as the daemon does; takenBack counts
	// the lessons. Then base is the state with which the journal begins.
	takes     bool
	base      *store.State
	takenBack int
	// personal: mail comes from persons, to the owner alone; otherwise from who knows where.
	personal bool
}

// freezing are features that were frozen with the entry-th entry of the journal.
type freezing struct {
	entry int
	key   store.MessageKey
	data  store.FeatureRecord
}

const owner = "owner@example.org"

func testOptions() filter.Options {
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{owner}
	o.Threshold, o.Shadow = filter.Threshold{Mode: filter.ModeFixed, Value: 0}, filter.ShadowOff
	return o
}

func newWorld(t testing.TB, o filter.Options) *world {
	t.Helper()
	w := &world{
		t: t, features: filter.Memory{}, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
		uids: map[string]uint32{}, validity: map[string]uint32{},
	}
	var err error
	w.f, err = filter.New(store.NewState(), w.features)
	testkit.OK(t, err)
	w.reader, err = featurize.New(o.Featurize)
	testkit.OK(t, err)
	w.apply(&filter.Configured{At: w.moment(), Options: o})
	for name, role := range map[string]ingest.Role{
		"INBOX": ingest.RoleInbox, "Sent": ingest.RoleSent, "Junk": ingest.RoleJunk, "Trash": ingest.RoleTrash, "Keep": ingest.RoleOther,
		"Drafts": ingest.RoleDrafts,
	} {
		w.open(name, role, 1)
	}
	return w
}

func (w *world) moment() store.Moment { return store.MomentOf(w.now) }

func (w *world) open(name string, role ingest.Role, validity uint32) {
	w.validity[name], w.uids[name] = validity, 0
	w.apply(&filter.Opened{At: w.moment(), Mailbox: name, Role: role, UIDValidity: validity})
}

// apply gives an event to the filter as the daemon does: the journal holds it,
// the store the features.
func (w *world) apply(e filter.Event) filter.Result {
	w.t.Helper()
	if w.before != nil {
		w.before()
	}
	if w.restart {
		f := w.restarted()
		w.f = f
	}
	r, err := w.f.Apply(e)
	testkit.OK(w.t, err)
	if !r.Changed {
		return r
	}
	entry, err := filter.Encode(e)
	testkit.OK(w.t, err)
	w.journal = append(w.journal, entry)
	if r.Features != nil {
		w.features.Keep(r.Decision.Message, r.Features, true)
		w.frozen = append(w.frozen, freezing{len(w.journal), r.Decision.Message, w.features[r.Decision.Message]})
	}
	for _, l := range r.Lessons {
		w.past = append(w.past, l)
		if l.Learnt() {
			w.lessons = append(w.lessons, l)
		}
	}
	w.marks = append(w.marks, r.Marks...)
	w.expired = append(w.expired, r.Expired...)
	if w.takes && len(w.f.Waits.TakenBack()) > 0 {
		w.takenBack += w.rewrite(&past.TakeBackRequested{At: w.f.State().Account.Clock}).Lessons
	}
	return r
}

// restarted is the filter after a restart.
func (w *world) restarted() *filter.Filter {
	w.t.Helper()
	f, err := filter.New(w.f.State(), w.features)
	testkit.OK(w.t, err)
	return f
}

// begin returns a state from which the journal can be replayed: that after the past was last
// rewritten, or a new one.
func (w *world) begin() *store.State {
	w.t.Helper()
	if w.base == nil {
		return store.NewState()
	}
	return copyState(w.t, w.base)
}

// copyState returns a copy of a state, as a checkpoint keeps it.
func copyState(t testing.TB, st *store.State) *store.State {
	t.Helper()
	out := store.NewState()
	testkit.OK(t, st.Records(1<<20, out.Apply))
	return out
}

// replayed returns the filter that a replay of the journal gives.
func (w *world) replayed() *filter.Filter {
	w.t.Helper()
	f, _, err := past.Replay(w.begin(), w.entries(), w.features)
	testkit.OK(w.t, err)
	return f
}

// threeWays plays a life, and once more with a restart before every event, and replays the first.
// All must come to the same digests.
func threeWays(t testing.TB, o filter.Options, play func(*world)) (calm, shaken *world) {
	t.Helper()
	calm, shaken = newWorld(t, o), newWorld(t, o)
	shaken.restart = true
	play(calm)
	play(shaken)
	wantSameDigest(t, "restarted", calm.f, shaken.f)
	wantSameDigest(t, "replayed", calm.f, calm.replayed())
	return calm, shaken
}

// mail builds a message. Its words are those given, its Message-ID is id.
func mail(id, from, to, words string, headers ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\n", from, to, words)
	if id != "" {
		fmt.Fprintf(&b, "Message-ID: <%s>\r\n", id)
	}
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	fmt.Fprintf(&b, "\r\nHello, about %s and nothing else.\r\n", words)
	return b.Bytes()
}

type letter struct {
	place filter.Place
	key   store.MessageKey
	raw   []byte
}

// arrived brings a message into a mailbox as a source reports it with e, now unless e says when.
func (w *world) arrived(mailbox string, raw []byte, e filter.Arrived, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	w.uids[mailbox]++
	m := w.reader.Read(raw)
	l := letter{placeAt(mailbox, w.validity[mailbox], w.uids[mailbox]), m.Key, raw}
	e.Place, e.Flags, e.Meta, e.Message = l.place, ingest.CanonicalFlags(flags), filter.NewMeta(m), m
	e.Meta.Personal = e.Meta.Personal && w.personal
	if e.At == 0 {
		e.At = w.moment()
	}
	return l, w.apply(&e)
}

// deliver puts a message into a mailbox.
func (w *world) deliver(mailbox string, raw []byte, flags ...string) (letter, filter.Result) {
	w.t.Helper()
	return w.arrived(mailbox, raw, filter.Arrived{}, flags...)
}

// vanish has a message gone from its place.
func (w *world) vanish(l letter) filter.Result {
	w.t.Helper()
	return w.apply(&filter.Vanished{At: w.moment(), Mailbox: l.place.Mailbox, UIDValidity: l.place.UIDValidity, UIDs: []uint32{l.place.UID}})
}

func (w *world) flag(l letter, flags ...string) filter.Result {
	w.t.Helper()
	return w.apply(&filter.Flagged{At: w.moment(), Place: l.place, Flags: ingest.CanonicalFlags(flags)})
}

// read has the owner read a marked message.
func (w *world) read(l letter) filter.Result {
	w.t.Helper()
	return w.flag(l, "$Important", `\Seen`)
}

// move takes a message to another mailbox, with its flags, as IMAP's MOVE does.
func (w *world) move(l letter, to string, flags ...string) letter {
	w.t.Helper()
	w.vanish(l)
	moved, _ := w.deliver(to, l.raw, flags...)
	return moved
}

// done answers a mark request as the source does when the STORE succeeded.
func (w *world) done(m ingest.MarkRequest, flags ...string) filter.Result {
	w.t.Helper()
	return w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkDone,
		Flags: ingest.CanonicalFlags(append(append([]string{m.Flag}, m.Known...), flags...))})
}

func (w *world) wait(d time.Duration) filter.Result {
	w.t.Helper()
	w.now = w.now.Add(d)
	return w.apply(&filter.Ticked{At: w.moment()})
}

func (w *world) row(l letter) store.Message {
	w.t.Helper()
	m, ok := w.f.State().Messages.Get(string(l.key[:]))
	if !ok {
		w.t.Fatalf("message %x is not known", l.key)
	}
	return m
}

// taught is a world whose filter has been taught.
func taught(t testing.TB, o filter.Options) *world {
	t.Helper()
	w := newWorld(t, o)
	w.teach()
	return w
}

// marked is an urgent message that was marked.
func (w *world) marked(n int) (letter, ingest.MarkRequest) {
	w.t.Helper()
	l, m := w.urgent(n)
	w.done(m)
	return l, m
}

// teach makes the word "urgent" important and "newsletter" ordinary.
func (w *world) teach() {
	w.t.Helper()
	for i := range 6 {
		// Ordinary first: after an important label alone, whatever comes is marked.
		b, _ := w.deliver("INBOX", mail(fmt.Sprintf("n%d@x", i), "news@example.net", "list@example.net", fmt.Sprintf("newsletter issue %d", i)))
		w.apply(&filter.Labelled{At: w.moment(), Message: b.key, Label: model.Ordinary})
		a, _ := w.deliver("INBOX", mail(fmt.Sprintf("u%d@x", i), "boss@example.com", owner, fmt.Sprintf("urgent matter %d", i)))
		w.apply(&filter.Labelled{At: w.moment(), Message: a.key, Label: model.Important})
	}
	set := map[ingest.Place][]string{}
	for _, m := range w.marks {
		w.done(m, set[m.Place]...)
		set[m.Place] = append(set[m.Place], m.Flag)
	}
	w.lessons, w.marks = nil, nil
}

// urgent delivers a message that a taught world marks, and returns its request.
func (w *world) urgent(n int) (letter, ingest.MarkRequest) {
	w.t.Helper()
	w.marks = nil
	l, r := w.deliver("INBOX", mail(fmt.Sprintf("urgent%d@x", n), "boss@example.com", owner, fmt.Sprintf("urgent thing %d", n)))
	if r.Decision == nil || r.Decision.Outcome != store.DecidedImportant {
		w.t.Fatalf("the world was taught badly: %+v", r.Decision)
	}
	if len(w.marks) != 1 {
		w.t.Fatalf("%d marks requested, want 1 (reason %v)", len(w.marks), r.Decision.Reason)
	}
	return l, w.marks[0]
}

// teaches waits, and demands what was learnt since it was asked last.
func (w *world) teaches(after time.Duration, what string, want ...string) {
	w.t.Helper()
	w.wait(after)
	w.wantLessons(what, want...)
}

func (w *world) wantLessons(what string, want ...string) {
	w.t.Helper()
	var got []string
	for _, l := range w.lessons {
		got = append(got, l.Label.String()+" by "+l.Source.String())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%s: lessons %q, want %q", what, got, want)
	}
	w.lessons = nil
}

func (w *world) wantLedger(n uint64, want store.LedgerState) {
	w.t.Helper()
	e, ok := w.f.State().Ledger.Get(store.LedgerKey(n))
	if !ok || e.State != want {
		w.t.Fatalf("ledger entry %d is %v (there: %v), want %v", n, e.State, ok, want)
	}
}

// storm plays a random but seeded life of a mailbox: arrivals, marks carried
// out, refused and in conflict, stars, answers, moves, renumbering, time.
func (w *world) storm(seed uint64, steps int) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	words := []string{"urgent", "newsletter", "invoice", "lunch", "kernel", "patch", "holiday", "meeting"}
	var letters []letter
	flags := map[filter.Place]map[string]bool{}
	list := func(p filter.Place) (out []string) {
		for _, f := range []string{`\Seen`, `\Flagged`, `\Answered`, "$Important", "$Junk"} {
			if flags[p][f] {
				out = append(out, f)
			}
		}
		return out
	}
	for i := range steps {
		w.now = w.now.Add(time.Duration(rng.IntN(40)) * time.Second)
		if rng.IntN(40) == 0 {
			w.now = w.now.Add(30 * time.Hour)
		}
		if w.rules && rng.IntN(30) == 0 {
			var list []filter.Rule
			for _, match := range []string{"from:person1@example.com", "from:person2@example.com", "subject:urgent", "subject:patch", "to:" + owner, "from:@example.com"} {
				if rng.IntN(3) == 0 {
					list = append(list, filter.Rule{match, model.Label(1 - 2*rng.IntN(2))})
				}
			}
			if rng.IntN(3) == 0 {
				o := w.f.Options()
				o.Rules = list
				w.apply(&filter.Configured{At: w.moment(), Options: o})
			} else {
				w.apply(&filter.Ruled{At: w.moment(), Rules: list})
			}
			w.wantObedient()
		}
		if w.tells && rng.IntN(3) == 0 {
			// Of a message that has come, will come, or never does.
			raw := mail(fmt.Sprintf("m%d@x", i+rng.IntN(40)-20), "a@example.com", owner, "early")
			w.tell(raw, model.Label(1-2*rng.IntN(2)), store.SourceAnswered+store.Source(rng.IntN(6)))
			if len(letters) > 0 && rng.IntN(2) == 0 {
				l := letters[rng.IntN(len(letters))]
				w.apply(&filter.Labelled{At: w.moment(), Message: l.key, Label: model.Label(1 - 2*rng.IntN(2)), Waits: true})
			}
		}
		pick := func() (letter, bool) {
			if len(letters) == 0 {
				return letter{}, false
			}
			return letters[rng.IntN(len(letters))], true
		}
		switch n := rng.IntN(20); {
		case n < 9:
			text := words[rng.IntN(len(words))] + " " + words[rng.IntN(len(words))]
			from := fmt.Sprintf("person%d@example.com", rng.IntN(8))
			l, _ := w.deliver("INBOX", mail(fmt.Sprintf("m%d@x", i), from, owner, fmt.Sprintf("%s %d", text, i)))
			flags[l.place] = map[string]bool{}
			letters = append(letters, l)
		case n < 11:
			if l, ok := pick(); ok {
				w.deliver("Sent", mail(fmt.Sprintf("own%d@x", i), owner, "person1@example.com", fmt.Sprintf("reply %d", i),
					"In-Reply-To: <"+w.reader.Read(l.raw).MessageID+">"))
			}
		case n < 15:
			if l, ok := pick(); ok {
				f := []string{`\Seen`, `\Flagged`, `\Answered`, "$Important", "$Junk"}[rng.IntN(5)]
				flags[l.place][f] = !flags[l.place][f]
				w.flag(l, list(l.place)...)
			}
		case n < 16:
			if l, ok := pick(); ok && flags[l.place] != nil {
				to := []string{"Junk", "Trash", "Keep", "INBOX"}[rng.IntN(4)]
				moved := w.move(l, to, list(l.place)...)
				flags[moved.place] = flags[l.place]
				for j := range letters {
					if letters[j].place == l.place {
						letters[j] = moved
					}
				}
			}
		case n < 17:
			w.wait(time.Duration(rng.IntN(90)) * time.Second)
			if w.undos && rng.IntN(4) == 0 {
				w.apply(&filter.UndoRequested{At: w.moment(), Since: w.moment().Add(-time.Duration(rng.IntN(48)) * time.Hour)})
			}
		default:
			for first := true; len(w.marks) > 0 && (first || w.undos); first = false {
				m := w.marks[0]
				w.marks = w.marks[1:]
				p := m.Place
				if flags[p] == nil {
					flags[p] = map[string]bool{}
				}
				var cleared *filter.Place
				if m.Clear {
					cleared = &p
				}
				switch rng.IntN(4) {
				case 0:
					flags[p][`\Seen`] = true
					w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkConflict, Flags: ingest.CanonicalFlags(list(p)), Cleared: cleared})
				case 1:
					w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkGone, Cleared: cleared})
				default:
					flags[p]["$Important"] = !m.Clear
					w.apply(&filter.Settled{At: w.moment(), Ledger: m.ID, Outcome: ingest.MarkDone, Flags: ingest.CanonicalFlags(list(p)), Cleared: cleared})
				}
			}
		}
	}
	w.wait(20 * 24 * time.Hour)
}

func placeKey(p filter.Place) string { return store.PlaceKey(p.Mailbox, p.UID) }

func placeAt(mailbox string, validity, uid uint32) filter.Place {
	return filter.Place{Mailbox: mailbox, UIDValidity: validity, UID: uid}
}
