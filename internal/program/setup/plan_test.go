// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testkit.OK(t, err)
	return string(data)
}

func TestFilesAreWrittenWholeForTheirOwnerOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	one, two := filepath.Join(dir, "password"), filepath.Join(dir, "hinged.toml")
	files := []File{{one, []byte("tulip\n"), 0o600}, {two, []byte("a = 1\n"), 0o640}}
	testkit.OK(t, Write(false, files...))
	for path, mode := range map[string]fs.FileMode{dir: 0o700, one: 0o600, two: 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), mode)
		}
	}
	// The second exists, so the first is not replaced either.
	testkit.OK(t, os.Remove(one))
	files[0].Data, files[1].Data = []byte("rose\n"), []byte("a = 2\n")
	if err := Write(false, files...); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(one); err == nil || read(t, two) != "a = 1\n" {
		t.Error("something was written in spite of the error")
	}
	if err := Write(true, files...); err != nil || read(t, one) != "rose\n" || read(t, two) != "a = 2\n" {
		t.Errorf("force: %v", err)
	}
	// A failure in between leaves nothing behind.
	blocked := filepath.Join(dir, "hinged.toml", "below")
	if err := Write(false, File{filepath.Join(dir, "third"), nil, 0o600}, File{blocked, nil, 0o600}); err == nil {
		t.Error("a file below a file was written")
	}
	// Nor is a file replaced that comes after the look: here by the same call.
	twice := filepath.Join(dir, "twice")
	if err := Write(false, File{twice, nil, 0o600}, File{twice, nil, 0o600}); !errors.Is(err, ErrExists) {
		t.Errorf("a file that was made meanwhile: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFileForEverybodyCanBeReached(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	testkit.OK(t, Write(false, File{filepath.Join(dir, "secret"), nil, 0o600}, File{filepath.Join(dir, "open"), nil, 0o644}))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestTimeZoneHasItsIANAName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	zone := filepath.Join(dir, "zoneinfo", "Europe", "Zurich")
	testkit.OK(t, os.MkdirAll(filepath.Dir(zone), 0o755))
	testkit.OK(t, os.WriteFile(zone, nil, 0o644))
	link := filepath.Join(dir, "localtime")
	testkit.OK(t, os.Symlink(zone, link))
	for _, tt := range []struct{ tz, link, want string }{
		{"", link, "Europe/Zurich"},
		{"Asia/Tokyo", link, "Asia/Tokyo"},
		{":America/Lima", link, "America/Lima"},
		{":/usr/share/zoneinfo/Africa/Cairo", link, "Africa/Cairo"},
		{"CET-1CEST", link, "UTC"},
		{"", filepath.Join(dir, "none"), "UTC"},
		{"", zone + "/..", "UTC"},
		{"Etc/UTC", link, "UTC"},
		{"Local", link, "UTC"},
	} {
		if got := timeZone(tt.tz, tt.link); got != tt.want {
			t.Errorf("TZ=%q, %s: got %s, want %s", tt.tz, tt.link, got, tt.want)
		}
	}
}

func TestAccountNamesAreValid(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"ann@example.org": "ann", "Ann.Lee+x@example.org": "ann.lee-x", "émile@example.org": "mile", "__@example.org": "me", "@": "me",
	} {
		if got := AccountName(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

// TestThePageOfMailProgramsSaysWhatTheProgramKnows compares every row of the tables in
// docs/mail-programs.md with programs.
func TestThePageOfMailProgramsSaysWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/mail-programs.md")
	testkit.OK(t, err)
	var rows []string
	tried := false
	for line := range strings.Lines(string(page)) {
		if after, ok := strings.CutPrefix(line, "## "); ok {
			tried = strings.HasPrefix(after, "Programs that were tried")
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[3]) == "so set" {
			continue
		}
		text := func(i int) string { return strings.NewReplacer("`", "", "*", "").Replace(strings.TrimSpace(cells[i])) }
		rows = append(rows, fmt.Sprintf("%v|%s|%s|%s", tried, text(1), text(2), text(3)))
	}
	if len(rows) != len(programs()) {
		t.Errorf("the page has %d programs, the table in programs.toml %d", len(rows), len(programs()))
	}
	for i, p := range programs()[:min(len(rows), len(programs()))] {
		if want := fmt.Sprintf("%v|%s|%s|mark = ['%s']", p.Tried, p.Title, p.Shows, p.Mark); rows[i] != want {
			t.Errorf("row %d of docs/mail-programs.md is\n%s\nand programs.toml has\n%s", i+1, rows[i], want)
		}
	}
}

func TestEveryProgramShowsTheMarkThatIsSetForIt(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for i := range programs() {
		p := &programs()[i]
		if !hasMark(p.Sees, p.Mark) && !hasMark(p.SeesWith, p.Mark) {
			t.Errorf("%s does not show %s", p.Title, p.Mark)
		}
		for _, n := range p.Names {
			if had := names[plain(n)]; had != "" {
				t.Errorf("%s and %s are both %s", had, p.Title, n)
			}
			names[plain(n)] = p.Title
		}
	}
	for _, marks := range [][]string{{"$Important"}, {`\important`}, {"$other"}} {
		if seen, _, _ := shown(marks); len(seen) != 0 {
			t.Errorf("%s is seen in %s", marks, programNames(seen))
		}
	}
	if got := WhereSeen([]string{"$x", star}); got != `$x, \Flagged is seen in every mail program that hinged knows.` {
		t.Errorf("got %s", got)
	}
	if got := WhereSeen([]string{"$label1"}); !strings.HasPrefix(got, "$label1 is seen in Thunderbird; is seen with some lines of configuration in NeoMutt, OfflineIMAP; is not seen in mutt, aerc, ") {
		t.Errorf("got %s", got)
	}
	seen, withLines, unseen := shown([]string{"$LABEL1"})
	if programNames(seen) != "Thunderbird" || programNames(withLines) != "NeoMutt, OfflineIMAP" || len(unseen) != len(programs())-3 {
		t.Errorf("got %s; %s; %s", programNames(seen), programNames(withLines), programNames(unseen))
	}
}

func TestTheMarksFitWhatWasFound(t *testing.T) {
	t.Parallel()
	flags := []string{`\answered`, `\deleted`, `\draft`, `\flagged`, `\seen`}
	use := func(name string, n int) imap.KeywordUse { return imap.KeywordUse{Name: name, Messages: n} }
	for _, tt := range []struct {
		name  string
		found Found
		marks string
		why   string
	}{
		{"nothing is known", Found{NewKeywords: true}, "$Important", "not known where you read"},
		{"the server does not say what it keeps", Found{}, "$Important", "standard"},
		{"no new keywords", Found{Permanent: flags}, star, "keeps no new keywords"},
		{"no new keywords, but this one", Found{Permanent: []string{"$important", `\flagged`}}, "$Important", "standard"},
		{"nothing at all", Found{Permanent: []string{`\seen`}}, "$Important", "only decides"},
		{"nothing at all", Found{Permanent: []string{`\seen`}, Capabilities: []string{"UIDPLUS"}}, "$Important", "only decides"},
		{"Gmail", Found{NewKeywords: true, Capabilities: []string{"IDLE", "X-GM-EXT-1"}}, star, "The star is seen in Gmail."},
		{"Thunderbird, whose red label is free", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("NonJunk", 3)}}, "$label1", "$label1 is seen in Thunderbird."},
		{"Thunderbird, whose red label is taken", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$Label1", 3)}}, star, "The star is seen in Thunderbird."},
		{"Thunderbird, and both are taken", Found{NewKeywords: true, Starred: 1, Keywords: []imap.KeywordUse{use("$Label1", 3)}}, "$label1", "$label1 is on 3 messages already"},
		{"Apple Mail alone", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$MailFlagBit1", 1)}}, star, "The star is seen in Apple Mail."},
		{
			"Apple Mail and Thunderbird", Found{NewKeywords: true, Keywords: []imap.KeywordUse{use("$label3", 1), use("$MailFlagBit1", 1)}},
			`$label1 \Flagged`, "The star is seen in Thunderbird, Apple Mail.",
		},
		{"Apple Mail and Thunderbird without keywords", Found{Permanent: append(flags, "nonjunk"), Keywords: []imap.KeywordUse{use("NonJunk", 1), use("$MailFlagBit1", 1)}}, star, "keeps no new keywords"},
		{"another program sets the mark", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 5}}}, "$Important", "seems to set $important"},
		{"another program sets Thunderbird's", Found{NewKeywords: true, Starred: 1, Keywords: []imap.KeywordUse{{Name: "$label1", Messages: 9, Unread: 5}}}, star, "The star is on 1 message already"},
		{"people mark what they have seen", Found{NewKeywords: true, Keywords: []imap.KeywordUse{{Name: "$important", Messages: 9, Unread: 2}}}, "$Important", "standard mark (RFC 8457)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.found.Clients = clients(&tt.found, nil)
			tt.found.Others = others(tt.found.Keywords)
			got := Suggest(&tt.found, tt.found.Reads())
			if strings.Join(got.Marks, " ") != tt.marks || !strings.Contains(got.Why, tt.why) {
				t.Errorf("got %+v, want %s because of %q", got, tt.marks, tt.why)
			}
			if want := map[bool]string{true: "on", false: "auto"}[tt.name == "nothing at all"]; got.Shadow != want {
				t.Errorf("shadow is %q, want %q", got.Shadow, want)
			}
			if offered := strings.Contains(got.Instead, "mark_copy"); offered != (tt.name == "nothing at all" && len(tt.found.Capabilities) > 0) {
				t.Errorf("a copy is offered: %v", offered)
			}
			if tt.name == "people mark what they have seen" && strings.Contains(got.Why, "nother program") {
				t.Errorf("a program is suspected: %s", got.Why)
			}
		})
	}
}

