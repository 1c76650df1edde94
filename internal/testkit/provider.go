// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Provider is a scripted mail service of a large provider: see StartGmail and
// StartOutlook. Its methods are what the owner does on the web, and what the provider does
// by itself. All are safe for concurrent use.
type Provider struct {
	Login // User, and the token in the place of Password

	kind *providerKind
	fake *Fake

	mu       sync.Mutex // guards all below
	valid    string     // the token that is taken
	trouble  func(c *FakeConn, cmd FakeCommand) bool
	messages []*providerMessage
	folders  map[string]*providerFolder
	modseq   uint64
	msgid    uint64
	views    map[*FakeConn]*providerView
}

// providerKind is what one provider has and another has not.
type providerKind struct {
	greeting        string
	before, caps    string // capabilities before and after the login
	permanent       string // PERMANENTFLAGS
	condstore       bool
	labels          bool // a folder is a label: a message lies in several
	folders         []providerUse
	archive, trash  string
	junk, important string
	all, starred    string // views of everything, and of what is \Flagged
	refused         string // what comes after a login that is refused
	badKeyword      string // what comes after a STORE of a keyword that is not kept; "": all are
}

// providerUse is a folder and its attributes in LIST.
type providerUse struct{ name, attributes string }

type providerFolder struct {
	name     string
	validity uint32
	next     uint32
	modseq   uint64
	messages []*providerMessage // by UID
}

// providerMessage is one message, wherever it lies.
type providerMessage struct {
	id      uint64 // X-GM-MSGID
	raw     string
	date    time.Time
	flags   []string          // of the message, in all folders
	places  map[string]uint32 // UIDs by folder
	deleted map[string]bool   // \Deleted is of a place
	modseq  uint64
}

func startProvider(tb testing.TB, kind *providerKind) *Provider {
	tb.Helper()
	p := &Provider{
		kind: kind, valid: "the first token", folders: map[string]*providerFolder{}, modseq: 100, msgid: 1278455344230334865,
		views: map[*FakeConn]*providerView{},
	}
	for i, f := range kind.folders {
		p.folders[f.name] = &providerFolder{name: f.name, validity: uint32(i + 1), next: uint32(10*i + 1), modseq: p.modseq}
	}
	p.fake = StartFake(tb, func(f *Fake) {
		f.Greeting, f.Caps = kind.greeting, kind.before
		f.Handle = p.handle
	})
	p.Login = Login{Addr: p.fake.Addr, User: "owner@example.org", Password: p.valid}
	return p
}

// Connections returns how many connections were made so far.
func (p *Provider) Connections() int { return p.fake.Connections() }

// Troubled has every command go through do first; nil ends it.
func (p *Provider) Troubled(do func(c *FakeConn, cmd FakeCommand) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = do
}

// Takes makes a token the valid one, and ends no session.
func (p *Provider) Takes(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.valid = token
}

// Expire makes the token void and another the valid one, and ends every session with a
// line, as when tokens end.
func (p *Provider) Expire(token, bye string) {
	p.mu.Lock()
	p.valid = token
	p.mu.Unlock()
	p.fake.Bye(bye)
}

// Deliver has a message arrive in folders, on Gmail also among all mail, and returns
// its number.
func (p *Provider) Deliver(raw []byte, date time.Time, flags string, folders ...string) (id uint64) {
	defer p.tell()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.create(string(raw), date, strings.Fields(flags))
	for _, folder := range folders {
		p.put(m, folder)
	}
	p.settle(m)
	return m.id
}

// Empty expunges all messages of a folder.
func (p *Provider) Empty(folder string) {
	defer p.tell()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.in(folder) {
		p.expunge(m, folder)
		p.settle(m)
	}
}

// Set puts a flag on a message, Clear takes it off.
func (p *Provider) Set(id uint64, flag string) {
	p.change(id, func(m *providerMessage) { m.flags = with(m.flags, flag, true) })
}

// Clear takes a flag off a message.
func (p *Provider) Clear(id uint64, flag string) {
	p.change(id, func(m *providerMessage) { m.flags = with(m.flags, flag, false) })
}

// Move moves a message, on Gmail from one label to another.
func (p *Provider) Move(id uint64, from, to string) {
	p.change(id, func(m *providerMessage) { p.move(m, from, to) })
}

// Archive takes a message out of INBOX.
func (p *Provider) Archive(id uint64) {
	p.change(id, func(m *providerMessage) { p.move(m, "INBOX", p.kind.archive) })
}

