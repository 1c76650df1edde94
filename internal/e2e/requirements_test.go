// SPDX-License-Identifier: Apache-2.0

// Long: the requirements of shared mailboxes and of the owner's word stand in one file.

package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit"
)

// The requirements that are about whose word is heard, each with an owner of its own on
// every kind of server.

// variants are the kinds of servers. The first two differ in everything and are those of
// make test; make soak asks for all of them.
var variants = []struct {
	name      string
	format    string
	tls       bool
	condstore bool
}{
	{"maildir", "maildir", false, true},
	{"mdbox over TLS, no CONDSTORE", "mdbox", true, false},
	{"maildir over TLS", "maildir", true, true},
	{"mdbox, no CONDSTORE", "mdbox", false, false},
}

const noCondstore = "imap_capability = IMAP4rev1 LITERAL+ SASL-IR ENABLE IDLE UIDPLUS MOVE UNSELECT SPECIAL-USE LIST-EXTENDED"

// unwatched is a second user of every server, whose mailbox no daemon watches.
const unwatched = "unwatched@example.org"

// resident is an owner with a mailbox on a server, and what they would do by hand.
type resident struct {
	*testing.T
	imap        *testkit.Dovecot // nil: it is a server of another make
	wire        *testkit.Proxy   // between daemons and server
	certificate string           // the file with the proxy's; "" without TLS
	login       testkit.Login
	user        string
	*testkit.Owner
	condstore bool
	n         int // letters written
}

// daemon makes a daemon for the owner's mailbox, not started yet. connection is more TOML
// for how the server is reached.
func (o *resident) daemon(extra string, connection ...string) *site {
	o.Helper()
	protection := `tls = "none"`
	if o.certificate != "" {
		protection = fmt.Sprintf("tls = \"tls\"\nca_file = %q", o.certificate)
	}
	login := o.login
	login.Addr = o.wire.Addr
	s := siteFor(o.T, login, o.TempDir(), "debug", "companion = \"$Hinged\"\n"+extra,
		strings.Join(append(connection, protection, `poll_interval = "1s"`), "\n"))
	s.imap = o.imap
	return s
}

// onEveryServer runs a test for an owner on each kind of server. dovecot is more lines for
// their configuration.
func onEveryServer(t *testing.T, test func(o *resident), dovecot ...string) {
	t.Parallel()
	for _, v := range variants[:testkit.FromEnv("HINGED_SERVERS", 2)] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			options := testkit.DovecotOptions{Format: v.format, TLS: v.tls, Users: []string{"owner@example.org", unwatched}, Config: strings.Join(dovecot, "\n")}
			if !v.condstore {
				options.Config += "\n" + noCondstore
			}
			d := testkit.StartDovecot(t, options)
			o := &resident{T: t, imap: d, login: d.MailServer().Login, user: d.User, Owner: d.Owner(t), condstore: v.condstore}
			if v.tls {
				o.wire = testkit.StartTLSProxy(t, d.Addr, d.TLSConfig)
				o.certificate = filepath.Join(t.TempDir(), "ca.pem")
				testkit.Write(t, o.certificate, o.wire.Certificate)
			} else {
				o.wire = testkit.StartProxy(t, d.Addr)
			}
			test(o)
		})
	}
}

// urgent and dull deliver a message that a taught daemon marks, and one that it does not.
func (o *resident) urgent(mailbox string, flags ...string) uint32 {
	o.n++
	return o.Append(mailbox, letter(1000+o.n, boss, o.user, "urgent matter"), time.Now(), flags...)
}

func (o *resident) dull(flags ...string) uint32 {
	o.n++
	return o.Append("INBOX", letter(1000+o.n, news, "list@example.net", "weekly newsletter"), time.Now(), flags...)
}

// isMarked reports whether a message in INBOX bears the mark.
func (o *resident) isMarked(uid uint32) bool {
	o.Helper()
	flags, _ := o.Flags("INBOX", uid)
	return slices.Contains(flags, "$important")
}

