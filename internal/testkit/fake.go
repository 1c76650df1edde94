// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// FakeMessage is one message of a Fake.
type FakeMessage struct {
	UID    uint32
	Flags  string // as in "\Seen $Important"
	ModSeq uint64
	Raw    string
	Date   string // its INTERNALDATE; "": 02-Jan-2024 10:00:00 +0000
}

// FakeCommand is one command of a client. Name is in upper case, "UID FETCH" in
// one; Args is the rest of the line.
type FakeCommand struct{ Tag, Name, Args string }

// Fake is a scripted IMAP server with one mailbox, INBOX. It answers by itself
// what a client needs to get going; Handle is asked first and can do what no
// real server can be made to do. Its fields may be changed under Lock.
type Fake struct {
	Addr string

	sync.Mutex
	Caps        string // default: IMAP4rev1 IDLE CONDSTORE ENABLE UIDPLUS UNSELECT ESEARCH SASL-IR AUTH=PLAIN
	Greeting    string // default: "* OK ready"
	UIDValidity uint32
	UIDNext     uint32
	Permanent   string // PERMANENTFLAGS; default: \Answered \Flagged \Deleted \Seen \Draft \*
	Messages    []FakeMessage
	// Spell, when it is not nil, respells each line that is sent, less its tag and what
	// follows its end, as the text of a message does.
	Spell func(line string) string
	// Handle answers a command and returns true, or leaves it to the Fake. It may
	// return after having closed c.
	Handle func(c *FakeConn, cmd FakeCommand) bool

	conns []*FakeConn
	count int
	wg    sync.WaitGroup
}

// FakeConn is one connection to a Fake.
type FakeConn struct {
	N    int // 1 is the first
	fake *Fake
	conn net.Conn
	r    *bufio.Reader
	wmu  sync.Mutex

	uidOnly bool // see Limits
}

// StartFake starts a server for the test's duration. configure, which may be
// nil, runs before the first connection.
func StartFake(tb testing.TB, configure func(*Fake)) *Fake {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	f := &Fake{
		Addr: l.Addr().String(), Caps: "IMAP4rev1 IDLE CONDSTORE ENABLE UIDPLUS UNSELECT ESEARCH SASL-IR AUTH=PLAIN",
		Greeting: "* OK ready", UIDValidity: 1, UIDNext: 1, Permanent: `\Answered \Flagged \Deleted \Seen \Draft \*`,
	}
	if configure != nil {
		configure(f)
	}
	f.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed by the cleanup below
			}
			f.Lock()
			f.count++
			c := &FakeConn{N: f.count, fake: f, conn: conn, r: bufio.NewReader(conn)}
			f.conns = append(f.conns, c)
			f.Unlock()
			f.wg.Go(c.serve)
		}
	})
	tb.Cleanup(func() {
		l.Close()
		f.Lock()
		conns := f.conns
		f.Unlock()
		for _, c := range conns {
			c.conn.Close()
		}
		f.wg.Wait()
	})
	return f
}

// Add puts a message into the mailbox and returns its UID. Nobody is told.
func (f *Fake) Add(raw, flags string) uint32 {
	f.Lock()
	defer f.Unlock()
	f.Messages = append(f.Messages, FakeMessage{UID: f.UIDNext, Flags: flags, ModSeq: f.top() + 1, Raw: raw})
	f.UIDNext++
	return f.UIDNext - 1
}

// Connections returns how many connections were made so far.
func (f *Fake) Connections() int {
	f.Lock()
	defer f.Unlock()
	return f.count
}

// Tell sends a line to every connection.
func (f *Fake) Tell(format string, args ...any) {
	f.Lock()
	conns := slices.Clone(f.conns)
	f.Unlock()
	for _, c := range conns {
		c.Line(format, args...)
	}
}

// Bye says goodbye on every connection and closes it.
func (f *Fake) Bye(why string) {
	f.Tell("* BYE %s", why)
	f.Lock()
	defer f.Unlock()
	for _, c := range f.conns {
		c.conn.Close()
	}
}

