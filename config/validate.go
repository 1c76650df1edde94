// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
	"net"
	"net/mail"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hinged/hinged/internal/host/zones"
)

// place is where a mistake was already reported.
type place struct {
	line int
	key  string
}

type validator struct {
	*mistakes
	doc   *document
	env   environment
	wrong map[place]bool // a value of the wrong type is reported once
}

// table is one table of the file under check.
type table struct {
	*validator
	at   *node // nil when the file doesn't have it
	line int   // of its heading, or of the table around it
	path string
}

func (t table) sub(key string) table {
	at := t.at.kid(key)
	line := t.line
	if at != nil {
		line = at.line
	}
	return table{t.validator, at, line, t.path + key + "."}
}

func (t table) has(key string) bool { return t.at.kid(key) != nil }

func (t table) lineOf(key string) int {
	if n := t.at.kid(key); n != nil {
		return n.line
	}
	return t.line
}

// check notes a mistake in key unless ok holds or the key was reported before.
func (t table) check(ok bool, key, problem string, got any, want string) bool {
	if !ok {
		t.checkAt(t.lineOf(key), key, problem, got, want)
	}
	return ok
}

func (t table) checkAt(line int, key, problem string, got any, want string) {
	if t.wrong[place{line, t.path + key}] {
		return
	}
	shown := ""
	if got != nil {
		shown = describe(got)
	}
	t.add(line, t.path+key, problem, shown, want)
}

// required notes that key is missing, unless a broken part of the file may have
// held it.
func (t table) required(key, want string) {
	if !t.doc.broken && !t.wrong[place{t.lineOf(key), t.path + key}] {
		t.add(t.lineOf(key), t.path+key, "is missing", "", want)
	}
}

func (t table) choice(key, got string, choices []string) {
	want := oneOf(choices)
	if near := nearest(got, choices); near != "" {
		want = fmt.Sprintf("%s (did you mean %q?)", want, near)
	}
	t.check(slices.Contains(choices, got), key, "unknown choice", got, want)
}

func (t table) number(key string, got, low, high float64, want string) {
	t.check(got >= low && got <= high, key, "out of range", got, want)
}

func (t table) integer(key string, got, low, high int) {
	t.check(got >= low && got <= high, key, "out of range", got, fmt.Sprintf("%d to %d", low, high))
}

func (t table) duration(key string, got Duration, low, high time.Duration) {
	t.check(got.Std() >= low && got.Std() <= high, key, "out of range", got,
		fmt.Sprintf("%q to %q", Duration(low), Duration(high)))
}

// useless notes that a key was set which its neighbours leave without effect.
func (t table) useless(set bool, key, because string) {
	if set && t.has(key) {
		t.check(false, key, "has no effect "+because, nil, "it left out")
	}
}

