// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// providerView is what one connection was told of the folder that it has open.
type providerView struct {
	in       bool // logged in
	folder   string
	readOnly bool
	uids     []uint32
	modseq   uint64 // up to which it was told of flags
	idling   bool
}

// handle answers every command.
func (p *Provider) handle(c *FakeConn, cmd FakeCommand) bool {
	p.mu.Lock()
	trouble := p.trouble
	p.mu.Unlock()
	if trouble != nil && trouble(c, cmd) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	v := p.views[c]
	if v == nil {
		v = &providerView{}
		p.views[c] = v
	}
	switch cmd.Name {
	case "CAPABILITY":
		c.Line("* CAPABILITY %s", map[bool]string{false: p.kind.before, true: p.kind.caps}[v.in])
	case "AUTHENTICATE", "LOGIN":
		if !p.login(c, cmd) {
			return true
		}
		v.in = true
	case "NAMESPACE":
		c.Line(`* NAMESPACE (("" "/")) NIL NIL`)
	case "LIST":
		for _, f := range p.kind.folders {
			c.Line(`* LIST (%s) "/" "%s"`, f.attributes, f.name)
		}
	case "STATUS":
		p.status(c, cmd)
	case "SELECT", "EXAMINE":
		if !p.open(c, cmd, v) {
			return true
		}
		c.Line("%s OK [READ-%s] %s selected. (Success)", cmd.Tag, map[bool]string{false: "WRITE", true: "ONLY"}[v.readOnly], v.folder)
		return true
	case "UNSELECT":
		*v = providerView{in: true}
	case "IDLE":
		c.Line("+ idling")
		v.idling = true
		p.sync(c, v)
		p.mu.Unlock()
		c.ReadLine() // DONE
		p.mu.Lock()
		v.idling = false
	case "UID SEARCH":
		p.search(c, cmd, v)
	case "UID FETCH":
		p.fetch(c, cmd, v)
	case "UID STORE":
		if !p.store(c, cmd, v) {
			return true
		}
	case "UID COPY", "UID MOVE":
		if !p.copy(c, cmd, v) {
			return true
		}
	case "UID EXPUNGE", "EXPUNGE":
		for _, m := range p.in(v.folder) {
			if m.deleted[v.folder] && (cmd.Name == "EXPUNGE" || InSet(cmd.Args, m.places[v.folder])) {
				p.expunge(m, v.folder)
				p.settle(m)
			}
		}
	}
	if !strings.HasPrefix(cmd.Name, "UID ") {
		p.sync(c, v)
	}
	c.Line("%s OK Success", cmd.Tag)
	return true
}

// login takes the token, by XOAUTH2 alone.
func (p *Provider) login(c *FakeConn, cmd FakeCommand) bool {
	mechanism, initial, _ := strings.Cut(cmd.Args, " ")
	if cmd.Name == "LOGIN" || !strings.EqualFold(mechanism, "XOAUTH2") {
		c.Line("%s %s", cmd.Tag, p.kind.refused)
		return false
	}
	said, _ := base64.StdEncoding.DecodeString(initial)
	if string(said) == "user="+p.User+"\x01auth=Bearer "+p.valid+"\x01\x01" {
		return true
	}
	// https://developers.google.com/workspace/gmail/imap/xoauth2-protocol: the client
	// answers the error with an empty line.
	c.Line("+ %s", base64.StdEncoding.EncodeToString([]byte(`{"status":"400","schemes":"Bearer","scope":"https://mail.google.com/"}`)))
	c.ReadLine()
	c.Line("%s %s", cmd.Tag, p.kind.refused)
	return false
}

// folderOf takes the name of a folder from the head of arguments.
func folderOf(args string) (name, rest string) {
	if quoted, ok := strings.CutPrefix(args, `"`); ok {
		name, rest, _ = strings.Cut(quoted, `"`)
		return name, strings.TrimSpace(rest)
	}
	name, rest, _ = strings.Cut(args, " ")
	if strings.EqualFold(name, "INBOX") {
		name = "INBOX"
	}
	return name, rest
}

