// SPDX-License-Identifier: Apache-2.0

package testkit

import "testing"

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
