// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// CyrusOptions configure StartCyrus. The zero value is what Cyrus itself is set to:
// folders beside INBOX, which tell their special use.
type CyrusOptions struct {
	// Below has all folders below INBOX, as "INBOX.Sent", and no special use: what
	// Cyrus before 3.0, and Debian's package still, are set to.
	Below bool
}

// StartCyrus starts a Cyrus IMAP of its own for this test on a free port of
// loopback, in the clear. It is stopped when the test ends.
func StartCyrus(tb testing.TB, o CyrusOptions) *MailServer {
	tb.Helper()
	prefix, folders := "", cyrusBeside
	if o.Below {
		prefix, folders = "INBOX.", cyrusBelow
	}
	m, port := newMailServer(tb, prefix)
	j := newJail(tb, "cyrus")
	j.write(tb, "etc/imapd.conf", cyrusSettings+folders)
	j.write(tb, "etc/cyrus.conf", fmt.Sprintf(cyrusServices, port))
	serveSASL(tb, filepath.Join(j.dir, "run", "mux"), m.User, m.Password)
	m.log = j.start(tb, m.Addr, cyrusScript)
	if o.Below {
		m.makeFolders(tb, filepath.Base(j.dir))
	}
	return m
}

const cyrusScript = `
for d in var/lib var/lib/db var/lib/socket run/proc run/lock; do
	mkdir "$dir/$d"
	chown "$mailuser:$mailuser" "$dir/$d"
done
inside /usr/lib/cyrus/bin/master -C /etc/imapd.conf -M /etc/cyrus.conf -p /run/master.pid &
wait $!
`

const cyrusServices = `
START {
  recover cmd="/usr/lib/cyrus/bin/ctl_cyrusdb -r"
  idled cmd="/usr/lib/cyrus/bin/idled"
}
SERVICES {
  imap cmd="/usr/lib/cyrus/bin/imapd -U 30" listen="127.0.0.1:%d" prefork=1
}
EVENTS {
}
`

const cyrusSettings = `
configdirectory: /var/lib
defaultpartition: default
partition-default: /var/mail
proc_path: /run/proc
mboxname_lockpath: /run/lock
idlesocket: /run/idle
allowplaintext: yes
virtdomains: userid
sasl_pwcheck_method: saslauthd
sasl_saslauthd_path: /run/mux
sasl_mech_list: PLAIN LOGIN
autocreate_quota: 0
`

const cyrusBeside = `
altnamespace: yes
unixhierarchysep: yes
specialusealways: yes
autocreate_inbox_folders: Sent | Junk | Trash | Drafts | Archive
xlist-sent: Sent
xlist-junk: Junk
xlist-trash: Trash
xlist-drafts: Drafts
xlist-archive: Archive
`

const cyrusBelow = `
altnamespace: no
unixhierarchysep: no
specialusealways: no
`

// serveSASL is saslauthd for one user, until the test ends: Cyrus asks it on a Unix
// socket who may log in. A question is four strings, each after its length in two
// bytes: login, password, service and realm, which is the part of the login behind
// its @. The answer is one such string (saslauthd(8), Cyrus SASL's lak and checkpw.c).
func serveSASL(tb testing.TB, path, user, password string) {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // the server's own users ask
		tb.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed below
			}
			all.Go(func() {
				defer conn.Close()
				answer := "NO"
				if asked, err := readSASL(conn); err == nil && strings.TrimSuffix(asked[0]+"@"+asked[3], "@") == user && asked[1] == password {
					answer = "OK"
				}
				_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			})
		}
	})
	tb.Cleanup(func() {
		l.Close()
		all.Wait()
	})
}

// readSASL reads a question.
func readSASL(r io.Reader) (asked [4]string, err error) {
	for i := range asked {
		var n uint16
		if err := binary.Read(r, binary.BigEndian, &n); err != nil {
			return asked, err
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(r, text); err != nil {
			return asked, err
		}
		asked[i] = string(text)
	}
	return asked, nil
}

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
	m, port := newMailServer(tb, "INBOX.")
	j := newJail(tb, "courier")
	if o.IdlePoll == 0 {
		o.IdlePoll = time.Minute
	}
	keywords := 1
	if o.NoKeywords {
		keywords = 0
	}
	m.log = j.start(tb, m.Addr, courierScript,
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
