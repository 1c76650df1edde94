// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder puts the values of a document into structs, by their toml tags, and
// notes every key that does not fit.
type decoder struct {
	*mistakes
}

var durationType = reflect.TypeFor[Duration]()

// blanks make what a table of the file is decoded into, where it is not part of
// the struct around it: with the values of the keys that the file leaves out.
var blanks = map[reflect.Type]func() reflect.Value{
	reflect.TypeFor[Account](): func() reflect.Value { return reflect.ValueOf(DefaultAccount()) },
	reflect.TypeFor[Rule]():    func() reflect.Value { return reflect.ValueOf(Rule{}) },
	reflect.TypeFor[*Digest](): func() reflect.Value {
		d := defaultDigest()
		return reflect.ValueOf(&d)
	},
	reflect.TypeFor[*OAuth]():       func() reflect.Value { return reflect.ValueOf(&OAuth{}) },
	reflect.TypeFor[*AddressBook](): func() reflect.Value { return reflect.ValueOf(&AddressBook{}) },
	reflect.TypeFor[Notify]():       func() reflect.Value { return reflect.ValueOf(defaultNotify()) },
	reflect.TypeFor[KafkaAccount](): func() reflect.Value { return reflect.ValueOf(KafkaAccount{}) },
	reflect.TypeFor[User]():         func() reflect.Value { return reflect.ValueOf(User{}) },
	reflect.TypeFor[*Dashboard](): func() reflect.Value {
		d := DefaultDashboard()
		return reflect.ValueOf(&d)
	},
	reflect.TypeFor[*Milter](): func() reflect.Value {
		m := DefaultMilter()
		return reflect.ValueOf(&m)
	},
	reflect.TypeFor[*Kafka](): func() reflect.Value {
		k := DefaultKafka()
		return reflect.ValueOf(&k)
	},
}

// table decodes values into the struct to. path is the key of the table, with
// a dot behind it, or "" for the file itself.
func (d *decoder) table(to reflect.Value, values map[string]any, at *node, path string) {
	fields := fieldsOf(to)
	known := slices.Sorted(maps.Keys(fields))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		line := lineOf(at.kid(key), at)
		if field, ok := fields[key]; ok {
			d.value(field, values[key], at.kid(key), line, path+key)
			continue
		}
		if _, ok := fields["password_file"]; ok && key == "password" {
			// The reason matters more than the rule; the value is never shown.
			d.add(line, path+key, "a password doesn't belong in a file that is copied, shown and backed up", "",
				"password_file, password_command, password_env or password_credential, which say where to find it")
			continue
		}
		if _, ok := fields["password_hash"]; ok && (key == "password" || key == "token") {
			want := "password_hash, which `hinged init --user` prints"
			if key == "token" {
				want = "token_file, token_command, token_env or token_credential, which say where to find it"
			}
			d.add(line, path+key, "a "+key+" doesn't belong in a file that is copied, shown and backed up", "", want)
			continue
		}
		d.add(line, path+printable(key), "unknown key", "", hint(key, path, known))
	}
}

func hint(key, path string, known []string) string {
	if near := nearest(key, known); near != "" {
		return fmt.Sprintf("%s%s (did you mean that?)", path, near)
	}
	if homes := homesOf(key, path); len(homes) > 0 {
		return strings.Join(homes, " or ") + " (it belongs there)"
	}
	return "one of " + strings.Join(known, ", ")
}

// homesOf returns the full names of all keys whose last part is key: of those
// in the tables below the first part of path, when there are any, else of all.
func homesOf(key, path string) []string {
	var homes, near []string
	root, _, _ := strings.Cut(path, ".")
	for _, full := range Keys() {
		if strings.HasSuffix(full, "."+key) || full == key {
			homes = append(homes, full)
			if strings.HasPrefix(full, root+".") {
				near = append(near, full)
			}
		}
	}
	if len(near) > 0 {
		return near
	}
	return homes
}

