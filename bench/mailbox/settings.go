// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/hinged/hinged/internal/filter"
	"github.com/hinged/hinged/internal/prior"
)

// defaults are the settings of an account whose configuration says nothing: those of
// config.DefaultAccount, as a test of cmd/hinged compares the two.
func defaults() (*how, error) {
	h := &how{options: filter.DefaultOptions()}
	return h, h.set("prior=default")
}

// set changes one setting: "prior=" with default, none or a file, or a field of
// filter.Options by its path in any case, without regard to "_", such as
// "threshold.per_day=3" or "shadow=on".
func (h *how) set(setting string) error {
	path, value, found := strings.Cut(setting, "=")
	if !found {
		return fmt.Errorf("the setting %q has no =", setting)
	}
	if path == "prior" {
		p, err := prior.Named(value)
		if err == nil {
			h.prior = p.Pack()
		}
		return err
	}
	v := reflect.ValueOf(&h.options).Elem()
	for name := range strings.SplitSeq(strings.ReplaceAll(path, "_", ""), ".") {
		if v.Kind() != reflect.Struct {
			return fmt.Errorf("there is no setting %s", path)
		}
		v = v.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, name) })
		if !v.IsValid() {
			return fmt.Errorf("there is no setting %s", path)
		}
	}
	if d, is := v.Addr().Interface().(*time.Duration); is {
		var err error
		*d, err = time.ParseDuration(value)
		return err
	}
	if _, err := fmt.Sscan(value, v.Addr().Interface()); err != nil {
		return fmt.Errorf("%s can't be %q: %w", path, value, err)
	}
	return nil
}
