// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// mailUser is the user and the group that the servers run as, by number: Debian's
// "mail". Its numbers mean it in the servers' own /etc only.
const mailUser = 8

// jail is a server of Debian's that runs in a root of its own, where the packages
// were unpacked, with /etc, /run, /var, /tmp and /dev for itself alone. They conflict
// with the packages of other servers, and where their files lie is compiled in. It
// ends with the test, with all its processes, which have a namespace of their own.
type jail struct {
	root   string // of the packages
	dir    string // its own etc, run, var, tmp and dev
	syslog *net.UnixConn
	logged Transcript
}

// jailScript makes the directories the server's own and runs the script that
// follows, in the namespace of mounts. root and dir are in its environment.
const jailScript = `
set -e
mount --make-rprivate /
for d in etc run var tmp dev; do
	mount --bind "$dir/$d" "$root/$d"
done
for d in null zero random urandom; do
	touch "$root/dev/$d"
	mount --bind "/dev/$d" "$root/dev/$d"
done
umask 022
inside() { chroot "$root" "$@"; }
`

// newJail makes the directories of a server.
func newJail(tb testing.TB, name string) *jail {
	tb.Helper()
	root, err := debianRoot()
	Need(tb, err)
	dir, err := os.MkdirTemp("", name) //nolint:usetesting // short, since Unix sockets in it allow 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	j := &jail{root: root, dir: dir}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { // the server's own users pass through
		tb.Fatal(err)
	}
	for _, d := range []string{"etc", "run", "var", "var/mail", "tmp", "dev"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	j.write(tb, "etc/passwd", "root:x:0:0::/:/bin/false\ndaemon:x:1:1::/:/bin/false\n"+
		fmt.Sprintf("cyrus:x:%[1]d:%[1]d::/var/mail:/bin/false\nmail:x:%[1]d:%[1]d::/var/mail:/bin/false\n", mailUser))
	j.write(tb, "etc/group", fmt.Sprintf("root:x:0:\ndaemon:x:1:\nmail:x:%d:\n", mailUser))
	for _, d := range []string{"run", "var", "var/mail", "tmp"} {
		j.give(tb, d)
	}
	j.listen(tb)
	return j
}

// listen takes the place of syslog.
func (j *jail) listen(tb testing.TB) {
	tb.Helper()
	path := filepath.Join(j.dir, "dev", "log")
	var err error
	if j.syslog, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // every user logs
		tb.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		line := make([]byte, 8<<10)
		for {
			n, err := j.syslog.Read(line)
			if err != nil {
				return // closed below
			}
			_, _ = j.logged.Write(append(line[:n:n], '\n')) // never fails
		}
	})
	tb.Cleanup(func() {
		j.syslog.Close()
		reader.Wait()
	})
}

// write writes a file of the server's, which is named from its root.
func (j *jail) write(tb testing.TB, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, name), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// give gives a file or directory of the server's to mailUser.
func (j *jail) give(tb testing.TB, name string) {
	tb.Helper()
	if err := os.Chown(filepath.Join(j.dir, name), mailUser, mailUser); err != nil {
		tb.Fatal(err)
	}
}

// start runs a script, which ends in the server, and waits until the server answers
// on addr. `inside PROGRAM` runs a program of the packages in the root. The script's
// variables are env, as in "port=143". log returns what the server said, there and to syslog.
func (j *jail) start(tb testing.TB, addr, script string, env ...string) (log func() string) {
	tb.Helper()
	// The shell stays, as the first process of its namespace: when it is killed, so is
	// every other one.
	cmd := exec.CommandContext(context.Background(), "sh", "-c", jailScript+script+"\n")
	cmd.Env = append(os.Environ(), "root="+j.root, "dir="+j.dir, "mailuser="+strconv.Itoa(mailUser))
	cmd.Env = append(cmd.Env, env...)
	cmd.Dir = "/"
	cmd.SysProcAttr = jailAttributes()
	return Serve(tb, filepath.Base(j.dir), addr, cmd, j.logged.String)
}
