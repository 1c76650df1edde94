// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sort"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/hinged/hinged/ingest"
)

// Owner is a second client on the account: the one that reads the mail, sets
// stars and takes marks away. Every method fails the test on an error. Not safe
// for concurrent use.
type Owner struct {
	tb       testing.TB
	login    Login
	c        *imapclient.Client
	selected string
	exists   chan struct{} // holds one when the mailbox was said to have changed
}

// Owner logs in as the server's first user.
func (d *Dovecot) Owner(tb testing.TB) *Owner { return d.OwnerOf(tb, d.User) }

// OwnerOf logs in as one of the server's users. The connection is closed when
// the test ends.
func (d *Dovecot) OwnerOf(tb testing.TB, user string) *Owner {
	tb.Helper()
	return d.login(user).Owner(tb)
}

func (d *Dovecot) login(user string) Login {
	return Login{Addr: d.Addr, User: user, Password: d.Password, TLSConfig: d.TLSConfig, Certificate: d.Certificate}
}

// Close ends the connection early.
func (o *Owner) Close() { o.c.Close() }

// Client returns the client beneath, for what Owner lacks.
func (o *Owner) Client() *imapclient.Client { return o.c }

// Select opens a mailbox read-write, unless it is open already, and returns its
// UIDVALIDITY.
func (o *Owner) Select(mailbox string) uint32 {
	o.tb.Helper()
	d, err := o.c.Select(mailbox, nil).Wait()
	if err != nil {
		o.tb.Fatalf("owner: select %s: %v", mailbox, err)
	}
	o.selected = mailbox
	return d.UIDValidity
}

// refresh opens a mailbox and sees what others changed there: Courier knows no message
// before it has told of it.
func (o *Owner) refresh(mailbox string) {
	o.tb.Helper()
	o.need(mailbox)
	if err := o.c.Noop().Wait(); err != nil {
		o.tb.Fatalf("owner: noop: %v", err)
	}
}

// again logs in again if the connection was lost while nothing was asked, as mail programs
// do. GreenMail ended one now and then on a busy machine.
func (o *Owner) again() {
	o.tb.Helper()
	select {
	case <-o.c.Closed():
		o.tb.Log("owner: the connection was lost; logging in again")
		o.c.Close()
		o.selected = ""
		o.connect()
	default:
	}
}

func (o *Owner) need(mailbox string) {
	o.tb.Helper()
	o.again()
	if o.selected != mailbox {
		o.Select(mailbox)
	}
}

// Append adds a message to a mailbox and returns its UID. A zero date is now.
func (o *Owner) Append(mailbox string, raw []byte, date time.Time, flags ...string) uint32 {
	o.tb.Helper()
	o.again()
	opts := &imap.AppendOptions{Time: date, Flags: imapFlags(flags)}
	cmd := o.c.Append(mailbox, int64(len(raw)), opts)
	if _, err := cmd.Write(raw); err != nil {
		o.tb.Fatalf("owner: append to %s: %v", mailbox, err)
	}
	if err := cmd.Close(); err != nil {
		o.tb.Fatalf("owner: append to %s: %v", mailbox, err)
	}
	d, err := cmd.Wait()
	if err != nil {
		o.tb.Fatalf("owner: append to %s: %v", mailbox, err)
	}
	if d.UID == 0 {
		return o.newest(mailbox)
	}
	return uint32(d.UID)
}

// newest returns the highest UID of a mailbox: on a server without UIDPLUS, that of
// what came last.
func (o *Owner) newest(mailbox string) uint32 {
	o.tb.Helper()
	var last imap.UID
	for _, m := range o.fetch(mailbox, imap.UIDSet{{Start: 1, Stop: 0}}, &imap.FetchOptions{UID: true}) {
		last = max(last, m.UID)
	}
	if last == 0 {
		o.tb.Fatalf("owner: %s is empty", mailbox)
	}
	return uint32(last)
}

func imapFlags(flags []string) []imap.Flag {
	out := make([]imap.Flag, len(flags))
	for i, f := range flags {
		out[i] = imap.Flag(f)
	}
	return out
}

func (o *Owner) store(op imap.StoreFlagsOp, mailbox string, uids []uint32, flags []string) {
	o.tb.Helper()
	o.refresh(mailbox)
	var set imap.UIDSet
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
	}
	err := o.c.Store(set, &imap.StoreFlags{Op: op, Flags: imapFlags(flags), Silent: true}, nil).Close()
	if err != nil {
		o.tb.Fatalf("owner: change flags of %s UID %d: %v", mailbox, uids, err)
	}
}

