// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/hinged/hinged/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files anew")

// here is an environment that is the same on every machine.
func here() environment {
	vars := map[string]string{"HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/1000"}
	return environment{Getenv: func(name string) string { return vars[name] }, Dir: "/etc/hinged"}
}

// golden compares got with a file of testdata.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := testkit.Read(t, path)
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s (%v)", pattern, err)
	}
	return paths
}

func TestEveryMistakeIsNamedWithItsLine(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.toml") {
		name := strings.TrimSuffix(filepath.Base(path), ".toml")
		t.Run(name, func(t *testing.T) {
			data := testkit.Read(t, path)
			_, err := parse(bytes.NewReader(data), name+".toml", here())
			var configErr *Error
			if !errors.As(err, &configErr) {
				t.Fatalf("got error %v, want a *config.Error", err)
			}
			lines := bytes.Count(data, []byte("\n")) + 1
			for _, m := range configErr.Mistakes {
				if m.Line < 1 || m.Line > lines {
					t.Errorf("line %d of a file of %d lines: %v", m.Line, lines, m)
				}
				if m.Problem == "" || m.Want == "" && m.Key != "" {
					t.Errorf("%v says too little", m)
				}
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "12345678") {
				t.Errorf("the secret is in the message: %v", err)
			}
			golden(t, "testdata/bad/"+name+".want", []byte(err.Error()+"\n"))
		})
	}
}

func TestGoodFilesGiveTheEffectiveConfiguration(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.toml") {
		name := strings.TrimSuffix(filepath.Base(path), ".toml")
		t.Run(name, func(t *testing.T) {
			data := testkit.Read(t, path)
			c, err := parse(bytes.NewReader(data), path, here())
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/good/"+name+".effective", sameAfterEncode(t, c))
		})
	}
}

// sameAfterEncode returns the encoding of c; it fails unless that reads back as c.
func sameAfterEncode(t *testing.T, c *Config) []byte {
	t.Helper()
	encoded, err := c.Encode()
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	again, err := parse(bytes.NewReader(encoded), "encoded", here())
	if err != nil {
		t.Fatalf("an accepted configuration is refused once encoded: %v\n%s", err, encoded)
	}
	if !reflect.DeepEqual(c, again) {
		t.Fatalf("got %+v\nwant %+v\nfrom\n%s", again, c, encoded)
	}
	return encoded
}

func TestExampleIsUpToDateAndGivesTheDefaults(t *testing.T) {
	example := Example()
	c, err := parse(bytes.NewReader(example), "example.toml", here())
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultAccount()
	want.Name = "personal"
	want.Owner = []string{"me@example.org"}
	want.IMAP.Address = "imap.example.org:993"
	want.IMAP.Username = "me@example.org"
	want.IMAP.File = "/etc/hinged/password"
	if !reflect.DeepEqual(c.Accounts, []Account{want}) {
		t.Errorf("got %+v\nwant %+v", c.Accounts, want)
	}
	if c.StateDir != "/home/me/.local/state/hinged" || c.Socket != "/home/me/.local/state/hinged/hinged.sock" {
		t.Errorf("got state_dir %q and socket %q", c.StateDir, c.Socket)
	}
}

func TestTheExampleExplainsEveryKey(t *testing.T) {
	for _, key := range Keys() {
		if explanations()[key] == "" {
			t.Errorf("%s is not explained", key)
		}
	}
}

// withKafka takes the # away in front of the section [kafka].
func withKafka(example []byte) []byte {
	return regexp.MustCompile(`(?m)^#(\[|[a-z])`).ReplaceAll(example, []byte("$1"))
}

// The default window of [kafka] is its own, and may stay where another learner has no use
// for it.
func TestTheWindowOfASectionKafka(t *testing.T) {
	example := Example()
	other := regexp.MustCompile(`(?m)^kind( *)= .dual.`).ReplaceAll(withKafka(example), []byte(`kind$1= "perceptron"`))
	if bytes.Equal(other, withKafka(example)) {
		t.Fatal("the example names no learner")
	}
	if _, err := parse(bytes.NewReader(other), "example.toml", here()); err != nil {
		t.Error(err)
	}
	window := regexp.MustCompile(fmt.Sprintf(`(?m)^window( *)= %d\b`, DefaultKafka().Learner.Window))
	other = window.ReplaceAll(other, []byte("window$1= 501"))
	if _, err := parse(bytes.NewReader(other), "example.toml", here()); err == nil || !strings.Contains(err.Error(), "kafka.learner.window") {
		t.Errorf("with another window: %v", err)
	}
}

func TestTheOwnerOfAKafkaAccount(t *testing.T) {
	k := DefaultKafka()
	k.Accounts = []KafkaAccount{{"ann@example.org", []string{"ann@example.org", "ann.miller@example.org"}}, {"7", []string{"bob@example.org"}}}
	for _, tt := range []struct {
		key  string
		want []string
	}{
		{"ann@example.org", []string{"ann@example.org", "ann.miller@example.org"}}, {"7", []string{"bob@example.org"}},
		{"Eve@Example.org", []string{"eve@example.org"}}, {"8", nil}, {"Eve <eve@example.org>", nil}, {"", nil},
	} {
		if got := k.OwnerOf(tt.key); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.key, got, tt.want)
		}
	}
}

