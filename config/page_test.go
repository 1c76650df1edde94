// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// key is one key as docs/config.md tells of it.
type key struct {
	path    string // account.imap.address
	kind    string // in words
	value   string // in the example, as TOML
	preset  string // the default as TOML; "" when there is none
	needed  bool   // the file is refused without it
	allowed string // what a refusal asks for; "" when anything goes
}

// kinds puts the types of keys into words, with values that are refused where
// anything is.
var kinds = map[reflect.Type]struct {
	name string
	bad  []any
}{
	reflect.TypeFor[string]():   {"string", []any{"a=b/(\x01", ""}},
	reflect.TypeFor[int]():      {"integer", []any{-7, 1 << 50}},
	reflect.TypeFor[float64]():  {"number", []any{-1e12, math.Inf(1)}},
	reflect.TypeFor[bool]():     {"boolean", []any{7}},
	reflect.TypeFor[Duration](): {"duration", []any{"400d", "1ms"}},
	reflect.TypeFor[[]string](): {"list of strings", []any{[]string{"(\x01"}, []string{""}}},
}

// companions are keys that must say so for another to have an effect.
var companions = map[string]struct {
	key   string
	value any
}{
	"account.learner.margin":  {"account.learner.kind", "margin"},
	"account.threshold.share": {"account.threshold.mode", "budget"},
	"account.threshold.cost":  {"account.threshold.mode", "cost"},
	"account.threshold.value": {"account.threshold.mode", "fixed"},

	"account.notify.priority": {"account.notify.ntfy", "https://ntfy.example.org/my-mail"},

	"kafka.learner.margin":      {"kafka.learner.kind", "margin"},
	"kafka.threshold.share":     {"kafka.threshold.mode", "budget"},
	"kafka.threshold.cost":      {"kafka.threshold.mode", "cost"},
	"kafka.threshold.value":     {"kafka.threshold.mode", "fixed"},
	"kafka.partitions":          {"kafka.create_topics", true},
	"kafka.username":            {"kafka.sasl", "plain"},
	"kafka.password_file":       {"kafka.sasl", "plain"},
	"kafka.password_command":    {"kafka.sasl", "plain"},
	"kafka.password_env":        {"kafka.sasl", "plain"},
	"kafka.password_credential": {"kafka.sasl", "plain"},
}

// exampleConfig is what the example configures: every key has a value.
func exampleConfig() (c Config) {
	var text strings.Builder
	for line := range strings.Lines(example) {
		if setting.MatchString(strings.TrimSpace(line)) {
			text.WriteString(strings.TrimLeft(line, "# "))
		}
	}
	m := &mistakes{}
	doc := parseDocument([]byte(text.String()), m)
	d := decoder{m}
	d.table(reflect.ValueOf(&c).Elem(), doc.values, doc.root, "")
	if err := m.err(); err != nil {
		panic(err)
	}
	return c
}

