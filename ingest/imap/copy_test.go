// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

// copier is an account with one message in INBOX, of which copies are asked for.
type copier struct {
	*testing.T
	*running
	owner *testkit.Owner
	place ingest.Place
	raw   []byte
	n     uint64
	at    int
}

func newCopier(t *testing.T, d *testkit.Dovecot, addr string) *copier {
	o := dovecotOptions(d)
	o.Address = addr
	c := &copier{T: t, running: startSource(t, o), owner: d.Owner(t), raw: testkit.NewMail(7).Next().Raw}
	uid := c.owner.Append("INBOX", c.raw, time.Now())
	e, at := c.await("the message", 0, arrivalOf("INBOX", uid))
	c.place, c.at = e.(ingest.Arrival).Place, at
	return c
}

// ask asks for what the request says, of the message, and returns the answer.
func (c *copier) ask(r ingest.MarkRequest) ingest.MarkResult {
	c.Helper()
	c.n++
	r.ID, r.CopyTo = c.n, "Important"
	if r.Place == (ingest.Place{}) {
		r.Place = c.place
	}
	c.source.Mark(r)
	e, at := c.await("the answer", c.at, resultOf(r.ID))
	c.at = at
	return e.(ingest.MarkResult)
}

func (c *copier) want(what string, r ingest.MarkResult, o ingest.MarkOutcome, detail string, copies int) {
	c.Helper()
	if r.Outcome != o || !strings.Contains(r.Detail, detail) || r.CopyTo != "Important" {
		c.Errorf("%s: %v %q, want %v %q", what, r.Outcome, r.Detail, o, detail)
	}
	c.owner.Select("Important")
	if n := len(c.owner.All("Important")); n != copies {
		c.Errorf("%s: there are %d copies, want %d", what, n, copies)
	}
}

