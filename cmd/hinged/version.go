package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for a release.
var version = "dev"

// versionString is the version with the commit that the binary was built from,
// where the build knew it.
func versionString() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return version + "+" + s.Value[:min(12, len(s.Value))]
		}
	}
	return version
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  $ hinged version\n  hinged dev go1.26.8",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			goVersion := "unknown Go"
			if info, ok := debug.ReadBuildInfo(); ok {
				goVersion = info.GoVersion
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "hinged %s %s\n", versionString(), goVersion)
			return err
		},
	}
}
