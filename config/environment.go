// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// environment is what the paths of a configuration depend on besides the file.
type environment struct {
	Getenv func(string) string
	// Dir is where relative paths in the file begin; "" leaves them as they are.
	Dir string
}

// path resolves a path of the file.
func (e environment) path(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if home := e.Getenv("HOME"); home != "" {
			return filepath.Join(home, rest)
		}
	}
	if p == "" || filepath.IsAbs(p) || e.Dir == "" {
		return p
	}
	return filepath.Join(e.Dir, p)
}

// stateDir returns the directory for state where the file names none: that of
// systemd's StateDirectory=, else that of the XDG base directory specification.
func (e environment) stateDir() string {
	if dir := e.Getenv("STATE_DIRECTORY"); dir != "" {
		first, _, _ := strings.Cut(dir, ":") // systemd separates several so
		return first
	}
	if dir := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hinged")
	}
	if home := e.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "hinged")
	}
	return ""
}

// socket returns the control socket where the file names none. It is beside the
// state, whatever the session: the daemon of a service and the verbs of a shell
// differ in $XDG_RUNTIME_DIR, and two daemons of one user would share it.
func (environment) socket(stateDir string) string { return filepath.Join(stateDir, "hinged.sock") }

// socket checks the path of a Unix socket and returns it in full.
func (t table) socket(key, path string) string {
	t.cleanPath(key, path)
	path = t.env.path(path)
	// sun_path of unix(7) holds 108 bytes, the last of them 0.
	t.check(len(path) < 108, key, fmt.Sprintf("its path of %d bytes is too long for a Unix socket", len(path)), nil, "107 bytes at most")
	return path
}