// Set sets flags on a message.
func (o *Owner) Set(mailbox string, uid uint32, flags ...string) {
	o.tb.Helper()
	o.store(imap.StoreFlagsAdd, mailbox, []uint32{uid}, flags)
}

// SetAll sets flags on several messages by one command.
func (o *Owner) SetAll(mailbox string, uids []uint32, flags ...string) {
	o.tb.Helper()
	o.store(imap.StoreFlagsAdd, mailbox, uids, flags)
}

// ModSeq returns the number of the last change of a mailbox (CONDSTORE).
func (o *Owner) ModSeq(mailbox string) uint64 {
	o.tb.Helper()
	d, err := o.c.Status(mailbox, &imap.StatusOptions{HighestModSeq: true}).Wait()
	if err != nil {
		o.tb.Fatalf("owner: status of %s: %v", mailbox, err)
	}
	return d.HighestModSeq
}

// Clear clears flags of a message.
func (o *Owner) Clear(mailbox string, uid uint32, flags ...string) {
	o.tb.Helper()
	o.store(imap.StoreFlagsDel, mailbox, []uint32{uid}, flags)
}

// Expunge deletes messages for good.
func (o *Owner) Expunge(mailbox string, uids ...uint32) {
	o.tb.Helper()
	for _, uid := range uids {
		o.Set(mailbox, uid, `\Deleted`)
	}
	var set imap.UIDSet
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
	}
	cmd := o.c.Expunge // whatever is marked as deleted; without UIDPLUS there is no other
	if o.c.Caps().Has(imap.CapUIDPlus) {
		cmd = func() *imapclient.ExpungeCommand { return o.c.UIDExpunge(set) }
	}
	if err := cmd().Close(); err != nil {
		o.tb.Fatalf("owner: expunge in %s: %v", mailbox, err)
	}
}

// Move moves a message and returns its UID there.
func (o *Owner) Move(mailbox string, uid uint32, to string) uint32 {
	o.tb.Helper()
	o.refresh(mailbox)
	set := imap.UIDSetNum(imap.UID(uid))
	if !o.c.Caps().Has(imap.CapMove) {
		// The client library would send COPY, STORE and EXPUNGE in one go; with
		// another session on the mailbox the message was seen to stay, marked as
		// deleted. Which side drops the last command was not found out.
		d, err := o.c.Copy(set, to).Wait()
		if err != nil {
			o.tb.Fatalf("owner: copy %s UID %d to %s: %v", mailbox, uid, to, err)
		}
		o.Expunge(mailbox, uid)
		return o.moved(mailbox, uid, to, d.DestUIDs)
	}
	d, err := o.c.Move(set, to).Wait()
	if err != nil {
		o.tb.Fatalf("owner: move %s UID %d to %s: %v", mailbox, uid, to, err)
	}
	return o.moved(mailbox, uid, to, d.DestUIDs)
}

// MoveAll moves several messages by one command, on a server that has MOVE.
func (o *Owner) MoveAll(mailbox string, uids []uint32, to string) {
	o.tb.Helper()
	o.need(mailbox)
	var set imap.UIDSet
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
	}
	if _, err := o.c.Move(set, to).Wait(); err != nil {
		o.tb.Fatalf("owner: move %s UID %d to %s: %v", mailbox, uids, to, err)
	}
}

func (o *Owner) moved(mailbox string, uid uint32, to string, there imap.NumSet) uint32 {
	o.tb.Helper()
	set, ok := there.(imap.UIDSet)
	if !ok || len(set) == 0 {
		return o.newest(to)
	}
	if len(set) != 1 {
		o.tb.Fatalf("owner: move %s UID %d to %s: it went to %v", mailbox, uid, to, set)
	}
	return uint32(set[0].Start)
}

// Flags returns the canonical flags of a message, and false if it is not there.
func (o *Owner) Flags(mailbox string, uid uint32) ([]string, bool) {
	o.tb.Helper()
	all := o.fetch(mailbox, imap.UIDSetNum(imap.UID(uid)), &imap.FetchOptions{UID: true, Flags: true})
	if len(all) == 0 {
		return nil, false
	}
	return canonical(all[0].Flags), true
}

func canonical(flags []imap.Flag) []string {
	words := make([]string, len(flags))
	for i, f := range flags {
		words[i] = string(f)
	}
	return ingest.CanonicalFlags(words)
}

