// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"testing"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/account/filter"
)

func TestDefaultsOfConfigAndFilterAreTheSame(t *testing.T) {
	a := config.DefaultAccount()
	got, want := filterOptions(&a), filter.DefaultOptions()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the defaults of the configuration give\n%+v\nthe filter's are\n%+v", got, want)
	}
}

func TestTheBoundsOfTheConfigurationAreTheFilters(t *testing.T) {
	a := config.DefaultAccount()
	a.MaxWeights, a.MaxMessages = 100, 200 // the least
	o := filterOptions(&a)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	if l := o.Limits; l.Weights != 100 || l.Messages != 200 || l.IDs != 200 || l.Threads != 100 {
		t.Errorf("got %+v", l)
	}
}