// replace replaces all flags of a message by others, as some mail programs do.
func (o *resident) replace(uid uint32, flags ...imap.Flag) {
	o.Helper()
	if err := replaceFlags(o.Owner, uid, flags...); err != nil {
		o.Fatal(err)
	}
}

func replaceFlags(owner *testkit.Owner, uid uint32, flags ...imap.Flag) error {
	owner.Select("INBOX")
	return owner.Client().Store(imap.UIDSetNum(imap.UID(uid)), &imap.StoreFlags{Op: imap.StoreFlagsSet, Flags: flags}, nil).Close()
}

// copyAndDelete moves a message as a program without MOVE does.
func (o *resident) copyAndDelete(uid uint32, from, to string) {
	o.Helper()
	o.Select(from)
	if _, err := o.Client().Copy(imap.UIDSetNum(imap.UID(uid)), to).Wait(); err != nil {
		o.Fatal(err)
	}
	o.Expunge(from, uid)
}

// holds reports whether a mailbox has so many messages by a status.
func holds(a desk.AccountStatus, mailbox string, n int) bool {
	for _, m := range a.Mailboxes {
		if m.Mailbox == mailbox {
			return m.Messages == n
		}
	}
	return n == 0
}

// settled waits until nothing is on its way and returns the numbers of lessons.
func (s *site) settled(what string, messages uint64) (important, ordinary uint64) {
	s.t.Helper()
	st := s.until(what, func(a desk.AccountStatus) bool {
		return a.Messages == messages && a.Pending == 0 && a.MarksIntended == 0
	})
	return st.Important, st.Ordinary
}

// tally knows how much a daemon has learnt, to demand exactly what comes next.
type tally struct {
	s, also             *site // also sees each message before the owner says something of it; or nil
	o                   *resident
	messages            uint64
	important, ordinary uint64
}

func newTally(s *site, o *resident, messages uint64) *tally {
	c := &tally{s: s, o: o, messages: messages}
	c.important, c.ordinary = s.settled("the beginning", messages)
	return c
}

// arrived counts messages that were delivered and waits until they are known and marked.
func (c *tally) arrived(n int) {
	c.s.t.Helper()
	c.messages += uint64(n)
	c.s.settled("the messages", c.messages)
	if c.also != nil {
		c.also.until("the messages, too", func(a desk.AccountStatus) bool { return a.Messages == c.messages })
	}
}

// want demands what was learnt since it was asked last. One more star comes after it, so
// that all before it has been heard.
func (c *tally) want(what string, important, ordinary int) {
	c.s.t.Helper()
	star := c.o.dull()
	c.arrived(1)
	c.o.Set("INBOX", star, `\Flagged`)
	total := c.important + c.ordinary
	c.s.until("the star after "+what, func(a desk.AccountStatus) bool {
		return a.Important+a.Ordinary >= total+uint64(important+ordinary)+1 && a.Pending == 0
	})
	i, r := c.s.settled(what, c.messages)
	if i != c.important+uint64(important)+1 || r != c.ordinary+uint64(ordinary) {
		c.s.t.Errorf("%s: learnt %d important and %d ordinary, want %d and %d\n%s", what,
			int(i-c.important)-1, int(r-c.ordinary), important, ordinary, tail(c.s.log.String()))
	}
	c.important, c.ordinary = i, r
}