// TestTheExampleHasAllKeysInTheirOrder compares it with how its configuration is encoded.
func TestTheExampleHasAllKeysInTheirOrder(t *testing.T) {
	c := exampleConfig()
	plain, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(example) {
		if line = strings.TrimSpace(line); setting.MatchString(line) {
			got = append(got, strings.TrimLeft(line, "# "))
		}
	}
	want := slices.DeleteFunc(strings.Split(string(plain), "\n"), func(line string) bool { return line == "" })
	if !slices.Equal(got, want) {
		t.Errorf("the example is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// eachKey calls fn with every key of the example, in order, and every table.
func eachKey(t *testing.T, fn func(k key, table bool)) {
	t.Helper()
	example := exampleConfig()
	plain, err := example.Encode()
	if err != nil {
		t.Fatal(err)
	}
	defaults := presets(t)
	table := ""
	for line := range strings.Lines(string(plain)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[]")
			fn(key{path: table}, true)
			table += "."
			continue
		}
		name, value, found := strings.Cut(line, " = ")
		if !found {
			continue
		}
		k := key{path: table + name, value: value, preset: defaults[table+name]}
		kind := kinds[typeOf(t, k.path)]
		if kind.name == "" {
			t.Fatalf("%s: no name for its type", k.path)
		}
		k.kind = kind.name
		k.needed = slices.ContainsFunc(refusals(t, k.path, nil), func(m Mistake) bool {
			return m.Problem == "is missing" && (m.Key == k.path || strings.HasPrefix(name, "password_file"))
		})
		for _, bad := range kind.bad {
			for _, m := range refusals(t, k.path, bad) {
				if m.Key == k.path && m.Problem != "is missing" && k.allowed == "" {
					k.allowed = m.Want
				}
			}
		}
		fn(k, false)
	}
}

// presets returns the defaults as TOML, by path.
func presets(t *testing.T) map[string]string {
	c := Defaults()
	c.Accounts = []Account{DefaultAccount()}
	digest, book := defaultDigest(), AddressBook{}
	c.Accounts[0].AddressBook = &book
	c.Accounts[0].Notify, c.Accounts[0].Digest = []Notify{defaultNotify()}, &digest
	stream, web, filter := DefaultKafka(), DefaultDashboard(), DefaultMilter()
	web.Users = []User{{}}
	c.Kafka, c.Dashboard, c.Milter = &stream, &web, &filter
	plain, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, table := map[string]string{}, ""
	for line := range strings.Lines(string(plain)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(line, "[]") + "."
		} else if name, value, found := strings.Cut(line, " = "); found && value != "''" {
			out[table+name] = value
		}
	}
	return out
}

// typeOf finds the type of the field behind a key.
func typeOf(t *testing.T, path string) reflect.Type {
	at := reflect.TypeFor[Config]()
	for _, name := range strings.Split(path, ".") {
		if at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		i := slices.IndexFunc(reflect.VisibleFields(at), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			return tag == name
		})
		if i < 0 {
			t.Fatalf("no field behind %s", path)
		}
		at = reflect.VisibleFields(at)[i].Type
	}
	return at
}

// refusals reads the example with one key set to a value, or left out when that
// is nil, and returns what is said of it.
func refusals(t *testing.T, path string, value any) []Mistake {
	t.Helper()
	c := exampleConfig()
	c.Accounts[0].IMAP.Password, c.Kafka.Password = Password{}, Password{}
	book := c.Accounts[0].AddressBook
	if book.Password = (Password{}); path == "account.address_book.file" {
		*book = AddressBook{}
	} else if book.Path = ""; path == "account.address_book.username" && value != nil {
		book.File = "dav-password"
	} else if !strings.HasPrefix(path, "account.address_book.password") {
		book.Username = ""
	}
	way := &c.Accounts[0].Notify[0]
	way.Token, way.Program, way.Webhook = Token{}, nil, "" // one of each stays
	if strings.HasPrefix(path, "account.notify.command") || strings.HasPrefix(path, "account.notify.webhook") {
		way.Ntfy = ""
	}
	user := &c.Dashboard.Users[0]
	user.Token, user.PasswordHashFile = Token{}, "" // one place stays
	if path == "dashboard.user.password_hash_file" {
		user.PasswordHash = ""
	}
	table, name := path[:strings.LastIndexByte(path, '.')+1], path[strings.LastIndexByte(path, '.')+1:]
	if strings.HasPrefix(path, "account.imap.oauth.") {
		c.Accounts[0].IMAP.Auth = "xoauth2"
	} else {
		c.Accounts[0].IMAP.OAuth = nil
	}
	another := name == "password_command" || name == "password_env" || name == "password_credential"
	if c.Accounts[0].IMAP.OAuth == nil && (!another || table != "account.imap.") {
		c.Accounts[0].IMAP.File = "password"
	}
	if companions[path].key != "kafka.sasl" {
		c.Kafka.Username = ""
	} else if name == "username" && value != nil {
		c.Kafka.File = "kafka-password"
	}
	plain, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := toml.Unmarshal(plain, &values); err != nil {
		t.Fatal(err)
	}
	set := func(path string, value any) {
		at, names := values, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			switch below := at[name].(type) {
			case map[string]any:
				at = below
			case []any:
				at, _ = below[0].(map[string]any)
			}
		}
		if last := names[len(names)-1]; value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	set(path, value)
	if other, ok := companions[path]; ok && value != nil {
		set(other.key, other.value)
	}
	text, err := toml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var wrong *Error
	if _, err := parse(bytes.NewReader(text), "probe.toml", here()); errors.As(err, &wrong) {
		return wrong.Mistakes
	} else if err != nil {
		t.Fatal(err)
	}
	return nil
}