// TestACopyIsMadeOnceAndTakenBackAlone: the folder is made, what is there already is not
// made again, and only a copy that is as it was is deleted, while the message lies elsewhere.
func TestACopyIsMadeOnceAndTakenBackAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"maildir", "mdbox"} {
		t.Run(format, func(t *testing.T) {
			d := testkit.StartDovecot(t, testkit.DovecotOptions{Format: format})
			c := newCopier(t, d, d.Addr)
			remove := func(of ingest.Copied) ingest.MarkRequest {
				return ingest.MarkRequest{Clear: true, Copied: of, Known: []string{"$hinged", "$important"}}
			}
			if r := c.ask(ingest.MarkRequest{Find: true, Again: true}); r.Outcome != ingest.MarkGone {
				t.Errorf("found before it was made: %+v", r)
			}
			first := c.ask(ingest.MarkRequest{})
			c.want("the first", first, ingest.MarkDone, "", 1)
			if want := (ingest.Place{Mailbox: "Important", UIDValidity: c.owner.Select("Important"), UID: 1}); first.Copied.Place != want || first.Copied.Sum == "" {
				t.Errorf("the copy is %+v, want it at %+v", first.Copied, want)
			}
			again := c.ask(ingest.MarkRequest{Again: true})
			c.want("again", again, ingest.MarkDone, "", 1)
			found := c.ask(ingest.MarkRequest{Again: true, Find: true})
			c.want("found", found, ingest.MarkDone, "", 1)
			if again.Copied != first.Copied || found.Copied != first.Copied {
				t.Errorf("again it is %+v, found it is %+v, want %+v", again.Copied, found.Copied, first.Copied)
			}
			other := c.ask(ingest.MarkRequest{})
			c.want("somebody else's", other, ingest.MarkConflict, "", 1)
			if other.Copied.UID != 1 {
				t.Errorf("the one that was there is %+v", other.Copied)
			}

			// The owner says something on the copy.
			c.owner.Set("Important", 1, `\Flagged`)
			c.want("a starred copy", c.ask(remove(first.Copied)), ingest.MarkImpossible, `the flags \flagged`, 1)
			c.owner.Set("INBOX", c.place.UID, `\Flagged`)
			c.owner.Set("Important", 1, `\Seen`, "$Important", "$Hinged")
			neighbour := c.owner.Append("Important", []byte("Subject: another\r\n\r\none\r\n"), time.Now(), `\Deleted`)
			wrong := first.Copied
			wrong.Sum = "another"
			c.want("another message's sum", c.ask(remove(wrong)), ingest.MarkImpossible, "the only one left", 2)
			wrong = first.Copied
			wrong.UIDValidity++
			c.want("another UIDVALIDITY", c.ask(remove(wrong)), ingest.MarkImpossible, "numbered anew", 2)
			wrong = first.Copied
			wrong.UID = neighbour
			c.want("another message", c.ask(remove(wrong)), ingest.MarkImpossible, "another message", 2)
			wrong.UID = 0
			c.want("nobody knows where", c.ask(remove(wrong)), ingest.MarkImpossible, "did not say", 2)
			c.want("read, and marked by us", c.ask(remove(first.Copied)), ingest.MarkDone, "", 1)
			c.want("twice", c.ask(remove(first.Copied)), ingest.MarkGone, "", 1)
			if flags, ok := c.owner.Flags("Important", neighbour); !ok || !slices.Equal(flags, []string{`\deleted`}) {
				t.Errorf("the neighbour, which its owner marked as deleted, has %q (there: %v)", flags, ok)
			}

			// The message is about to go, or gone: what is left of it is the copy.
			next := c.ask(ingest.MarkRequest{Known: []string{`\flagged`}})
			c.want("the next", next, ingest.MarkDone, "", 2)
			changed := c.ask(ingest.MarkRequest{Known: []string{`\answered`}})
			c.want("changed in between", changed, ingest.MarkConflict, "", 2)
			if !slices.Equal(changed.Flags, []string{`\flagged`}) {
				t.Errorf("its flags are %q", changed.Flags)
			}
			c.owner.Set("INBOX", c.place.UID, `\Deleted`)
			c.want("the message is marked as deleted", c.ask(remove(next.Copied)), ingest.MarkImpossible, "the only one left", 2)
			c.owner.Expunge("INBOX", c.place.UID)
			c.want("the message is gone", c.ask(remove(next.Copied)), ingest.MarkImpossible, "the only one left", 2)
			nowhere := remove(next.Copied)
			nowhere.Place = ingest.Place{Mailbox: "Nowhere", UIDValidity: 1, UID: 1}
			c.want("the message lies nowhere", c.ask(nowhere), ingest.MarkImpossible, "the only one left", 2)
			c.want("no message to copy", c.ask(ingest.MarkRequest{}), ingest.MarkGone, "", 2)
		})
	}
}

// TestAnotherTextIsNoCopy: the owner keeps messages in Important whose Message-ID, Date, From
// and Subject are those of one that is to be copied, and whose text is not: a list's version
// of it, or a forged one. hinged was killed before it made the copy. None of them is ours.
func TestAnotherTextIsNoCopy(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	c := newCopier(t, d, d.Addr)
	c.owner.Create("Important")
	longer := append(bytes.Clone(c.raw), "\r\nThe contract that you asked for, which is nowhere else.\r\n"...)
	asLong := append(bytes.Clone(c.raw[:len(c.raw)-3]), "?\r\n"...)
	kept := []uint32{c.owner.Append("Important", longer, time.Now()), c.owner.Append("Important", asLong, time.Now())}
	put := c.ask(ingest.MarkRequest{Again: true}) // as after a restart
	c.want("the copy", put, ingest.MarkDone, "", 3)
	if put.Copied.UID <= kept[1] {
		t.Errorf("a message of the owner's is taken for our copy: %+v", put.Copied)
	}
	found := c.ask(ingest.MarkRequest{Again: true})
	c.want("again", found, ingest.MarkDone, "", 3)
	if found.Copied != put.Copied {
		t.Errorf("again it is %+v, want %+v", found.Copied, put.Copied)
	}
	for _, uid := range kept {
		wrong := put.Copied
		wrong.UID = uid
		c.want("the owner's", c.ask(ingest.MarkRequest{Clear: true, Copied: wrong}), ingest.MarkImpossible, "a text that is nowhere else", 3)
	}
	c.want("undone", c.ask(ingest.MarkRequest{Clear: true, Copied: put.Copied}), ingest.MarkDone, "", 2)
	for _, uid := range kept {
		if flags, there := c.owner.Flags("Important", uid); !there || ingest.HasFlag(flags, `\Deleted`) {
			t.Errorf("UID %d of the owner's: there %v, with %q", uid, there, flags)
		}
	}
}

