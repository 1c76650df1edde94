// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest"
	"github.com/hinged/hinged/ingest/imap"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// Checker tests that a configuration works. Make one for each check.
type Checker struct {
	Path    string // the configuration file
	Config  *config.Config
	Account string // this one alone; "": all
	NoWrite bool   // leave out the flag that is set and taken off again
	// StorePath is where the state is.
	StorePath string
	// IMAP turns an account into what its connection needs.
	IMAP func(*config.Account) (imap.Options, error)
	// Kafka does so for the section [kafka].
	Kafka func(*config.Kafka) (kafka.Options, error)
	// Rules tells what is wrong with the rules of an account or of [kafka], and what
	// should be known of them; "" nothing.
	Rules func(*config.Judging) (warning string, err error)
	// Dashboard tells what is wrong with the section [dashboard]; nil: it is not tested.
	Dashboard func(context.Context, *config.Dashboard) error
	// Tell is called with each finding as it is found; nil is fine.
	Tell func(Finding)
	// Tellings are the ways to tell the owner of an account, in the order of its
	// configuration.
	Tellings func(*config.Account) []Telling
	// AgreeToTell asks whether a test may be sent by one of them; nil: none is sent.
	AgreeToTell func(ctx context.Context, account, way string) bool
	// Now is the moment against which certificates are held; time.Now.
	Now func() time.Time
	// Patience is how long a server may be silent; 5 seconds.
	Patience time.Duration

	report Report
	client *control.At  // nil: no daemon runs
	status *desk.Status // the daemon's; nil: none runs
	// kept are the positions in the store of the partitions of the input; nil: the
	// store could not be read.
	kept   map[int32]boltfile.PartitionInfo
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Run makes all tests. Nothing it tests makes it fail; the error says that there
// is no such account.
func (c *Checker) Run(ctx context.Context) (Report, error) {
	c.report = Report{Config: c.Path, OK: true, Findings: []Finding{}}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Patience == 0 {
		c.Patience = patience
	}
	if c.dial == nil {
		c.dial = (&net.Dialer{Timeout: c.Patience}).DialContext
	}
	if c.lookup == nil {
		c.lookup = net.DefaultResolver.LookupNetIP
	}
	var accounts []*config.Account
	var names []string
	for i := range c.Config.Accounts {
		a := &c.Config.Accounts[i]
		names = append(names, a.Name)
		if c.Account == "" || c.Account == a.Name {
			accounts = append(accounts, a)
		}
	}
	stream := c.Config.Kafka
	if stream != nil {
		names = append(names, streamName)
		if c.Account != "" && c.Account != streamName {
			stream = nil
		}
	}
	if len(accounts) == 0 && stream == nil {
		return c.report, fmt.Errorf("%w: %s is not one of %s", desk.ErrNoAccount, c.Account, strings.Join(names, ", "))
	}
	c.add(OK, "", "config", "", "%s is valid: %s", c.Path, c.sources())
	c.state()
	c.store(ctx)
	if c.client != nil {
		defer c.client.Close()
	}
	if c.Account == "" {
		c.pages(ctx)
	}
	for _, a := range accounts {
		c.rules(a.Name, &a.Judging)
		c.account(ctx, a)
		if c.Tellings != nil {
			c.notify(ctx, a)
		}
	}
	if stream != nil {
		c.rules(streamName, &stream.Judging)
		c.stream(ctx, stream)
	}
	return c.report, nil
}

func (c *Checker) rules(account string, j *config.Judging) {
	if len(j.Rules) == 0 {
		return
	}
	switch warning, err := c.Rules(j); {
	case err != nil:
		c.add(Fail, account, "rules", "correct it in [[account.rule]], or [[kafka.rule]]", "%v", err)
	case warning != "":
		c.add(Warn, account, "rules", "set featurize.authserv_id to the name with which your mail server begins its Authentication-Results", "%s", warning)
	default:
		c.add(OK, account, "rules", "", "%d; the first that matches decides", len(j.Rules))
	}
}

func (c *Checker) sources() string {
	switch n := len(c.Config.Accounts); {
	case c.Config.Kafka == nil:
		return desk.Count(n, "account")
	case n == 0:
		return "Kafka"
	default:
		return desk.Count(n, "account") + ", and Kafka"
	}
}

// state tests that the state directory can be written to, and makes none: it may
// have to belong to another user.
func (c *Checker) state() {
	dir := filepath.Dir(c.StorePath)
	at, what := dir, "is writable"
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		what = "will be created at the first start"
		info, err = os.Stat(at)
	}
	const mend = "choose another state_dir, or give this one to the user that hinged runs as"
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file", at)
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(at, ".hinged-check-*"); err == nil {
			err = os.Remove(probe)
		}
	}
	switch {
	case err != nil:
		c.add(Fail, "", "state", mend, "%s cannot be written to: %v", dir, err)
	case at == dir && info.Mode().Perm()&0o077 != 0:
		c.add(Warn, "", "state", "chmod 700 "+dir, "%s %s, and others on this machine can look into it", dir, what)
	default:
		c.add(OK, "", "state", "", "%s %s", dir, what)
	}
}