// rare are the keys of the second part of docs/config.md, which hardly anybody sets; a name
// that ends in a point is that of a table.
var rare = []string{
	"socket", "filter_socket", "log_level", "log_format", "memory_limit", "mcp.",
	"dashboard.session", "dashboard.session_idle", "dashboard.user.password_hash_file",
	"dashboard.user.token_command", "dashboard.user.token_env", "dashboard.user.token_credential",
	"milter.",
	"account.recipients", "account.companion", "account.settle", "account.silence", "account.provisional", "account.provisional_marked",
	"account.max_weights", "account.max_messages", "account.keep_days", "account.owed_days",
	"account.imap.ca_file", "account.imap.shared", "account.imap.cert_file", "account.imap.key_file",
	"account.imap.drafts", "account.imap.junk", "account.imap.trash", "account.imap.archive", "account.imap.important",
	"account.imap.poll_interval", "account.imap.idle_restart", "account.imap.recheck_interval",
	"account.imap.oauth.",
	"account.learner.", "account.threshold.cost", "account.threshold.value", "account.threshold.unsure_share",
	"account.featurize.subaddress", "account.featurize.max_bytes", "account.featurize.names", "account.featurize.names_days", "account.featurize.shares.",
	"account.notify.token_command", "account.notify.token_env", "account.notify.token_credential",
	"account.address_book.", "account.notify.title", "account.notify.priority", "account.notify.sender", "account.digest.mailbox",
	"kafka.client_id", "kafka.ca_file", "kafka.cert_file", "kafka.key_file",
	"kafka.password_command", "kafka.password_env", "kafka.password_credential", "kafka.compression",
	"kafka.max_message_bytes", "kafka.snapshot_every", "kafka.snapshot_interval", "kafka.topics.",
}

// mostKeys is how many keys the first part of the page has at most.
const mostKeys = 60

// What stands in docs/config.md comes from the comments of the example, the
// defaults, and what the validator asks for when it refuses a value.
func TestThePageOfTheConfigurationSaysWhatTheCodeDoes(t *testing.T) {
	var usual, others pagePart
	others.below = "#"
	var shared []string
	titles := map[string]string{"": "Of the whole program"}
	eachKey(t, func(k key, table bool) {
		comment := strings.Join(strings.Fields(explanations()[k.path]), " ")
		if comment == "" {
			t.Errorf("%s: nothing explains it", k.path)
		}
		own := explanations()["account."+strings.TrimPrefix(k.path, "kafka.")] == ""
		switch {
		case !own && strings.HasPrefix(k.path, "kafka."):
			if strings.Count(k.path, ".") == 1 {
				shared = append(shared, "`"+strings.TrimPrefix(k.path, "kafka.")+"`")
			}
		case table:
			title := "[" + k.path + "]"
			if k.path == "account" || k.path == "kafka.account" || k.path == "dashboard.user" {
				title = "[[" + k.path + "]]"
			}
			titles[k.path] = title + "\n\n" + comment
		default:
			part, at := &usual, k.path[:strings.LastIndexByte(k.path, '.')+1]
			if slices.Contains(rare, k.path) || slices.Contains(rare, at) {
				part = &others
			}
			part.add(k, titles, comment)
		}
	})
	if usual.keys > mostKeys {
		t.Errorf("the first part has %d keys, want %d at most: add to rare what hardly anybody sets", usual.keys, mostKeys)
	}
	page := pageStart + usual.text.String() +
		"\nA `[kafka]` also has these, for all its accounts, with the keys of an account: " + strings.Join(shared, ", ") + ".\n" +
		pageRest + others.text.String()
	golden(t, "../docs/config.md", []byte(page))
}