func (v *validator) config(c *Config) {
	t := table{v, v.doc.root, 1, ""}
	t.choice("log_level", c.LogLevel, logLevels)
	t.choice("log_format", c.LogFormat, logFormats)
	t.check(c.MemoryLimit == 0 || c.MemoryLimit >= leastMemory && c.MemoryLimit <= 1<<46, "memory_limit", "out of range", c.MemoryLimit,
		fmt.Sprintf("%d to %d bytes, or 0 for that of the container", leastMemory, 1<<46))
	if c.StateDir == "" {
		c.StateDir = v.env.stateDir()
		t.check(c.StateDir != "", "state_dir", "there is no default, since STATE_DIRECTORY, XDG_STATE_HOME and HOME are not set", nil, "a directory")
	}
	t.cleanPath("state_dir", c.StateDir)
	c.StateDir = v.env.path(c.StateDir)
	if c.Socket == "" {
		c.Socket = v.env.socket(c.StateDir)
	}
	c.Socket = t.socket("socket", c.Socket)
	if c.FilterSocket != "" {
		c.FilterSocket = t.socket("filter_socket", c.FilterSocket)
		t.check(c.FilterSocket != c.Socket, "filter_socket", "it is the control socket", c.FilterSocket, "another path")
	}
	if len(c.Accounts) == 0 && c.Kafka == nil && !t.wrong[place{t.lineOf("kafka"), "kafka"}] {
		t.required("account", "at least one [[account]], or [kafka]")
	}
	t.sub("backups").backups(c)
	names := map[string]int{}
	list := t.sub("account")
	for i := range c.Accounts {
		at := list.at.elem(i)
		account := table{v, at, lineOf(at, list.at), "account."}
		v.account(account, &c.Accounts[i])
		if o := c.Accounts[i].IMAP.OAuth; o != nil {
			account.sub("imap").sub("oauth").oauth(o, c.Accounts[i].Name, c.StateDir)
		}
		name := c.Accounts[i].Name
		if first, taken := names[name]; taken && name != "" {
			account.check(false, "name", fmt.Sprintf("is the name of the account on line %d", first), name, "another name")
		} else {
			names[name] = account.lineOf("name")
		}
	}
	if c.Kafka != nil {
		t.sub("kafka").kafka(c.Kafka)
	}
	if c.Dashboard != nil {
		t.sub("dashboard").dashboard(c.Dashboard, c)
	}
	if c.Milter != nil {
		t.sub("milter").milter(c.Milter, c)
	}
}

func (t table) backups(c *Config) {
	b := &c.Backups
	if len(c.Accounts) == 0 && c.Kafka != nil && !t.has("every") {
		b.Every = 0 // the snapshots topic has all that a new process needs
	}
	t.check(b.Every == 0 || b.Every.Std() >= time.Second && b.Every.Std() <= 365*day, "every", "out of range", b.Every, `"1s" to "365d", or "0s" for never`)
	t.integer("keep", b.Keep, 1, 1000)
	t.cleanPath("dir", b.Dir)
	if b.Dir == "" {
		b.Dir = filepath.Join(c.StateDir, "backups")
	}
	b.Dir = t.env.path(b.Dir)
}

func (t table) cleanPath(key, path string) {
	t.check(!strings.ContainsFunc(path, unicode.IsControl), key, "control characters in a path", path, "a path")
	if strings.HasPrefix(path, "~") {
		t.check(strings.HasPrefix(path, "~/") && filepath.IsAbs(t.env.Getenv("HOME")), key, "there is no home directory", path, `a path from "/", or from "~/" where HOME is set`)
	}
}

func (v *validator) account(t table, a *Account) {
	t.name(a.Name)
	if len(a.Owner) == 0 {
		t.required("owner", `the addresses that the owner writes from, such as ["me@example.org"]`)
	}
	t.addresses("owner", a.Owner)
	t.addresses("recipients", a.Recipients)
	t.marks(a.Mark, a.MarkCopy)
	t.companion(a.Companion)
	t.duration("mark_within", a.MarkWithin, 0, 365*day)
	t.sub("imap").imap(&a.IMAP)
	t.judging(&a.Judging, DefaultAccount().Learner)
	t.sub("notify").notify(a.Notify)
	if a.AddressBook != nil {
		t.sub("address_book").addressBook(a.AddressBook)
	}
	if a.Digest != nil {
		t.sub("digest").digest(a.Digest)
	}
}

func (t table) judging(a *Judging, defaults Learner) {
	_, err := zones.Load(a.TimeZone)
	t.check(err == nil && a.TimeZone != "", "time_zone", "unknown time zone", a.TimeZone, `a name of the IANA database, such as "Europe/Zurich" or "UTC"`)
	t.choice("shadow", a.Shadow, shadowModes)
	t.duration("settle", a.Settle, 0, day)
	t.check(a.Silence.Std()%day == 0 && a.Silence.Std() <= 365*day, "silence", "not a number of days", a.Silence, `whole days, "1d" to "365d", or "0s" for never`)
	t.duration("provisional", a.Provisional, 0, 365*day)
	t.duration("provisional_marked", a.ProvisionalMarked, 0, 365*day)
	t.integer("max_weights", a.MaxWeights, 100, 100_000_000)
	t.integer("max_messages", a.MaxMessages, 200, 10_000_000)
	t.integer("keep_days", a.KeepDays, 0, 36_500)
	t.integer("owed_days", a.OwedDays, 0, 90)
	t.prior(&a.Prior)
	t.sub("learner").learner(&a.Learner, defaults)
	t.sub("threshold").threshold(&a.Threshold)
	t.sub("featurize").featurize(&a.Featurize)
	t.sub("rule").rules(a.Rules)
}

