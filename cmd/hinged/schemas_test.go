// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	describe "github.com/invopop/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/lab"
	"github.com/hinged/hinged/internal/lab/verbs"
	"github.com/hinged/hinged/internal/measure/evaluate"
	"github.com/hinged/hinged/internal/measure/whatif"
	"github.com/hinged/hinged/internal/program/bootstrap"
	"github.com/hinged/hinged/internal/program/demo"
	"github.com/hinged/hinged/internal/program/setup"
	"github.com/hinged/hinged/internal/testkit"
	"github.com/hinged/hinged/internal/testkit/published"
)

// schemas says of every verb with --json what it prints there: of those by hand here, of
// the others the table of verbs. Then
//
//	go test ./cmd/hinged -run Schema -update
//
// writes docs/json, and a line "schema VERB stdout" after the verb's --json in
// testdata/VERB.txt checks what it really prints.
var schemas = tableSchemas([]schema{
	{verb: "bootstrap", value: bootstrap.Report{}},
	{verb: "check", value: setup.Report{}},
	{verb: "classify", value: desk.Classification{}, lines: true},
	{verb: "demo", value: demo.Summary{}},
	{verb: "eval", value: evaluate.Result{}},
	{verb: "eval", with: "set", value: whatif.Run{}},
	{verb: "init", value: Initialised{}},
	{verb: "learn", value: desk.Lessons{}},
	{verb: "learn", with: "ask", value: desk.Questions{}},
	{verb: "lab teach", value: lab.Report{}},
	{verb: "lab teach", with: "compare", value: lab.Comparison{}},
	{verb: "lab solve", value: lab.Solved{}},
})

// others are the flags with which verbs of the table print something else.
var others = map[string]string{"status": "ceiling", "explain": "word", "undo": "learning", "kafka recover": "from"}

func tableSchemas(out []schema) []schema {
	add := func(before string, v verb) {
		name, _, _ := strings.Cut(v.Use, " ")
		for i, value := range v.prints {
			s := schema{verb: before + name, value: value}
			if i > 0 {
				s.with = others[s.verb]
			}
			out = append(out, s)
		}
	}
	for _, v := range table() {
		add("", v)
	}
	for _, v := range kafkaTable() {
		add("kafka ", v)
	}
	slices.SortStableFunc(out, func(a, b schema) int { return strings.Compare(a.key(), b.key()) })
	return out
}

// schema is the form of what one verb prints with --json.
type schema struct {
	verb  string // as typed after "hinged ", or "lab " and what is typed after "hinged-lab "
	with  string // a flag with which it prints something else
	value any    // of the type that is printed
	lines bool   // one value a line, not one in all
}

// key names the schema in scripts.
func (s schema) key() string {
	key := strings.ReplaceAll(s.verb, " ", "-")
	if s.with != "" {
		key += "-" + s.with
	}
	return key
}

// file is the base name of the published schema.
func (s schema) file() string { return s.key() + ".schema.json" }

// typed is the command line.
func (s schema) typed() string {
	typed := "hinged " + s.verb
	if rest, ok := strings.CutPrefix(s.verb, "lab "); ok {
		typed = "hinged-lab " + rest
	}
	switch s.with {
	case "", "ask": // learn without a message asks
	default:
		typed += " --" + s.with + " …"
	}
	return typed + " --json"
}

const (
	docsDir   = "../../docs"
	schemaURL = "https://github.com/hinged/hinged/blob/main/docs/json/"
)

var update = flag.Bool("update", false, "write the generated files anew")

// generated compares a file that the tests write with what it should be.
func generated(t *testing.T, path string, want []byte) {
	t.Helper()
	published.Same(t, path, want, *update, "go test ./cmd/hinged -update")
}

func (s schema) reflect(strict bool) (*describe.Schema, error) {
	r, err := published.Reflector(strict)
	if err != nil {
		return nil, err
	}
	out := r.Reflect(s.value)
	out.ID = describe.ID(schemaURL + s.file())
	out.Title = s.typed()
	if s.lines {
		out.Title += ", each line"
	}
	return out, nil
}

// eachVerb calls fn for every verb of hinged, with its name, and of hinged-lab, whose
// names begin with "lab ".
func eachVerb(fn func(name string, c *cobra.Command)) {
	var below func(prefix string, parent *cobra.Command)
	below = func(prefix string, parent *cobra.Command) {
		for _, c := range parent.Commands() {
			if c.Name() != "help" && !c.IsAdditionalHelpTopicCommand() {
				fn(prefix+c.Name(), c)
				below(prefix+c.Name()+" ", c)
			}
		}
	}
	below("", rootCommand())
	below("lab ", verbs.Root())
}

// schemaCommand checks what a verb printed: schema VERB FILE, where FILE is
// mostly stdout. A verb of two words is written with a dash.
func schemaCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema verb file")
	}
	i := slices.IndexFunc(schemas, func(s schema) bool { return s.key() == args[0] })
	if i < 0 {
		ts.Fatalf("schemas_test.go has no line for %s", args[0])
	}
	ts.Check(schemas[i].check([]byte(ts.ReadFile(args[1]))))
}

// validate checks a value against a schema, as whoever is given both would.
func validate(described *describe.Schema, value []byte) error {
	text, err := published.Encode(described)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return err
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = compiled.Validate(v)
	}
	return err
}