// store tests that a daemon has the store, or that it opens.
func (c *Checker) store(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	client, err := control.Dial(ctx, c.Config.Socket)
	if err == nil {
		st, err := control.Ask(ctx, client, desk.GetStatus, "", desk.None{})
		if err != nil {
			_ = client.Close()
			c.add(Fail, "", "store", "stop that daemon and start it again", "a process listens on %s but does not answer: %v", c.Config.Socket, err)
			return
		}
		c.client, c.status = client, &st
		c.add(OK, "", "store", "", "a running daemon uses it: hinged %s, process %d", st.Version, st.PID)
		return
	}
	if !errors.Is(err, control.ErrNotRunning) {
		c.add(Fail, "", "store", "run hinged as the user whose socket that is, or choose another socket", "the control socket cannot be used: %v", err)
		return
	}
	s, err := boltfile.OpenReadOnly(c.StorePath, boltfile.Options{})
	switch {
	case err == nil:
		var lost map[store.Partition]error
		lost, err = c.positions()
		err = errors.Join(err, s.Close())
		c.add(OK, "", "store", "", "%s opens, and no daemon runs", c.StorePath)
		for _, p := range slices.SortedFunc(maps.Keys(lost), store.Partition.Compare) {
			c.add(Warn, "", "store", "hinged run begins with the partition as on an empty disk: from its newest snapshot", "the file of a partition can't be used: %v", lost[p])
		}
		if err != nil {
			c.add(Fail, "", "store", "look at the disk", "%v", err)
		}
	case errors.Is(err, fs.ErrNotExist):
		c.add(OK, "", "store", "", "it does not exist yet; hinged creates it at its first start")
	case errors.Is(err, store.ErrRunning):
		c.add(Warn, "", "store", "stop the other process, or set socket to the path that it uses", "another process has %s open, but nothing listens on %s", c.StorePath, c.Config.Socket)
	case errors.Is(err, store.ErrDamaged):
		c.add(Fail, "", "store", "hinged restore puts a backup in its place; or move the file away to start from nothing", "%v", err)
	case errors.Is(err, store.ErrNewer):
		c.add(Fail, "", "store", "use the newer hinged", "%v", err)
	default:
		c.add(Fail, "", "store", "look at state_dir", "%v", err)
	}
}

// positions reads how far the partitions of the input were read, and returns those whose files
// can't be used.
func (c *Checker) positions() (lost map[store.Partition]error, err error) {
	files, err := stream.ReadFiles(c.StorePath, boltfile.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	c.kept = map[int32]boltfile.PartitionInfo{}
	for _, f := range files.All() {
		info, err := f.PartitionInfo()
		if err != nil {
			return nil, err
		}
		if c.Config.Kafka != nil && info.Partition.Topic == c.Config.Kafka.Topics.Input {
			c.kept[info.Partition.Number] = info
		}
	}
	return files.Broken(), nil
}

func (c *Checker) account(ctx context.Context, a *config.Account) {
	ctx, cancel := context.WithTimeout(ctx, 12*c.Patience)
	defer cancel()
	if a.IMAP.Auth != "external" && a.IMAP.OAuth == nil && !c.secret(ctx, a.Name, &a.IMAP.Password) {
		return
	}
	var own *x509.Certificate
	o, err := c.IMAP(a)
	if err == nil {
		own, err = ownCertificate(o.TLSConfig)
	}
	if err != nil {
		c.add(Fail, a.Name, "tls", "correct ca_file, cert_file or key_file: they are files in PEM form, the last two a pair", "%v", err)
		return
	}
	c.own(a, own)
	o.CommandTimeout = c.Patience
	o.Dial = c.dial
	if !c.name(ctx, a, o.Address) {
		return
	}
	p, ok := c.connect(ctx, a, o)
	if !ok {
		return
	}
	defer p.Close()
	if !c.login(ctx, a, own, p) {
		return
	}
	c.abilities(a, p)
	if !c.folders(ctx, a, p) || !c.marks(a, p) {
		return
	}
	c.whole(a, p)
	c.seen(a)
	c.copies(ctx, a, p)
	c.vouch(a, p)
	c.flag(ctx, a, p)
	c.text(ctx, a, p)
	c.digest(a, p) // at last: it opens another mailbox
}

func (c *Checker) secret(ctx context.Context, account string, where *config.Password) bool {
	if _, err := where.ReadPassword(ctx); err != nil {
		mend := "see that the file is there and readable for the user that hinged runs as"
		switch {
		case imap.NeedsConsent(err):
			mend = mendConsent(nil)
		case len(where.Command) > 0:
			mend = "run the command by hand, as the user that hinged runs as"
		case where.Env != "":
			mend = "set that variable where hinged is started"
		case where.Credential != "":
			mend = "systemd gives it to the service alone; to check with it: systemd-run --pty -p LoadCredential=… hinged check"
		}
		c.add(Fail, account, "password", mend, "%v", err)
		return false
	}
	if where.File == "" {
		c.add(OK, account, "password", "", "hinged can get it")
		return true
	}
	level, mend, text := Readers(where.File)
	c.add(level, account, "password", mend, "%s %s", where.File, text)
	return true
}

// Readers tells who can read a file beside its owner.
func Readers(path string) (level Level, mend, text string) {
	info, err := os.Stat(path)
	if err != nil {
		return Fail, "see that the file is there", err.Error()
	}
	mode := info.Mode().Perm()
	switch {
	case mode&0o004 != 0 && reachable(path):
		return Fail, "chmod 600 " + path, "can be read by everybody on this machine"
	case mode&0o040 != 0:
		return Warn, "chmod 600 " + path + ", unless that is meant so", "can be read by its group"
	}
	return OK, "", "can be read only by its owner"
}

// reachable reports whether everybody may enter all directories above path.
func reachable(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if filepath.Dir(dir) == dir {
			return true
		}
	}
}