// TestTheMarkIsSeenWhereMailIsRead gives every answer to the question where mail is read.
func TestTheMarkIsSeenWhereMailIsRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reads, marks string }{
		{"phone, Thunderbird", `\Flagged $label1`},
		{"thunderbird,phone", `$label1 \Flagged`},
		{"iPhone", `\Flagged`},
		{"K-9 Mail,k9mail", `\Flagged`},
		{"Evolution", `$Labelimportant`},
		{"NeoMutt", `$Important`},
		{"other", `$Important`},
	} {
		list, err := Programs(tt.reads)
		testkit.OK(t, err)
		got := Suggest(&Found{NewKeywords: true}, list)
		if strings.Join(got.Marks, " ") != tt.marks {
			t.Errorf("%s: got %+v, want %s", tt.reads, got, tt.marks)
		}
	}
	// Whatever is answered, on whatever server that keeps the star, it shows in each program.
	for _, found := range []Found{
		{NewKeywords: true},
		{NewKeywords: true, Starred: 5, Keywords: []imap.KeywordUse{{Name: "$label1", Messages: 2}, {Name: "$labelimportant", Messages: 3}}},
		{Permanent: []string{`\flagged`}},
	} {
		for i := range programs() {
			for j := range programs() {
				got := Suggest(&found, []*Program{&programs()[i], &programs()[j]})
				for _, p := range []Program{programs()[i], programs()[j]} {
					if !slices.ContainsFunc(got.Marks, func(m string) bool { return hasMark(append(p.SeesWith, p.Sees...), m) }) {
						t.Errorf("%s and %s: %s does not show %q", programs()[i].Title, programs()[j].Title, p.Title, got.Marks)
					}
				}
				for _, m := range got.Marks {
					if !found.keeps(m) {
						t.Errorf("the server does not keep %s", m)
					}
				}
			}
		}
	}
	if _, err := Programs("phone, abacus"); err == nil || !strings.Contains(err.Error(), `"abacus"`) || !strings.Contains(err.Error(), "Thunderbird") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramIsKnownByWhatItWroteInSentMail(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:91.0) Gecko/20100101 Thunderbird/91.5": "Thunderbird",
		"Mozilla Thunderbird":           "Thunderbird",
		"Thunderbird for Android":       "K-9 Mail",
		"K-9 Mail for Android":          "K-9 Mail",
		"iPhone Mail (20A362)":          "Apple Mail",
		"Apple Mail (2.3696.120.41.1)":  "Apple Mail",
		"Microsoft Outlook 16.0":        "Outlook",
		"Roundcube Webmail/1.6.5":       "Roundcube",
		"Evolution 3.46.4-2":            "Evolution",
		"KMail/5.1.3 (Linux/6.1; KDE/)": "KMail",
		"Mutt/2.2.9 (2022-11-12)":       "mutt",
		"NeoMutt/20220429":              "NeoMutt",
		"aerc/0.14.0":                   "aerc",
		"Something else":                "",
	} {
		got := ""
		if p := writer(value); p != nil {
			got = p.Name()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", value, got, want)
		}
	}
	f := Found{NewKeywords: true}
	if got := clients(&f, []imap.Mailer{{Field: "X-Mailer", Name: "iPhone Mail (20A362)", Messages: habit}, {Field: "User-Agent", Name: "Evolution 3", Messages: habit - 1}}); len(got) != 1 || got[0].Name != "Apple Mail" || got[0].By != "X-Mailer iPhone Mail (20A362)" {
		t.Errorf("got %+v", got)
	}
}
