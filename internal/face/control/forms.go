// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/hinged/hinged/internal/face/desk"
)

// forms check requests with the OpenAPI document, so that what is published is what is
// true. Safe for concurrent use.
type forms struct {
	of map[string]*form // by the name of the route
}

type form struct {
	body       *jsonschema.Schema   // of a JSON body; nil: it is no JSON
	parameters map[string]parameter // of the query
}

type parameter struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`

	kind    string // string, integer, boolean or array
	initial any    // its value where none is given; nil: none
	check   *jsonschema.Schema
}

// document is what forms read of an OpenAPI document.
type document struct {
	Paths map[string]map[string]operation `json:"paths"`
}

type operation struct {
	Parameters  []parameter `json:"parameters"`
	RequestBody *struct {
		Content map[string]struct{} `json:"content"`
	} `json:"requestBody"`
}

const (
	accountParameter = "account"
	mediaJSON        = "application/json"
	mediaMail        = "message/rfc822"
	documentURL      = "file:///openapi.json"
)

func readForms(text []byte) (*forms, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource(documentURL, whole); err != nil {
		return nil, err
	}
	out := &forms{of: map[string]*form{}}
	for path, operations := range d.Paths {
		for method, o := range operations {
			f, err := o.form(c, documentURL+"#/paths/"+strings.ReplaceAll(path, "/", "~1")+"/"+method)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			out.of[strings.TrimPrefix(path, APIPath)] = f
		}
	}
	return out, nil
}

func (o *operation) form(c *jsonschema.Compiler, at string) (f *form, err error) {
	f = &form{parameters: map[string]parameter{}}
	for i, p := range o.Parameters {
		if err := p.compile(c, fmt.Sprintf("%s/parameters/%d/schema", at, i)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		f.parameters[p.Name] = p
	}
	if o.RequestBody != nil {
		if _, ok := o.RequestBody.Content[mediaJSON]; ok {
			f.body, err = c.Compile(at + "/requestBody/content/application~1json/schema")
		}
	}
	return f, err
}

func (p *parameter) compile(c *jsonschema.Compiler, at string) (err error) {
	var s struct {
		Type    string `json:"type"`
		Default any    `json:"default"`
	}
	if err := json.Unmarshal(p.Schema, &s); err != nil {
		return err
	}
	p.kind, p.initial = s.Type, s.Default
	p.check, err = c.Compile(at)
	return err
}

type asked struct {
	account string
	query   map[string]any // the other parameters of the query
	body    []byte
}

func (fs *forms) read(r *http.Request, to route) (*asked, error) {
	f := fs.of[to.name]
	if f == nil {
		return nil, fmt.Errorf("the OpenAPI document lacks %s", to.name)
	}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "query", "the query can't be read: " + err.Error()}
	}
	for name := range given {
		if _, known := f.parameters[name]; !known {
			return nil, &refusal{http.StatusBadRequest, "query", fmt.Sprintf("there is no parameter %q here", name)}
		}
	}
	ask := &asked{query: map[string]any{}}
	for name, p := range f.parameters {
		v, err := p.value(given[name])
		if err != nil {
			return nil, err
		}
		switch {
		case v == nil:
		case name == accountParameter:
			ask.account, _ = v.(string)
		default:
			ask.query[name] = v
		}
	}
	return ask, nil
}

// value reads what was given for a parameter; nil: nothing, and there is no default.
func (p *parameter) value(given []string) (any, error) {
	if len(given) == 0 {
		return p.initial, nil
	}
	if len(given) > 1 && p.kind != "array" {
		return nil, &refusal{http.StatusBadRequest, "query", fmt.Sprintf("parameter %s is given more than once", p.Name)}
	}
	var v any = given[0]
	switch p.kind {
	case "array":
		list := make([]any, 0, len(given))
		for _, one := range given {
			list = append(list, one)
		}
		v = list
	case "integer":
		n, err := strconv.ParseInt(given[0], 10, 64)
		if err != nil {
			return nil, p.unfit("want a whole number")
		}
		v = json.Number(strconv.FormatInt(n, 10))
	case "boolean":
		if v = given[0] == "true"; v == false && given[0] != "false" {
			return nil, p.unfit("want true or false")
		}
	}
	if err := p.check.Validate(v); err != nil {
		return nil, p.unfit(inWords(err))
	}
	return v, nil
}

func (p *parameter) unfit(why string) error {
	return &refusal{http.StatusUnprocessableEntity, "invalid", fmt.Sprintf("parameter %s: %s", p.Name, why)}
}

// acceptable refuses a body of another media type. What a form of a foreign page can
// send is none of ours, so that no page makes its reader's browser change anything here.
func acceptable(r *http.Request, to route) error {
	want := []string{mediaJSON}
	if to.isMail() {
		want = []string{mediaMail, "application/octet-stream"}
	}
	got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(want, got) {
		return &refusal{http.StatusUnsupportedMediaType, "media", "the body has to have Content-Type: " + want[0]}
	}
	return nil
}

// isMail reports whether the route's request is a message as it is.
func (r route) isMail() bool {
	return r.verb != nil && reflect.PointerTo(r.verb.Request).Implements(reflect.TypeFor[desk.Raw]())
}

// fill writes into q, which points to the request of a verb, what was asked for.
func (fs *forms) fill(to route, ask *asked, q any) error {
	if raw, ok := q.(desk.Raw); ok {
		*raw.Raw() = ask.body
		return nil
	}
	if _, none := q.(*desk.None); none {
		return nil
	}
	text := ask.body
	if to.public().Reads {
		var err error
		if text, err = json.Marshal(ask.query); err != nil {
			return err
		}
	} else {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return &refusal{http.StatusBadRequest, "json", "the body is not JSON: " + err.Error()}
		}
		if err := fs.of[to.name].body.Validate(v); err != nil {
			return &refusal{http.StatusUnprocessableEntity, "invalid", inWords(err)}
		}
	}
	if err := json.Unmarshal(text, q); err != nil {
		return &refusal{http.StatusUnprocessableEntity, "invalid", strings.TrimPrefix(err.Error(), "json: ")}
	}
	if u, ok := q.(*desk.UndoMarksRequest); ok {
		u.Patience = undoPatience
	}
	return nil
}

// inWords says in one line what does not fit its schema, and where.
func inWords(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err.Error()
	}
	english := message.NewPrinter(language.English)
	var parts []string
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		for _, cause := range v.Causes {
			walk(cause)
		}
		if len(v.Causes) > 0 {
			return
		}
		text := v.ErrorKind.LocalizedString(english)
		if len(v.InstanceLocation) > 0 {
			text = strings.Join(v.InstanceLocation, ".") + ": " + text
		}
		parts = append(parts, text)
	}
	walk(v)
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "; ")
}
