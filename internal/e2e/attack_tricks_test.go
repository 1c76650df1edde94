// SPDX-License-Identifier: Apache-2.0

package e2e

import "strings"

// axis is a way in which forged mail differs, with the header of each variant.
type axis []struct{ name, header string }

// In headers and texts CROOK stands for the crook's domain, <me> for the owner's address, NUMBER
// for that of an earlier important letter (mNUMBER@example.com) and the owner's answer
// (oNUMBER@example.org), HONEST for the Message-ID of a letter that belongs to the kind.
var (
	gridFrom = axis{
		{"the owner", "From: Me <me>"},
		{"a correspondent", "From: " + attackedBoss},
		{"a correspondent and the crook", "From: " + attackedBoss + ", crook@CROOK"},
		{"a correspondent's name", "From: Bettina Boss <crook@CROOK>"},
		{"a stranger", "From: crook@CROOK"},
	}
	gridResults = axis{
		{"none", ""},
		{"dmarc=fail", results("dkim=none; dmarc=fail")},
		{"a pass of another server", "Authentication-Results: mx.CROOK; dmarc=pass header.from=example.com; dkim=pass header.d=example.org"},
		{"a pass below a fail", results("dmarc=fail") + "\r\n" + passed("example.com")},
		{"a pass for the crook's domain", passed("CROOK")},
	}
)

const (
	gridText = "Please look at these wonder pills before Friday."
	gridMbox = "flags in the header of an mbox"
)

// trick is what a forged mail does beside its From and its results.
type trick struct {
	group, name string
	header      string
	text        string   // what follows the header, with more fields or an empty line; "": gridText
	boxes       []string // where it is delivered, each time by another way; nil: INBOX
	answer      string   // header of what a program of the owner's answers to it, which is in Sent
	letter      letterAt
}

// letterAt says when the honest letter of a kind comes.
type letterAt int

const (
	noLetter letterAt = iota
	letterBefore
	letterAfter
)

// gridWords are the words of important mail.
var gridWords = strings.Repeat("contract draft invoice approval board meeting budget review ", 20)

// inHTML is a text in HTML above more of it.
func inHTML(more string) string {
	return "MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<html><body><p>" + gridText + "</p>" + more + "</body></html>"
}

// parts is a message of several parts, each from its header on.
func parts(kind string, parts ...string) string {
	return "MIME-Version: 1.0\r\nContent-Type: multipart/" + kind + "; boundary=b\r\n\r\n" + "--b\r\n" + strings.Join(parts, "\r\n--b\r\n") + "\r\n--b--"
}

const (
	plainPart = "Content-Type: text/plain\r\n\r\n"
	answersMe = "\r\nIn-Reply-To: <oNUMBER@example.org>\r\nReferences: <mNUMBER@example.com> <oNUMBER@example.org>"
)

// calendar is a part with an answer to an invitation of the owner's, or an invitation of a correspondent's.
func calendar(method, who string) string {
	return "MIME-Version: 1.0\r\nContent-Type: text/calendar; charset=utf-8; method=" + method + "\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:" + method +
		"\r\nBEGIN:VEVENT\r\nUID:oNUMBER@example.org\r\nSUMMARY:wonder pills\r\nDESCRIPTION:" + gridText + "\r\n" + who + "\r\nEND:VEVENT\r\nEND:VCALENDAR"
}

