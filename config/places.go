// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const fileName = "hinged.toml"

const systemFile = "/etc/hinged/" + fileName

// Places returns where a configuration is looked for when none is named, in
// this order: $HINGED_CONFIG, and when that is set nowhere else; that of the XDG
// base directory specification; /etc/hinged/hinged.toml. A relative
// $XDG_CONFIG_HOME is ignored, as that specification demands.
//
// The current directory is none of them: it may be a stranger's, and a
// configuration names programs to run.
func Places() []string { return places(os.Getenv) }

func places(getenv func(string) string) []string {
	if path := getenv("HINGED_CONFIG"); path != "" {
		return []string{path}
	}
	var list []string
	if path := userFile(getenv); path != "" {
		list = append(list, path)
	}
	return append(list, systemFile)
}

// userFile is the configuration of one user; "" where there is no home.
func userFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hinged", fileName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "hinged", fileName)
	}
	return ""
}

// NewPlace returns where a new configuration belongs: $HINGED_CONFIG; for root
// /etc/hinged/hinged.toml, as for a user without a home; for a user the XDG
// place.
func NewPlace() string { return newPlace(os.Getenv, os.Geteuid()) }

func newPlace(getenv func(string) string, uid int) string {
	if path := getenv("HINGED_CONFIG"); path != "" {
		return path
	}
	if path := userFile(getenv); path != "" && uid != 0 {
		return path
	}
	return systemFile
}

// Find returns path, or when that is empty the first of Places that exists. The
// error, an fs.ErrNotExist, names the places where nothing was.
func Find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	return firstOf(Places())
}

func firstOf(list []string) (string, error) {
	for _, p := range list {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			return p, nil // whatever else is wrong with it, Load will say
		}
	}
	return "", missingError{list}
}

type missingError struct{ places []string }

func (e missingError) Error() string {
	return "there is no configuration yet: no such file as " + strings.Join(e.places, ", ") + "\n`hinged init` writes one for your mailbox; --config names another"
}

func (missingError) Unwrap() error { return fs.ErrNotExist }

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
