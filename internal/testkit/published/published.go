// SPDX-License-Identifier: Apache-2.0

// Package published helps tests that write what the project publishes from its code:
// JSON Schemas with the comments of the types as descriptions, and other files that must
// be equal to what the code says.
package published

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	describe "github.com/invopop/jsonschema"
)

const module = "github.com/hinged/hinged/"

// root returns the directory of the module, seen from the test's.
func root() (up string, err error) {
	for range 4 {
		if _, err = os.Stat(filepath.Join(up, "go.mod")); err == nil {
			return up, nil
		}
		up = filepath.Join(up, "..")
	}
	return "", err
}

// comments reads those of all types, once: it parses half of the source.
var comments = sync.OnceValues(func() (map[string]string, error) {
	up, err := root()
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	top, err := filepath.Abs(up)
	if err != nil {
		return nil, err
	}
	at, err := filepath.Rel(top, here)
	if err != nil {
		return nil, err
	}
	var r describe.Reflector
	for _, dir := range []string{"cmd/hinged", "config", "ingest", "internal", "store"} {
		if err := r.AddGoComments(module+filepath.ToSlash(at), filepath.Join(up, dir), describe.WithFullComment()); err != nil {
			return nil, err
		}
	}
	return r.CommentMap, nil
})

// Name is what a type is called in a schema: as in Go, unless two have the same name.
func Name(t reflect.Type) string {
	switch strings.TrimPrefix(t.PkgPath(), module) + "." + t.Name() {
	case "internal/run/stream.Status":
		return "StreamStatus"
	case "internal/run/stream.PartitionStatus":
		return "StreamPartition"
	}
	return t.Name()
}

// Reflector reads types with their comments. Unless strict, what it says lets keys be
// added later.
func Reflector(strict bool) (*describe.Reflector, error) {
	r := &describe.Reflector{ExpandedStruct: true, AllowAdditionalProperties: !strict, Anonymous: true, Namer: Name}
	comments, err := comments()
	if err != nil {
		return nil, err
	}
	r.LookupComment = func(t reflect.Type, field string) string {
		key := t.PkgPath() + "." + t.Name()
		if field == "" {
			return strings.Join(strings.Fields(comments[key]), " ")
		}
		comment := strings.Join(strings.Fields(comments[key+"."+field]), " ")
		// Comments begin with the name that Go has for it.
		if f, ok := t.FieldByName(field); ok {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if rest, ok := strings.CutPrefix(comment, field+" "); ok && name != "" {
				return name + " " + rest
			}
		}
		return comment
	}
	return r, nil
}

// Encode writes a value as JSON with & and < as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// Same compares a file that tests write with what it should be, and writes it before
// that with update. command is what does so.
func Same(t *testing.T, path string, want []byte, update bool, command string) {
	t.Helper()
	if update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; %s writes it", err, command)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says; %s writes it anew\nthe code says:\n%s", path, command, want)
	}
}

// SamePart is Same for a table in a page: what stands between a comment that names command
// and one that says "its end".
func SamePart(t *testing.T, page, want string, update bool, command string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+command+" writes this table -->\n", "\n<!-- its end -->"
	head, rest, ok1 := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	Same(t, page, []byte(head+begin+want+end+tail), update, command)
}
