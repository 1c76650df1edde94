package main

import (
	"reflect"
	"testing"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/filter"
)

func TestDefaultsOfConfigAndFilterAreTheSame(t *testing.T) {
	a := config.DefaultAccount()
	got, want := filterOptions(&a), filter.DefaultOptions()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("the defaults of the configuration give\n%+v\nthe filter's are\n%+v", got, want)
	}
}