// TestR2AMarkTakenOffStaysOff: by the owner or by a program that replaces all flags,
// through moves, copies, restarts and another mailbox; and only the owner teaches.
func TestR2AMarkTakenOffStaysOff(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon(quick)
		s.start()
		messages, _ := teach(s, o.Owner)
		c := newTally(s, o, messages)
		uids := []uint32{o.urgent("INBOX"), o.urgent("INBOX"), o.urgent("INBOX", `\Answered`)}
		c.arrived(3)
		for _, uid := range uids {
			if !o.isMarked(uid) {
				o.Fatalf("message %d is not marked", uid)
			}
		}
		c.want("marks and an answer that came with its message", 0, 0)
		o.Set("INBOX", uids[0], `\Seen`)
		o.Clear("INBOX", uids[0], "$Important")
		c.want("a mark that the owner took off", 0, 1)
		o.replace(uids[1], imap.FlagSeen)
		o.replace(uids[2], imap.FlagSeen, imap.FlagAnswered)
		c.want("flags that were replaced", 0, 0)
		raw := o.All("INBOX")
		for i, uid := range uids {
			there := o.Move("INBOX", uid, "Archive")
			s.until("the move", func(a desk.AccountStatus) bool { return holds(a, "Archive", 1) })
			uids[i] = o.Move("Archive", there, "INBOX")
			s.until("its return", func(a desk.AccountStatus) bool { return holds(a, "Archive", 0) })
		}
		s.end()
		for _, m := range raw {
			if bytes.Contains(m.Raw, []byte("urgent matter")) && slices.Contains(m.Flags, `\seen`) {
				uids = append(uids, o.Append("INBOX", m.Raw, time.Now()))
			}
		}
		s.start()
		c.want("copies of them", 0, 0)
		for _, uid := range uids {
			if o.isMarked(uid) {
				o.Errorf("message %d is marked again", uid)
			}
		}
	})
}

// TestR3TwoHingedOnOneMailboxDoNotTeachEachOther: one marks while the other is away, and
// the owner reads. The other learns nothing from that, says so in status, and hears the
// owner all the same.
func TestR3TwoHingedOnOneMailboxDoNotTeachEachOther(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		a, b := o.daemon(quick+still), o.daemon(quick+still)
		a.start()
		messages, lessons := teachDated(a, o.Owner, time.Now().Add(-time.Hour)) // to the other, stars of a past
		b.start()
		b.until("the same lessons", func(st desk.AccountStatus) bool {
			return st.Important+st.Ordinary == lessons && st.Messages == messages
		})
		b.end()
		learnt := b.model()

		marked := []uint32{o.urgent("INBOX"), o.urgent("INBOX"), o.urgent("INBOX"), o.urgent("INBOX")}
		messages += 4
		a.settled("the marks", messages)
		for _, uid := range marked {
			if !o.isMarked(uid) {
				o.Fatalf("message %d is not marked", uid)
			}
			o.Set("INBOX", uid, `\Seen`)
		}
		b.start()
		st := b.until("what came meanwhile", func(st desk.AccountStatus) bool { return st.Messages == messages && st.Pending == 0 })
		if st.Important+st.Ordinary != lessons || st.MarksConfirmed != 0 {
			o.Errorf("the marks of the other gave %d lessons and %d marks", st.Important+st.Ordinary-lessons, st.MarksConfirmed)
		}
		if !slices.ContainsFunc(st.Warnings, func(w string) bool { return strings.HasPrefix(w, "another hinged sets the same mark") }) {
			o.Errorf("status does not warn of the other: %q", st.Warnings)
		}
		if got := b.model(); got != learnt {
			o.Error("the marks of the other moved the weights")
		}
		c, d := newTally(a, o, messages), newTally(b, o, messages)
		c.also = b
		o.Clear("INBOX", marked[0], "$Important")
		c.want("the owner's word to the one", 0, 1)
		d.messages++
		d.important++ // that star is the other's, too
		b.until("the star", func(st desk.AccountStatus) bool { return st.Important == d.important && st.Messages == d.messages })
		d.want("the owner's word to the other", 0, 1)

		// The one takes its marks back. That is no word of the owner's either.
		c.arrived(1)
		c.important++
		if u := a.undo(); u.Undone == 0 {
			o.Errorf("nothing was taken back: %+v", u)
		}
		d.want("marks that the other took back", 0, 0)
		for _, uid := range marked {
			if o.isMarked(uid) {
				o.Errorf("message %d still has the mark", uid)
			}
		}
	})
}

