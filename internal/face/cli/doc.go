// SPDX-License-Identifier: Apache-2.0

// Package cli is what the commands hinged and hinged-lab have in common: flags and
// mistakes on the command line, exit codes, progress, and the playing of archives.
package cli
