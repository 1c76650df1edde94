package where

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheSocketIsFoundByTheKeysBeforeTheFirstTable(t *testing.T) {
	vars := map[string]string{"HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/1000"}
	env := Env{func(name string) string { return vars[name] }, "/etc/hinged"}
	for _, tt := range []struct{ file, want string }{
		{"", "/home/me/.local/state/hinged/hinged.sock"},
		{"socket = 's'", "/etc/hinged/s"},
		{"# a\n\n  state_dir = 'x'\r\nsocket\t=\t\"a\"\t# b\n [[account]]\nsocket = 'no'", "/etc/hinged/a"},
		{"[[account]]\nsocket = 'no'", "/home/me/.local/state/hinged/hinged.sock"},
		{"socket = '~/s'", "/home/me/s"},
		{"socket = ''", "/home/me/.local/state/hinged/hinged.sock"},
		{"a.socket = 'no'\nsocket = '~/s'", ""},
		{"socket = \"\\u0061\"", ""},
		{"socket = \"\"\"\na\"\"\"", ""},
		{"log_level = 'a' 'b'", ""},
		{"'socket' = 'a'", ""},
		{"socket = 'a", ""},
		{"socket = 7", ""},
		{"socket = ", ""},
		{"socket = '/s'\n= 1", ""},
	} {
		if got, ok := env.SocketOf([]byte(tt.file)); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tt.file, got, ok, tt.want)
		}
	}
	if got, _ := (Env{func(string) string { return "" }, "/etc"}).SocketOf([]byte("state_dir = 'var'")); got != "/etc/var/hinged.sock" {
		t.Errorf("below state_dir: got %q", got)
	}
}

func TestTheSocketOfAFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HINGED_CONFIG", "hinged.toml")
	if err := os.WriteFile("hinged.toml", []byte("socket = 'here'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("here")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "hinged.toml", filepath.Join(dir, "hinged.toml")} {
		if got, ok := Socket(path); !ok || got != here {
			t.Errorf("%q: got %q, %v, want %q", path, got, ok, here)
		}
	}
	if got, ok := Socket("none.toml"); ok {
		t.Errorf("without a file: got %q", got)
	}
}