// TestR6EveryWayToSaySoGivesTheSameLesson: by flag, by MOVE, by copying and deleting, by
// APPEND, while the daemon looks and while it is away.
func TestR6EveryWayToSaySoGivesTheSameLesson(t *testing.T) {
	ways := []struct {
		name                string
		do                  func(o *resident, uid uint32)
		important, ordinary int
	}{
		{"$Junk", func(o *resident, uid uint32) { o.Set("INBOX", uid, "$Junk") }, 0, 1},
		{"MOVE to Junk", func(o *resident, uid uint32) { o.Move("INBOX", uid, "Junk") }, 0, 1},
		{"COPY to Junk", func(o *resident, uid uint32) { o.copyAndDelete(uid, "INBOX", "Junk") }, 0, 1},
		{"APPEND to Junk", func(o *resident, uid uint32) {
			all := o.All("INBOX")
			o.Append("Junk", all[slices.IndexFunc(all, func(m testkit.Stored) bool { return m.UID == uid })].Raw, time.Now())
			o.Expunge("INBOX", uid)
		}, 0, 1},
		{"MOVE to Trash, unread", func(o *resident, uid uint32) { o.Move("INBOX", uid, "Trash") }, 0, 1},
		{"COPY to Trash, unread", func(o *resident, uid uint32) { o.copyAndDelete(uid, "INBOX", "Trash") }, 0, 1},
		{"a star", func(o *resident, uid uint32) { o.Set("INBOX", uid, `\Flagged`) }, 1, 0},
		{"an answer", func(o *resident, uid uint32) { o.Set("INBOX", uid, `\Answered`, `\Seen`) }, 1, 0},
		{"MOVE to Archive, unread", func(o *resident, uid uint32) { o.Move("INBOX", uid, "Archive") }, 0, 1},
		{"COPY to Archive, unread", func(o *resident, uid uint32) { o.copyAndDelete(uid, "INBOX", "Archive") }, 0, 1},
	}
	onEveryServer(t, func(o *resident) {
		s := o.daemon(quick)
		s.start()
		messages, _ := teach(s, o.Owner)
		c := newTally(s, o, messages)
		important, ordinary := 0, 0
		var uids []uint32
		for _, w := range ways {
			uid := o.dull()
			c.arrived(1)
			w.do(o, uid)
			c.want(w.name, w.important, w.ordinary)
			important, ordinary = important+w.important, ordinary+w.ordinary
			uids = append(uids, o.dull())
			c.arrived(1)
		}
		s.end()
		for i, w := range ways {
			w.do(o, uids[i])
		}
		s.start()
		c.want("all of them while away", important, ordinary)
		uid := o.dull()
		c.arrived(1)
		s.end()
		uid = o.Move("Junk", o.Move("INBOX", uid, "Junk"), "INBOX")
		s.start()
		c.want("to Junk and back while away", 0, 0)
		junk := o.Move("INBOX", uid, "Junk")
		c.want("to Junk", 0, 1)
		o.Move("Junk", junk, "INBOX")
		c.ordinary--
		s.until("what was junk taken back", func(a desk.AccountStatus) bool { return a.Ordinary == c.ordinary && a.Pending == 0 })
		c.want("and back later", 0, 0)
	})
}

