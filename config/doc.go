// SPDX-License-Identifier: Apache-2.0

// Package config turns one TOML file into a typed, validated Config.
//
// It refuses what it does not understand, and says everything that is wrong at
// once: each mistake names file, line and key, what was found and what would be
// right. It opens no connection and reads no secret; Secret.Read does that when
// a connection is made, so that a renewed password needs no restart.
//
// Data flow: file → document (syntax, lines) → decode (types, unknown keys) →
// validate (ranges, sense) → Config.
//
// It knows nothing of the rest of hinged: choices are strings here, and whoever
// uses them converts them.
package config
