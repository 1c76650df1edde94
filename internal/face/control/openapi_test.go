// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/testkit/published"
)

var update = flag.Bool("update", false, "write the generated files anew")

// openAPI is the document of the HTTP API, made from the table of routes.
type openAPI struct {
	schemas map[string]any
	t       *testing.T
}

// object is a JSON object; encoding/json sorts its keys.
type object = map[string]any

// schema adds the schema of a type to the components and returns a reference to it.
// strict: it is that of a request, so no other key than it names is allowed, and only
// those are required that say so.
func (o *openAPI) schema(of reflect.Type, strict bool) object {
	o.t.Helper()
	r, err := published.Reflector(strict)
	if err != nil {
		o.t.Fatal(err)
	}
	r.ExpandedStruct, r.RequiredFromJSONSchemaTags = false, strict
	text, err := json.Marshal(r.ReflectFromType(of))
	if err != nil {
		o.t.Fatal(err)
	}
	// OpenAPI has definitions in another place.
	text = bytes.ReplaceAll(text, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`))
	var s struct {
		Ref  string         `json:"$ref"`
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		o.t.Fatal(err)
	}
	for name, d := range s.Defs {
		if there, ok := o.schemas[name]; ok && !reflect.DeepEqual(there, d) {
			o.t.Errorf("two types are called %s, or one is in a request and in an answer", name)
		}
		o.schemas[name] = d
	}
	return object{"$ref": s.Ref}
}

// parameters are those of a query that stands for a request.
func (o *openAPI) parameters(of reflect.Type) []any {
	o.schema(of, true)
	request := o.schemas[published.Name(of)].(object)
	delete(o.schemas, published.Name(of))
	properties, _ := request["properties"].(object)
	var out []any
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		s := properties[name].(object)
		p := object{"name": name, "in": "query", "required": false, "schema": s, "description": s["description"]}
		if s["type"] == "array" {
			p["style"], p["explode"] = "form", true
		}
		delete(s, "description")
		out = append(out, p)
	}
	return out
}

// refusals are the answers of an operation that are errors.
func refusals(r route) object {
	out := object{}
	codes := map[int]string{
		http.StatusBadRequest:          "the request can't be read",
		http.StatusUnauthorized:        "it is not known who asks",
		http.StatusForbidden:           "the account is not yours",
		http.StatusTooManyRequests:     "too many wrong tokens came from your address",
		http.StatusNotFound:            "there is no such account or message",
		http.StatusConflict:            "the account can't do that as it is",
		http.StatusUnprocessableEntity: "the request does not fit its schema",
		http.StatusInternalServerError: "hinged failed; its log says why",
		http.StatusServiceUnavailable:  "not now; try again after Retry-After seconds",
	}
	if !r.public().Reads {
		codes[http.StatusRequestEntityTooLarge] = "the body has more than " + strconv.FormatInt(r.limit(), 10) + " bytes"
		codes[http.StatusUnsupportedMediaType] = "the body is of another type"
		codes[http.StatusInsufficientStorage] = "the disk is full"
	}
	for code, text := range codes {
		out[strconv.Itoa(code)] = object{
			"description": text,
			"content":     object{problemType: object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
		}
	}
	return out
}

func (o *openAPI) operation(r route) object {
	op := object{
		"operationId": r.name, "summary": r.public().Summary,
		"security": []any{object{"token": []any{}}, object{}},
	}
	var parameters []any
	if !r.public().All {
		parameters = append(parameters, object{
			"name": accountParameter, "in": "query", "required": false,
			"description": "the account; it can be left out where you may use only one",
			"schema":      object{"type": "string", "maxLength": 500},
		})
	}
	if r.public().Reads && r.verb.Request != reflect.TypeFor[desk.None]() {
		parameters = append(parameters, o.parameters(r.verb.Request)...)
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	switch {
	case r.public().Reads:
	case r.isMail():
		op["requestBody"] = object{"required": true, "content": object{mediaMail: object{"schema": object{"contentMediaType": mediaMail, "description": "the message, as bytes"}}}}
	default:
		op["requestBody"] = object{"required": true, "content": object{mediaJSON: object{"schema": o.schema(r.verb.Request, true)}}}
	}
	responses := refusals(r)
	responses["200"] = object{"description": "done", "content": object{mediaJSON: object{"schema": o.schema(r.verb.Answer, false)}}}
	op["responses"] = responses
	return op
}

// version is that of the next release, or of this one.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// documentOf is the whole of it.
func documentOf(t *testing.T) object {
	o := &openAPI{schemas: object{}, t: t}
	o.schema(reflect.TypeFor[Problem](), false)
	paths := object{}
	for _, r := range routes {
		if r.public() != nil {
			paths[APIPath+r.name] = object{strings.ToLower(r.method()): o.operation(r)}
		}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "hinged", "version": version(t),
			"description": "What hinged decided about your mail, why, and your word on it. docs/api.md has examples. " +
				"Keys may be added to answers in later versions; none is removed or changes its meaning within /api/v1.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{object{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas": o.schemas,
			"securitySchemes": object{
				"token": object{
					"type": "http", "scheme": "bearer",
					"description": "the token of a [[dashboard.user]]",
				},
			},
		},
	}
}

func TestTheOpenAPIDocumentIsWhatTheTableSays(t *testing.T) {
	text, err := published.Encode(documentOf(t))
	if err != nil {
		t.Fatal(err)
	}
	published.Same(t, "../../../docs/openapi.json", text, *update, "go test ./internal/face/control -update")
}

func TestThePageOfTheAPIListsItsPaths(t *testing.T) {
	const page = "../../../docs/api.md"
	table := "\n| path | what it does | who may |\n|---|---|---|\n"
	for _, r := range routes {
		if r.public() == nil {
			continue
		}
		who := "the owner"
		if r.public().Figures {
			who = "the owner, an operator"
		}
		table += fmt.Sprintf("| `%s %s` | %s | %s |\n", r.method(), r.name, r.public().Summary, who)
	}
	published.SamePart(t, page, table, *update, "go test ./internal/face/control -update")
}