// TestR7WhatIsNeverMarked: other folders, the owner's own mail, old mail and read mail;
// and from Junk to Trash is no lesson.
func TestR7WhatIsNeverMarked(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon("mark_within = \"3d\"\n" + quick)
		s.start()
		messages, _ := teach(s, o.Owner)
		c := newTally(s, o, messages)
		control := o.urgent("INBOX")
		c.arrived(1)
		if !o.isMarked(control) {
			o.Fatal("a new urgent message is not marked")
		}
		long := time.Now().AddDate(0, 0, -100)
		old := func(n int, header string) []byte {
			return letter(n, boss, o.user, "urgent matter", header)
		}
		date := long.Format("Date: " + time.RFC1123Z)
		n := 0
		for _, mailbox := range []string{"Junk", "Trash", "Sent"} {
			o.urgent(mailbox)
			n++
		}
		o.Append("INBOX", letter(3000, o.user, o.user, "urgent matter"), time.Now()) // the owner's own
		o.Append("INBOX", old(3001, "X-Nothing: here"), long)                        // INTERNALDATE
		o.Append("INBOX", old(3002, date), time.Now())                               // Date
		o.Append("INBOX", old(3003, "X-Nothing: here"), time.Now(), `\Seen`)
		n += 4
		for i := range 50 { // a migration
			o.Append("INBOX", old(4000+i, date), time.Now())
		}
		n += 50
		c.arrived(n)
		archived := o.Append("Archive", old(3004, "X-Nothing: here"), long, `\Seen`)
		c.arrived(1)
		o.Move("Archive", archived, "INBOX")
		s.until("the move", func(a desk.AccountStatus) bool { return holds(a, "Archive", 0) })
		o.Move("Junk", 1, "Trash")
		s.until("the clean-up", func(a desk.AccountStatus) bool { return holds(a, "Trash", 2) })
		c.want("all of that", 0, 0)
		for _, mailbox := range []string{"INBOX", "Junk", "Trash", "Sent", "Archive"} {
			for _, m := range o.All(mailbox) {
				if slices.Contains(m.Flags, "$important") && (mailbox != "INBOX" || bytes.Contains(m.Raw, []byte("<l30")) || bytes.Contains(m.Raw, []byte("<l40"))) {
					o.Errorf("%s %d is marked: %q", mailbox, m.UID, m.Flags)
				}
			}
		}
	})
}

// TestR8ACleanUpTeachesNothing: many stars or moves at once, live, as a connection was
// down for a moment, and by one command while the daemon was stopped. As many single
// ones during that time are corrections.
func TestR8ACleanUpTeachesNothing(t *testing.T) {
	onEveryServer(t, func(o *resident) {
		s := o.daemon(strings.Replace(quick, "50ms", "2s", 1))
		s.start()
		const many = 60
		batch := func() (uids []uint32) {
			for range many {
				uids = append(uids, o.dull())
			}
			return uids
		}
		dropped := uint64(0)
		c := newTally(s, o, 0)
		clean := func(what string, n uint64) {
			o.Helper()
			dropped += n
			s.until(what, func(a desk.AccountStatus) bool { return a.CleanUps == dropped && a.Pending == 0 })
			c.want(what, 0, 0)
		}
		stop := func() {
			o.Helper()
			s.end()
		}

		uids := batch()
		c.arrived(many)
		o.SetAll("INBOX", uids, `\Flagged`)
		clean("stars seen live", many)
		o.MoveAll("INBOX", uids, "Archive")
		s.until("the move", func(a desk.AccountStatus) bool { return holds(a, "Archive", many) })
		clean("a move of starred mail", 0)

		uids = batch()
		c.arrived(many)
		o.wire.Freeze()
		o.SetAll("INBOX", uids, `\Flagged`)
		o.wire.Thaw() // the connections are cut
		clean("stars as the connection was down", many)

		uids = batch()
		c.arrived(many)
		o.MoveAll("INBOX", uids, "Junk")
		clean("a move to Junk seen live", many)

		if o.condstore {
			uids = batch()
			c.arrived(many)
			stop()
			o.SetAll("INBOX", uids, "$Junk")
			s.start()
			clean("junk by one command while away", many)
			uids = batch()
			c.arrived(many)
			stop()
			o.MoveAll("INBOX", uids, "Junk")
			s.start()
			clean("a move to Junk while away", many)
		}

		uids = batch()
		c.arrived(many)
		stop()
		for _, uid := range uids {
			o.Set("INBOX", uid, "$Junk")
		}
		s.start()
		c.want("single corrections while away", 0, many)
	})
}