// pagePart is one part of the page: a table of keys for each table of the file.
type pagePart struct {
	text  strings.Builder
	below string // more # before a heading
	table string // whose keys are being listed
	keys  int
}

// add lists a key, below the heading of its table. What is said of a table stands where its
// heading comes first.
func (p *pagePart) add(k key, titles map[string]string, comment string) {
	table, name := "", k.path
	if i := strings.LastIndexByte(k.path, '.'); i >= 0 {
		table, name = k.path[:i], k.path[i+1:]
	}
	if p.keys == 0 || p.table != table {
		title, _, _ := strings.Cut(titles[table], "\n")
		fmt.Fprintf(&p.text, "\n##%s %s\n\n| key | type | default | allowed | |\n|---|---|---|---|---|\n", p.below, titles[table])
		titles[table], p.table = title, table
	}
	p.keys++
	preset := "not set"
	switch {
	case k.preset != "" && k.preset != "[]":
		preset = "`" + k.preset + "`"
	case k.needed && (name == "password_file" || name == "ntfy"):
		preset = "one of these is needed"
	case k.path == "dashboard.user.password_hash":
		preset = "this or a token is needed"
	case k.path == "dashboard.user.accounts":
		preset = "this or operator is needed"
	case k.needed:
		preset = "none: it is needed"
	}
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	fmt.Fprintf(&p.text, "| `%s` | %s | %s | %s | %s |\n", name, k.kind, cell(preset), cell(k.allowed), cell(comment))
}

const pageStart = `# The configuration file

<!-- Written by go test ./config -update from the code; change it there. -->

hinged reads one [TOML](https://toml.io/) file: the one that --config names,
otherwise the one that $HINGED_CONFIG names, otherwise the first that exists of
~/.config/hinged/hinged.toml and /etc/hinged/hinged.toml.
[example.toml](../config/example.toml) has every key with its default.

All mistakes are reported together, with file, line, key and what would be right;
hinged then ends with exit code 78 before it connects to anything. A key that does
not exist, or has no effect, is a mistake. Relative paths begin at the file's
directory, "~/" at the home directory. Write a duration as in "60s", "1h30m", "7d"
or "2w". Strings in single quotes are taken literally; in double quotes, double
each backslash.
`

const pageRest = `
## The rest

What hardly anybody sets: limits, the learner, rare servers.
`

// TestEveryKeyOfTheExampleIsValidAndHasItsDefault: alone, as others of its kind would be a
// second place for the same.
func TestEveryKeyOfTheExampleIsValidAndHasItsDefault(t *testing.T) {
	eachKey(t, func(k key, table bool) {
		if table {
			return
		}
		var v struct{ Value any }
		if err := toml.Unmarshal([]byte("value = "+k.value), &v); err != nil {
			t.Fatal(err)
		}
		for _, m := range refusals(t, k.path, v.Value) {
			t.Errorf("%s = %s: %v", k.path, k.value, m)
		}
		if k.preset != "" && k.preset != "[]" && k.value != k.preset {
			t.Errorf("%s is %s, and by default %s", k.path, k.value, k.preset)
		}
	})
}

// A page made by refusing values is right only if the values are refused.
func TestWhatThePageAllowsIsWhatTheValidatorAsksFor(t *testing.T) {
	eachKey(t, func(k key, table bool) {
		if !table && k.allowed == "" {
			t.Errorf("%s: no bad value was refused", k.path)
		}
	})
}
