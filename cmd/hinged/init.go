// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/program/setup"
)

type initFlags struct {
	config, address, server, username, name, stateDir, caFile string
	passwordFile, passwordCommand, credential                 string
	tls, auth                                                 *cli.Choice
	reads                                                     string
	mark                                                      []string
	user                                                      string
	force, json, letters                                      bool
}

// Long: the help and a line for each flag.
func initCommand() *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Find your mail server, look at it, and write a configuration",
		Long: `Ask for an e-mail address and a password, find the server, log in, look at what
the server supports and what is in the mailbox, and write a configuration with
comments that say what was found. It changes nothing in the mailbox.

init asks where you read your mail and chooses marks that you see there; the
default answer is what it found. --reads answers beforehand. If nobody can be
asked, what it found decides. --mark names the marks themselves.

The password goes into a separate file in the same directory, which only you can
read. With one of the --password flags it stays where it is. If nobody can be
asked, as in a script, --address and one of these flags are required.

init also asks whether hinged may write to you until it marks: each morning what it
would have marked, and up to three short letters that ask whether a message matters.
You answer with a star, or by deleting the letter. If nobody can be asked, or you
only press Enter, it writes none; --letters agrees beforehand.

init finds the server through the DNS (RFC 6186), then as imap.DOMAIN,
mail.DOMAIN and on this machine; --server names it. If the DNS names a server in
another domain than that of the address, init asks before it sends the password
there; if nobody can be asked, name it with --server.

The login name is the address. If the server refuses it, init asks before it tries
the part before the @; if nobody can be asked, it doesn't try. --username sets the
name.

The configuration goes to ~/.config/hinged/hinged.toml, or for root to
/etc/hinged/hinged.toml.

With --user, init asks twice for a password for the dashboard, or reads it from
standard input, and prints the section [[dashboard.user]] with its hash, to be put
into the configuration (docs/dashboard.md). It writes nothing. The hash is one of
argon2id: it takes 64 MB of memory and a moment to compute, so that whoever gets the
configuration file can't try many passwords.`,
		Example: `  $ hinged init
  E-mail address: ann@example.org
  Using imap.example.org:993, from the SRV record of example.org.
  Password for ann@example.org (not shown):
  Where do you read your mail? [Thunderbird] phone, thunderbird
  May it ask you by letter? [y/N]
    server     imap.example.org:993, TLS; login as ann@example.org
               it supports IDLE, CONDSTORE, MOVE, UIDPLUS, SPECIAL-USE
    last year  5310 messages in INBOX; 412 answered, 37 starred, 120 unread
    …
  Wrote /home/ann/.config/hinged/hinged.toml and password beside it.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.user != "" {
				return newUser(cmd, f.user)
			}
			s := &initSession{cmd: cmd, f: &f, ask: newAsker(cmd.InOrStdin(), cmd.ErrOrStderr())}
			defer s.ask.quiet(cmd.Context())()
			err := s.run(cmd.Context())
			if err != nil && cmd.Context().Err() != nil {
				return errStopped
			}
			return err
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "file to write (default: $HINGED_CONFIG, otherwise ~/.config/hinged/hinged.toml,\nfor root /etc/hinged/hinged.toml)")
	flags.StringVar(&f.address, "address", "", "your e-mail address")
	flags.StringVar(&f.server, "server", "", "IMAP server, as host or host:port (default: found from the address)")
	f.tls = cli.ChoiceVar(c, "tls", "", "how to connect: tls, starttls, or none (unencrypted) (default: whatever works)", "tls", "starttls", "none")
	flags.StringVar(&f.caFile, "ca-file", "", "certificates (PEM) to trust instead of the system's")
	flags.StringVar(&f.username, "username", "", "name to log in with (default: the address)")
	f.auth = cli.ChoiceVar(c, "auth", "plain", "how to log in; the last two use an access token as the password", "plain", "login", "xoauth2", "oauthbearer")
	flags.StringVar(&f.passwordFile, "password-file", "", "file that holds the password")
	flags.StringVar(&f.passwordCommand, "password-command", "", "program that prints the password, with arguments, run without a shell")
	flags.StringVar(&f.credential, "password-credential", "", "systemd credential that holds the password for the service; init asks for\nit now, or takes it from --password-file")
	flags.StringVar(&f.name, "name", "", "name of the account (default: the part before the @)")
	flags.StringVar(&f.reads, "reads", "", "where you read your mail, separated by commas: "+strings.Join(setup.ProgramNames(), ", ")+", other\n(default: init asks)")
	flags.StringSliceVar(&f.mark, "mark", nil, `what to set on important messages, such as $Important or \Flagged (default: what --reads shows)`)
	flags.StringVar(&f.stateDir, "state-dir", "", "where to keep the state (default: for root /var/lib/hinged, otherwise\n~/.local/state/hinged)")
	flags.BoolVar(&f.letters, "letters", false, "have hinged learn about messages by letter until it marks (default: init asks)")
	flags.StringVar(&f.user, "user", "", "only ask for a password for the dashboard, and print the section of that `name`")
	flags.BoolVar(&f.force, "force", false, "overwrite an existing configuration")
	cli.JSONFlag(c, &f.json, "what was found and written as JSON")
	return c
}

// Initialised is what `hinged init` found and wrote.
type Initialised struct {
	Config       string      `json:"config"`                  // Config is the path of the configuration file that was written.
	PasswordFile string      `json:"password_file,omitempty"` // PasswordFile is the file that the password was written to; "" if the password stays where it was.
	Found        setup.Found `json:"found"`                   // Found is what hinged learnt about the server and the mailbox.
}

type initSession struct {
	cmd *cobra.Command
	f   *initFlags
	ask *asker // nil: nobody can be asked

	path  string // of the configuration
	reads []*setup.Program
	said  bool // the owner said where mail is read
	// stopped is set once the owner ended a question that the finder asked.
	stopped error

	secret string // typed, or read from where it is
	where  config.Password
	typed  bool
}

func (s *initSession) say(format string, args ...any) {
	fmt.Fprintf(cli.Wrapping(s.cmd.ErrOrStderr()), format+"\n", args...)
}

func (s *initSession) run(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		return err
	}
	w := setup.Wanted{
		Address: s.f.address, Server: s.f.server, TLS: imap.TLSMode(s.f.tls.Value),
		Username: s.f.username, Auth: imap.AuthMechanism(s.f.auth.Value),
		Password: func(context.Context) (string, error) { return s.secret, nil },
	}
	var err error
	if s.f.caFile != "" {
		if w.TLSRoots, err = trust(s.f.caFile); err != nil {
			return err
		}
	}
	if w.Address == "" {
		if w.Address, err = s.ask.line(ctx, "E-mail address: ", false); err != nil {
			return err
		}
	}
	w.Address = strings.TrimSpace(w.Address)
	if local, domain, ok := strings.Cut(w.Address, "@"); !ok || local == "" || domain == "" {
		return cli.Misuse(s.cmd, "%q is no e-mail address, as in you@example.org", w.Address)
	}
	finder := &setup.Finder{Trust: func(host string) bool {
		if s.ask == nil {
			return false
		}
		agreed, err := s.ask.yes(ctx, fmt.Sprintf("The DNS of %s names the mail server %s. Is that your provider's?", w.Address, host))
		s.stopped = errors.Join(s.stopped, err)
		return agreed && err == nil
	}}
	if s.ask != nil {
		finder.Retry = func(refused error, name string) bool {
			s.ask.forget()
			s.say("%v", refused)
			agreed, err := s.ask.yes(ctx, fmt.Sprintf("Try the name %s with the same password?", name))
			s.stopped = errors.Join(s.stopped, err)
			return agreed && err == nil
		}
	}
	server, err := s.server(ctx, finder, &w)
	if s.stopped != nil {
		return errStopped
	}
	if err != nil {
		return err
	}
	s.say("Using %s, %s.", server.Address, server.How)
	found, err := s.look(ctx, finder, server, w)
	if err != nil {
		return err
	}
	if err := s.readsIn(ctx, &found); err != nil {
		return err
	}
	if s.ask != nil && !s.cmd.Flags().Changed("letters") {
		s.ask.forget()
		s.say("hinged marks nothing until it knows what matters to you, and it learns that soonest from answers. It can put up to three letters a day into your INBOX until then, each about one message: star the letter if the message matters, delete the letter if not.")
		if s.f.letters, err = s.ask.yes(ctx, "May it ask you by letter?"); err != nil {
			return err
		}
	}
	return s.finish(w, found)
}

func (s *initSession) readsIn(ctx context.Context, found *setup.Found) error {
	if len(s.f.mark) > 0 || found.Suggest.Shadow == "on" {
		return nil
	}
	if !s.said && s.ask != nil {
		var err error
		if s.reads, err = s.askReads(ctx, found.Suggest.Reads); err != nil {
			return err
		}
		s.said = true
	}
	if s.said {
		found.Suggest = setup.Suggest(found, s.reads)
	}
	return nil
}

func (s *initSession) askReads(ctx context.Context, found []string) ([]*setup.Program, error) {
	s.ask.forget()
	proposal := strings.Join(found, ", ")
	s.say("hinged sets a mark that you see where you read your mail. It knows %s. Name several with commas; say other if it is none of them.",
		strings.Join(setup.ProgramNames(), ", "))
	question := "Where do you read your mail? "
	if proposal != "" {
		question += "[" + proposal + "] "
	}
	for {
		text, err := s.ask.line(ctx, question, false)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			if text = proposal; text == "" {
				continue
			}
		}
		list, err := setup.Programs(text)
		if err == nil {
			return list, nil
		}
		s.say("%v", err)
	}
}

// prepare finds every mistake that can be known before anybody is asked.
func (s *initSession) prepare() error {
	s.path = s.f.config
	if s.path == "" {
		s.path = config.NewPlace()
	}
	if _, err := os.Lstat(s.path); err == nil && !s.f.force {
		return fmt.Errorf("%s exists already; --force writes over it, --config FILE writes another", s.path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	given := 0
	for _, v := range []string{s.f.passwordFile, s.f.passwordCommand} {
		if v != "" {
			given++
		}
	}
	switch {
	case given > 1 || s.f.credential != "" && given > 0 && s.f.passwordFile == "":
		return cli.Misuse(s.cmd, "there is more than one place for the one password")
	case s.ask == nil && s.f.address == "":
		return cli.Misuse(s.cmd, "--address is missing, and there is no terminal to ask on")
	case s.ask == nil && given == 0:
		return cli.Misuse(s.cmd, "--password-file is missing (or another of the --password flags), and there is no terminal to ask on")
	case s.f.tls.Value == "none" && s.f.caFile != "":
		return cli.Misuse(s.cmd, "--ca-file has no effect with --tls none")
	}
	for _, m := range s.f.mark {
		if err := imap.ValidFlag(m); err != nil {
			return cli.Misuse(s.cmd, "--mark: %w", err)
		}
	}
	if s.f.reads != "" {
		if len(s.f.mark) > 0 {
			return cli.Misuse(s.cmd, "--reads and --mark both choose the mark: give one of them")
		}
		var err error
		if s.reads, err = setup.Programs(s.f.reads); err != nil {
			return cli.Misuse(s.cmd, "--reads: %w", err)
		}
		s.said = true
	}
	return s.password()
}

func (s *initSession) password() error {
	var err error
	switch {
	case s.f.passwordFile != "":
		if s.where.File, err = filepath.Abs(s.f.passwordFile); err != nil {
			return err
		}
	case s.f.passwordCommand != "":
		s.where.Command = strings.Fields(s.f.passwordCommand)
	default:
		s.typed = true
		return nil
	}
	s.secret, err = s.where.ReadPassword(s.cmd.Context())
	if err == nil && s.where.File != "" {
		if level, mend, text := setup.Readers(s.where.File); level != setup.OK {
			s.say("%s: %s %s. Fix: %s", level, s.where.File, text, mend)
		}
	}
	return err
}

func (s *initSession) server(ctx context.Context, finder *setup.Finder, w *setup.Wanted) (setup.Server, error) {
	server, err := finder.Find(ctx, *w)
	if !errors.Is(err, setup.ErrNoServer) {
		return server, err
	}
	if s.ask == nil || w.Server != "" || s.stopped != nil {
		return server, fmt.Errorf("%w\nName it with --server host:port, and how to connect with --tls; --ca-file takes the certificate of a server of your own", err)
	}
	s.say("%v", err)
	if w.Server, err = s.ask.line(ctx, "IMAP server: ", false); err != nil {
		return server, err
	}
	w.Server = strings.TrimSpace(w.Server)
	return finder.Find(ctx, *w)
}

// passwordTries is how often a typed password is asked for. Each may be tried
// with two names, and many servers shut out whoever fails five times.
const passwordTries = 2

// oauthHosts are servers that take no ordinary password, and their providers.
var oauthHosts = map[string]string{"imap.gmail.com": "google", "imap.googlemail.com": "google", "outlook.office365.com": "microsoft", "imap-mail.outlook.com": "microsoft"}

// oauthSection is a configuration for such a server, but for what the owner gets there.
func oauthSection(provider, server, address string) string {
	text := fmt.Sprintf("[[account]]\nname = %q\nowner = [%q]\nmark = ['\\Flagged']\n[account.imap]\naddress = %q\nusername = %[2]q\n[account.imap.oauth]\nprovider = %[4]q\nclient_id = \"…\"\n",
		setup.AccountName(address), strings.ToLower(address), server, provider)
	if provider == "google" {
		text += "client_secret_file = \"client-secret\"\n"
	}
	return text
}

// look logs in and looks around, asking for the password where it was not given.
func (s *initSession) look(ctx context.Context, finder *setup.Finder, server setup.Server, w setup.Wanted) (setup.Found, error) {
	name := w.Username
	if name == "" {
		name = w.Address
	}
	if host, _, _ := strings.Cut(server.Address, ":"); s.typed && oauthHosts[host] != "" {
		s.say("%s takes an app password at most, and no other. To log in with OAuth instead, stop here, write this to %s with a client id of yours (docs/oauth.md), and run `hinged login`:", host, s.path)
		fmt.Fprintf(s.cmd.ErrOrStderr(), "\n%s\n", oauthSection(oauthHosts[host], server.Address, w.Address))
	}
	for try := 1; ; try++ {
		if s.typed {
			var err error
			if s.secret, err = s.ask.line(ctx, fmt.Sprintf("Password for %s (not shown): ", name), true); err != nil {
				return setup.Found{}, err
			}
		}
		found, err := finder.Look(ctx, server, w, time.Now())
		s.ask.forget()
		if s.stopped != nil {
			return found, errStopped
		}
		if errors.Is(err, imap.ErrRefused) || errors.Is(err, imap.ErrNoPassword) {
			if s.typed && try < passwordTries {
				s.say("%v", err)
				continue
			}
			name := "--username sets another name"
			if local, _, _ := strings.Cut(w.Address, "@"); w.Username == "" && s.ask == nil {
				name = "Only that name was tried; --username sets another, such as " + local
			}
			err = fmt.Errorf("%w\n%s.\nWith two-step login, providers want an app password", err, name)
		}
		return found, err
	}
}

func (s *initSession) finish(w setup.Wanted, found setup.Found) error {
	files, err := s.files(w, &found)
	if err != nil {
		return err
	}
	if err := setup.Write(s.f.force, files...); err != nil {
		return err
	}
	if _, err := config.Load(s.path); err != nil {
		return fmt.Errorf("the configuration that was written does not load: %w", err)
	}
	done := Initialised{Config: s.path, Found: found}
	if len(files) > 1 {
		done.PasswordFile = files[0].Path
	}
	if s.f.json {
		return cli.PrintJSON(s.cmd.OutOrStdout(), done)
	}
	s.tell(cli.Wrapping(s.cmd.OutOrStdout()), done)
	return nil
}

func (s *initSession) files(w setup.Wanted, found *setup.Found) ([]setup.File, error) {
	p := setup.Plan{
		TimeZone: setup.TimeZone(os.Getenv("TZ")),
		Path:     s.path, Address: w.Address, Auth: s.f.auth.Value, Found: found,
		Name: s.f.name, Marks: s.f.mark, Where: s.where, Letters: s.f.letters,
	}
	for from, to := range map[*string]*string{&s.f.caFile: &p.CAFile, &s.f.stateDir: &p.StateDir} {
		if *from == "" {
			continue
		}
		var err error
		if *to, err = filepath.Abs(*from); err != nil {
			return nil, err
		}
	}
	if s.f.credential != "" {
		p.Where = config.Password{Credential: s.f.credential}
	}
	if s.typed {
		p.Secret = s.secret
	}
	files, err := p.Files()
	var wrong *config.Error
	if errors.As(err, &wrong) {
		return nil, cli.Misuse(s.cmd, "that would make a configuration with mistakes: %s", wrong.Mistakes[0])
	}
	return files, err
}

func (s *initSession) tell(w io.Writer, done Initialised) {
	for _, line := range done.Found.Lines() {
		fmt.Fprintf(w, "  %s\n", line)
	}
	chosen := done.Found.Suggest
	switch {
	case len(s.f.mark) > 0:
		chosen.Marks, chosen.Why = s.f.mark, "As you said. "+setup.WhereSeen(s.f.mark)
	case !s.said && len(chosen.Reads) > 0:
		chosen.Why += " That is by what was found; --reads says otherwise."
	case !s.said && chosen.Shadow != "on":
		chosen.Why += " --reads says where."
	}
	fmt.Fprintf(w, "  mark       %s. %s\n", strings.Join(chosen.Marks, ", "), chosen.Why)
	fmt.Fprintf(w, "\nWrote %s", done.Config)
	if done.PasswordFile != "" {
		fmt.Fprintf(w, " and %s beside it", filepath.Base(done.PasswordFile))
	}
	fmt.Fprintf(w, ". Nothing in the mailbox was changed.\n\nNext:\n")
	flag := s.configFlag()
	for _, step := range nextSteps {
		if flag == "" {
			fmt.Fprintf(w, "  hinged %-21s  %s\n", step.command, step.what)
		} else {
			fmt.Fprintf(w, "  hinged %s%s\n      %s\n", step.command, flag, step.what)
		}
	}
	if s.f.credential != "" {
		fmt.Fprintf(w, "\nFor the service: systemctl edit hinged, and there\n  [Service]\n  LoadCredential=%s:%s\n",
			s.f.credential, filepath.Join(filepath.Dir(s.path), s.f.credential))
	}
}

// configFlag is what the other verbs need to find what was written.
func (s *initSession) configFlag() string {
	if found, err := config.Find(""); err == nil {
		a, errA := filepath.Abs(found)
		b, errB := filepath.Abs(s.path)
		if errA == nil && errB == nil && a == b {
			return ""
		}
	}
	return " --config " + s.path
}

var nextSteps = []struct{ command, what string }{
	{"check", "test all of it; one keyword is set and taken off again"},
	{"bootstrap --dry-run", "what it would mark of your mail, and why; changes nothing"},
	{"bootstrap", "learn from a year of your mail, and ask you about three messages; marks nothing"},
	{"run", "watch, learn, and mark what matters as soon as it is good enough; Ctrl-C stops it"},
	{"learn", "three questions whose answers teach it most; a few each day bring marks soonest"},
	{"status", "what is learnt, and what is missing before it marks"},
	{"dashboard", "a link that opens all of it in your browser, while it runs"},
	{"pause", "stop it for a while; hinged resume goes on"},
	{"undo --marks", "take back every mark that it ever set"},
}
