// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// step is something that the owner does to a message that starts with before,
// and the flags after it.
type step struct {
	name   string
	before []string
	set    []string
	clear  []string
	after  []string
}

var flagMatrix = []step{
	{name: "mark", set: []string{"$Important"}, after: []string{"$important"}},
	{name: "unmark", before: []string{"$Important"}, clear: []string{"$Important"}},
	{name: "star", set: []string{`\Flagged`}, after: []string{`\flagged`}},
	{name: "unstar", before: []string{`\Flagged`, `\Seen`}, clear: []string{`\Flagged`}, after: []string{`\seen`}},
	{name: "answer", set: []string{`\Answered`, `\Seen`}, after: []string{`\answered`, `\seen`}},
	{name: "junk", before: []string{"$Important"}, set: []string{"$Junk"}, after: []string{"$important", "$junk"}},
	{name: "read", set: []string{`\Seen`}, after: []string{`\seen`}},
	{name: "label", set: []string{"Project-X"}, after: []string{"project-x"}},
}

// servers are kinds of servers that a source must cope with alike.
var servers = []struct {
	name   string
	config string
}{
	{"idle and condstore", ""},
	{"no condstore", "imap_capability = IMAP4rev1 LITERAL+ SASL-IR ENABLE IDLE UIDPLUS MOVE UNSELECT SPECIAL-USE LIST-EXTENDED"},
	{"no idle", "imap_capability = IMAP4rev1 LITERAL+ SASL-IR ENABLE CONDSTORE ESEARCH UIDPLUS MOVE"},
	{"next to nothing", "imap_capability = IMAP4rev1"},
}

func (s step) do(o *testkit.Owner, mailbox string, uid uint32) {
	if len(s.set) > 0 {
		o.Set(mailbox, uid, s.set...)
	}
	if len(s.clear) > 0 {
		o.Clear(mailbox, uid, s.clear...)
	}
}

// TestFlagsMatrix has the owner change flags while the source is connected and
// while it is away: both must give the same FlagsChanged, in INBOX and elsewhere.
func TestFlagsMatrix(t *testing.T) {
	t.Parallel()
	for _, server := range servers {
		for _, mailbox := range []string{"INBOX", "Archive"} {
			t.Run(server.name+"/"+mailbox, func(t *testing.T) {
				t.Parallel()
				d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: server.config})
				owner := d.Owner(t)
				mail := testkit.NewMail(5)
				var uids []uint32
				for range 2 {
					for _, s := range flagMatrix {
						m := mail.Next()
						uids = append(uids, owner.Append(mailbox, m.Raw, m.Date, s.before...))
					}
				}
				o := dovecotOptions(d)
				o.RecheckInterval = 300 * time.Millisecond // the only way without CONDSTORE where there is no IDLE
				r := startSource(t, o)
				_, at := r.await("scan", 0, cursorOf(mailbox, uids[len(uids)-1]+1))
				awaitConnected(t, r) // from then on what it sees happened under its eyes
				for i, s := range flagMatrix {
					s.do(owner, mailbox, uids[i])
				}
				for i, s := range flagMatrix {
					e, _ := r.await(s.name+" while connected", at, flagsOf(mailbox, uids[i], s.after...))
					if e.(ingest.FlagsChanged).Away {
						t.Errorf("%s while connected is said to have happened while we were away", s.name)
					}
				}
				// A Cursor may still be on its way; what it would say is asked again.
				r.stop()
				before := r.all()

				for i, s := range flagMatrix {
					s.do(owner, mailbox, uids[len(flagMatrix)+i])
				}
				r = startSource(t, o, known(nil, before)...)
				for i, s := range flagMatrix {
					e, _ := r.await(s.name+" while away", 0, flagsOf(mailbox, uids[len(flagMatrix)+i], s.after...))
					if !e.(ingest.FlagsChanged).Away {
						t.Errorf("%s while away is said to have been seen live", s.name)
					}
				}
				r.stop()
				changes := map[uint32]int{}
				for _, e := range append(before, r.all()...) {
					switch e := e.(type) {
					case ingest.FlagsChanged:
						changes[e.UID]++
					case ingest.Vanished:
						t.Errorf("nothing was deleted, yet %+v", e)
					}
				}
				for i, uid := range uids {
					s := flagMatrix[i%len(flagMatrix)]
					if n := changes[uid]; n == 0 || n > max(1, len(s.set)+len(s.clear)) {
						t.Errorf("%s: %d changes of UID %d were reported", s.name, n, uid)
					}
				}
			})
		}
	}
}

