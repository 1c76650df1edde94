// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"
)

// attack is one kind of forging. commit prepares it and returns the crook's message, which
// is then delivered to INBOX.
type attack struct {
	name, defence string
	safe          safety
	commit        func(c *crime) []byte
}

// safety says where an attack must fail.
type safety int

const (
	always    safety = iota
	believing        // with an authserv_id alone
	nowhere          // docs/security.md says why
)

// crime is an attack under way.
type crime struct {
	*attacked
	crook, own string // own: what the owner's server finds out of the crook's own mail
}

// letter is a message with a Message-ID of the crook's.
func (c *crime) letter(name, from, words string, headers ...string) []byte {
	return c.mail(fmt.Sprintf("%s%d@crook.example", name, c.n), from, c.imap.User, words, headers...)
}

// pills is the crook's plain message.
func (c *crime) pills() []byte { return c.letter("pills", c.crook, "wonder pills", c.own) }

// impostor is the crook's message under another From.
func (c *crime) impostor(from string, headers ...string) []byte {
	return c.letter("impostor", from, "wonder pills", headers...)
}

// forgedReplies puts replies to a message of the crook's into a mailbox, all "from" the
// owner.
func forgedReplies(box string, headers ...string) func(c *crime) []byte {
	return func(c *crime) []byte {
		c.put("INBOX", time.Now(), c.letter("bait", c.crook, "wonder pills", c.own))
		c.settled("the bait")
		for i := range 3 {
			c.put(box, time.Now(), c.mail(fmt.Sprintf("forged%d-%d@example.org", c.n, i), c.imap.User, c.crook, "Re: wonder pills",
				append(headers, fmt.Sprintf("In-Reply-To: <bait%d@crook.example>", c.n))...))
		}
		return c.pills()
	}
}

// stolenID has the crook and the boss send under one Message-ID, and the owner answer the
// boss.
func stolenID(first bool) func(c *crime) []byte {
	return func(c *crime) []byte {
		id := fmt.Sprintf("stolen%d@example.com", c.n)
		steal := func() { c.put("INBOX", time.Now(), c.mail(id, c.crook, c.imap.User, "wonder pills", c.own)) }
		if first {
			steal()
			c.settled("the stolen Message-ID")
		}
		c.put("INBOX", time.Now(), c.mail(id, attackedBoss, c.imap.User, attackSubject, passed("example.com")), `\Seen`)
		if !first {
			c.settled("the honest message")
			steal()
		}
		c.settled("both messages")
		c.put("Sent", time.Now(), c.mail(fmt.Sprintf("answer%d@example.org", c.n), c.imap.User, "boss@example.com", "Re: "+attackSubject,
			"In-Reply-To: <"+id+">"))
		return c.pills()
	}
}

var attacks = []attack{
	{"a reply “from” the owner, in INBOX", "own mail lies in Sent or is vouched for", always, forgedReplies("INBOX")},
	{"the same in Junk", "the same", always, forgedReplies("Junk")},
	{"the same with dmarc=fail", "the same", always, forgedReplies("INBOX", results("dmarc=fail header.from=example.org"))},
	{"the same with a result of another server", "only the server of `authserv_id` is believed", always,
		forgedReplies("INBOX", "Authentication-Results: mx.crook.example; dmarc=pass header.from=example.org")},
	{"the same with a forged result below the server's own", "only the topmost field counts", always,
		forgedReplies("INBOX", results("dmarc=fail header.from=example.org"), results("dmarc=pass header.from=example.org"))},
	{"a pass within a comment, From a correspondent", "comments are no results; claimed senders apart", believing, func(c *crime) []byte {
		return c.impostor(attackedBoss, results("dmarc=fail (dmarc=pass header.from=example.com; dkim=pass header.d=example.com)"))
	}},
	{"a folded result of two servers, From a correspondent", "the first word of the field is the server", believing, func(c *crime) []byte {
		return c.impostor(attackedBoss, "Authentication-Results: mx.crook.example; x=y;\r\n "+attackServer+"; dmarc=pass header.from=example.com")
	}},
	{"the Message-ID of an honest message, sent before it", "an answer goes to the copy that was seen", always, stolenID(true)},
	{"the same, sent after it", "the same", always, stolenID(false)},
	{"From and subject of a correspondent", "claimed senders apart", believing, func(c *crime) []byte {
		return []byte(strings.Replace(string(c.impostor(attackedBoss, forgery)), "Subject: wonder pills", "Subject: "+attackSubject, 1))
	}},
	{"a domain that looks alike", "a domain is compared byte for byte", always, func(c *crime) []byte {
		return c.impostor("Bettina Boss <boss@examp1e.com>", results("dkim=pass header.d=examp1e.com"))
	}},
	{"List-Id and Sender of an important list", "only under a domain that is vouched for", always, func(c *crime) []byte {
		return c.impostor(c.crook, c.own, "List-Id: <"+attackedTeam+">", "Sender: boss@example.com")
	}},
	{"mass mail “from” the owner", "decided, never marked", always, func(c *crime) []byte {
		return c.impostor("Me <"+c.imap.User+">", forgery)
	}},
	{"a text stuffed with important words", "none but your correction", nowhere, func(c *crime) []byte {
		return append(c.pills(), []byte(strings.Repeat("contract draft invoice approval board meeting budget review\r\n", 200))...)
	}},
	{"a bomb: 4 MB, 2,000 nested parts, 5,000 addresses", "limits on every part", always, func(c *crime) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, "%s\r\nFrom: %s\r\nTo: %s\r\nMessage-ID: <bomb%d@crook.example>\r\nSubject: wonder pills\r\nMIME-Version: 1.0\r\n",
			c.own, c.crook, strings.Repeat("someone@example.net, ", 5000)+c.imap.User, c.n)
		for i := range 2000 {
			fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
		}
		b.WriteString("Content-Type: text/plain\r\n\r\n" + strings.Repeat("wonder pills for everybody, today only\r\n", 100_000))
		return []byte(b.String())
	}},
}
