// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/internal/testkit"
)

func TestRolesAreFoundByConfigurationSpecialUseAndName(t *testing.T) {
	t.Parallel()
	box := func(name string, special ...ingest.Role) found { return found{name, ".", special} }
	sent, junk, trash := ingest.RoleSent, ingest.RoleJunk, ingest.RoleTrash
	for _, c := range []struct {
		name   string
		list   []found
		named  map[ingest.Role]string
		prefix string
		want   string
	}{
		{"by the server", []found{box("INBOX"), box("x", sent), box("y", junk)}, nil, "", "INBOX inbox , x sent special use, y junk special use"},
		{"by name", []found{box("INBOX"), box("Sent"), box("SPAM"), box("Lists")}, nil, "", "INBOX inbox , Sent sent name, SPAM junk name, Lists other "},
		{"below INBOX, though nothing says so", []found{box("INBOX"), box("INBOX.Sent"), box("INBOX.Deleted Items")}, nil, "",
			"INBOX inbox , INBOX.Sent sent name, INBOX.Deleted Items trash name"},
		{"below a prefix", []found{box("INBOX"), box("Me.Sent"), box("Them.Trash")}, nil, "Me.", "INBOX inbox , Me.Sent sent name, Them.Trash other "},
		{"deeper down they are something else", []found{box("INBOX.2024.Sent"), box("Lists.Sent")}, nil, "INBOX.", "INBOX.2024.Sent other , Lists.Sent other "},
		{"a name in another language, in two forms", []found{box("Entwürfe"), box("Envoyés"), box("Envoye\u0301s")}, nil, "",
			"Entwürfe drafts name, Envoyés sent name, Envoye\u0301s sent name"},
		{"what the server says excludes names, role by role", []found{box("Sent"), box("out", sent), box("Trash")}, nil, "",
			"Sent other , out sent special use, Trash trash name"},
		{"the configuration outranks both", []found{box("Sent"), box("out", sent), box("INBOX.mine"), box("Bin")}, map[ingest.Role]string{sent: "INBOX.mine", trash: "gone"}, "",
			"Sent other , out other , INBOX.mine sent configured, Bin other "},
		{"INBOX stays what it is", []found{{"INBOX", ".", []ingest.Role{junk}}}, nil, "", "INBOX inbox "},
		{"without levels", []found{{"INBOX.Sent", "", nil}}, nil, "", "INBOX.Sent other "},
	} {
		var got []string
		for _, l := range assign(c.list, c.named, c.prefix) {
			got = append(got, fmt.Sprintf("%s %s %s", l.name, l.role, l.by))
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, all, c.want)
		}
	}
}

