// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/desk"
)

// maxCounted is of how many messages the flags are read: far more than anybody
// gets in a year that we know of, and a second's work.
const maxCounted = 20_000

// From whom the owner's mail is: of the newest maxRead messages in Sent, the
// addresses that wrote at least habit of them, at most maxAddresses.
const (
	maxRead      = 200
	habit        = 2
	maxAddresses = 10
)

// Of at least minVerified messages, nearlyAll percent must have the results of one
// server, and half of them a result of DKIM or DMARC, for it to be the owner's own.
const (
	minVerified = 10
	nearlyAll   = 90
)

// useful are the capabilities that make a difference to hinged or its owner, in
// the order in which they are shown.
var useful = []string{"IDLE", "CONDSTORE", "MOVE", "UIDPLUS", "SPECIAL-USE", "X-GM-EXT-1"}

// Found is what was found on a server. Text from the server is safe to print.
type Found struct {
	Server       Server   `json:"server"`          // Server is the server that has the mail.
	Username     string   `json:"username"`        // Username is the name that the server accepted.
	Capabilities []string `json:"capabilities"`    // Capabilities are those capabilities of the server that matter to hinged.
	NewKeywords  bool     `json:"new_keywords"`    // NewKeywords reports whether INBOX accepts any keyword.
	Permanent    []string `json:"permanent_flags"` // Permanent are the flags that INBOX always keeps, in lower case.
	Folders      []Folder `json:"folders"`         // Folders are the mailboxes with a special use.
	Messages     int      `json:"messages"`        // Messages is the number of messages that came into INBOX in the last year.
	Counted      int      `json:"counted"`         // Counted is the number of those messages whose flags were read: the newest ones.
	Unread       int      `json:"unread"`          // Unread is the number of counted messages that are unread.
	Answered     int      `json:"answered"`        // Answered is the number of counted messages that were answered.
	Starred      int      `json:"starred"`         // Starred is the number of counted messages with a star.
	Sent         int      `json:"sent"`            // Sent is the number of messages that came into the Sent folder in the last year; -1 if they could not be counted.
	Replies      int      `json:"replies"`         // Replies is the number of messages in Sent that answer another message; -1 if they could not be counted.
	Addresses    []string `json:"addresses"`       // Addresses are the sender addresses of mail in Sent, most used first.
	// AuthServID is the authserv-id of the server that vouches for the senders of nearly
	// all recent mail in INBOX; "" if there is none.
	AuthServID string            `json:"authserv_id"`
	Vouched    int               `json:"vouched"`    // Vouched is the number of messages with results from that server, out of vouched_of.
	VouchedOf  int               `json:"vouched_of"` // VouchedOf is the number of messages examined for that: the newest in INBOX.
	Keywords   []imap.KeywordUse `json:"keywords"`   // Keywords are those in use on the counted messages.
	Clients    []Client          `json:"clients"`    // Clients are the mail programs that left traces.
	Others     []imap.KeywordUse `json:"others"`     // Others are marks on unread messages. Only a program sets those.
	Suggest    Suggestion        `json:"suggestion"` // Suggest is the choice of marks that hinged suggests.
}

// Folder is a mailbox with a special use.
type Folder struct {
	Name string `json:"name"` // name on the server
	Use  string `json:"use"`  // sent, drafts, junk, trash, archive or important
	By   string `json:"by"`   // By says how the use was found: special use, if the server announces it, or name, if the mailbox has a customary name.
}