// priors are the choices of the key prior that are no file.
var priors = []string{"default", "none", "zero"}

// prior checks which weights an account begins with. A path has a slash or a dot in it,
// so that a slip in one of the choices is not taken for one.
func (t table) prior(prior *string) {
	if slices.Contains(priors, *prior) {
		return
	}
	want := `"default", "none", "zero", or the path of a file such as "team.prior"`
	if near := nearest(*prior, priors); near != "" {
		want += fmt.Sprintf(" (did you mean %q?)", near)
	}
	path := strings.ContainsAny(*prior, "./") && !strings.ContainsFunc(*prior, unicode.IsControl)
	if t.check(path, "prior", "unknown choice", *prior, want) {
		t.cleanPath("prior", *prior)
		*prior = t.env.path(*prior)
	}
}

func (t table) name(name string) {
	const want = `1 to 64 of a-z, 0-9, ".", "_" and "-", a letter or digit first`
	if name == "" && !t.has("name") {
		t.required("name", want)
		return
	}
	ok := len(name) >= 1 && len(name) <= 64 && name[0] != '.' && name[0] != '-' && name[0] != '_'
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	}
	t.check(ok, "name", "not a name", name, want)
}

// addresses brings those of a key into their final form.
func (t table) addresses(key string, addresses []string) {
	seen := map[string]bool{}
	list := t.at.kid(key)
	for i, address := range addresses {
		line := lineOf(list.elem(i), list)
		if !isAddress(address) {
			t.checkAt(line, key, "not an address", address, `a bare address such as "me@example.org"`)
			continue
		}
		addresses[i] = strings.ToLower(address)
		if seen[addresses[i]] {
			t.checkAt(line, key, "is there twice", address, "each address once")
		}
		seen[addresses[i]] = true
	}
}

func isAddress(s string) bool {
	parsed, err := mail.ParseAddress(s)
	return err == nil && parsed.Address == s && strings.Contains(s, "@")
}

// maxKeywordBytes is far above any keyword in use, and below every server's
// limit that we know of.
const maxKeywordBytes = 100

// isAtom reports whether s is an atom of RFC 9051 section 9, which is what a
// keyword is.
func isAtom(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f || strings.IndexByte(`(){%*"\]`, b) >= 0 {
			return false
		}
	}
	return s != ""
}

func (t table) imap(c *IMAP) {
	t.choice("tls", c.TLS, tlsModes)
	if c.OAuth != nil && !t.has("auth") {
		c.Auth = "xoauth2"
	}
	t.choice("auth", c.Auth, authMechanisms)
	port := 143
	if c.TLS == "tls" {
		port = 993
	}
	if c.Address == "" {
		t.required("address", wantAddress)
	} else {
		c.Address = t.address("address", t.lineOf("address"), c.Address, port, wantAddress)
	}
	if c.Username == "" {
		t.required("username", "the name to log in with")
	}
	t.check(!strings.ContainsFunc(c.Username, unicode.IsControl), "username", "control characters in a name", c.Username, "the name to log in with")
	t.certificates(c.TLS, &c.CAFile, &c.CertFile, &c.KeyFile)
	switch {
	case c.Auth == "external":
		t.external(c)
	case c.OAuth != nil:
		for _, key := range c.keys("password") {
			t.useless(true, key, "with [account.imap.oauth]")
		}
		t.check(c.Auth == "xoauth2" || c.Auth == "oauthbearer", "auth", "takes no access token, which [account.imap.oauth] gets", c.Auth, `"xoauth2" or "oauthbearer"`)
	default:
		t.password(&c.Password)
	}
	t.mailboxes("mailboxes", c.Mailboxes)
	t.mailboxes("exclude", c.Exclude)
	t.mailboxes("shared", c.Shared)
	list := t.at.kid("exclude")
	for i, name := range c.Exclude {
		if slices.Contains(c.Mailboxes, name) {
			t.checkAt(lineOf(list.elem(i), list), "exclude", "is among the mailboxes to watch", name, "either, not both")
		}
	}
	t.folders(&c.Folders)
	t.duration("poll_interval", c.PollInterval, 100*time.Millisecond, day)
	// RFC 2177: a server may hang up after 30 minutes.
	t.duration("idle_restart", c.IdleRestart, 10*time.Second, 28*time.Minute)
	t.duration("recheck_interval", c.RecheckInterval, time.Second, day)
}

