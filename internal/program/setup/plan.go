// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hinged/hinged/config"
)

// Plan is everything that a first configuration is made of.
type Plan struct {
	Path    string // of the configuration
	Address string // the owner's
	Auth    string
	CAFile  string // "": the system's authorities
	Found   *Found
	// Name of the account, Marks and StateDir: empty where the plan shall choose.
	Name     string
	Marks    []string
	StateDir string
	TimeZone string // by its IANA name; "" for the configuration's default
	Letters  bool   // the owner wants to be asked by letter until marks begin
	// Where the password is. Its zero value stands for a file beside the
	// configuration, to be written with Secret in it.
	Where  config.Password
	Secret string
}

// Files are the configuration and, before it, the password when it is to be
// written. The error is a *config.Error when the configuration would not load.
func (p *Plan) Files() ([]File, error) {
	a := config.DefaultAccount()
	a.Name = p.Name
	if a.Name == "" {
		a.Name = AccountName(p.Address)
	}
	a.Owner = []string{strings.ToLower(p.Address)}
	for _, more := range p.Found.Addresses {
		if !slices.Contains(a.Owner, more) {
			a.Owner = append(a.Owner, more)
		}
	}
	if p.TimeZone != "" {
		a.TimeZone = p.TimeZone
	}
	if p.Letters {
		a.Digest = config.AskingDigest()
	}
	a.IMAP.Address, a.IMAP.TLS, a.IMAP.Username = p.Found.Server.Address, string(p.Found.Server.TLS), p.Found.Username
	a.IMAP.Auth, a.IMAP.CAFile = p.Auth, p.CAFile
	a.Featurize.AuthservID = p.Found.AuthServID
	starter := config.Starter{StateDir: p.StateDir, Found: p.Found.Lines()}
	if p.StateDir == "" && os.Geteuid() == 0 && strings.HasPrefix(p.Path, "/etc/") {
		starter.StateDir = "/var/lib/hinged" // the default would be root's home
	}
	if len(p.Marks) > 0 {
		a.Mark = p.Marks
	} else {
		a.Mark, a.Shadow = p.Found.Suggest.Marks, p.Found.Suggest.Shadow
		starter.WhyMark = []string{p.Found.Suggest.Why}
		if p.Found.Suggest.Instead != "" {
			starter.WhyMark = append(starter.WhyMark, "Instead: "+p.Found.Suggest.Instead)
		}
	}
	mode := fs.FileMode(0o600)
	secretFile := "password"
	a.IMAP.Password = p.Where
	switch {
	case p.Where.Credential != "":
		// The service that gets it is another user, and there is no secret in the
		// configuration.
		mode, secretFile = 0o644, p.Where.Credential
	case p.Secret != "":
		a.IMAP.Password = config.Password{File: secretFile}
	}
	starter.Account = a
	data, err := starter.Encode()
	if err != nil {
		return nil, err
	}
	files := []File{{p.Path, data, mode}}
	if p.Secret != "" {
		files = append([]File{{filepath.Join(filepath.Dir(p.Path), secretFile), []byte(p.Secret + "\n"), 0o600}}, files...)
	}
	return files, nil
}
