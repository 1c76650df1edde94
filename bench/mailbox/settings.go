// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strconv"
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
	return setValue(v, value)
}

func setValue(v reflect.Value, value string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(value)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(value)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		v.SetBool(b)
		return err
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		v.SetInt(n)
		return err
	case reflect.Float64:
		x, err := strconv.ParseFloat(value, 64)
		v.SetFloat(x)
		return err
	default:
		return fmt.Errorf("a setting of type %s can't be set here", v.Type())
	}
	return nil
}