// check validates what was printed.
func (s schema) check(printed []byte) error {
	described, err := s.reflect(true)
	if err != nil {
		return err
	}
	values := [][]byte{printed}
	if s.lines {
		values = slices.Collect(bytes.Lines(printed))
	}
	if len(bytes.TrimSpace(printed)) == 0 {
		return fmt.Errorf("%s --json printed nothing", s.verb)
	}
	for _, v := range values {
		if err := validate(described, v); err != nil {
			return fmt.Errorf("%s --json: %w in %s", s.verb, err, v)
		}
	}
	return nil
}

func TestSchemasArePublishedAsTheCodeHasThem(t *testing.T) {
	var names []string
	for _, s := range schemas {
		described, err := s.reflect(false)
		if err != nil {
			t.Fatal(err)
		}
		text, err := published.Encode(described)
		if err != nil {
			t.Fatal(err)
		}
		generated(t, filepath.Join(docsDir, "json", s.file()), text)
		names = append(names, s.file())
	}
	for _, r := range records {
		described, err := r.reflect()
		if err != nil {
			t.Fatal(err)
		}
		text, err := published.Encode(described)
		if err != nil {
			t.Fatal(err)
		}
		generated(t, filepath.Join(docsDir, "json", r.file()), text)
		names = append(names, r.file())
	}
	files, err := filepath.Glob(filepath.Join(docsDir, "json", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, filepath.Base(f)) {
			t.Errorf("%s is of no verb and no record in the tables", f)
		}
	}
}

// A schema whose keys say nothing would be no documentation.
func TestSchemasExplainEveryKey(t *testing.T) {
	all := map[string]func() (*describe.Schema, error){}
	for _, s := range schemas {
		all[s.verb] = func() (*describe.Schema, error) { return s.reflect(false) }
	}
	for _, r := range records {
		all[r.name] = r.reflect
	}
	for name, reflected := range all {
		described, err := reflected()
		if err != nil {
			t.Fatal(err)
		}
		explained(t, name, described)
		for of, d := range described.Definitions {
			if d.Type == "object" {
				explained(t, name+": "+of, d)
			}
		}
	}
}

func explained(t *testing.T, name string, s *describe.Schema) {
	t.Helper()
	if s.Type == "array" {
		return // its elements are explained among the definitions
	}
	if s.Description == "" {
		t.Errorf("%s has no comment", name)
	}
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Description == "" {
			t.Errorf("%s: the field behind %q has no comment", name, p.Key)
		}
	}
}

func TestEveryVerbWithJSONHasASchemaThatAScriptChecks(t *testing.T) {
	scripts := map[string]bool{}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text := testkit.Read(t, f)
		for _, m := range regexp.MustCompile(`(?m)^schema (\S+) `).FindAllStringSubmatch(string(text), -1) {
			scripts[m[1]] = true
		}
	}
	found := 0
	eachVerb(func(name string, c *cobra.Command) {
		if name == "lab eval" {
			return // it prints what eval does
		}
		if c.Flags().Lookup("json") == nil {
			if slices.ContainsFunc(schemas, func(s schema) bool { return s.verb == name }) {
				t.Errorf("%s has a schema and no --json", name)
			}
			return
		}
		found++
		if !slices.ContainsFunc(schemas, func(s schema) bool { return s.verb == name }) {
			t.Errorf("%s has --json and no line in the table of schemas_test.go", name)
		}
		if dashed := strings.ReplaceAll(name, " ", "-"); !scripts[dashed] {
			t.Errorf(`%s --json is checked by no script: want a line "schema %s stdout" in testdata/%s.txt`, name, dashed, dashed)
		}
	})
	for _, s := range schemas {
		if s.with != "" {
			found++
			if !scripts[s.key()] {
				t.Errorf("no script checks %s", s.typed())
			}
		}
	}
	if found != len(schemas) {
		t.Errorf("got %d verbs and flags with --json and %d schemas", found, len(schemas))
	}
}

func TestThePageOfSchemasListsThemAll(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Output for programs

<!-- Written by go test ./cmd/hinged -update; change it there. -->

Use ` + "`--json`" + ` for machine-readable output. A [JSON Schema](https://json-schema.org/)
(draft 2020-12) describes what each verb prints on standard output, with the meaning of
every key. Later versions may add keys, so programs should ignore those that they don't
know. No key is removed or changes its meaning without an entry in the
[changelog](../CHANGELOG.md).

Errors are text on standard error. The exit code is 0 for success, 1 for a failure,
64 for a mistake on the command line, 65 for a store that is damaged or that was written by
a newer hinged, and 78 for a mistake in the configuration. If a verb has other codes, its
help lists them.

| verb | prints | schema |
|---|---|---|
`)
	for _, s := range schemas {
		prints := "one value"
		if s.lines {
			prints = "one value a line"
		} else if reflect.TypeOf(s.value).Kind() == reflect.Slice {
			prints = "one array"
		}
		fmt.Fprintf(&b, "| `%s` | %s | [%s](json/%s) |\n", s.typed(), prints, s.file(), s.file())
	}
	b.WriteString(`
The values of these Kafka records are JSON, too ([docs/kafka.md](kafka.md)):

| ` + "`ce_type`" + ` | schema |
|---|---|
`)
	for _, r := range records {
		fmt.Fprintf(&b, "| `%s` | [%s](json/%s) |\n", r.ceType, r.file(), r.file())
	}
	generated(t, filepath.Join(docsDir, "json.md"), []byte(b.String()))
}