// TestACopyIsNotMadeTwiceWhenItsAnswerIsLost: the connection breaks between COPY and OK.
func TestACopyIsNotMadeTwiceWhenItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{})
	wire := testkit.StartProxy(t, d.Addr)
	c := newCopier(t, d, wire.Addr)
	c.owner.Create("Important")
	wire.FreezeAfter("COPY", 1)
	c.n++
	c.source.Mark(ingest.MarkRequest{ID: c.n, Place: c.place, CopyTo: "Important"})
	testkit.Until(t, func() bool { return len(c.owner.All("Important")) > 0 }, "the copy was never made")
	wire.Thaw()
	e, _ := c.await("the answer", 0, resultOf(c.n))
	r := e.(ingest.MarkResult)
	c.want("after the break", r, ingest.MarkDone, "", 1)
	if r.Copied.UID != 1 {
		t.Errorf("the copy is %+v", r.Copied)
	}
}

// TestACopyGoesWhereTheServerHasTheFolder: below its prefix, or by its special use.
func TestACopyGoesWhereTheServerHasTheFolder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, want string
		there        bool
	}{
		"made":                    {"", "Important", false},
		"made below a prefix":     {testkit.BelowInbox, "INBOX.Important", false},
		"the special use has one": {"namespace inbox {\n  mailbox Wichtig {\n    special_use = \\Important\n    auto = create\n  }\n}\n", "Wichtig", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: c.config})
			p, err := Reach(t.Context(), dovecotOptions(d))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := p.Login(t.Context()); err != nil {
				t.Fatal(err)
			}
			mailbox, there, able, err := p.CopyTarget(t.Context(), "Important")
			if err != nil || mailbox != c.want || there != c.there || !able {
				t.Errorf("copies go to %q (there: %v, able: %v, %v), want %q (%v)", mailbox, there, able, err, c.want, c.there)
			}
			k := newCopier(t, d, d.Addr)
			if r := k.ask(ingest.MarkRequest{}); r.Outcome != ingest.MarkDone || r.Copied.Mailbox != c.want {
				t.Errorf("the copy: %+v", r)
			}
			if n := len(k.owner.All(c.want)); n != 1 {
				t.Errorf("%d messages are in %s", n, c.want)
			}
			sub, err := k.owner.Client().List("", "*", &imap.ListOptions{SelectSubscribed: true}).Collect()
			if err != nil || !c.there && !slices.ContainsFunc(sub, func(l *imap.ListData) bool { return l.Mailbox == c.want }) {
				t.Errorf("subscribed: %+v, %v", sub, err)
			}
		})
	}
}

// TestWithoutUIDPLUSNoCopyIsMade, since it could not be taken back; and one that the
// server does not say the place of is found.
func TestWithoutUIDPLUSNoCopyIsMade(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: "imap_capability = IMAP4rev1 LITERAL+ SASL-IR ENABLE IDLE MOVE UNSELECT SPECIAL-USE LIST-EXTENDED CONDSTORE"})
	c := newCopier(t, d, d.Addr)
	c.owner.Create("Important")
	c.want("without UIDPLUS", c.ask(ingest.MarkRequest{}), ingest.MarkImpossible, "no UIDPLUS", 0)
}

