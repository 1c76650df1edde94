package where

import (
	"bytes"
	"os"
)

// Socket returns the control socket that the configuration file at path names,
// or Find's when that is empty. It reads the keys before the first table, and
// only where they are written as they mostly are, each on its line with a string
// without escapes; ok is false where the file has anything else there, or can't
// be read, and then config.Load must find out. Where both succeed, both name the
// same socket.
func Socket(path string) (socket string, ok bool) {
	path, err := Find(path)
	if err != nil {
		return "", false
	}
	if !isAbs(path) {
		here, err := os.Getwd()
		if err != nil {
			return "", false
		}
		path = join(here, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	return Env{os.Getenv, dirOf(path)}.SocketOf(data)
}

// SocketOf is Socket for what is in the file.
func (e Env) SocketOf(data []byte) (socket string, ok bool) {
	var stateDir string
	for line := range bytes.Lines(data) {
		line = bytes.Trim(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			break
		}
		key, value, ok := keyValue(line)
		if !ok {
			return "", false
		}
		switch string(key) {
		case "socket":
			socket = string(value)
		case "state_dir":
			stateDir = string(value)
		}
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

// keyValue takes apart a line such as: socket = "/run/hinged.sock" # a comment.
// It declines whatever else TOML may have there.
func keyValue(line []byte) (key, value []byte, ok bool) {
	key, rest, ok := bytes.Cut(line, []byte("="))
	key, rest = bytes.TrimRight(key, " \t"), bytes.TrimLeft(rest, " \t")
	if !ok || len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
		return nil, nil, false
	}
	for _, c := range key {
		if !('a' <= c && c <= 'z' || c == '_') {
			return nil, nil, false
		}
	}
	value, rest, ok = bytes.Cut(rest[1:], rest[:1])
	rest = bytes.TrimLeft(rest, " \t")
	if !ok || bytes.IndexByte(value, '\\') >= 0 || len(rest) > 0 && rest[0] != '#' {
		return nil, nil, false
	}
	return key, value, true
}