const wantAddress = `a host, with or without a port, such as "imap.example.org:993"`

// address checks host and port, and fills in the usual port.
func (t table) address(key string, line int, address string, usual int, want string) string {
	host, port := address, strconv.Itoa(usual)
	if h, p, err := net.SplitHostPort(address); err == nil {
		host, port = h, p
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	number, err := strconv.Atoi(port)
	if !isHost(host) || err != nil || number < 1 || number > 65535 {
		t.checkAt(line, key, "not an address to connect to", address, want)
		return address
	}
	return net.JoinHostPort(host, strconv.Itoa(number))
}

func isHost(s string) bool {
	if net.ParseIP(s) != nil {
		return true
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, r := range label {
			// Beyond ASCII are the letters of internationalised names.
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' {
				return false
			}
		}
	}
	return true
}

func (t table) password(p *Password) { t.secret("password", p) }

// secret checks where a password or a token is; what is which.
func (t table) secret(what string, p *Password) {
	set := p.keys(what)
	keyFile, keyCommand, keyEnv, keyCredential := what+"_file", what+"_command", what+"_env", what+"_credential"
	switch {
	case len(set) == 0:
		keys := []string{keyFile, keyCommand, keyEnv, keyCredential}
		want := fmt.Sprintf("one of %s, %s, %s and %s", keyFile, keyCommand, keyEnv, keyCredential)
		if i := slices.IndexFunc(keys, t.has); i >= 0 {
			t.check(false, keys[i], "is empty", nil, want)
		} else if !t.has(what) {
			t.required(keyFile, want)
		}
	case len(set) > 1:
		t.check(false, set[1], "a second place for the same "+what, nil, fmt.Sprintf("either it or %s", set[0]))
	}
	t.cleanPath(keyFile, p.File)
	p.File = t.env.path(p.File)
	t.check(!slices.Contains(p.Command, "") && !slices.ContainsFunc(p.Command, func(s string) bool { return strings.ContainsRune(s, 0) }),
		keyCommand, "an empty argument, or one with a zero byte", nil, `a program and its arguments, such as ["pass", "show", "mail"]`)
	t.check(!strings.ContainsAny(p.Env, "=\x00"), keyEnv, "not the name of a variable", nil, "the name of an environment variable, not its value")
	t.check(!strings.ContainsAny(p.Credential, "/\x00") && p.Credential != "." && p.Credential != "..", keyCredential, "not the name of a credential", nil, "the name given to systemd's LoadCredential=")
}

func (t table) mailboxes(key string, names []string) {
	list := t.at.kid(key)
	for i, name := range names {
		if name == "" || strings.ContainsFunc(name, unicode.IsControl) {
			t.checkAt(lineOf(list.elem(i), list), key, "not the name of a mailbox", name, `a name as the mail program shows it, such as "INBOX" or "Lists/Go"`)
		} else if slices.Contains(names[:i], name) {
			t.checkAt(lineOf(list.elem(i), list), key, "is there twice", name, "each mailbox once")
		}
	}
}

