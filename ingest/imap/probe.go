// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

// Stage is how far a connection got.
type Stage uint8

// The stages, in their order.
const (
	StageConnect  Stage = iota + 1 // TCP, the name included
	StageTLS                       // TLS or STARTTLS
	StageGreeting                  // the server's first words
)

// StageError says at which stage a connection was not made.
type StageError struct {
	Stage Stage
	Err   error
}

func (e *StageError) Error() string { return e.Err.Error() }
func (e *StageError) Unwrap() error { return e.Err }

// Probe is one connection for looking around, before an account is watched. It
// stores nothing, Try apart. Its methods end within a few times
// Options.CommandTimeout; it is of no more use after an error that is not the
// server's no. Not safe for concurrent use.
type Probe struct {
	s    *session
	o    Options
	open *goimap.SelectData // the selected mailbox, nil when none is
	name string             // its name
	cond bool               // it keeps MODSEQs
}

// Reach connects as far as the greeting; nothing secret is sent, Options'
// Username and Password may be missing. The error is a *StageError or about
// Options. When ctx ends the connection breaks.
func Reach(ctx context.Context, o Options) (*Probe, error) {
	o = o.withDefaults()
	o.loginTimeout = max(min(4*o.CommandTimeout, loginPatience), o.CommandTimeout)
	p := &Probe{o: o}
	if o.Username == "" {
		o.Username = "nobody"
	}
	if o.Password == nil {
		o.Password = func(context.Context) (string, error) { return "", ErrNoPassword }
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	var err error
	if p.s, err = reach(ctx, &p.o); err != nil {
		return nil, err
	}
	return p, nil
}

// TLS returns how the connection is protected, nil when it is in the clear.
func (p *Probe) TLS() *tls.ConnectionState { return p.s.tls }

// Mechanisms returns the ways to log in that the server offers before a login,
// sorted: the SASL mechanisms, and LOGIN for the command of that name.
func (p *Probe) Mechanisms() ([]string, error) {
	p.s.begin()
	defer p.s.guard.end()
	caps := p.s.client.Caps()
	if caps == nil {
		return nil, fmt.Errorf("ask for capabilities: %w", wireError(errClosed, p.s.guard.why()))
	}
	list := []string{}
	for _, m := range caps.AuthMechanisms() {
		list = append(list, ingest.OneLine(m))
	}
	if !caps.Has(goimap.CapLoginDisabled) {
		list = append(list, "LOGIN")
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Login logs in, and finds out what the server can do. The error may wrap
// ErrRefused, ErrNoMechanism, ErrNoPassword or ErrMute. The secret is never in
// it.
func (p *Probe) Login(ctx context.Context) error {
	if p.o.Password == nil && p.o.Auth != AuthExternal {
		return ErrNoPassword
	}
	return p.s.enter(ctx)
}

// loginPatience bounds the answer to a probe's login, which may take four times
// as long as others: servers let those wait that were refused before, Dovecot up
// to 15 seconds.
const loginPatience = 20 * time.Second

// Close breaks the connection.
func (p *Probe) Close() { p.s.close() }

// Has reports whether the server has a capability, after the login.
func (p *Probe) Has(capability string) bool { return p.s.has(goimap.Cap(capability)) }

// Mailbox is one mailbox that the server has.
type Mailbox struct {
	Name string
	Role ingest.Role
	By   Means // how the role was found
}

// Mailboxes lists the mailboxes that can be opened, sorted by name.
func (p *Probe) Mailboxes(ctx context.Context) ([]Mailbox, error) {
	list, err := p.s.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Mailbox, len(list))
	for i, l := range list {
		out[i] = Mailbox{ingest.OneLine(l.name), l.role, l.by}
	}
	return out, nil
}

// Opened is what a server says of a mailbox that it opens.
type Opened struct {
	Messages  int
	Condstore bool // it keeps MODSEQs: changes can be asked for, and conditions made
	// Permanent are the flags that it stores, canonical. None: it did not say.
	Permanent []string
	Keywords  bool // it takes new keywords
}

// Keeps reports whether the mailbox stores a flag, as far as it said.
func (o Opened) Keeps(flag string) bool {
	return len(o.Permanent) == 0 && !o.Keywords || ingest.HasFlag(o.Permanent, flag) ||
		o.Keywords && !strings.HasPrefix(flag, `\`)
}

// Open opens a mailbox for the methods that follow. Servers say which flags they
// store only where flags could be stored, so it is by EXAMINE only when readOnly
// is set. No other method than Try stores any.
func (p *Probe) Open(mailbox string, readOnly bool) (Opened, error) {
	s := p.s
	s.begin()
	data, err := s.client.Select(mailbox, &goimap.SelectOptions{ReadOnly: readOnly, CondStore: s.has(goimap.CapCondStore)}).Wait()
	s.guard.end()
	if err != nil {
		return Opened{}, s.fail(selecting(readOnly)+" "+mailbox, err)
	}
	p.open, p.name = data, mailbox
	p.cond = s.has(goimap.CapCondStore) && data.HighestModSeq != 0
	var flags []string
	for _, f := range data.PermanentFlags {
		if f != goimap.FlagWildcard {
			flags = append(flags, ingest.OneLine(string(f)))
		}
	}
	return Opened{
		Messages: int(data.NumMessages), Condstore: p.cond, Permanent: ingest.CanonicalFlags(flags),
		Keywords: slices.Contains(data.PermanentFlags, goimap.FlagWildcard),
	}, nil
}

// Tally is what the flags of a mailbox's messages say.
type Tally struct {
	Messages                  int // since the day asked for
	Counted                   int // of these, the newest, whose flags were read
	Unread, Answered, Starred int // of the counted
	// Keywords in use on the counted, sorted by name.
	Keywords []KeywordUse
}

// KeywordUse says on how many messages a keyword is set.
type KeywordUse struct {
	Name     string `json:"name"`     // name of the keyword, spelt as on the server
	Messages int    `json:"messages"` // messages with the keyword
	Unread   int    `json:"unread"`   // unread messages with the keyword
}

// maxKeywords bounds the keywords counted; Dovecot's Maildir has 26 at most.
const maxKeywords = 200

// Tally counts the messages of the open mailbox that arrived on the day of since
// or later, and reads the flags of the newest of them, at most limit.
func (p *Probe) Tally(since time.Time, limit int) (Tally, error) {
	found, err := p.since(since)
	if err != nil || len(found) == 0 {
		return Tally{}, err
	}
	t := Tally{Messages: int(found.len())}
	if t.Messages > limit {
		_, found = found.cut(t.Messages - limit)
	}
	uses := map[string]*KeywordUse{}
	err = p.s.fetchListed(found, 1, goimap.FetchOptions{Flags: true}, nil, func(m fetched) error {
		if m.hasFlags {
			t.count(m, uses)
		}
		return nil
	})
	for _, u := range uses {
		t.Keywords = append(t.Keywords, *u)
	}
	slices.SortFunc(t.Keywords, func(a, b KeywordUse) int { return strings.Compare(a.Name, b.Name) })
	return t, err
}

func (t *Tally) count(m fetched, uses map[string]*KeywordUse) {
	t.Counted++
	unread := !ingest.HasFlag(m.flags, `\Seen`)
	add := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	add(&t.Unread, unread)
	add(&t.Answered, ingest.HasFlag(m.flags, `\Answered`))
	add(&t.Starred, ingest.HasFlag(m.flags, `\Flagged`))
	for _, f := range m.words {
		key := strings.ToLower(f)
		u := uses[key]
		switch {
		case strings.HasPrefix(f, `\`) && key != `\important`, strings.EqualFold(f, ingest.CheckKeyword):
			continue
		case u == nil && len(uses) == maxKeywords:
			continue
		case u == nil:
			u = &KeywordUse{Name: ingest.OneLine(f)}
			uses[key] = u
		}
		u.Messages++
		add(&u.Unread, unread)
	}
}

// CountReplies counts the messages of the open mailbox that arrived on the day
// of since or later, and those that answer another one. Servers may have to read
// every header for that.
func (p *Probe) CountReplies(since time.Time) (messages, replies int, err error) {
	all, err := p.since(since)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	criteria := &goimap.SearchCriteria{Header: []goimap.SearchCriteriaHeaderField{{Key: "In-Reply-To"}}}
	if !p.s.dateless {
		criteria.Since = since
	}
	answers, err := p.search(criteria)
	return int(all.len()), int(answers.within(all)), err
}

func (p *Probe) search(c *goimap.SearchCriteria) (uidRanges, error) {
	if p.open == nil || p.open.NumMessages == 0 {
		return nil, nil
	}
	return p.s.searchAll(*c, p.open.NumMessages)
}

// Shown says in words if the server shows only a part of the open mailbox, and for how many
// messages it answers one command, 0: for any number.
func (p *Probe) Shown() (parts []string, limit int, err error) {
	window, err := p.s.window(newMailbox(p.name, ingest.RoleOther), p.open.NumMessages)
	if err != nil {
		return nil, 0, err
	}
	existing, missing, err := p.s.existing(1, p.open.NumMessages, 0)
	l := ingest.Look{Shown: int(existing.len()), Hidden: int(window + missing)}
	return ingest.Status{Looks: map[string]ingest.Look{p.name: l}}.Parts(), p.s.limit, err
}

// flags reads the flags of one message of the open mailbox.
func (p *Probe) flags(uid uint32) (m fetched, there bool, err error) {
	m, there, err = p.s.fetchOne(uid, goimap.FetchOptions{Flags: true, ModSeq: p.cond}, nil)
	m.uid = uid
	if err != nil {
		return m, false, fmt.Errorf("read the flags of UID %d in %s: %w", uid, p.name, err)
	}
	return m, there && m.hasFlags, nil
}
