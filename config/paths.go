package config

import "github.com/hinged/hinged/config/where"

// Places returns where a configuration is looked for when none is named, in
// order: see where.Places.
func Places() []string { return where.Places() }

// NewPlace returns where a new configuration belongs: see where.NewPlace.
func NewPlace() string { return where.NewPlace() }

// Find returns path, or when that is empty the first of Places that exists: see
// where.Find.
func Find(path string) (string, error) { return where.Find(path) }