func TestDefaultDirectories(t *testing.T) {
	const file = `[[account]]
name = "a"
owner = ["me@example.org"]
imap = {address = "localhost:143", tls = "none", username = "me", password_file = "~/p", ca_file = ""}
`
	for _, tt := range []struct {
		name                 string
		vars                 map[string]string
		stateDir, socket, pw string
	}{
		{"systemd names it", map[string]string{"STATE_DIRECTORY": "/var/lib/hinged:/var/lib/other", "HOME": "/root"},
			"/var/lib/hinged", "/var/lib/hinged/hinged.sock", "/root/p"},
		{"a session directory is not for the socket, which a service must find, too", map[string]string{"XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r", "HOME": "/h"}, "/s/hinged", "/s/hinged/hinged.sock", "/h/p"},
		{"only HOME", map[string]string{"HOME": "/h"}, "/h/.local/state/hinged", "/h/.local/state/hinged/hinged.sock", "/h/p"},
		{"a relative XDG path is to be ignored", map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/hinged", "/h/.local/state/hinged/hinged.sock", "/h/p"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parse(strings.NewReader(file), "t.toml", environment{Getenv: func(k string) string { return tt.vars[k] }, Dir: "/etc"})
			if err != nil {
				t.Fatal(err)
			}
			if c.StateDir != tt.stateDir || c.Socket != tt.socket || c.Accounts[0].IMAP.File != tt.pw {
				t.Errorf("got %q, %q, %q, want %q, %q, %q", c.StateDir, c.Socket, c.Accounts[0].IMAP.File, tt.stateDir, tt.socket, tt.pw)
			}
		})
	}
	t.Run("none at all", func(t *testing.T) {
		_, err := parse(strings.NewReader(file), "t.toml", environment{Getenv: func(string) string { return "" }, Dir: "/etc"})
		if err == nil || !strings.Contains(err.Error(), "t.toml:1: state_dir: there is no default") || !strings.Contains(err.Error(), "t.toml:4: account.imap.password_file: there is no home directory") {
			t.Errorf("got %v", err)
		}
	})
}

func TestLoadReadsRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "hinged.toml")
	file := `state_dir = "state"
[[account]]
name = "a"
owner = ["me@example.org"]
imap = {address = "h", username = "me", password_file = "p"}
`
	testkit.Write(t, path, file)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.StateDir, filepath.Join(dir, "state"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := c.Accounts[0].IMAP.File, filepath.Join(dir, "p"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := Load(filepath.Join(dir, "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

func TestFileSizeIsLimited(t *testing.T) {
	least := testkit.Read(t, "testdata/good/least.toml")
	full := append(slices.Clone(least), bytes.Repeat([]byte("#"), maxFileBytes-len(least))...)
	if _, err := parse(bytes.NewReader(full), "full.toml", here()); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	full = append(full, '#')
	if _, err := parse(bytes.NewReader(full), "full.toml", here()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("just over the limit: got %v", err)
	}
}

func TestDurations(t *testing.T) {
	for _, tt := range []struct {
		text string
		want time.Duration
		back string
	}{
		{"60s", time.Minute, "1m"}, {"7d", 7 * day, "7d"}, {"2w", 14 * day, "14d"}, {"1d12h", 36 * time.Hour, "1d12h"},
		{"1.5d", 36 * time.Hour, "1d12h"}, {"90m", 90 * time.Minute, "1h30m"}, {"0", 0, "0s"}, {"0s", 0, "0s"},
		{"250ms", 250 * time.Millisecond, "250ms"}, {"1m1s1ms1us1ns", time.Minute + time.Second + time.Millisecond + time.Microsecond + 1, "1m1s1ms1us1ns"},
	} {
		got, err := ParseDuration(tt.text)
		if err != nil || got.Std() != tt.want || got.String() != tt.back {
			t.Errorf("%q: got %v (%v), %v, want %v (%s)", tt.text, got.Std(), got, err, tt.want, tt.back)
		}
		if again, err := ParseDuration(got.String()); err != nil || again != got {
			t.Errorf("%q: %q reads back as %v, %v", tt.text, got, again, err)
		}
	}
	for _, bad := range []string{"", "s", "5", "-5s", "5 s", "5s ", "d", "1.d.2", "1y", "1e3s", "9999999w", "200000w200000w", "5d-1h", ".", ".d", "0x1s"} {
		if got, err := ParseDuration(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func TestNearestKey(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"shadwo", "shadow"}, {"Shadow", "shadow"}, {"time-zone", "time_zone"}, {"timezone", "time_zone"}, {"x", ""}, {strings.Repeat("x", 1000), ""},
	} {
		if got := nearest(tt.name, []string{"mark", "shadow", "time_zone"}); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Encode returns c as a file that Parse reads back to the same value.
func (c *Config) Encode() ([]byte, error) { return toml.Marshal(c) }