var gridTricks = []trick{
	{group: "nothing more", name: "nothing"},

	{group: "other fields", name: "Reply-To", header: "Reply-To: " + attackedBoss},
	{group: "other fields", name: "List-Id", header: "List-Id: <" + attackedTeam + ">\r\nSender: boss@example.com"},
	{group: "other fields", name: "X-Hinged", header: "X-Hinged-Status: important\r\nImportance: high"},
	{group: "other fields", name: "a link", text: "\r\n" + gridText + " https://CROOK/pills"},

	{group: "hidden text", name: "display:none", text: inHTML(`<div style="display:none">` + gridWords + "</div>")},
	{group: "hidden text", name: "white on white", text: inHTML(`<div style="color:#ffffff">` + gridWords + "</div>")},
	{group: "hidden text", name: "the colour of its ground", text: inHTML(`<table bgcolor="#123456"><tr><td><font color="#123456">` + gridWords + "</font></td></tr></table>")},
	{group: "hidden text", name: "a class of a sheet", text: inHTML(`<style>.w{visibility:hidden}</style><div class=w>` + gridWords + "</div>")},
	{group: "hidden text", name: "no size", text: inHTML(`<span style="font-size:0">` + gridWords + "</span>")},
	{group: "hidden text", name: "no height", text: inHTML(`<div style="max-height:0;overflow:hidden">` + gridWords + "</div>")},
	{group: "hidden text", name: "transparent", text: inHTML(`<div style="opacity:0">` + gridWords + "</div>")},
	{group: "hidden text", name: "beside the page", text: inHTML(`<div style="position:absolute;left:-9999px">` + gridWords + "</div>")},
	{group: "hidden text", name: "the attribute hidden", text: inHTML("<div hidden>" + gridWords + "</div>")},
	{group: "hidden text", name: "a comment", text: inHTML("<!-- " + gridWords + " --><script>" + gridWords + "</script>")},
	{group: "hidden text", name: "attributes", text: inHTML(`<img src="cid:x" width=1 height=1 data-x="` + gridWords + `">`)},
	{group: "hidden text", name: "the part that is not shown", text: parts("alternative", plainPart+gridWords, "Content-Type: text/html\r\n\r\n<p>"+gridText+"</p>")},
	{group: "hidden text", name: "around the parts", text: "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" +
		gridWords + "\r\n--b\r\n" + plainPart + gridText + "\r\n--b--\r\n" + gridWords},

	{group: "automatic answers", name: "Auto-Submitted", header: "Auto-Submitted: auto-replied" + answersMe},
	{group: "automatic answers", name: "X-Autoreply", header: "X-Autoreply: yes" + answersMe},
	{group: "automatic answers", name: "Precedence", header: "Precedence: auto_reply" + answersMe},
	{group: "automatic answers", name: "a vacation", header: "Subject: Automatic reply: wonder pills\r\nX-Auto-Response-Suppress: All" + answersMe},
	{group: "automatic answers", name: "a calendar's answer", header: "Subject: Accepted: wonder pills" + answersMe,
		text: calendar("REPLY", "ORGANIZER:mailto:<me>\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:boss@example.com")},
	{group: "automatic answers", name: "a calendar's answer of the owner's", header: "Subject: Accepted: wonder pills" + answersMe,
		text: calendar("REPLY", "ORGANIZER:mailto:crook@CROOK\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:<me>")},
	{group: "automatic answers", name: "an invitation", text: calendar("REQUEST", "ORGANIZER:mailto:boss@example.com\r\nATTENDEE:mailto:<me>")},
	{group: "automatic answers", name: "a receipt", header: answersMe[2:], text: parts("report; report-type=disposition-notification", plainPart+gridText,
		"Content-Type: message/disposition-notification\r\n\r\nOriginal-Message-ID: <oNUMBER@example.org>\r\nDisposition: manual-action/MDN-sent-manually; displayed")},
	{group: "automatic answers", name: "a bounce", header: answersMe[2:], text: parts("report; report-type=delivery-status", plainPart+gridText,
		"Content-Type: message/delivery-status\r\n\r\nFinal-Recipient: rfc822; boss@example.com\r\nAction: failed",
		"Content-Type: message/rfc822\r\n\r\nFrom: <me>\r\nTo: boss@example.com\r\nMessage-ID: <oNUMBER@example.org>\r\nSubject: Re: budget review\r\n\r\n"+gridWords)},
	{group: "automatic answers", name: "the owner's machine, Auto-Submitted", answer: "Auto-Submitted: auto-replied"},
	{group: "automatic answers", name: "the owner's machine, X-Autoreply", answer: "X-Autoreply: yes"},
	{group: "automatic answers", name: "the owner's machine, X-Autorespond", answer: "X-Autorespond: away"},
	{group: "automatic answers", name: "the owner's machine, Precedence", answer: "Precedence: bulk"},
	{group: "automatic answers", name: "the owner's receipt", answer: "Content-Type: multipart/report; report-type=disposition-notification; boundary=b"},

	{group: "Message-IDs", name: "of an earlier letter", header: "Message-ID: <mNUMBER@example.com>"},
	{group: "Message-IDs", name: "of the owner's answer", header: "Message-ID: <oNUMBER@example.org>"},
	{group: "Message-IDs", name: "of a marked letter", header: "Message-ID: <HONEST>", letter: letterBefore},
	{group: "Message-IDs", name: "of a marked letter, above another", header: "Message-ID: <HONEST>\r\nMessage-ID: <second@CROOK>", letter: letterBefore},
	{group: "Message-IDs", name: "of a letter to come", header: "Message-ID: <HONEST>", letter: letterAfter},
	{group: "Message-IDs", name: "twice the same", boxes: []string{"INBOX", "INBOX"}},
	{group: "Message-IDs", name: "none", header: "X-No-Message-ID: 1"},
	{group: "Message-IDs", name: "References", header: answersMe[2:]},
	{group: "Message-IDs", name: "the owner's in In-Reply-To alone", header: "In-Reply-To: <oNUMBER@example.org>"},
	{group: "Message-IDs", name: "the owner's in References alone", header: "References: <oNUMBER@example.org>"},
	{group: "Message-IDs", name: "a marked letter in In-Reply-To", header: "In-Reply-To: <HONEST>\r\nSupersedes: <HONEST>", letter: letterBefore},

	{group: "flags in the header", name: "X-Status", header: "X-Status: F"},
	{group: "flags in the header", name: "X-Status, Status", header: "X-Status: AF\r\nStatus: O"},
	{group: "flags in the header", name: "X-Keywords", header: "X-Keywords: $Important $Hinged\r\nX-IMAPbase: 1 2 $Important $Hinged"},
	{group: "flags in the header", name: "of mail programs", header: "X-Mozilla-Status: 0005\r\nX-Mozilla-Keys: $important\r\nX-Gmail-Labels: Important,Starred\r\nX-Label: important"},
	{group: gridMbox, name: "mbox, X-Status", header: "X-Status: F"},
	{group: gridMbox, name: "mbox, X-Status, Status", header: "X-Status: AF\r\nStatus: RO"},
	{group: gridMbox, name: "mbox, X-Keywords", header: "X-Keywords: $Important $Hinged"},
	{group: gridMbox, name: "mbox, all", header: "X-Status: AF\r\nStatus: RO\r\nX-Keywords: $Important $Hinged $NotJunk $Followed"},

	{group: "where it lands", name: "Junk", boxes: []string{"Junk"}},
	{group: "where it lands", name: "Archive", boxes: []string{"Archive"}},
	{group: "where it lands", name: "Trash", boxes: []string{"Trash"}},
	{group: "where it lands", name: "Junk, then INBOX", boxes: []string{"Junk", "INBOX"}},
	{group: "where it lands", name: "Trash, then INBOX", boxes: []string{"Trash", "INBOX"}},
	{group: "where it lands", name: "Archive, then INBOX", boxes: []string{"Archive", "INBOX"}},
	{group: "where it lands", name: "INBOX, then Archive", boxes: []string{"INBOX", "Archive"}},
	{group: "where it lands", name: "INBOX, then Junk", boxes: []string{"INBOX", "Junk"}},
}
