// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hinged/hinged/internal/host/loopback"
)

// configure writes dovecot.conf and the users, for Dovecot 2.3.
//
// Long: the configuration of a server reads best in one piece.
func (d *Dovecot) configure(o DovecotOptions) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	loginUser, internalUser, mailUser := me.Username, me.Username, me
	if os.Geteuid() == 0 {
		// Dovecot never opens mail as root.
		loginUser, internalUser = "dovenull", "dovecot"
		if mailUser, err = user.Lookup("nobody"); err != nil {
			return err
		}
	}
	uid, _ := strconv.Atoi(mailUser.Uid)
	gid, _ := strconv.Atoi(mailUser.Gid)
	mail := filepath.Join(d.dir, "mail")
	if err := d.makeDirectories(mail, uid, gid); err != nil {
		return err
	}
	if o.Format == "" {
		o.Format = "maildir"
	}
	group, err := user.LookupGroupId(mailUser.Gid)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(d.Addr)
	plain, secure, ssl := port, "0", "no"
	if o.TLS || o.StartTLS {
		if ssl, err = d.certificate(); err != nil {
			return err
		}
		if o.TLS {
			plain, secure = "0", port
		} else {
			ssl += "disable_plaintext_auth = yes\n"
		}
	}
	var users strings.Builder
	for _, u := range o.Users {
		fmt.Fprintf(&users, "%s:{PLAIN}%s:%d:%d::%s/%s::\n", u, d.Password, uid, gid, mail, u)
	}
	passwords := filepath.Join(d.dir, "users")
	if err := writePasswords(passwords, users.String(), internalUser); err != nil {
		return err
	}
	if !strings.HasPrefix(ssl, "no") {
		ssl = "required\n" + ssl
	} else {
		ssl += "\ndisable_plaintext_auth = no\n"
	}
	var chroot string
	if os.Geteuid() != 0 {
		chroot = "chroot ="
	}
	conf := fmt.Sprintf(`
base_dir = %[1]s/run
state_dir = %[1]s/run
log_path = %[1]s/log
protocols = imap
listen = 127.0.0.1
ssl = %[2]s
default_login_user = %[3]s
default_internal_user = %[4]s
default_internal_group = %[5]s
mail_location = %[6]s:~/Mail
first_valid_uid = 1
first_valid_gid = 1
mail_max_userip_connections = 100
mail_fsync = never
auth_failure_delay = 0
auth_verbose = no
passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%%u %[1]s/users
}
userdb {
  driver = passwd-file
  args = username_format=%%u %[1]s/users
}
service anvil {
  %[9]s
  # A wrong password is answered at once: nobody guesses here.
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  %[9]s
}
service imap-login {
  %[9]s
  inet_listener imap {
    port = %[7]s
  }
  inet_listener imaps {
    port = %[8]s
  }
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    auto = create
    special_use = \Sent
  }
  mailbox Junk {
    auto = create
    special_use = \Junk
  }
  mailbox Trash {
    auto = create
    special_use = \Trash
  }
  mailbox Drafts {
    auto = create
    special_use = \Drafts
  }
  mailbox Archive {
    auto = create
    special_use = \Archive
  }
}
%[10]s
`, d.dir, ssl, loginUser, internalUser, groupOf(internalUser, group.Name), o.Format, plain, secure, chroot, o.Config)
	return os.WriteFile(d.conf, []byte(conf), 0o600)
}

// groupOf returns the name of a user's group, or fallback.
func groupOf(name, fallback string) string {
	if u, err := user.Lookup(name); err == nil {
		if g, err := user.LookupGroupId(u.Gid); err == nil {
			return g.Name
		}
	}
	return fallback
}

// certificate makes the server a certificate and returns the settings for it.
func (d *Dovecot) certificate() (string, error) {
	cert, key, err := loopback.Certificate()
	if err != nil {
		return "", err
	}
	certPath, keyPath := filepath.Join(d.dir, "cert.pem"), filepath.Join(d.dir, "key.pem")
	for path, data := range map[string][]byte{certPath: cert, keyPath: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return "", err
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	d.Certificate = cert
	d.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return fmt.Sprintf("ssl_cert = <%s\nssl_key = <%s\n", certPath, keyPath), nil
}

// makeDirectories makes the server's directory and, below it, that of the mail, which
// belongs to the user of the mail.
func (d *Dovecot) makeDirectories(mail string, uid, gid int) error {
	for _, dir := range []string{d.dir, mail} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(mail, uid, gid)
}

// writePasswords writes a file that reader, a user of Dovecot's, may read and nobody
// else.
func writePasswords(path, users, reader string) error {
	if err := os.WriteFile(path, []byte(users), 0o600); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	internal, err := user.Lookup(reader)
	if err != nil {
		return err
	}
	id, _ := strconv.Atoi(internal.Uid)
	return os.Chown(path, id, -1)
}