func TestArrivalsExpungesAndMovesOnEveryKindOfServer(t *testing.T) {
	t.Parallel()
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: server.config})
			owner := d.Owner(t)
			mail := testkit.NewMail(6)
			var uids []uint32
			add := func() {
				m := mail.Next()
				uids = append(uids, owner.Append("INBOX", m.Raw, m.Date))
			}
			for range 5 {
				add()
			}
			o := dovecotOptions(d)
			r := startSource(t, o)
			_, at := r.await("scan", 0, cursorOf("INBOX", uids[4]+1))
			awaitConnected(t, r)
			vanished := func(uid uint32) func(ingest.Event) bool {
				return func(e ingest.Event) bool {
					v, ok := e.(ingest.Vanished)
					return ok && v.Mailbox == "INBOX" && slices.Contains(v.UIDs, uid)
				}
			}
			owner.Expunge("INBOX", uids[1])
			r.await("expunge", at, vanished(uids[1]))
			there := owner.Move("INBOX", uids[3], "Junk")
			r.await("move out", at, vanished(uids[3]))
			e, _ := r.await("move in", at, arrivalOf("Junk", there))
			if e.(ingest.Arrival).Backlog {
				t.Error("what was moved later is called backlog")
			}
			// Junk was the last mailbox to be opened. Without UNSELECT it still is.
			m := mail.Next()
			second := owner.Append("Junk", m.Raw, m.Date)
			r.await("second arrival in one mailbox", at, arrivalOf("Junk", second))
			add()
			r.await("arrival", at, arrivalOf("INBOX", uids[5]))
			r.stop()
			k := known(nil, r.all())
			owner.Expunge("INBOX", uids[0])
			add()
			r = startSource(t, o, k...)
			r.await("expunge while away", 0, vanished(uids[0]))
			e, _ = r.await("arrival while away", 0, arrivalOf("INBOX", uids[6]))
			if e.(ingest.Arrival).Backlog {
				t.Error("what arrived while away is called backlog")
			}
			r.stop()
			checkTwin(t, owner, "INBOX", known(k, r.all()))
		})
	}
}

// checkTwin compares what a store would know of a mailbox with a plain fetch of
// all of it.
func checkTwin(t *testing.T, owner *testkit.Owner, mailbox string, all []ingest.Known) {
	t.Helper()
	for _, k := range all {
		if k.Mailbox != mailbox {
			continue
		}
		stored := owner.All(mailbox)
		if len(stored) != len(k.Flags) {
			t.Errorf("%s: %d messages known, the server has %d", mailbox, len(k.Flags), len(stored))
		}
		for _, m := range stored {
			flags, ok := k.Flags[m.UID]
			if !ok || fmt.Sprint(flags) != fmt.Sprint(m.Flags) {
				t.Errorf("%s UID %d: known with %q (%v), the server has %q", mailbox, m.UID, flags, ok, m.Flags)
			}
			if ingest.HasFlag(m.Flags, `\Seen`) {
				t.Errorf("%s UID %d became \\Seen", mailbox, m.UID)
			}
		}
		return
	}
	t.Errorf("nothing is known of %s", mailbox)
}

func TestUntrustedCertificateIsRefusedBeforeAnythingIsSaid(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{TLS: true})
	o := dovecotOptions(d)
	o.TLSConfig = nil // the system's roots do not know the test's certificate
	r := startSource(t, o)
	problem := awaitProblem(t, r, "certificate")
	if r.source.Status().Connected {
		t.Errorf("connected in spite of %q", problem)
	}
	if len(r.all()) != 0 {
		t.Errorf("events came from an untrusted server:\n%s", describeEvents(r.all()))
	}
}