func (p *Provider) status(c *FakeConn, cmd FakeCommand) {
	name, items := folderOf(cmd.Args)
	f := p.folders[name]
	if f == nil {
		return
	}
	line := fmt.Sprintf("MESSAGES %d UIDNEXT %d UIDVALIDITY %d", len(p.in(name)), f.next, f.validity)
	if strings.Contains(items, "HIGHESTMODSEQ") {
		line += fmt.Sprintf(" HIGHESTMODSEQ %d", f.modseq)
	}
	c.Line(`* STATUS "%s" (%s)`, name, line)
}

// open opens a folder.
func (p *Provider) open(c *FakeConn, cmd FakeCommand, v *providerView) bool {
	name, _ := folderOf(cmd.Args)
	f := p.folders[name]
	if f == nil {
		c.Line("%s NO [NONEXISTENT] Unknown Mailbox: %s (Failure)", cmd.Tag, name)
		return false
	}
	*v = providerView{in: true, folder: name, readOnly: cmd.Name == "EXAMINE", modseq: p.modseq}
	for _, m := range p.in(name) {
		v.uids = append(v.uids, m.places[name])
	}
	permanent := p.kind.permanent
	c.Line("* FLAGS (%s)", strings.TrimSuffix(permanent, ` \*`))
	if v.readOnly {
		permanent = ""
	}
	c.Line("* OK [PERMANENTFLAGS (%s)] Flags permitted.", permanent)
	c.Line("* OK [UIDVALIDITY %d] UIDs valid.", f.validity)
	c.Line("* %d EXISTS", len(v.uids))
	c.Line("* 0 RECENT")
	c.Line("* OK [UIDNEXT %d] Predicted next UID.", f.next)
	if p.kind.condstore {
		c.Line("* OK [HIGHESTMODSEQ %d]", f.modseq)
	}
	return true
}

// tell tells every connection that idles what is new to it.
func (p *Provider) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, v := range p.views {
		if v.idling {
			p.sync(c, v)
		}
	}
}

// sync tells a connection what is new in its folder since it was told.
func (p *Provider) sync(c *FakeConn, v *providerView) {
	if v.folder == "" {
		return
	}
	now := map[uint32]*providerMessage{}
	for _, m := range p.in(v.folder) {
		now[m.places[v.folder]] = m
	}
	for i := 0; i < len(v.uids); {
		if now[v.uids[i]] != nil {
			i++
			continue
		}
		c.Line("* %d EXPUNGE", i+1)
		v.uids = slices.Delete(v.uids, i, i+1)
	}
	for i, uid := range v.uids {
		if m := now[uid]; m.modseq > v.modseq {
			line := fmt.Sprintf("FLAGS (%s)", p.flagsIn(m, v.folder))
			if p.kind.condstore {
				line += fmt.Sprintf(" MODSEQ (%d)", m.modseq)
			}
			c.Line("* %d FETCH (UID %d %s)", i+1, uid, line)
		}
	}
	p.announce(c, v)
	v.modseq = p.modseq
}

func (p *Provider) flagsIn(m *providerMessage, folder string) string {
	flags := m.flags
	if m.deleted[folder] {
		flags = append(slices.Clone(flags), `\Deleted`)
	}
	return strings.Join(flags, " ")
}

// search answers for sets of UIDs, for the first message, and for days.
func (p *Provider) search(c *FakeConn, cmd FakeCommand, v *providerView) {
	set, since := "1:*", time.Time{}
	words := strings.Fields(cmd.Args)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "UID":
			set = words[i+1]
		case "SINCE":
			since, _ = time.Parse("2-Jan-2006", words[i+1])
		}
	}
	var uids []string
	for i, m := range p.in(v.folder) {
		uid := m.places[v.folder]
		if InSet(set, uid) && m.date.After(since) && (words[len(words)-1] != "1" || i == 0) &&
			(!strings.Contains(cmd.Args, "In-Reply-To") || strings.Contains(m.raw, "In-Reply-To:")) {
			uids = append(uids, strconv.Itoa(int(uid)))
		}
	}
	switch {
	case !strings.Contains(cmd.Args, "RETURN"):
		c.Line("%s", strings.TrimSpace("* SEARCH "+strings.Join(uids, " ")))
	case len(uids) == 0:
		c.Line("* ESEARCH (TAG %q) UID", cmd.Tag)
	default:
		c.Line("* ESEARCH (TAG %q) UID ALL %s", cmd.Tag, strings.Join(uids, ","))
	}
}

