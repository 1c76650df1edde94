// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/store/boltfile"
)

// version is that of the file VERSION; a test compares them. The linker may set another.
var version = "0.1.0"

// commit is set by the linker for a release, which is built without git.
var commit string

type build struct {
	commit   string // "" where the build didn't know it
	modified bool   // the commit isn't all that went in
}

func readBuild() build {
	b := build{commit: commit}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

func versionString() string {
	if commit := readBuild().commit; commit != "" {
		return version + "+" + commit[:min(12, len(commit))]
	}
	return version
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, the commit from which it was built, the schema of its stores,
and the Go version that built it.`,
		Example: `  $ hinged version
  hinged 0.1.0
  commit 5d1f0c9b0e8f4f7e8a1d2c3b4a59687766554433
  store schema 1
  go1.26.8 linux/amd64`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuild()
			commit := b.commit
			if commit == "" {
				commit = "unknown"
			}
			if b.modified {
				commit += " with changes"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "hinged %s\ncommit %s\nstore schema %d\n%s %s/%s\n",
				version, commit, boltfile.SchemaVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