// TestAMailboxThatCanOnlyBeReadIsCopiedFrom: a server that opens INBOX read-only, takes no
// STORE, and leaves COPYUID out.
func TestAMailboxThatCanOnlyBeReadIsCopiedFrom(t *testing.T) {
	t.Parallel()
	copied := 0
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Permanent = ""
		open := ""
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			switch name, args := cmd.Name, cmd.Args; {
			case name == "LIST":
				c.Line(`* LIST () "/" INBOX`)
				c.Line(`* LIST () "/" Important`)
				c.Line("%s OK listed", cmd.Tag)
			case (name == "SELECT" || name == "EXAMINE") && strings.Contains(args, "Important"):
				open = "Important"
				c.Line("* %d EXISTS", copied)
				c.Line("* OK [UIDVALIDITY 9] valid")
				c.Line("%s OK [READ-ONLY] open", cmd.Tag)
			case name == "SELECT" || name == "EXAMINE":
				open = "INBOX"
				c.Line("* 1 EXISTS")
				c.Line("* OK [UIDVALIDITY 1] valid")
				c.Line("* OK [UIDNEXT 2] next")
				c.Line("* OK [PERMANENTFLAGS ()] none")
				c.Line("%s OK [READ-ONLY] open", cmd.Tag)
			case name == "UID STORE":
				c.Line("%s NO the mailbox is read-only", cmd.Tag)
			case name == "UID COPY":
				copied++
				c.Line("%s OK copied", cmd.Tag)
			case name == "UID SEARCH" && open == "Important":
				c.Line("* ESEARCH (TAG %q) UID ALL 41", cmd.Tag)
				c.Line("%s OK found", cmd.Tag)
			case name == "UID FETCH" && open == "Important" && strings.Contains(args, "BODY.PEEK[]"):
				c.Line("* 1 FETCH (UID 41 BODY[] {%d}\r\n%s)", len(plainMail), plainMail)
				c.Line("%s OK fetched", cmd.Tag)
			case name == "UID FETCH" && strings.Contains(args, "HEADER.FIELDS"):
				uid := "1"
				if open == "Important" {
					uid = "41"
				}
				c.Line("* 1 FETCH (UID %s FLAGS () RFC822.SIZE 100 BODY[HEADER.FIELDS (Message-ID Date From Subject)]<0> {26}\r\nMessage-ID: <one@a.test>\r\n)", uid)
				c.Line("%s OK fetched", cmd.Tag)
			default:
				return false
			}
			return true
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	r := startSource(t, o)
	e, _ := r.await("the message", 0, arrivalOf("INBOX", 1))
	place := e.(ingest.Arrival).Place
	r.source.Mark(ingest.MarkRequest{ID: 1, Place: place, Flag: "$Important"}, ingest.MarkRequest{ID: 2, Place: place, CopyTo: "Important"})
	e, _ = r.await("the mark", 0, resultOf(1))
	if m := e.(ingest.MarkResult); m.Outcome != ingest.MarkImpossible {
		t.Errorf("the mark: %+v", m)
	}
	e, _ = r.await("the copy", 0, resultOf(2))
	if m := e.(ingest.MarkResult); m.Outcome != ingest.MarkDone || m.Copied.UID != 41 || m.Copied.UIDValidity != 9 {
		t.Errorf("the copy: %+v", m)
	}
}

// keptCopy asks for a copy with these flags to be taken back, from a server that answers UID
// EXPUNGE so and keeps it. It returns the arguments of the STOREs, and the answer.
func keptCopy(t *testing.T, flags, expunged string) (stores []string, result ingest.MarkResult) {
	header, open := "Message-ID: <one@a.test>\r\n", ""
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			switch {
			case cmd.Name == "SELECT" || cmd.Name == "EXAMINE":
				open = cmd.Args
				return false
			case cmd.Name == "UID FETCH" && strings.Contains(cmd.Args, "BODY.PEEK[]"):
				c.Line("* 1 FETCH (UID 1 BODY[] {%d}\r\n%s)", len(plainMail), plainMail)
				c.OK(cmd)
			case cmd.Name == "UID FETCH" && strings.Contains(cmd.Args, "HEADER.FIELDS"):
				now := ""
				if strings.Contains(open, "Important") {
					now = flags
				}
				c.Line("* 1 FETCH (UID 1 FLAGS (%s) RFC822.SIZE %d BODY[HEADER.FIELDS (Message-ID Date From Subject)]<0> {%d}\r\n%s)", now, len(plainMail), len(header), header)
				c.OK(cmd)
			case cmd.Name == "UID STORE":
				stores = append(stores, cmd.Args)
				c.OK(cmd)
			case cmd.Name == "UID EXPUNGE":
				c.Line("%s %s", cmd.Tag, expunged)
			default:
				return boxes(f, c, cmd, "INBOX", "Important")
			}
			return true
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.markPause = time.Millisecond
	r := startSource(t, o)
	e, _ := r.await("the message", 0, arrivalOf("INBOX", 1))
	place := e.(ingest.Arrival).Place
	sum := sha256.Sum256([]byte(header))
	r.source.Mark(ingest.MarkRequest{
		ID: 1, Place: place, CopyTo: "Important", Clear: true,
		Copied: ingest.Copied{
			Place: ingest.Place{Mailbox: "Important", UIDValidity: place.UIDValidity, UID: 1},
			Sum:   hex.EncodeToString(sum[:16]),
		},
	})
	e, _ = r.await("the answer", 0, resultOf(1))
	return stores, e.(ingest.MarkResult)
}