func (f *Fake) top() uint64 {
	top := uint64(1)
	for _, m := range f.Messages {
		top = max(top, m.ModSeq)
	}
	return top
}

// Line sends one line. Errors are the client's business.
func (c *FakeConn) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...) + "\r\n"
	if spell := c.fake.Spell; spell != nil {
		line, more, _ := strings.Cut(text, "\r\n")
		tag, rest, _ := strings.Cut(line, " ")
		text = tag + " " + spell(rest) + "\r\n" + more
	}
	c.Raw(text)
}

// Raw sends bytes as they are.
func (c *FakeConn) Raw(text string) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, _ = io.WriteString(c.conn, text)
}

// OK ends a command well.
func (c *FakeConn) OK(cmd FakeCommand) { c.Line("%s OK done", cmd.Tag) }

// Close closes the connection.
func (c *FakeConn) Close() { c.conn.Close() }

// Mute says nothing until the client has gone.
func (c *FakeConn) Mute() { _, _ = io.Copy(io.Discard, c.conn) }

// ReadLine reads one line of the client, as after a continuation request; ""
// when it has gone.
func (c *FakeConn) ReadLine() string {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return ""
	}
	return strings.TrimRight(line, "\r\n")
}

func (c *FakeConn) serve() {
	defer c.conn.Close()
	c.Line("%s", c.fake.Greeting)
	for {
		line := c.ReadLine()
		if line == "" {
			return
		}
		tag, rest, _ := strings.Cut(line, " ")
		name, args, _ := strings.Cut(rest, " ")
		if name = strings.ToUpper(name); name == "UID" {
			sub, more, _ := strings.Cut(args, " ")
			name, args = name+" "+strings.ToUpper(sub), more
		}
		cmd := FakeCommand{tag, name, args}
		c.fake.Lock()
		handle := c.fake.Handle
		c.fake.Unlock()
		if handle != nil && handle(c, cmd) {
			continue
		}
		c.Answer(cmd)
	}
}

// Answer is what the Fake does by itself.
func (c *FakeConn) Answer(cmd FakeCommand) {
	c.fake.Lock()
	defer c.fake.Unlock()
	c.answer(cmd)
}

func (c *FakeConn) answer(cmd FakeCommand) {
	f := c.fake
	switch cmd.Name {
	case "CAPABILITY":
		c.Line("* CAPABILITY %s", f.Caps)
	case "LIST":
		c.Line(`* LIST () "/" INBOX`)
	case "SELECT", "EXAMINE":
		c.Line("* FLAGS (%s)", strings.TrimSuffix(f.Permanent, ` \*`))
		c.Line("* OK [PERMANENTFLAGS (%s)] kept", f.Permanent)
		c.Line("* %d EXISTS", len(f.Messages))
		c.Line("* OK [UIDVALIDITY %d] valid", f.UIDValidity)
		c.Line("* OK [UIDNEXT %d] next", f.UIDNext)
		if strings.Contains(cmd.Args, "CONDSTORE") {
			c.Line("* OK [HIGHESTMODSEQ %d] highest", f.top())
		}
	case "UID SEARCH":
		c.search(cmd)
	case "UID FETCH":
		c.fetch(cmd)
	case "UID STORE":
		if !c.store(cmd) {
			return
		}
	case "IDLE":
		c.Line("+ idling")
		f.Unlock()
		c.ReadLine() // DONE
		f.Lock()
	}
	c.OK(cmd)
}

func (c *FakeConn) search(cmd FakeCommand) {
	var uids []string
	for _, m := range c.fake.Messages {
		uids = append(uids, strconv.Itoa(int(m.UID)))
	}
	switch all := strings.Join(uids, ","); {
	case !strings.Contains(cmd.Args, "RETURN"):
		c.Line("* SEARCH %s", strings.Join(uids, " "))
	case all == "":
		c.Line("* ESEARCH (TAG %q) UID", cmd.Tag)
	default:
		c.Line("* ESEARCH (TAG %q) UID ALL %s", cmd.Tag, all)
	}
}

