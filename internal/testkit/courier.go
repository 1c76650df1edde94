// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// CourierOptions configure StartCourier. The zero value is what Debian's package is
// set to.
type CourierOptions struct {
	// IdlePoll is how often Courier looks for new mail while a client idles, in whole
	// seconds; default 60 s.
	IdlePoll time.Duration
	// NoKeywords makes it keep the flags of RFC 3501 and no keywords.
	NoKeywords bool
}

// StartCourier starts a Courier-IMAP of its own for this test on a free port of
// loopback, in the clear. Its folders are all below INBOX, as "INBOX.Sent", and it
// tells no special use. It is stopped when the test ends.
func StartCourier(tb testing.TB, o CourierOptions) *MailServer {
	tb.Helper()
	root := needDebianRoot(tb)
	m, port := newMailServer(tb, "INBOX.")
	j := newJail(tb, "courier")
	m.log = j.log
	if o.IdlePoll == 0 {
		o.IdlePoll = time.Minute
	}
	keywords := 1
	if o.NoKeywords {
		keywords = 0
	}
	j.start(tb, root, m.Addr, courierScript,
		fmt.Sprint("port=", port), "user="+m.User, "password="+m.Password,
		fmt.Sprint("IMAP_IDLE_TIMEOUT=", int(o.IdlePoll.Seconds())), fmt.Sprint("IMAP_KEYWORDS=", keywords))
	m.makeFolders(tb, filepath.Base(j.dir))
	return m
}

// courierScript makes the one user known to Courier's authdaemond and runs it and
// couriertcpd, with the settings of Debian's /etc/courier/imapd in the environment.
const courierScript = `
mkdir -m 700 "$dir/etc/courier"
mkdir -p "$dir/run/courier/authdaemon"
cat >"$dir/etc/courier/authdaemonrc" <<EOF
authmodulelist="authuserdb"
daemons=2
authdaemonvar=/run/courier/authdaemon
DEBUG_LOGIN=0
EOF
base=/usr/lib/courier/courier-authlib
crypted=$(echo "$password" | inside /usr/sbin/userdbpw -md5)
printf '%s\tuid=%s|gid=%s|home=/var/mail|mail=/var/mail/Maildir\n.\n' "$user" "$mailuser" "$mailuser" |
	inside $base/makedatprog - /etc/courier/tmp /etc/courier/userdb.dat
printf '%s\timappw=%s\n.\n' "$user" "$crypted" |
	inside $base/makedatprog - /etc/courier/tmp /etc/courier/userdbshadow.dat
inside /usr/bin/maildirmake.courier /var/mail/Maildir
chown -R "$mailuser:$mailuser" "$dir/var/mail/Maildir"
inside $base/authdaemond &
until [ -S "$dir/run/courier/authdaemon/socket" ]; do sleep 0.02; done
export IMAP_IDLE_TIMEOUT IMAP_KEYWORDS
export IMAP_CAPABILITY="IMAP4rev1 UIDPLUS CHILDREN NAMESPACE THREAD=ORDEREDSUBJECT THREAD=REFERENCES SORT QUOTA IDLE"
export IMAP_ACL=1 IMAP_MAILBOX_SANITY_CHECK=1 IMAP_USELOCKS=1 IMAP_ENHANCEDIDLE=0 IMAP_UMASK=022
export IMAP_TRASHFOLDERNAME=Trash IMAP_EMPTYTRASH=Trash:7 MAILDIRPATH=Maildir PROTOCOL=IMAP TCPDOPTS=
inside /usr/sbin/couriertcpd -address=127.0.0.1 -nodnslookup -noidentlookup -maxprocs=40 -maxperip=40 \
	"$port" /usr/lib/courier/courier/imaplogin /usr/bin/imapd Maildir &
wait $!
`

// makeFolders makes the folders of a server that has INBOX alone.
func (m *MailServer) makeFolders(tb testing.TB, what string) {
	tb.Helper()
	o := m.Owner(tb)
	for _, name := range mailboxNames {
		o.Create(m.Folder(name))
	}
	tb.Logf("%s at %s", what, m.Addr)
	o.Close()
}
