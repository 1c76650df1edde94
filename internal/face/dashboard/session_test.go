// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hinged/hinged/internal/testkit"
)

// again starts a Server anew on the port of one that has stopped, as a restart does.
func again(t *testing.T, s *Server, o Options) *Server {
	t.Helper()
	o.Listen = s.listener.Addr().String()
	if s.http != nil {
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return serving(t, o)
}

// TestABrowserStaysSignedInOverARestart also sends the form of a page that was open.
func TestABrowserStaysSignedInOverARestart(t *testing.T) {
	t.Parallel()
	for name, users := range map[string][]User{"by a link": nil, "by a password": people(t)} {
		t.Run(name, func(t *testing.T) {
			o := Options{Users: users, SessionFile: filepath.Join(t.TempDir(), "state", "sessions.json")}
			s := serving(t, o)
			b, gone := browse(t, s), browse(t, s)
			if users != nil {
				b.signIn("ann", "correct horse", "/")
				gone.signIn("ann", "correct horse", "/")
			}
			form := url.Values{"csrf": {csrf(t, b.get("/a/ann/figures").body)}, "back": {"/a/ann/"}}
			gone.leave("")
			s = again(t, s, o)
			if got := b.get("/a/ann/mail"); got.code != http.StatusOK {
				t.Errorf("after a restart: %d to %s", got.code, got.to())
			}
			if got := b.post("/a/ann/do", form); got.code != http.StatusSeeOther || got.to() != "/a/ann/" {
				t.Errorf("the form of a page from before: %d to %s", got.code, got.to())
			}
			if got := gone.get("/a/ann/mail"); got.code != http.StatusSeeOther {
				t.Errorf("who had signed out is signed in: %d", got.code)
			}
			b.leave("everywhere")
			again(t, s, o)
			if got := b.get("/a/ann/mail"); got.code != http.StatusSeeOther {
				t.Errorf("who had signed out everywhere is signed in: %d", got.code)
			}
		})
	}
}

// Another password or token, no such user any more, passwords instead of links, or a shorter
// life of sessions end what began before.
func TestASessionDoesNotOutliveWhatItBeganWith(t *testing.T) {
	t.Parallel()
	ann := func(u User) []User { u.Name, u.Accounts = "ann", []string{"ann"}; return []User{u} }
	hash, other := quickHash(t, "correct horse"), quickHash(t, "correct horse")
	first := User{PasswordHash: hash, Token: "ann's token, which is long"}
	for name, c := range map[string]struct{ before, after Options }{
		"another password":       {Options{Users: ann(first)}, Options{Users: ann(User{PasswordHash: other, Token: first.Token})}},
		"another token":          {Options{Users: ann(first)}, Options{Users: ann(User{PasswordHash: hash, Token: "another token, which is long"})}},
		"no such user":           {Options{Users: ann(first)}, Options{Users: people(t)[1:]}},
		"passwords for links":    {Options{}, Options{Users: ann(first)}},
		"links for passwords":    {Options{Users: ann(first)}, Options{}},
		"a shorter life":         {Options{Users: ann(first)}, Options{Users: ann(first), Session: time.Hour}},
		"the file is damaged":    {Options{}, Options{}},
		"the file can't be kept": {Options{}, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			var said testkit.Transcript
			file := filepath.Join(t.TempDir(), "sessions.json")
			c.before.SessionFile, c.after.SessionFile = file, file
			c.after.Log = slog.New(slog.NewTextHandler(&said, nil))
			s := serving(t, c.before)
			b := browse(t, s)
			if c.before.Users != nil {
				b.signIn("ann", "correct horse", "/")
			}
			if err := s.Stop(); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "the file is damaged":
				testkit.Write(t, file, `{"version":1,"sessions":{"x":`)
			case "the file can't be kept": // a directory has its name
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Join(file, "x"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s = again(t, s, c.after)
			if got := b.get("/a/ann/mail"); got.code != http.StatusSeeOther {
				t.Errorf("it is signed in: %d", got.code)
			}
			if c.before.Users == nil && c.after.Users == nil {
				if !said.Has("can't be read") {
					t.Errorf("the log says nothing:\n%s", said.String())
				}
				b.open(s.Link().URL)
			}
		})
	}
}

// Somebody reads a copy of the file, from a backup.
func TestTheFileOfSessionsSignsNobodyIn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state", "sessions.json")
	s := serving(t, Options{Users: people(t), SessionFile: file})
	b := browse(t, s)
	b.signIn("ann", "correct horse", "/")
	u, err := url.Parse(b.base)
	if err != nil {
		t.Fatal(err)
	}
	data := testkit.Read(t, file)
	for _, c := range b.http.Jar.Cookies(u) {
		if strings.Contains(string(data), c.Value) {
			t.Errorf("the file has the cookie %s", c.Name)
		}
	}
	for _, secret := range []string{people(t)[0].PasswordHash, people(t)[0].Token, "correct horse"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("the file has %q", secret)
		}
	}
	f, err := readSessions(file)
	if err != nil || len(f.Sessions) != 1 {
		t.Fatalf("%d sessions: %v", len(f.Sessions), err)
	}
	for hash := range f.Sessions {
		r, err := http.NewRequest(http.MethodGet, b.base+"/a/ann/mail", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: s.sessions.Cookie.Name, Value: hash})
		if got := stranger(t, s).do(r); got.code != http.StatusSeeOther {
			t.Errorf("what the file has signs in: %d", got.code)
		}
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v (%v)", path, st.Mode().Perm(), want, err)
		}
	}
}

func TestTheFileOfSessionsIsNotWrittenForEveryRequest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	file := filepath.Join(t.TempDir(), "sessions.json")
	st := openSessionStore(file, slog.New(slog.DiscardHandler), func() time.Time { return now })
	ends := func() time.Time {
		f, err := readSessions(file)
		if err != nil {
			t.Fatal(err)
		}
		return f.Sessions["a"].Expiry
	}
	touch := func() time.Time {
		end := now.Add(time.Hour)
		if err := st.Commit("a", []byte("1"), end); err != nil {
			t.Fatal(err)
		}
		return end
	}
	first := touch()
	now = now.Add(writeEvery - 1)
	if touch(); !ends().Equal(first) {
		t.Error("it was written for a request that moved the end")
	}
	now = now.Add(1)
	if second := touch(); !ends().Equal(second) {
		t.Error("it was not written after a minute")
	}
	now = now.Add(1)
	third := touch()
	if st.save(); !ends().Equal(third) {
		t.Error("it was not written at the end")
	}
	now = now.Add(2 * time.Hour)
	if again := openSessionStore(file, slog.New(slog.DiscardHandler), func() time.Time { return now }); len(again.kept) != 0 {
		t.Error("a session that has expired was read")
	}
}