// TestACopyThatIsNotExpungedIsNotLeftDeleted: the server says no, or yes and keeps it. A mail
// program would hide the copy, or delete it later.
func TestACopyThatIsNotExpungedIsNotLeftDeleted(t *testing.T) {
	t.Parallel()
	for name, expunged := range map[string]string{"no": "NO [NOPERM] not here", "yes": "OK done"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores, m := keptCopy(t, "", expunged)
			if m.Outcome != ingest.MarkImpossible {
				t.Errorf("the copy: %+v", m)
			}
			if n := len(stores); n == 0 || n%2 != 0 || !strings.Contains(stores[n-2], `+FLAGS (\Deleted)`) || !strings.Contains(stores[n-1], `-FLAGS (\Deleted)`) {
				t.Errorf("the STOREs were %q", stores)
			}
		})
	}
}

// TestACopyThatItsOwnerDeletedStaysDeleted when the server refuses to expunge it.
func TestACopyThatItsOwnerDeletedStaysDeleted(t *testing.T) {
	t.Parallel()
	stores, m := keptCopy(t, `\Deleted`, "NO [NOPERM] not here")
	for _, s := range stores {
		if strings.Contains(s, `-FLAGS (\Deleted)`) {
			t.Errorf("the owner had deleted the copy; the STOREs were %q, %+v", stores, m)
		}
	}
}

// TestACopyOverWhichTheConnectionBreaksIsGivenUp, so that the other mailboxes are watched
// again; and one that the server refuses is at once.
func TestACopyOverWhichTheConnectionBreaksIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(c *testkit.FakeConn, cmd testkit.FakeCommand)
		asked  int
	}{
		"broken":     {func(c *testkit.FakeConn, _ testkit.FakeCommand) { c.Close() }, maxFailed},
		"in trouble": {func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [SERVERBUG] see the log", cmd.Tag) }, maxFailed},
		"refused":    {func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO not today", cmd.Tag) }, 1},
		"full":       {func(c *testkit.FakeConn, cmd testkit.FakeCommand) { c.Line("%s NO [OVERQUOTA] full", cmd.Tag) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			f := testkit.StartFake(t, func(f *testkit.Fake) {
				f.Handle = func(conn *testkit.FakeConn, cmd testkit.FakeCommand) bool {
					if cmd.Name != "UID FETCH" || !strings.Contains(cmd.Args, "HEADER.FIELDS") {
						return false
					}
					asked.Add(1)
					c.answer(conn, cmd)
					return true
				}
			})
			f.Add(plainMail, "")
			o := only(f)
			o.markPause = time.Millisecond
			r := startSource(t, o)
			e, _ := r.await("the message", 0, arrivalOf("INBOX", 1))
			r.source.Mark(ingest.MarkRequest{ID: 1, Place: e.(ingest.Arrival).Place, CopyTo: "Important"})
			e, _ = r.await("the answer", 0, resultOf(1))
			if m := e.(ingest.MarkResult); m.Outcome != ingest.MarkImpossible || int(asked.Load()) != c.asked {
				t.Errorf("after %d attempts: %+v, want it impossible after %d", asked.Load(), m, c.asked)
			}
		})
	}
}