// Label puts a message into a folder and leaves it where it is.
func (p *Provider) Label(id uint64, folder string) {
	p.change(id, func(m *providerMessage) { p.put(m, folder) })
}

// Delete marks a message as deleted in a folder, as a mail program does that knows no
// better. On Gmail that takes the label off at once ("Auto-Expunge on", the default), or
// when waits is set leaves it until somebody expunges.
func (p *Provider) Delete(id uint64, folder string, waits bool) {
	p.change(id, func(m *providerMessage) {
		m.deleted[folder] = true
		if p.kind.labels && !waits {
			p.expunge(m, folder)
		}
	})
}

// Flags returns the flags of a message, sorted.
func (p *Provider) Flags(id uint64) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	flags := slices.Clone(p.message(id).flags)
	slices.Sort(flags)
	return flags
}

// Places returns the folders that a message lies in, sorted.
func (p *Provider) Places(id uint64) (folders []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for folder := range p.message(id).places {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	return folders
}

// Look describes every message, so that two moments can be compared.
func (p *Provider) Look() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, m := range p.messages {
		fmt.Fprintln(&b, m.id, m.flags, m.places, m.deleted)
	}
	return b.String()
}

func (p *Provider) change(id uint64, do func(*providerMessage)) {
	defer p.tell()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.message(id)
	do(m)
	p.settle(m)
}

func (p *Provider) message(id uint64) *providerMessage {
	i := slices.IndexFunc(p.messages, func(m *providerMessage) bool { return m.id == id })
	return p.messages[i]
}

func (p *Provider) create(raw string, date time.Time, flags []string) *providerMessage {
	p.msgid++
	m := &providerMessage{id: p.msgid, raw: raw, date: date, flags: flags, places: map[string]uint32{}, deleted: map[string]bool{}}
	p.messages = append(p.messages, m)
	return m
}

// put adds a place.
func (p *Provider) put(m *providerMessage, folder string) {
	if _, there := m.places[folder]; there {
		return
	}
	if p.kind.labels && (folder == p.kind.trash || folder == p.kind.junk) {
		// Out of all others: https://support.google.com/mail/answer/77657.
		for other := range m.places {
			p.expunge(m, other)
		}
	}
	f := p.folders[folder]
	m.places[folder] = f.next
	f.next++
	f.messages = append(f.messages, m)
}

// find returns where the message with a UID is, or would be, in the list.
func (f *providerFolder) find(uid uint32) (i int, there bool) {
	return slices.BinarySearchFunc(f.messages, uid, func(m *providerMessage, uid uint32) int { return cmp.Compare(m.places[f.name], uid) })
}

// move takes a message from one folder to another.
func (p *Provider) move(m *providerMessage, from, to string) {
	p.expunge(m, from)
	p.put(m, to)
}

// expunge takes a message out of a folder. On Gmail that is the end of it in Trash and
// Spam alone; elsewhere it loses a label.
func (p *Provider) expunge(m *providerMessage, folder string) {
	if f := p.folders[folder]; f != nil {
		if i, there := f.find(m.places[folder]); there {
			f.messages = slices.Delete(f.messages, i, i+1)
		}
	}
	delete(m.places, folder)
	delete(m.deleted, folder)
}

// settle has a message lie where its labels and flags say, and notes that it changed.
func (p *Provider) settle(m *providerMessage) {
	k := p.kind
	_, trashed := m.places[k.trash]
	_, junk := m.places[k.junk]
	if k.labels && !trashed && !junk {
		p.put(m, k.all)
		if slices.Contains(m.flags, `\Flagged`) {
			p.put(m, k.starred)
		} else {
			p.expunge(m, k.starred)
		}
	}
	p.modseq++
	m.modseq = p.modseq
	for _, f := range p.folders {
		f.modseq = p.modseq
	}
}

// in returns the messages of a folder, by UID. The list is the caller's.
func (p *Provider) in(folder string) []*providerMessage {
	f := p.folders[folder]
	if f == nil {
		return nil
	}
	return slices.Clone(f.messages)
}

// with returns flags with one, or without it.
func with(flags []string, flag string, on bool) []string {
	flags = slices.DeleteFunc(flags, func(f string) bool { return strings.EqualFold(f, flag) })
	if on {
		flags = append(flags, flag)
	}
	return flags
}