// Look logs in and looks around: it stores nothing. Where no username was given
// the address is tried, then, if Retry agrees, the part before the @ (RFC 6186,
// section 4). The
// error may wrap the sentinels of package imap. When the mailbox is so large, or
// the server so slow, that the replies can't be counted in time, they stay
// uncounted and there is no error.
func (f *Finder) Look(ctx context.Context, s Server, w Wanted, now time.Time) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	found := Found{Server: s, Capabilities: []string{}, Folders: []Folder{}, Addresses: []string{}, Keywords: []imap.KeywordUse{}, Clients: []Client{}, Others: []imap.KeywordUse{}, Permanent: []string{}, Sent: -1, Replies: -1}
	p, username, err := f.login(ctx, s, w)
	if err != nil {
		return found, err
	}
	defer p.Close()
	found.Username = username
	for _, c := range useful {
		if p.Has(c) {
			found.Capabilities = append(found.Capabilities, c)
		}
	}
	boxes, err := p.Mailboxes(ctx)
	if err != nil {
		return found, err
	}
	sent := found.addFolders(boxes)
	opened, err := p.Open("INBOX", false)
	if err != nil {
		return found, err
	}
	found.NewKeywords = opened.Keywords
	found.Permanent = append(found.Permanent, opened.Permanent...)
	since := now.AddDate(-1, 0, 0)
	tally, err := p.Tally(since, maxCounted)
	if err != nil {
		return found, err
	}
	found.Messages, found.Counted, found.Unread = tally.Messages, tally.Counted, tally.Unread
	found.Answered, found.Starred = tally.Answered, tally.Starred
	if err := found.readVerifiers(p, since); err != nil {
		return found, err
	}
	found.Keywords = append(found.Keywords, tally.Keywords...)
	found.Others = append(found.Others, others(tally.Keywords)...)
	var mailers []imap.Mailer
	if sent != "" {
		if _, err := p.Open(sent, true); err == nil {
			if mailers, err = found.readSent(p, since); err != nil {
				return found, err
			}
		}
	}
	found.Clients = append(found.Clients, clients(&found, mailers)...)
	found.Suggest = Suggest(&found, found.Reads())
	return found, ctx.Err()
}

// readVerifiers finds who vouches for the mail in the open mailbox. A server that signs
// nearly all of it must be the owner's own: what others wrote came with single messages.
func (f *Found) readVerifiers(p *imap.Probe, since time.Time) error {
	v, err := p.Verifiers(since, maxRead)
	if err != nil {
		return err
	}
	f.VouchedOf = v.Messages
	if ownVerifier(v) {
		f.AuthServID, f.Vouched = v.Server, v.Named
	}
	return nil
}

func ownVerifier(v imap.Verifiers) bool {
	return v.Messages >= minVerified && v.Named*100 >= v.Messages*nearlyAll && v.Vouching*2 >= v.Messages
}

// addFolders notes the mailboxes with a use and returns the first of sent mail; "": none.
func (f *Found) addFolders(boxes []imap.Mailbox) (sent string) {
	for _, b := range boxes {
		if b.Role == ingest.RoleOther || b.Role == ingest.RoleInbox {
			continue
		}
		f.Folders = append(f.Folders, Folder{b.Name, b.Role.String(), b.By.String()})
		if b.Role == ingest.RoleSent && sent == "" {
			sent = b.Name
		}
	}
	return sent
}

// readSent reads in the open mailbox of sent mail who writes, and counts the replies. It
// returns the programs that the messages were written with.
func (f *Found) readSent(p *imap.Probe, since time.Time) ([]imap.Mailer, error) {
	writers, err := p.Authors(since, maxRead)
	if err != nil {
		return nil, err
	}
	for _, a := range writers {
		if _, err := mail.ParseAddress(a.Address); err == nil && a.Messages >= habit && len(f.Addresses) < maxAddresses {
			f.Addresses = append(f.Addresses, a.Address)
		}
	}
	mailers, err := p.Mailers(since, maxRead)
	if err != nil {
		return nil, err
	}
	// Last, since servers may have to read every message for it.
	if n, replies, err := p.CountReplies(since); err == nil {
		f.Sent, f.Replies = n, replies
	}
	return mailers, nil
}

// Reads are the mail programs that left traces.
func (f *Found) Reads() []*Program {
	var out []*Program
	for _, c := range f.Clients {
		if list, err := Programs(c.Name); err == nil {
			out = append(out, list...)
		}
	}
	return out
}

