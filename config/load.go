// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/hinged/hinged/internal/host/zones"
)

const maxFileBytes = 1 << 20

// Load reads the configuration file at path; when that is empty, the one that
// Find finds. Relative paths in it begin at its own directory, "~/" at the home
// directory. What is wrong in the file comes back as one *Error; any other error
// is about reading it. Both name the file.
func Load(path string) (*Config, error) {
	path, err := Find(path)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", path, err)
	}
	f, err := os.Open(absolute)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no configuration: %w\n`hinged init --config %s` writes one for your mailbox", err, path)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	return parse(f, path, environment{Getenv: os.Getenv, Dir: filepath.Dir(absolute)})
}

// Parse reads a configuration from r. name stands for the file in messages;
// relative paths stay as they are. Errors are those of Load.
func Parse(r io.Reader, name string) (*Config, error) {
	return parse(r, name, environment{Getenv: os.Getenv})
}

func parse(r io.Reader, name string, env environment) (*Config, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", name, err)
	}
	m := &mistakes{file: name}
	if len(data) > maxFileBytes {
		m.add(1, "", "file is too large", fmt.Sprintf("more than %d bytes", maxFileBytes), "a configuration")
		return nil, m.err()
	}
	doc := parseDocument(data, m)
	c := Defaults()
	d := decoder{m}
	d.table(reflect.ValueOf(&c).Elem(), doc.values, doc.root, "")
	v := validator{mistakes: m, doc: doc, env: env, wrong: map[place]bool{}}
	for _, found := range m.list {
		v.wrong[place{found.Line, found.Key}] = true
	}
	v.config(&c)
	if err := m.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// Location returns the account's time zone.
func (a *Account) Location() (*time.Location, error) {
	zone, err := a.Judging.Location()
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", a.Name, err)
	}
	return zone, nil
}

// Location returns the time zone of the owner's days.
func (j *Judging) Location() (*time.Location, error) {
	zone, err := zones.Load(j.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone: %w", err)
	}
	return zone, nil
}
