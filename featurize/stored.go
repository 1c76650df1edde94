// SPDX-License-Identifier: Apache-2.0

package featurize

import "bytes"

// writtenWhereStored reports whether a header field, whose name is in lower case, is one that
// hinged or a mail program writes into a message where it is stored. A message that arrives
// has none of them. In one that was stored they tell what its reader did with it, so as
// features they would give the label away to hinged eval and hinged bootstrap.
//
// Left out are fields that look alike but come with the mail, as its sender's program or
// server wrote them: X-Gm-Message-State, X-KMail-QuotePrefix, X-Balsa-Fcc, X-Mutt-References.
func writtenWhereStored(name []byte) bool {
	switch string(name) {
	case
		// The mbox format, as mutt, Alpine, Dovecot and mailx write it: R is read, A answered,
		// F flagged (Dovecot's documentation of mbox; c-client's unix.c; mutt's manual).
		"status", "x-status", "x-keywords", "x-uid", "x-uidl", "x-imap", "x-imapbase", "content-length", "lines",
		"x-label", // edited by its reader in mutt
		// MH: repl, forw and dist with -annotate (the manual of each in nmh).
		"replied", "forwarded", "resent",
		// Emacs: the folder that Gnus sorted it into (nnml, nnfolder).
		"xref",
		// KMail (KMMessage in messages that it has shown).
		"x-kmail-encryptionstate", "x-kmail-signaturestate", "x-kmail-mdn-sent",
		// Thunderbird, beside X-Mozilla-: the account that fetched it (nsParseMailbox).
		"x-account-key",
		// Google Takeout, and programs that copy from Gmail by IMAP.
		"x-gmail-labels", "x-gm-labels", "x-gm-thrid", "x-gm-msgid", //nolint:misspell // as Google spells it
		// Pegasus Mail, and mbsync, which looks for what it has just copied.
		"x-pmflags", "x-tuid":
		return true
	}
	for _, prefix := range storedPrefixes {
		if bytes.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// keepsFlags reports whether a header field, whose name is in lower case, is one from which a
// server reads the flags of a message in an mbox.
func keepsFlags(name []byte) bool {
	switch string(name) {
	case "status", "x-status", "x-keywords", "x-imap", "x-imapbase":
		return true
	}
	return false
}

var storedPrefixes = [][]byte{
	[]byte("x-hinged-"),
	[]byte("x-mozilla-"),     // Status, Status2 and Keys: Thunderbird and SeaMonkey (nsMsgLocalFolderHdrs.h)
	[]byte("x-evolution"),    // alone and with -Source: Evolution (camel-mbox-folder.c)
	[]byte("x-vm-"),          // v5-Data and others: VM for Emacs (vm-vars.el)
	[]byte("x-rmail-"),       // Attributes and Keywords: Rmail for Emacs (rmail.el)
	[]byte("x-gnus-"),        // Gnus (nnfolder.el)
	[]byte("x-offlineimap-"), // OfflineIMAP (folder/IMAP.py)
}