// fetch answers what a watcher of mail asks for, and on Gmail the extensions
// (https://developers.google.com/workspace/gmail/imap/imap-extensions).
func (p *Provider) fetch(c *FakeConn, cmd FakeCommand, v *providerView) {
	set, rest, _ := strings.Cut(cmd.Args, " ")
	since := uint64(0)
	if _, after, ok := strings.Cut(rest, "CHANGEDSINCE "); ok {
		since, _ = strconv.ParseUint(strings.TrimRight(after, ")"), 10, 64)
	}
	p.announce(c, v)
	for _, m := range p.in(v.folder) {
		uid := m.places[v.folder]
		i, told := slices.BinarySearch(v.uids, uid)
		if !told || m.modseq <= since || !InSet(set, uid) {
			continue
		}
		line := fmt.Sprintf("* %d FETCH (", i+1)
		if p.kind.labels && strings.Contains(rest, "X-GM-") {
			line += fmt.Sprintf("X-GM-THRID %d X-GM-MSGID %d X-GM-LABELS (%s) ", m.id, m.id, p.labels(m, v.folder))
		}
		line += fmt.Sprintf("UID %d", uid)
		if strings.Contains(rest, "MODSEQ") || since > 0 {
			line += fmt.Sprintf(" MODSEQ (%d)", m.modseq)
		}
		if strings.Contains(rest, "INTERNALDATE") {
			line += fmt.Sprintf(" INTERNALDATE %q", m.date.Format("02-Jan-2006 15:04:05 -0700"))
		}
		if strings.Contains(rest, "FLAGS") {
			line += fmt.Sprintf(" FLAGS (%s)", p.flagsIn(m, v.folder))
		}
		if strings.Contains(rest, "RFC822.SIZE") {
			line += fmt.Sprintf(" RFC822.SIZE %d", len(m.raw))
		}
		c.Line("%s%s)", line, p.section(m, rest))
	}
}

// section is the text of a message, or the fields of its header, that items ask for.
func (p *Provider) section(m *providerMessage, items string) string {
	_, asked, found := strings.Cut(items, "BODY.PEEK[")
	if !found {
		return ""
	}
	section, part, _ := strings.Cut(asked, "]")
	text := m.raw
	if _, fields, ok := strings.Cut(section, "HEADER.FIELDS ("); ok {
		header, _, _ := strings.Cut(m.raw, "\r\n\r\n")
		text = ""
		for line := range strings.SplitSeq(header, "\r\n") {
			name, _, _ := strings.Cut(line, ":")
			if strings.EqualFold(name, strings.Trim(fields, `")`)) {
				text += line + "\r\n"
			}
		}
		text += "\r\n"
	}
	origin := ""
	if rest, ok := strings.CutPrefix(part, "<0."); ok {
		word, _, _ := strings.Cut(rest, ">")
		most, _ := strconv.Atoi(word)
		text, origin = text[:min(len(text), most)], "<0>"
	}
	return fmt.Sprintf(" BODY[%s]%s {%d}\r\n%s", section, origin, len(text), text)
}

// announce tells of new messages, which any answer may.
func (p *Provider) announce(c *FakeConn, v *providerView) {
	before := len(v.uids)
	for _, m := range p.in(v.folder) {
		// New ones have higher UIDs than all before.
		if uid := m.places[v.folder]; len(v.uids) == 0 || uid > v.uids[len(v.uids)-1] {
			v.uids = append(v.uids, uid)
		}
	}
	if len(v.uids) != before {
		c.Line("* %d EXISTS", len(v.uids))
	}
}

