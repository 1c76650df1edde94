package config

import "github.com/hinged/hinged/config/where"

// NewPlace returns where a new configuration belongs: see where.NewPlace.
func NewPlace() string { return where.NewPlace() }

// Find returns path, or when that is empty the first of where.Places that exists: see
// where.Find.
func Find(path string) (string, error) { return where.Find(path) }
