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
	digest := defaultDigest()
	c.Accounts[0].Notify, c.Accounts[0].Digest = []Notify{defaultNotify()}, &digest
	stream, web := DefaultKafka(), DefaultDashboard()
	web.Users = []User{{}}
	c.Kafka, c.Dashboard = &stream, &web
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
	another := name == "password_command" || name == "password_env" || name == "password_credential"
	if !another || table != "account.imap." {
		c.Accounts[0].IMAP.File = "password"
	}
	if table != "kafka." || companions[path].key == "" {
		c.Kafka.Username = ""
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

// What stands in docs/config.md comes from the comments of the example, the
// defaults, and what the validator asks for when it refuses a value.
func TestThePageOfTheConfigurationSaysWhatTheCodeDoes(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageStart)
	eachKey(t, func(k key, table bool) {
		comment := strings.Join(strings.Fields(entryOf(k.path).comment), " ")
		if comment == "" {
			t.Errorf("%s: nothing explains it", k.path)
		}
		if table {
			title := "[" + k.path + "]"
			if k.path == "account" || k.path == "kafka.account" || k.path == "dashboard.user" {
				title = "[[" + k.path + "]]"
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, comment)
			if _, own := kafkaEntries[k.path]; !own && strings.HasPrefix(k.path, "kafka.") {
				fmt.Fprintf(&b, "\nWith the keys of %s, and their defaults.\n", shared(k.path))
			}
			return
		}
		if _, own := kafkaEntries[k.path]; !own && strings.HasPrefix(k.path, "kafka.") {
			// The keys of its tables are told where the table is.
			if strings.Count(k.path, ".") == 1 {
				fmt.Fprintf(&b, "\n### %s\n\nAs %s, for every account of Kafka.\n", k.path, shared(k.path))
			}
			return
		}
		name := k.path[strings.LastIndexByte(k.path, '.')+1:]
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", k.path, comment)
		fmt.Fprintf(&b, "| | |\n|---|---|\n| type | %s |\n", k.kind)
		switch {
		case k.preset != "" && k.preset != "[]":
			fmt.Fprintf(&b, "| default | `%s` |\n", k.preset)
		case k.needed && name == "password_file":
			b.WriteString("| default | none: one of the four password keys is needed |\n")
		case k.needed && name == "ntfy":
			b.WriteString("| default | none: one of command, webhook and ntfy is needed |\n")
		case k.needed:
			b.WriteString("| default | none: it is needed |\n")
		default:
			b.WriteString("| default | not set |\n")
		}
		if allowed := strings.ReplaceAll(k.allowed, "|", `\|`); allowed != "" {
			fmt.Fprintf(&b, "| allowed | %s |\n", allowed)
		}
		fmt.Fprintf(&b, "| example | `%s = %s` |\n", name, k.value)
	})
	golden(t, "../docs/config.md", []byte(b.String()))
}

// shared returns a link to the key of an account that tells of a key of [kafka].
func shared(path string) string {
	path = "account." + strings.TrimPrefix(path, "kafka.")
	return fmt.Sprintf("[%s](#%s)", path, strings.ReplaceAll(path, ".", ""))
}

const pageStart = `# The configuration file

<!-- Written by go test ./config -update from the code; change it there. -->

hinged reads one [TOML](https://toml.io/) file: the one that --config names,
otherwise the one that $HINGED_CONFIG names, otherwise the first that exists of
~/.config/hinged/hinged.toml and /etc/hinged/hinged.toml.
[example.toml](../config/testdata/example.toml) has every key with its default.

A key that does not exist, a value that is not allowed and a key without an
effect are errors. All are reported together, with file, line, key and what would
be right, and hinged ends with exit code 78 before it connects to anything.
Relative paths begin at the file's directory, "~/" at the home directory. Write a
duration as in "60s", "1h30m", "7d" or "2w". Strings in single quotes are taken
literally; in double quotes, double each backslash.
`

// A page made by refusing values is right only if the values are refused.
func TestWhatThePageAllowsIsWhatTheValidatorAsksFor(t *testing.T) {
	eachKey(t, func(k key, table bool) {
		if !table && k.allowed == "" {
			t.Errorf("%s: no bad value was refused", k.path)
		}
	})
}
