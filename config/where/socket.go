package where

import (
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Socket returns the control socket that the configuration file at path names,
// or Find's when that is empty. It reads no more of the file than the keys before
// the first table, and it judges nothing: ok is false when the file can't be read
// so, and then config.Load says why. Where config.Load succeeds, both name the
// same socket.
func Socket(path string) (socket string, ok bool) {
	path, err := Find(path)
	if err != nil {
		return "", false
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false
	}
	data, err := os.ReadFile(absolute)
	if err != nil {
		return "", false
	}
	return Env{os.Getenv, filepath.Dir(absolute)}.SocketOf(data)
}

// SocketOf is Socket for what is in the file.
func (e Env) SocketOf(data []byte) (socket string, ok bool) {
	var stateDir string
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		x := p.Expression()
		if x.Kind != unstable.KeyValue {
			break
		}
		var to *string
		key := x.Key()
		key.Next()
		switch name := string(key.Node().Data); {
		case !key.IsLast(): // a dotted key
		case name == "socket":
			to = &socket
		case name == "state_dir":
			to = &stateDir
		}
		if to != nil {
			if x.Value().Kind != unstable.String {
				return "", false
			}
			*to = string(x.Value().Data)
		}
	}
	if p.Error() != nil {
		return "", false
	}
	if stateDir == "" {
		stateDir = e.StateDir()
	}
	if socket == "" {
		socket = e.Socket(e.Path(stateDir))
	}
	socket = e.Path(socket)
	return socket, socket != ""
}
