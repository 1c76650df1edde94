// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// What scripts fetch or build, each once. `make setup` has done so already, so that no test
// waits for it. Each returns the path of what is there.
var (
	// Prometheus, Proxies (Caddy and nginx) and Schemathesis are directories.
	Prometheus   = fetched("prometheus.sh", "")
	Proxies      = fetched("proxies.sh", "")
	Schemathesis = fetched("schemathesis.sh", "python3-pip", "python3")

	axe          = fetched("axe.sh", "python3-pip", "python3")
	greenmailJar = fetched("greenmail.sh", "default-jre-headless maven", "java", "mvn")
	kafkaJars    = fetched("kafka.sh", "default-jre-headless maven", "java", "mvn")
	maddyBinary  = fetched("maddy.sh", "gcc libc6-dev", "cc")

	// debianRoot is the root of the unpacked packages with Cyrus and Courier.
	debianRoot = func() (string, error) {
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			return "", errors.New("no Cyrus and Courier: they need root on Linux here, for a file system of their own")
		}
		return debianPackages()
	}
	debianPackages = fetched("mailservers.sh", "mount coreutils", "mount", "chroot")
)

// fetched returns what runs one of the scripts that fetch a server into the user's cache,
// once, and returns the path that the script prints. packages is what Debian calls those
// that have the programs that it needs.
func fetched(script, packages string, programs ...string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		for _, program := range programs {
			if _, err := exec.LookPath(program); err != nil {
				return "", fmt.Errorf("no %s program is on this machine (on Debian and Ubuntu: apt install %s)", program, packages)
			}
		}
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = filepath.Join(root, ".bin")
		} else {
			cache = filepath.Join(cache, "hinged")
		}
		var said bytes.Buffer
		cmd := exec.CommandContext(context.Background(), "sh", filepath.Join(root, "scripts", script), cache)
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("scripts/%s: %w\n%s", script, err, said.Bytes())
		}
		return strings.TrimSpace(string(out)), nil
	})
}

// moduleRoot returns the directory of go.mod above the working directory, which
// is a package's when its tests run.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
	}
}

// Promtool runs promtool in dir and returns what it printed. Its failure fails the test.
func Promtool(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	root, err := Prometheus()
	Need(tb, err)
	cmd := exec.CommandContext(tb.Context(), filepath.Join(root, "bin", "promtool"), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("promtool %v: %v\n%s", args, err, out)
	}
	return string(out)
}
