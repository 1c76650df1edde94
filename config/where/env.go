package where

// Env is what the paths of a configuration depend on besides the file.
type Env struct {
	Getenv func(string) string
	// Dir is where relative paths in the file begin; "" leaves them as they are.
	Dir string
}

// Path resolves a path of the file.
func (e Env) Path(p string) string {
	if len(p) >= 2 && p[:2] == "~/" {
		if home := e.Getenv("HOME"); home != "" {
			return join(home, p[2:])
		}
	}
	if p == "" || isAbs(p) || e.Dir == "" {
		return p
	}
	return join(e.Dir, p)
}

// StateDir returns the directory for state where the file names none: that of
// systemd's StateDirectory=, else that of the XDG base directory specification.
func (e Env) StateDir() string {
	if dir := e.Getenv("STATE_DIRECTORY"); dir != "" {
		for i := range len(dir) { // systemd separates several by colons
			if dir[i] == ':' {
				return dir[:i]
			}
		}
		return dir
	}
	if dir := e.Getenv("XDG_STATE_HOME"); isAbs(dir) {
		return join(dir, "hinged")
	}
	if home := e.Getenv("HOME"); isAbs(home) {
		return join(home, ".local", "state", "hinged")
	}
	return ""
}

// Socket returns the control socket where the file names none. It is beside the
// state, whatever the session: the daemon of a service and the verbs of a shell
// differ in $XDG_RUNTIME_DIR, and two daemons of one user would share it.
func (Env) Socket(stateDir string) string { return join(stateDir, "hinged.sock") }