func (t table) learner(l *Learner, defaults Learner) {
	t.choice("kind", l.Kind, learnerKinds)
	t.number("margin", l.Margin, 0, 1e6, "0 to 1000000")
	t.number("aggressiveness", l.Aggressiveness, 1e-6, 1e6, "above 0, usually 0.01 to 10")
	t.integer("window", l.Window, 0, 10_000)
	t.integer("steps", l.Steps, 0, 100)
	t.integer("kernel_degree", l.KernelDegree, 0, 16)
	t.integer("max_supports", l.MaxSupports, 10, 100_000)
	t.useless(l.KernelDegree == 0 && l.MaxSupports != defaults.MaxSupports, "max_supports", "with kernel_degree = 0")
	if !slices.Contains(learnerKinds, l.Kind) {
		return
	}
	passive := l.Kind == "passive-aggressive" || l.Kind == "dual"
	with := fmt.Sprintf("with kind = %q", l.Kind)
	t.useless(l.Kind != "margin" && l.Margin != defaults.Margin, "margin", with)
	t.useless(!passive && l.Aggressiveness != defaults.Aggressiveness, "aggressiveness", with)
	t.useless(l.Kind != "dual" && l.Window != defaults.Window, "window", with)
	t.useless(l.Kind != "dual" && l.Steps != defaults.Steps, "steps", with)
}

func (t table) threshold(h *Threshold) {
	defaults := DefaultAccount().Threshold
	t.choice("mode", h.Mode, thresholdModes)
	t.number("precision", h.Precision, 0, 0.99, "0 to 0.99 (0.6: at least 6 of 10 marks are right)")
	t.number("missed", h.Missed, 0.001, 0.9, "a share of the important mail, 0.001 to 0.9 (0.05 is 5 %)")
	t.number("share", h.Share, 0.0001, 0.9999, "a share of all mail, 0.0001 to 0.9999 (0.1 is 10 %)")
	t.integer("per_day", h.PerDay, 0, 100_000)
	t.number("cost", h.Cost, 1e-3, 1e3, "0.001 to 1000 false alarms for one missed message")
	t.check(!math.IsNaN(h.Value) && !math.IsInf(h.Value, 0), "value", "not a finite number", h.Value, "a score")
	t.number("unsure_share", h.UnsureShare, 0, 0.5, "0 to 0.5 (0.03 is 3 %)")
	if !slices.Contains(thresholdModes, h.Mode) {
		return
	}
	with := fmt.Sprintf("with mode = %q", h.Mode)
	t.useless(h.Mode != "auto" && h.Precision != defaults.Precision, "precision", with)
	t.useless(h.Mode != "missed" && h.Missed != defaults.Missed, "missed", with)
	t.useless(h.Mode != "budget" && h.Share != defaults.Share, "share", with)
	t.useless(h.Mode != "cost" && h.Cost != defaults.Cost, "cost", with)
	t.useless(h.Mode != "fixed" && h.Value != 0, "value", with)
}

func (t table) featurize(f *Featurize) {
	t.integer("max_bytes", f.MaxBytes, 4096, 64<<20)
	t.integer("names_days", f.NamesDays, 1, 3650)
	t.check(isAuthserv(f.AuthservID), "authserv_id", "not the name of a server", f.AuthservID, `the first word of the Authentication-Results header that the owner's own server adds, such as "mx.example.org"`)
	t.choice("subaddress", f.Subaddress, subaddresses)
	shares := t.sub("shares")
	s := f.Shares
	const want = "0 to 100"
	shares.number("misc", s.Misc, 0, 100, want)
	shares.number("social", s.Social, 0, 100, want)
	shares.number("subject", s.Subject, 0, 100, want)
	shares.number("body", s.Body, 0, 100, want)
	shares.number("affine", s.Affine, 0, 100, want)
	shares.check(s.Misc+s.Social+s.Subject+s.Body != 0, "body", "no group of features has a share", nil, "one share above 0")
}

// isAuthserv reports whether s can be an authserv-id (RFC 8601 section 2.5)
// that needs no quoting; "" is none.
func isAuthserv(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?=`, r)
	})
}
