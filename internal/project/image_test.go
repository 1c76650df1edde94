// SPDX-License-Identifier: Apache-2.0

//go:build linux

package project_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// imagePatience is how long a test waits for what must come, on the slowest machine.
const imagePatience = 2 * time.Minute

// builder runs buildah, which reads the Dockerfile as Docker does and needs no daemon, on
// images of the test's own.
type builder struct {
	t   *testing.T
	dir string
}

func (b builder) run(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("buildah", append([]string{"--root", b.dir + "/storage", "--runroot", b.dir + "/run", "--storage-driver", "vfs"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("buildah %v: %v\n%s%s", args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// baseScript lays down what the steps of the Dockerfile use of Debian besides Go.
const baseScript = `
set -e
for program in /bin/sh /usr/bin/env /usr/bin/install; do
	for file in $program $(ldd $program | grep -o '/[^ ]*'); do
		mkdir -p "$1$(dirname $file)"
		cp -L $file "$1$file"
	done
done
mkdir -p "$1/etc/ssl/certs" "$1/tmp" "$1/usr/local/go" "$1/go/pkg/mod" "$1/gocache"
cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
`

// goEnv is a variable of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// base makes a stand-in for the image that the Dockerfile begins from, under its name: a
// registry may be out of reach. It has the machine's Debian; Go is mounted.
func (b builder) base(name string) {
	b.t.Helper()
	files := filepath.Join(b.dir, "base")
	if out, err := exec.Command("sh", "-c", baseScript, "sh", files).CombinedOutput(); err != nil {
		b.t.Fatalf("the base image: %v\n%s", err, out)
	}
	c := b.run("from", "scratch")
	b.run("copy", c, files, "/")
	b.run("config", "--env", "PATH=/usr/local/go/bin:/usr/bin:/bin", "--env", "GOPATH=/go", "--env", "GOCACHE=/gocache", "--env", "HOME=/tmp",
		"--env", "GOPROXY="+goEnv(b.t, "GOPROXY"), "--env", "GOFLAGS="+os.Getenv("GOFLAGS"), c)
	b.run("commit", c, "docker.io/library/"+name)
	b.run("rm", c)
}

// imageConfig is what the image says of how it is to be run.
type imageConfig struct {
	User, StopSignal     string
	Env, Entrypoint, Cmd []string
	Volumes              map[string]struct{}
	Labels               map[string]string
}

func TestTheImageIsBuiltFromTheDockerfileAndRuns(t *testing.T) {
	compiles(t)
	needsProgram(t, "buildah", "buildah")
	if os.Geteuid() != 0 {
		absent(t, "images are built as root here")
	}
	b := builder{t, t.TempDir()}
	text := testkit.Read(t, filepath.Join(root, "Dockerfile"))
	from := regexp.MustCompile(`(?m)^FROM (golang:\S+) AS build$`).FindSubmatch(text)
	if from == nil {
		t.Fatal("the Dockerfile does not begin from an image with Go")
	}
	b.base(string(from[1]))
	b.run("bud", "--isolation", "chroot", "--pull-never", "--build-arg", "VERSION="+number, "--build-arg", "COMMIT=0123456789abcdef",
		"--volume", goEnv(t, "GOROOT")+":/usr/local/go:ro", "--volume", goEnv(t, "GOMODCACHE")+":/go/pkg/mod", "--volume", goEnv(t, "GOCACHE")+":/gocache",
		"--tag", "hinged", "--file", "Dockerfile", ".")

	config := b.config("hinged")
	if config.User != "65532:65532" || config.StopSignal != "SIGTERM" || !slices.Contains(config.Env, "STATE_DIRECTORY=/var/lib/hinged") || len(config.Volumes) != 1 {
		t.Errorf("the image says %+v", config)
	}
	dir := b.mounted("hinged")
	imageHolds(t, dir)
	imageRuns(t, dir, config)
	b.released(config)
}

// config is what an image says, where buildah's own label is none of its.
func (b builder) config(image string) imageConfig {
	b.t.Helper()
	var all struct{ OCIv1 struct{ Config imageConfig } }
	if err := json.Unmarshal([]byte(b.run("inspect", "--type", "image", image)), &all); err != nil {
		b.t.Fatal(err)
	}
	delete(all.OCIv1.Config.Labels, "io.buildah.version")
	return all.OCIv1.Config
}

// mounted lays down what is in an image, and returns where.
func (b builder) mounted(image string) string {
	b.t.Helper()
	dir := b.run("mount", b.run("from", "--pull-never", image))
	b.t.Cleanup(func() { b.run("rm", "--all") })
	return dir
}

// released demands that the image of a release, made without a container engine, is the one that
// the Dockerfile makes, for either processor.
func (b builder) released(want imageConfig) {
	b.t.Helper()
	archive := "oci-archive:" + filepath.Join(aRelease(b.t), releasedImage)
	for _, arch := range []string{"arm64", "amd64"} {
		image := b.run("pull", "--arch", arch, archive)
		if got := b.config(image); !reflect.DeepEqual(got, want) {
			b.t.Errorf("for %s the image says\n%+v, want\n%+v", arch, got, want)
		}
		dir := b.mounted(image)
		imageHolds(b.t, dir)
		info, err := os.Stat(filepath.Join(dir, "var/lib/hinged"))
		if err != nil {
			b.t.Fatal(err)
		}
		if is := info.Sys().(*syscall.Stat_t); is.Uid != 65532 || is.Gid != 65532 || info.Mode().Perm() != 0o700 {
			b.t.Errorf("the state's directory belongs to %d:%d, with mode %o", is.Uid, is.Gid, info.Mode().Perm())
		}
		if arch == runtime.GOARCH {
			imageRuns(b.t, dir, want)
			continue
		}
		// The program there is another, which is built for this processor anyway (standIn).
		program := filepath.Join(dir, want.Entrypoint[0])
		if out, _ := exec.Command(emulated.command(b.t)[0], program).CombinedOutput(); !bytes.Contains(out, []byte("usage: player")) { // an error: it was given nothing to do
			b.t.Errorf("the program for %s says %q", arch, out)
		}
		text := testkit.Read(b.t, filepath.Join(dir, "etc/ssl/certs/ca-certificates.crt"))
		if n := bytes.Count(text, []byte("BEGIN CERTIFICATE")); n < 100 || !x509.NewCertPool().AppendCertsFromPEM(text) {
			b.t.Errorf("the image has %d certificates", n)
		}
	}
}

// imageHolds demands that nothing is in the image but what is meant to be.
func imageHolds(t *testing.T, dir string) {
	t.Helper()
	modes := below(t, dir)
	for path, mode := range map[string]fs.FileMode{
		"/usr/local/bin/hinged": 0o755, "/etc/ssl/certs/ca-certificates.crt": 0o644,
		"/usr/share/doc/hinged/LICENSE": 0o644, "/usr/share/doc/hinged/NOTICE": 0o644,
	} {
		if modes[path] != mode {
			t.Errorf("%s has mode %o, want %o", path, modes[path], mode)
		}
		delete(modes, path)
	}
	if len(modes) > 0 {
		t.Errorf("the image also has %v", modes)
	}
}

// imageRuns runs the image's own command as its user in its root: a daemon that answers,
// reads its configuration again, and ends at the image's signal.
func imageRuns(t *testing.T, dir string, config imageConfig) {
	t.Helper()
	command := func(args ...string) *exec.Cmd {
		user, group, _ := strings.Cut(config.User, ":")
		uid, err := strconv.Atoi(user)
		if err != nil {
			t.Fatal(err)
		}
		gid, err := strconv.Atoi(group)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(config.Entrypoint[0], slices.Concat(config.Entrypoint[1:], args)...)
		cmd.Dir, cmd.Env = "/", config.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return cmd
	}
	if out, err := command("version").Output(); err != nil || !strings.HasPrefix(string(out), "hinged "+number+"\ncommit 0123456789abcdef\n") {
		t.Errorf("version says %q (%v)", out, err)
	}
	file := config.Cmd[len(config.Cmd)-1]
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	// Nothing listens on port 1: the account says so, and the daemon runs.
	const account = "[[account]]\nname = \"me\"\nowner = [\"me@example.org\"]\n[account.imap]\naddress = \"127.0.0.1:1\"\ntls = \"none\"\nusername = \"me\"\npassword_env = \"HOME\"\n"
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	configure(account)
	daemon := command(config.Cmd...)
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- daemon.Wait() }()
	says := func(want string) {
		t.Helper()
		var out []byte
		for deadline := time.Now().Add(imagePatience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			out, _ = command("status", "--config", file).CombinedOutput() // an error until it answers
			if bytes.Contains(out, []byte("is running")) && bytes.Contains(out, []byte(want)) {
				return
			}
		}
		t.Errorf("status never says %q; the last it said is %s", want, out)
	}
	says("not connected")
	configure("log_format = \"text\"\n" + account)
	if err := daemon.Process.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
	says("only after a restart in: log_format")
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("it ended with %v\n%s", err, &log)
		}
	case <-time.After(imagePatience):
		_ = daemon.Process.Kill()
		t.Errorf("it did not end: %v", <-done)
	}
}