// StartGmail starts a server that answers as Gmail does. Its folders are labels: one
// message lies in INBOX, [Gmail]/All Mail and [Gmail]/Important at once, under UIDs of
// their own and with the same flags. A star is the folder [Gmail]/Starred, a move to
// [Gmail]/Trash or Spam takes a message out of all others, \Deleted in a folder takes that
// label off, and no more. It takes tokens alone, by XOAUTH2.
//
// The capabilities, greetings and words are those of logs that people have put into
// reports of jstedfast/MailKit (1396), home-assistant/core (155699) and zone-eu/wildduck
// (35). What an action does to labels is said at
// https://support.google.com/mail/answer/77657 and
// https://developers.google.com/gmail/api/reference/rest/v1/ImapSettings, the extensions
// at https://developers.google.com/workspace/gmail/imap/imap-extensions. That keywords are
// of the message, as the star is, is taken for granted.
func StartGmail(tb testing.TB) *Provider {
	tb.Helper()
	return startProvider(tb, &providerKind{
		greeting:  "* OK Gimap ready for requests from 127.0.0.1 k2if6111336rvb",
		before:    "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 XYZZY SASL-IR AUTH=XOAUTH2 AUTH=PLAIN AUTH=PLAIN-CLIENTTOKEN AUTH=OAUTHBEARER",
		caps:      "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 UIDPLUS COMPRESS=DEFLATE ENABLE MOVE CONDSTORE ESEARCH UTF8=ACCEPT LIST-EXTENDED LIST-STATUS LITERAL- SPECIAL-USE APPENDLIMIT=35651584",
		permanent: `\Answered \Flagged \Draft \Deleted \Seen $NotPhishing $Phishing \*`,
		condstore: true, labels: true,
		folders: []providerUse{
			{"INBOX", `\HasNoChildren`},
			{"[Gmail]", `\HasChildren \NoSelect`},
			{"[Gmail]/All Mail", `\All \HasNoChildren`},
			{"[Gmail]/Drafts", `\Drafts \HasNoChildren`},
			{"[Gmail]/Important", `\HasNoChildren \Important`},
			{"[Gmail]/Sent Mail", `\HasNoChildren \Sent`},
			{"[Gmail]/Spam", `\HasNoChildren \Junk`},
			{"[Gmail]/Starred", `\Flagged \HasNoChildren`},
			{"[Gmail]/Trash", `\HasNoChildren \Trash`},
		},
		all: "[Gmail]/All Mail", starred: "[Gmail]/Starred", trash: "[Gmail]/Trash", junk: "[Gmail]/Spam", important: "[Gmail]/Important",
		archive: "[Gmail]/All Mail",
		refused: "NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)",
	})
}

// StartOutlook starts a server that answers as Outlook.com and Microsoft 365 do: no
// CONDSTORE, no ESEARCH, special uses without the capability, no keywords but $MDNSent,
// and tokens alone. Its words are those of logs in reports of jstedfast/MailKit (1282,
// 1494), mscdex/node-imap (602) and DrChrispoper's of MailCore/mailcore2 (780).
func StartOutlook(tb testing.TB) *Provider {
	tb.Helper()
	return startProvider(tb, &providerKind{
		greeting:  "* OK The Microsoft Exchange IMAP4 service is ready. [UwBJADIAUABSADAAMQBDAEEA]",
		before:    "IMAP4 IMAP4rev1 AUTH=PLAIN AUTH=XOAUTH2 SASL-IR UIDPLUS ID UNSELECT CHILDREN IDLE NAMESPACE LITERAL+",
		caps:      "IMAP4 IMAP4rev1 AUTH=PLAIN AUTH=XOAUTH2 SASL-IR UIDPLUS MOVE ID UNSELECT CLIENTACCESSRULES CLIENTNETWORKPRESENCELOCATION BACKENDAUTHENTICATE CHILDREN IDLE NAMESPACE LITERAL+",
		permanent: `\Seen \Answered \Flagged \Deleted \Draft $MDNSent`,
		folders: []providerUse{
			{"INBOX", `\Marked \HasNoChildren`},
			{"Archive", `\HasNoChildren`},
			{"Deleted", `\Marked \HasNoChildren \Trash`},
			{"Drafts", `\HasNoChildren \Drafts`},
			{"Junk", `\Marked \HasNoChildren \Junk`},
			{"Notes", `\HasNoChildren`},
			{"Outbox", `\HasNoChildren`},
			{"Sent", `\HasNoChildren \Sent`},
		},
		archive: "Archive", trash: "Deleted", junk: "Junk",
		refused:    "NO AUTHENTICATE failed.",
		badKeyword: "BAD Command Argument Error. 11",
	})
}
