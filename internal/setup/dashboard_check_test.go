// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/desk"
)

func TestTheDashboardIsTested(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	users := []config.User{{Name: "ann", PasswordHash: "x"}, {Name: "op", PasswordHashFile: "x"}, {Name: "robot"}}
	for name, c := range map[string]struct {
		dashboard *config.Dashboard
		status    *desk.Status
		wrong     error
		want      string // "": nothing is told
	}{
		"none":                       {nil, nil, nil, ""},
		"a user that is wrong":       {&config.Dashboard{Listen: "127.0.0.1:0"}, nil, errors.New("user ann: no"), "FAIL  dashboard: user ann: no"},
		"on this machine":            {&config.Dashboard{Listen: "127.0.0.1:0"}, nil, nil, "OK    dashboard: it listens on 127.0.0.1:0; `hinged dashboard` prints a link that opens it"},
		"with users":                 {&config.Dashboard{Listen: "localhost:0", Users: users}, nil, nil, "OK    dashboard: it listens on localhost:0; ann, op may sign in"},
		"with programs alone":        {&config.Dashboard{Listen: "localhost:0", Users: users[2:]}, nil, nil, "OK    dashboard: it listens on localhost:0; `hinged dashboard`"},
		"a port that is taken":       {&config.Dashboard{Listen: taken.Addr().String()}, nil, nil, "WARN  dashboard: another program listens on " + taken.Addr().String()},
		"that of the daemon":         {&config.Dashboard{Listen: taken.Addr().String()}, &desk.Status{Dashboard: "http://127.0.0.1:9/"}, nil, "OK    dashboard: it is at http://127.0.0.1:9/; `hinged dashboard`"},
		"a daemon without":           {&config.Dashboard{Listen: "127.0.0.1:0"}, &desk.Status{}, nil, "WARN  dashboard: the daemon that runs has none"},
		"passwords in the clear":     {&config.Dashboard{Listen: "0.0.0.0:0", Users: users}, nil, nil, "WARN  dashboard: passwords cross the network unencrypted to 0.0.0.0:0"},
		"with a certificate":         {&config.Dashboard{Listen: "0.0.0.0:0", CertFile: "c", Users: users}, nil, nil, "OK    dashboard: it listens on 0.0.0.0:0; ann, op may sign in"},
		"behind a proxy":             {&config.Dashboard{Listen: "0.0.0.0:0", PublicURL: "https://x.org", Users: users}, nil, nil, "OK    dashboard"},
		"behind a proxy without TLS": {&config.Dashboard{Listen: "0.0.0.0:0", PublicURL: "http://x.org", Users: users}, nil, nil, "WARN  dashboard: passwords"},
	} {
		checker := &Checker{
			Config: &config.Config{Dashboard: c.dashboard}, status: c.status,
			Dashboard: func(context.Context, *config.Dashboard) error { return c.wrong },
		}
		checker.pages(t.Context())
		got := ""
		for _, f := range checker.report.Findings {
			got += f.String()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
