// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/testkit"
)

func plan(t *testing.T) Plan {
	return Plan{
		Path: filepath.Join(t.TempDir(), "conf", "hinged.toml"), Address: "Ann@Example.org", Auth: "plain",
		Found: &Found{
			Server: Server{"imap.example.org:993", imap.TLSImplicit, "as you asked"}, Username: "ann", NewKeywords: true,
			Addresses: []string{"lee@example.com", "ann@example.org"},
			Suggest:   Suggestion{Marks: []string{"$label1"}, Why: "Because.", Shadow: "auto", Instead: "Another."},
		},
	}
}

// written writes the plan's files and loads the configuration.
func written(t *testing.T, p Plan) (*config.Config, []File) {
	t.Helper()
	files, err := p.Files()
	testkit.OK(t, err)
	testkit.OK(t, Write(false, files...))
	c, err := config.Load(p.Path)
	testkit.OK(t, err)
	return c, files
}

func TestAPlanIsAConfigurationAndAPasswordBesideIt(t *testing.T) {
	t.Parallel()
	p := plan(t)
	p.Secret = "tulip"
	p.Found.AuthServID = "mx.example.org"
	c, files := written(t, p)
	a := c.Accounts[0]
	secret, err := a.IMAP.ReadPassword(t.Context())
	if err != nil || secret != "tulip" || filepath.Dir(a.IMAP.File) != filepath.Dir(p.Path) || len(files) != 2 {
		t.Errorf("%d files; the password is in %s, %v", len(files), a.IMAP.File, err)
	}
	for _, f := range files {
		if f.Mode != 0o600 || f.Path == p.Path && strings.Contains(string(f.Data), "tulip") {
			t.Errorf("%s has mode %v:\n%s", f.Path, f.Mode, f.Data)
		}
	}
	if a.Name != "ann" || !slices.Equal(a.Owner, []string{"ann@example.org", "lee@example.com"}) || a.Mark[0] != "$label1" || a.IMAP.Username != "ann" || a.Shadow != "auto" || a.Featurize.AuthservID != "mx.example.org" {
		t.Errorf("got %+v", a)
	}
}

func TestAPlanForAServiceHasAConfigurationThatItCanRead(t *testing.T) {
	t.Parallel()
	p := plan(t)
	p.Secret, p.Where = "tulip", config.Password{Credential: "imap-password"}
	p.StateDir = "/var/lib/hinged"
	c, files := written(t, p)
	if a := c.Accounts[0]; a.IMAP.Credential != "imap-password" || a.IMAP.File != "" {
		t.Errorf("got %+v", a.IMAP.Password)
	}
	if files[0].Mode != 0o600 || filepath.Base(files[0].Path) != "imap-password" || files[1].Mode != 0o644 {
		t.Errorf("got %s %v and %s %v", files[0].Path, files[0].Mode, files[1].Path, files[1].Mode)
	}
	if c.StateDir != "/var/lib/hinged" {
		t.Errorf("state in %s", c.StateDir)
	}
}

func TestAPlanKeepsWhatTheOwnerChose(t *testing.T) {
	t.Parallel()
	p := plan(t)
	p.Name, p.Marks, p.Where = "mine", []string{`\Flagged`, "$x"}, config.Password{Env: "SECRET"}
	c, files := written(t, p)
	if a := c.Accounts[0]; len(files) != 1 || a.Name != "mine" || len(a.Mark) != 2 || a.IMAP.Env != "SECRET" {
		t.Errorf("%d files, %+v", len(files), a)
	}
	p.Name = "No Name"
	var wrong *config.Error
	if _, err := p.Files(); !errors.As(err, &wrong) {
		t.Errorf("got %v", err)
	}
}