// TestAMailboxIsKnownInEitherNormalForm has the server decompose names, as Apple's programs
// do, and the owner type them composed.
func TestAMailboxIsKnownInEitherNormalForm(t *testing.T) {
	t.Parallel()
	typed, there := norm.NFC.String("Gelöscht"), norm.NFD.String("Gelöscht")
	list := []found{{name: there, delim: "/"}}
	for _, tt := range []struct {
		name  string
		set   func(*Options)
		watch bool
		role  ingest.Role
	}{
		{"by its custom", func(*Options) {}, true, ingest.RoleTrash},
		{"excluded", func(o *Options) { o.Exclude = []string{typed} }, false, ingest.RoleTrash},
		{"listed", func(o *Options) { o.Mailboxes = []string{"INBOX", typed} }, true, ingest.RoleTrash},
		{"given a use", func(o *Options) { o.Roles = map[ingest.Role]string{ingest.RoleSent: typed} }, true, ingest.RoleSent},
	} {
		o := options("127.0.0.1:1", "owner", "x")
		tt.set(&o)
		s, err := New(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		l := assign(list, s.o.Roles, "")[0]
		if l.name != there || l.role != tt.role || s.watches(l.name, l.role) != tt.watch {
			t.Errorf("%s: got %q as %v, watched %v", tt.name, l.name, l.role, s.watches(l.name, l.role))
		}
	}
}

func TestFoldersBelowInboxAreFoundOnDovecot(t *testing.T) {
	t.Parallel()
	d := testkit.StartDovecot(t, testkit.DovecotOptions{Config: testkit.BelowInbox})
	d.Owner(t).Create("INBOX.Lists")
	boxes, err := probe(t, dovecotOptions(d)).Mailboxes(t.Context())
	want := []Mailbox{
		{"INBOX", ingest.RoleInbox, MeansNone}, {"INBOX.Archive", ingest.RoleArchive, MeansName}, {"INBOX.Drafts", ingest.RoleDrafts, MeansName},
		{"INBOX.Junk", ingest.RoleJunk, MeansName}, {"INBOX.Lists", ingest.RoleOther, MeansNone}, {"INBOX.Sent", ingest.RoleSent, MeansName},
		{"INBOX.Trash", ingest.RoleTrash, MeansName},
	}
	if err != nil || !slices.Equal(boxes, want) {
		t.Errorf("mailboxes are %v, %v\nwant %v", boxes, err, want)
	}
	// A name that no list has is told by the configuration.
	o := dovecotOptions(d)
	o.Roles = map[ingest.Role]string{ingest.RoleSent: "INBOX.Lists"}
	r := startSource(t, o)
	for name, role := range map[string]ingest.Role{"INBOX.Lists": ingest.RoleSent, "INBOX.Trash": ingest.RoleTrash} {
		r.await(name, 0, func(e ingest.Event) bool {
			m, ok := e.(ingest.MailboxOpened)
			return ok && m.Mailbox == name && m.Role == role
		})
	}
	awaitConnected(t, r)
	for _, e := range r.all() {
		if m, ok := e.(ingest.MailboxOpened); ok && m.Mailbox == "INBOX.Sent" {
			t.Errorf("INBOX.Sent is watched as %v, though another is configured", m.Role)
		}
	}
}

// TestMissingMailboxesAreToldOnce, and none that is there in the other normal form.
func TestMissingMailboxesAreToldOnce(t *testing.T) {
	t.Parallel()
	p := &poller{}
	list := []listed{{name: "INBOX"}, {name: norm.NFD.String("Gelöscht")}}
	names := []string{"inbox", norm.NFC.String("Gelöscht"), "Lost"}
	if got := p.newlyMissing(names, list); !slices.Equal(got, []string{"Lost"}) {
		t.Errorf("missing are %q", got)
	}
	if got := p.newlyMissing(names, list); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
}

// TestAMailboxThatChangesItsRoleIsReportedSo: a watched mailbox becomes the one for junk
// while hinged runs, and what comes into it then is junk.
func TestAMailboxThatChangesItsRoleIsReportedSo(t *testing.T) {
	t.Parallel()
	var use atomic.Pointer[string]
	f := testkit.StartFake(t, func(f *testkit.Fake) {
		f.Handle = func(c *testkit.FakeConn, cmd testkit.FakeCommand) bool {
			if special := use.Load(); cmd.Name == "LIST" && special != nil {
				c.Line(`* LIST () "/" INBOX`)
				c.Line(`* LIST (%s) "/" Lists`, *special)
				c.OK(cmd)
				return true
			}
			return boxes(f, c, cmd, "INBOX", "Lists")
		}
	})
	f.Add(plainMail, "")
	o := only(f)
	o.Mailboxes, o.PollInterval, o.RecheckInterval = []string{"INBOX", "Lists"}, 50*time.Millisecond, 100*time.Millisecond
	r := startSource(t, o)
	opened := func(role ingest.Role) func(ingest.Event) bool {
		return func(e ingest.Event) bool {
			o, is := e.(ingest.MailboxOpened)
			return is && o.Mailbox == "Lists" && o.Role == role
		}
	}
	_, at := r.await("Lists", 0, opened(ingest.RoleOther))
	junk := `\Junk`
	use.Store(&junk)
	_, at = r.await("Lists as junk", at, opened(ingest.RoleJunk))
	f.Add(plainMail, "")
	_, at = r.await("junk", at, arrivalOf("Lists", 2))
	none := ""
	use.Store(&none)
	r.await("Lists as before", at, opened(ingest.RoleOther))
}