func (o *Owner) fetch(mailbox string, set imap.UIDSet, opts *imap.FetchOptions) []*imapclient.FetchMessageBuffer {
	o.tb.Helper()
	o.refresh(mailbox)
	all, err := o.c.Fetch(set, opts).Collect()
	if err != nil {
		o.tb.Fatalf("owner: fetch from %s: %v", mailbox, err)
	}
	return all
}

// All reads a whole mailbox the plain way: UID, flags and text of every message,
// ascending by UID. It marks nothing as seen.
func (o *Owner) All(mailbox string) []Stored {
	o.tb.Helper()
	section := &imap.FetchItemBodySection{Peek: true}
	all := o.fetch(mailbox, imap.UIDSet{{Start: 1, Stop: 0}}, &imap.FetchOptions{
		UID: true, Flags: true, BodySection: []*imap.FetchItemBodySection{section},
	})
	out := make([]Stored, len(all))
	for i, m := range all {
		out[i] = Stored{UID: uint32(m.UID), Flags: canonical(m.Flags), Raw: m.FindBodySection(section)}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].UID < out[j].UID })
	return out
}

// Stored is one message as the server has it.
type Stored struct {
	UID   uint32
	Flags []string // canonical
	Raw   []byte
}

// Create makes a mailbox, Delete removes one.
func (o *Owner) Create(mailbox string) {
	o.tb.Helper()
	err := o.c.Create(mailbox, nil).Wait()
	// While somebody else lists the mailboxes, Dovecot may find the half-made one first.
	if refusal := (*imap.Error)(nil); errors.As(err, &refusal) && refusal.Code == imap.ResponseCodeAlreadyExists {
		return
	}
	if err != nil {
		o.tb.Fatalf("owner: create %s: %v", mailbox, err)
	}
}

// Delete removes a mailbox with all that is in it.
func (o *Owner) Delete(mailbox string) {
	o.tb.Helper()
	if o.selected == mailbox {
		o.Select("INBOX")
	}
	if err := o.c.Delete(mailbox).Wait(); err != nil {
		o.tb.Fatalf("owner: delete %s: %v", mailbox, err)
	}
}

// IdleUntilNews idles on a mailbox until the server says that messages came,
// and reports when that was. ready is closed when the server idles.
func (o *Owner) IdleUntilNews(ctx context.Context, mailbox string, ready chan<- struct{}) (time.Time, error) {
	o.tb.Helper()
	o.need(mailbox)
	select {
	case <-o.exists:
	default:
	}
	idle, err := o.c.Idle()
	if err != nil {
		return time.Time{}, fmt.Errorf("idle: %w", err)
	}
	close(ready)
	var at time.Time
	select {
	case <-o.exists:
		at = time.Now()
	case <-o.c.Closed():
		return at, net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	if e := idle.Close(); e != nil {
		return at, e
	}
	if e := idle.Wait(); e != nil {
		return at, e
	}
	return at, err
}

// Login is what it takes to log in to a mailbox.
type Login struct {
	Addr      string // host:port, on loopback
	User      string
	Password  string
	TLSConfig *tls.Config // trusts the server; nil: it speaks in the clear
	// Certificate is the one that TLSConfig trusts, PEM; nil without TLS.
	Certificate []byte
}

// Owner logs in. The connection is closed when the test ends.
func (l Login) Owner(tb testing.TB) *Owner {
	tb.Helper()
	o := &Owner{tb: tb, login: l, exists: make(chan struct{}, 1)}
	o.connect()
	tb.Cleanup(func() { o.c.Close() })
	return o
}

// connect logs in with a connection of its own.
func (o *Owner) connect() {
	o.tb.Helper()
	opts := &imapclient.Options{
		TLSConfig: o.login.TLSConfig,
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Mailbox: func(m *imapclient.UnilateralDataMailbox) {
				if m.NumMessages != nil {
					select {
					case o.exists <- struct{}{}:
					default:
					}
				}
			},
		},
	}
	var err error
	if o.login.TLSConfig == nil {
		o.c, err = imapclient.DialInsecure(o.login.Addr, opts)
	} else if o.c, err = imapclient.DialTLS(o.login.Addr, opts); err != nil {
		o.c, err = imapclient.DialStartTLS(o.login.Addr, opts)
	}
	if err != nil {
		o.tb.Fatalf("owner: connect: %v", err)
	}
	if err := o.c.Login(o.login.User, o.login.Password).Wait(); err != nil {
		o.tb.Fatalf("owner: log in: %v", err)
	}
}
