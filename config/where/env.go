package where

import (
	"path/filepath"
	"strings"
)

// Env is what the paths of a configuration depend on besides the file.
type Env struct {
	Getenv func(string) string
	// Dir is where relative paths in the file begin; "" leaves them as they are.
	Dir string
}

// Path resolves a path of the file.
func (e Env) Path(p string) string {
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

// StateDir returns the directory for state where the file names none: that of
// systemd's StateDirectory=, else that of the XDG base directory specification.
func (e Env) StateDir() string {
	if dir := e.Getenv("STATE_DIRECTORY"); dir != "" {
		// systemd separates several by colons.
		dir, _, _ = strings.Cut(dir, ":")
		return dir
	}
	if dir := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hinged")
	}
	if home := e.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "hinged")
	}
	return ""
}

// Socket returns the control socket where the file names none.
func (e Env) Socket(stateDir string) string {
	const name = "hinged.sock"
	if e.Getenv("STATE_DIRECTORY") == "" {
		if dir := e.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(stateDir, name)
}
