// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/addressbook"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/account/words"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/store/boltfile"
	"github.com/hinged/hinged/store/copies"
)

func storePath(c *config.Config) string { return filepath.Join(c.StateDir, "hinged.db") }

func daemonOptions(c *config.Config, log *slog.Logger) (daemon.Options, error) {
	o := daemon.Options{
		StorePath: storePath(c), Store: boltfile.Options{Logger: log},
		Socket: c.Socket, FilterSocket: c.FilterSocket, Version: versionString(), Logger: log, Backups: backupOptions(c),
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		source, err := imapOptions(a, log)
		if err != nil {
			return o, fmt.Errorf("account %s: %w", a.Name, err)
		}
		weights, err := cli.PriorWeights(&a.Judging)
		if err != nil {
			return o, fmt.Errorf("account %s: %w", a.Name, err)
		}
		options := filterOptions(a)
		if warning := words.Forgeable(options.Rules, a.Featurize.AuthservID); warning != "" {
			log.Warn("rules on senders can be met by forged mail", "account", a.Name, "detail", warning)
		}
		o.Accounts = append(o.Accounts, daemon.AccountOptions{
			Name: a.Name, Filter: options, Prior: weights, Settings: settingsOf(a), Consent: loginOf(a), AddressBook: addressBook(a.AddressBook),
			NewSource: func(known []ingest.Known) (ingest.Source, error) {
				return imap.New(source, known)
			},
		})
	}
	return o, nil
}

// addressBook returns how the address book of an account is read; nil: it has none.
func addressBook(b *config.AddressBook) daemon.ReadAddressBook {
	if b == nil {
		return nil
	}
	return func(ctx context.Context) (_ *addressbook.Book, err error) {
		var password string
		switch {
		case b.URL == "":
			return addressbook.ReadPath(b.Path)
		case b.Username != "":
			if password, err = b.ReadPassword(ctx); err != nil {
				return nil, err
			}
		}
		return addressbook.ReadServer(ctx, b.URL, b.Username, password)
	}
}

func backupOptions(c *config.Config) daemon.BackupOptions {
	return daemon.BackupOptions{Every: c.Backups.Every.Std(), Rotation: copies.Rotation{Dir: c.Backups.Dir, Keep: c.Backups.Keep}}
}

// settingsOf returns all that an account's options are made from: two that are equal
// give the same options. "" means that there is no telling.
func settingsOf(a *config.Account) string { return fingerprintOf(a, a.IMAP.CAFile, a.Prior) }

// fingerprintOf is settingsOf for a section with files that are read when the options are
// made. Others are read at each use.
func fingerprintOf(section any, files ...string) string {
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(section); err != nil {
		return ""
	}
	for _, name := range files {
		if !filepath.IsAbs(name) {
			continue // none, or a prior that is no file
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return ""
		}
		fmt.Fprintf(sum, "%d\n%s", len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func imapOptions(a *config.Account, log *slog.Logger) (imap.Options, error) {
	i := &a.IMAP
	o := imap.Options{
		Address: i.Address, TLS: imap.TLSMode(i.TLS), Username: i.Username, Auth: imap.AuthMechanism(i.Auth),
		Password: i.ReadPassword, Mailboxes: i.Mailboxes, Exclude: i.Exclude, Roles: folderRoles(&i.Folders),
		MaxBytes:     int64(a.Featurize.MaxBytes),
		PollInterval: time.Duration(i.PollInterval), IdleRestart: time.Duration(i.IdleRestart),
		RecheckInterval: time.Duration(i.RecheckInterval),
		Logger:          log.With("account", a.Name),
	}
	if i.OAuth != nil {
		tokens := oauthClient(a)
		o.Password, o.Renew, o.News = tokens.Token, tokens.Renew, tokens.News
	}
	if i.CAFile == "" && i.CertFile == "" {
		return o, nil
	}
	var err error
	o.TLSConfig, err = tlsConfig(i.CAFile, i.CertFile, i.KeyFile)
	return o, err
}

// tlsConfig reads the certificates to trust instead of the system's, and one to show;
// each may be "".
func tlsConfig(caFile, certFile, keyFile string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		var err error
		if c, err = trust(caFile); err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
	}
	if certFile != "" {
		if _, err := ownCertificate(certFile, keyFile); err != nil {
			return nil, err
		}
		// Read anew for each connection, so that a renewed one is found.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return ownCertificate(certFile, keyFile)
		}
	}
	return c, nil
}

func ownCertificate(certFile, keyFile string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("cert_file and key_file: %w", err)
	}
	return &pair, nil
}

func folderRoles(f *config.Folders) map[ingest.Role]string {
	names, out := f.ByUse(), map[ingest.Role]string{}
	for role := ingest.RoleSent; role <= ingest.RoleImportant; role++ {
		if name := names[role.String()]; name != "" {
			out[role] = name
		}
	}
	return out
}

func trust(caFile string) (*tls.Config, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", caFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// filterOptions turns an account's configuration into the filter's options.
// What the configuration has no key for keeps its default.
func filterOptions(a *config.Account) filter.Options {
	o := cli.JudgingOptions(&a.Judging, a.Owner)
	o.Marks = a.Mark
	o.Companion = a.Companion
	o.CopyTo = a.MarkCopy
	o.Shared = a.IMAP.Shared
	o.MarkWithin = time.Duration(a.MarkWithin)
	// The watched mailboxes are looked into every poll_interval; a slow round takes two.
	o.Elsewhere = 3 * time.Duration(a.IMAP.PollInterval)
	return o
}