// fetch answers UID FETCH of what a watcher of mail asks for.
func (c *FakeConn) fetch(cmd FakeCommand) {
	set, rest, _ := strings.Cut(cmd.Args, " ")
	since := uint64(0)
	if _, after, ok := strings.Cut(rest, "CHANGEDSINCE "); ok {
		since, _ = strconv.ParseUint(strings.TrimRight(after, ")"), 10, 64)
	}
	for i, m := range c.fake.Messages {
		if !InSet(set, m.UID) || m.ModSeq <= since {
			continue
		}
		line := c.fetched(i, m)
		if strings.Contains(rest, "MODSEQ") {
			line += fmt.Sprintf(" MODSEQ (%d)", m.ModSeq)
		}
		if strings.Contains(rest, "INTERNALDATE") {
			line += fmt.Sprintf(" INTERNALDATE %q", cmp.Or(m.Date, "02-Jan-2024 10:00:00 +0000"))
		}
		if strings.Contains(rest, "RFC822.SIZE") {
			line += fmt.Sprintf(" RFC822.SIZE %d", len(m.Raw))
		}
		if strings.Contains(rest, "BODY.PEEK") {
			text, origin := m.Raw, ""
			if _, part, ok := strings.Cut(rest, "<0."); ok {
				word, _, _ := strings.Cut(part, ">")
				most, _ := strconv.Atoi(word)
				text, origin = text[:min(len(text), most)], "<0>"
			}
			line += fmt.Sprintf(" BODY[]%s {%d}\r\n%s", origin, len(text), text)
		}
		c.Line("%s)", line)
	}
}

// store answers UID STORE of one message: with MODIFIED and nothing else when
// its condition does not hold (RFC 7162, section 3.1.3).
func (c *FakeConn) store(cmd FakeCommand) bool {
	set, rest, _ := strings.Cut(cmd.Args, " ")
	list := rest[strings.LastIndexByte(rest, '(')+1:]
	named := strings.Fields(strings.TrimRight(list, ")"))
	for i := range c.fake.Messages {
		m := &c.fake.Messages[i]
		if !InSet(set, m.UID) {
			continue
		}
		if _, after, ok := strings.Cut(rest, "UNCHANGEDSINCE "); ok {
			word, _, _ := strings.Cut(after, ")")
			if since, _ := strconv.ParseUint(word, 10, 64); m.ModSeq > since {
				c.Line("%s OK [MODIFIED %d] too late", cmd.Tag, m.UID)
				return false
			}
		}
		flags := slices.DeleteFunc(strings.Fields(m.Flags), func(f string) bool {
			return slices.ContainsFunc(named, func(flag string) bool { return strings.EqualFold(f, flag) })
		})
		if strings.Contains(rest, "+FLAGS") {
			flags = append(flags, named...)
		}
		m.Flags, m.ModSeq = strings.Join(flags, " "), c.fake.top()+1
		c.Line("%s MODSEQ (%d))", c.fetched(i, *m), m.ModSeq)
	}
	return true
}

// fetched is how a line begins that tells of a message.
func (c *FakeConn) fetched(i int, m FakeMessage) string {
	if c.uidOnly {
		return fmt.Sprintf("* %d UIDFETCH (FLAGS (%s)", m.UID, m.Flags)
	}
	return fmt.Sprintf("* %d FETCH (UID %d FLAGS (%s)", i+1, m.UID, m.Flags)
}

// InSet reports whether a set as in "1:3,7,9:*", or the arguments of a command
// that begin with one, holds uid.
func InSet(set string, uid uint32) bool {
	set, _, _ = strings.Cut(set, " ")
	for part := range strings.SplitSeq(set, ",") {
		first, last, ranged := strings.Cut(part, ":")
		if !ranged {
			last = first
		}
		a, _ := strconv.ParseUint(first, 10, 32)
		b, err := strconv.ParseUint(last, 10, 32)
		if err != nil { // "*"
			b = 1<<32 - 1
		}
		if uint64(uid) >= a && uint64(uid) <= b {
			return true
		}
	}
	return false
}