// login logs in under the first name that the server takes. The error tells of the first.
func (f *Finder) login(ctx context.Context, s Server, w Wanted) (*imap.Probe, string, error) {
	names := []string{w.Username}
	if w.Username == "" {
		local, _, _ := strings.Cut(w.Address, "@")
		names = []string{w.Address, local}
	}
	var refused error
	for i, name := range names {
		if i > 0 && (f.Retry == nil || !f.Retry(refused, name)) {
			break
		}
		w.Username = name
		o := f.options(s, w)
		o.CommandTimeout = countPatience
		p, err := imap.Reach(ctx, o)
		if err != nil {
			return nil, "", err
		}
		if err = p.Login(ctx); err == nil {
			return p, name, nil
		}
		p.Close()
		if !errors.Is(err, imap.ErrRefused) {
			return nil, "", err
		}
		if refused == nil {
			refused = fmt.Errorf("as %s: %w", name, err)
		}
	}
	return nil, "", refused
}

// Lines puts what was found into words, a line each.
func (f *Found) Lines() []string {
	var out []string
	line := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	protection := map[imap.TLSMode]string{imap.TLSImplicit: "TLS", imap.TLSStart: "STARTTLS", imap.TLSNone: "in the clear"}
	line("server     %s, %s, %s; login as %s", f.Server.Address, f.Server.How, protection[f.Server.TLS], f.Username)
	line("           it supports %s", orNothing(f.Capabilities))
	if !slices.Contains(f.Capabilities, "IDLE") {
		line("           it cannot IDLE, so new mail is found only once a minute")
	}
	if !slices.Contains(f.Capabilities, "CONDSTORE") {
		line("           it has no CONDSTORE, so all flags are compared each time")
	}
	switch {
	case f.NewKeywords:
		line("keywords   the server accepts new ones")
	case len(f.Permanent) > 0:
		line("keywords   it takes no new ones; it keeps %s", strings.Join(f.Permanent, " "))
	default:
		line("keywords   it does not say whether the server accepts new ones; hinged check finds out")
	}
	var folders []string
	for _, d := range f.Folders {
		folders = append(folders, fmt.Sprintf("%s is %s (%s)", d.Use, d.Name, d.By))
	}
	line("folders    %s", orNothing(folders))
	if !slices.ContainsFunc(f.Folders, func(d Folder) bool { return d.Use == ingest.RoleSent.String() }) {
		line("WARNING    no folder of sent mail was found, so your answers may go unseen: set sent below to its name")
	}
	newest := ""
	if f.Counted < f.Messages {
		newest = fmt.Sprintf(" of the newest %d", f.Counted)
	}
	line("last year  %s in INBOX;%s %d answered, %d starred, %d unread", desk.Count(f.Messages, "message"), newest, f.Answered, f.Starred, f.Unread)
	if f.Sent >= 0 {
		line("           %s in Sent, %d of them replies", desk.Count(f.Sent, "message"), f.Replies)
	} else {
		line("           replies in Sent were not counted")
	}
	if len(f.Addresses) > 0 {
		line("           written from %s", strings.Join(f.Addresses, ", "))
	}
	if f.AuthServID != "" {
		line("vouches    %s, in %d of the newest %s: authserv_id", f.AuthServID, f.Vouched, desk.Count(f.VouchedOf, "message"))
	} else {
		line("vouches    no server checks the senders of nearly all mail, so a From may be forged")
	}
	var used []string
	for _, k := range f.Keywords {
		used = append(used, fmt.Sprintf("%s (%d)", k.Name, k.Messages))
	}
	line("in use     %s", shorten(used))
	for _, c := range f.Clients {
		line("client     %s, by its %s; it shows %s", c.Name, c.By, c.Shows)
	}
	if len(f.Clients) == 0 {
		line("client     no known mail program detected")
	}
	for _, k := range f.Others {
		line("WARNING    %d unread messages have %s already, so another program seems to set it", k.Unread, k.Name)
	}
	return out
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