func (d *decoder) value(to reflect.Value, v any, at *node, line int, path string) {
	switch {
	case to.Type() == durationType:
		d.duration(to, v, line, path)
	case to.Kind() == reflect.Pointer:
		values, ok := v.(map[string]any)
		if !ok {
			d.wrongType(line, path, v, "a table")
			return
		}
		to.Set(blanks[to.Type()]())
		d.table(to.Elem(), values, at, path+".")
	case to.Kind() == reflect.Struct:
		values, ok := v.(map[string]any)
		if !ok {
			d.wrongType(line, path, v, "a table")
			return
		}
		d.table(to, values, at, path+".")
	case to.Kind() == reflect.Slice:
		d.slice(to, v, at, line, path)
	case to.Kind() == reflect.String:
		if s, ok := v.(string); ok {
			to.SetString(s)
		} else {
			d.wrongType(line, path, v, "a string")
		}
	case to.Kind() == reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
		} else {
			d.wrongType(line, path, v, "true or false")
		}
	case to.Kind() == reflect.Int:
		if n, ok := v.(int64); ok && int64(int(n)) == n {
			to.SetInt(n)
		} else {
			d.wrongType(line, path, v, "a whole number")
		}
	case to.Kind() == reflect.Float64:
		switch n := v.(type) {
		case float64:
			to.SetFloat(n)
		case int64:
			to.SetFloat(float64(n))
		default:
			d.wrongType(line, path, v, "a number")
		}
	default:
		panic("config: no decoding into " + to.Type().String())
	}
}

func (d *decoder) duration(to reflect.Value, v any, line int, path string) {
	const want = `a duration such as "60s", "15m" or "7d"`
	s, ok := v.(string)
	if !ok {
		d.wrongType(line, path, v, want)
		return
	}
	duration, err := ParseDuration(s)
	if err != nil {
		d.add(line, path, err.Error(), describe(v), want)
		return
	}
	to.SetInt(int64(duration))
}

// slice decodes a list of strings, or of tables. A list that is given replaces
// the default one; an empty list is nil.
func (d *decoder) slice(to reflect.Value, v any, at *node, line int, path string) {
	blank, tables := blanks[to.Type().Elem()]
	want := "a list of strings"
	if tables {
		want = "tables, each under its own [[" + path + "]]"
	}
	list, ok := v.([]any)
	if !ok {
		d.wrongType(line, path, v, want)
		return
	}
	to.SetZero()
	for i, element := range list {
		line := lineOf(at.elem(i), &node{line: line})
		if tables {
			values, ok := element.(map[string]any)
			if !ok {
				d.wrongType(line, path, element, want)
				continue
			}
			to.Set(reflect.Append(to, blank()))
			d.table(to.Index(to.Len()-1), values, at.elem(i), path+".")
			continue
		}
		s, ok := element.(string)
		if !ok {
			d.wrongType(line, path, element, "strings in the list")
		}
		// A wrong element keeps its place, so that element i stays on line i.
		to.Set(reflect.Append(to, reflect.ValueOf(s)))
	}
}

func (d *decoder) wrongType(line int, path string, v any, want string) {
	got := describe(v)
	if strings.Contains(path, "password") {
		got = "something else"
	}
	d.add(line, path, "wrong type", got, want)
}

func fieldsOf(s reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range s.NumField() {
		if s.Type().Field(i).Anonymous {
			maps.Copy(fields, fieldsOf(s.Field(i)))
			continue
		}
		fields[keyOf(s.Type().Field(i))] = s.Field(i)
	}
	return fields
}

func keyOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return name
}

// Keys returns the full name of every key that a file may hold, sorted.
func Keys() []string {
	var keys []string
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		for i := range t.NumField() {
			f := t.Field(i)
			of := f.Type
			if of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			switch name := keyOf(f); {
			case f.Anonymous:
				walk(of, path)
			case of.Kind() == reflect.Struct:
				walk(of, path+name+".")
			default:
				keys = append(keys, path+name)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	slices.Sort(keys)
	return keys
}

func lineOf(n, around *node) int {
	if n != nil {
		return n.line
	}
	if around != nil {
		return around.line
	}
	return 1
}

func describe(v any) string {
	const limit = 60
	switch v := v.(type) {
	case string:
		if len(v) > limit {
			v = v[:limit] + "…"
		}
		return strconv.Quote(strings.ToValidUTF8(v, ""))
	case []string:
		if len(v) == 0 {
			return "an empty list"
		}
		return fmt.Sprintf("a list of %d", len(v))
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case bool, int, int64, float64:
		return fmt.Sprint(v)
	case Duration:
		return strconv.Quote(v.String())
	default:
		return fmt.Sprintf("the date or time %v", v)
	}
}

// printable makes a key fit for one line of a message.
func printable(key string) string {
	plain := key != "" && utf8.ValidString(key) && len(key) <= 60
	for _, r := range key {
		plain = plain && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	if plain {
		return key
	}
	return describe(key)
}