// abilities tells what the server can do, and what its lack costs.
func (c *Checker) abilities(a *config.Account, p *imap.Probe) {
	var has []string
	for _, able := range useful {
		if p.Has(able) {
			has = append(has, able)
		}
	}
	c.add(OK, a.Name, "abilities", "", "the server supports %s", orNothing(has))
	if !p.Has("IDLE") {
		c.add(Warn, a.Name, "abilities", "a shorter poll_interval finds new mail sooner",
			"it cannot IDLE: new mail is found only every %s", a.IMAP.PollInterval)
	}
	if !p.Has("CONDSTORE") {
		c.add(Warn, a.Name, "abilities", "nothing to do; with CONDSTORE hinged needs fewer requests",
			"it has no CONDSTORE: all flags are compared each time, and a mark cannot be made to depend on nobody having changed the message")
	}
}

// namesKey is a key of the configuration that names mailboxes.
type namesKey struct {
	key   string
	names []string
}

// folders tells which mailboxes have a use, and whether those of the
// configuration are there.
func (c *Checker) folders(ctx context.Context, a *config.Account, p *imap.Probe) bool {
	list, err := p.Mailboxes(ctx)
	if err != nil {
		c.add(Fail, a.Name, "folders", mendWire(err), "%v", err)
		return false
	}
	var names, uses []string
	roles := map[ingest.Role]bool{}
	for _, m := range list {
		names = append(names, m.Name)
		if m.Role == ingest.RoleOther {
			continue
		}
		roles[m.Role] = true
		if m.Role != ingest.RoleInbox {
			uses = append(uses, fmt.Sprintf("%s is %s (%s)", m.Role, m.Name, m.By))
		}
	}
	known := "none with a known use"
	if len(uses) > 0 {
		known = strings.Join(uses, ", ")
	}
	c.add(OK, a.Name, "folders", "", "%s: %s", desk.Count(len(names), "folder"), known)
	if !roles[ingest.RoleSent] {
		c.add(Warn, a.Name, "folders", `set sent in [account.imap] to the name of that folder; the server has `+shorten(names),
			"there is no folder of sent mail, so an answer is seen only where the mail program sets \\Answered")
	}
	keys := []namesKey{{"mailboxes", a.IMAP.Mailboxes}, {"exclude", a.IMAP.Exclude}, {"shared", a.IMAP.Shared}}
	named := a.IMAP.ByUse()
	for _, use := range slices.Sorted(maps.Keys(named)) {
		keys = append(keys, namesKey{use, []string{named[use]}})
	}
	for _, key := range keys {
		for _, name := range key.names {
			if !slices.ContainsFunc(names, func(n string) bool { return imap.SameMailbox(name, n) }) {
				c.add(Warn, a.Name, "folders", "correct the name; the server has "+shorten(names), "%s names %q, which the server does not have", key.key, name)
			}
		}
	}
	return true
}

func shorten(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return orNothing(names)
}