// labels are those of a message, less that of the folder it is looked at in.
func (p *Provider) labels(m *providerMessage, folder string) string {
	system := map[string]string{"INBOX": `"\\Inbox"`, p.kind.important: `"\\Important"`, p.kind.starred: `"\\Starred"`, "[Gmail]/Sent Mail": `"\\Sent"`}
	var out []string
	for place := range m.places {
		switch label, ok := system[place]; {
		case place == folder, place == p.kind.all:
		case ok:
			out = append(out, label)
		default:
			out = append(out, strconv.Quote(place))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// store changes flags, under the condition that is made (RFC 7162, section 3.1.3).
func (p *Provider) store(c *FakeConn, cmd FakeCommand, v *providerView) bool {
	set, rest, _ := strings.Cut(cmd.Args, " ")
	list := rest[strings.LastIndexByte(rest, '(')+1:]
	named := strings.Fields(strings.TrimRight(list, ")"))
	if p.kind.badKeyword != "" && slices.ContainsFunc(named, func(f string) bool { return !strings.Contains(p.kind.permanent, f) }) {
		c.Line("%s %s", cmd.Tag, p.kind.badKeyword)
		return false
	}
	on := strings.Contains(rest, "+FLAGS")
	for _, m := range p.in(v.folder) {
		uid := m.places[v.folder]
		if !InSet(set, uid) {
			continue
		}
		if _, after, ok := strings.Cut(rest, "UNCHANGEDSINCE "); ok {
			word, _, _ := strings.Cut(after, ")")
			if since, _ := strconv.ParseUint(word, 10, 64); m.modseq > since {
				c.Line("%s OK [MODIFIED %d] Conditional STORE failed", cmd.Tag, uid)
				return false
			}
		}
		for _, flag := range named {
			if strings.EqualFold(flag, `\Deleted`) {
				m.deleted[v.folder] = on
			} else {
				m.flags = with(m.flags, flag, on)
			}
		}
		p.settle(m)
		line := fmt.Sprintf("FLAGS (%s)", p.flagsIn(m, v.folder))
		if p.kind.condstore {
			line += fmt.Sprintf(" MODSEQ (%d)", m.modseq)
		}
		c.Line("* %d FETCH (UID %d %s)", slices.Index(v.uids, uid)+1, uid, line)
		if p.kind.labels && m.deleted[v.folder] {
			p.expunge(m, v.folder)
			p.settle(m)
		}
	}
	p.others(c)
	return true
}

// copy copies or moves messages. With labels a copy is the same message in one more
// folder.
func (p *Provider) copy(c *FakeConn, cmd FakeCommand, v *providerView) bool {
	set, rest, _ := strings.Cut(cmd.Args, " ")
	to, _ := folderOf(rest)
	if p.folders[to] == nil {
		c.Line("%s NO [TRYCREATE] No folder %s (Failure)", cmd.Tag, to)
		return false
	}
	for _, m := range p.in(v.folder) {
		uid := m.places[v.folder]
		if !InSet(set, uid) {
			continue
		}
		target := m
		switch {
		case cmd.Name == "UID MOVE":
			p.move(m, v.folder, to)
		case p.kind.labels:
			p.put(m, to)
		default:
			target = p.create(m.raw, m.date, slices.Clone(m.flags))
			p.put(target, to)
		}
		p.settle(target)
		c.Line("* OK [COPYUID %d %d %d] (Success)", p.folders[to].validity, uid, target.places[to])
	}
	if cmd.Name == "UID MOVE" {
		p.sync(c, v)
	}
	p.others(c)
	return true
}

// others tells the other connections that idle.
func (p *Provider) others(but *FakeConn) {
	for c, v := range p.views {
		if c != but && v.idling {
			p.sync(c, v)
		}
	}
}
