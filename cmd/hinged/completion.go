// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/cli"
)

func shells() []string { return []string{"bash", "zsh", "fish"} }

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "completion SHELL",
		Hidden: true, // "make install" and packages install what it prints
		Short:  "Print a script that completes verbs, flags and accounts in a shell",
		Long: `Print a script that makes a shell complete verbs, flags, the values of flags and
the names of accounts. SHELL is bash, zsh or fish.

"make install" and packages install it where the shell finds it. By hand, write
it to:

  bash  ~/.local/share/bash-completion/completions/hinged
  zsh   a file _hinged in a directory of $fpath
  fish  ~/.config/fish/completions/hinged.fish`,
		Example: `  $ hinged completion bash > ~/.local/share/bash-completion/completions/hinged
  $ hinged sta<TAB>
  $ hinged status`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cli.OneArg("a shell: "+strings.Join(shells(), ", "))(cmd, args); err != nil {
				return err
			}
			if err := (&cli.Choice{Choices: shells()}).Set(args[0]); err != nil {
				return cli.Misuse(cmd, "no completion for %q: %w", args[0], err)
			}
			return nil
		},
		ValidArgs: shells(),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(w, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(w)
			default:
				return cmd.Root().GenFishCompletion(w, true)
			}
		},
	}
}

// complete says how the arguments and the values of the flags of all verbs of
// parent are completed: files only where a verb takes one.
func complete(parent *cobra.Command) {
	parent.PersistentFlags().VisitAll(func(f *pflag.Flag) { _ = parent.RegisterFlagCompletionFunc(f.Name, completeFlag(f)) })
	for _, c := range parent.Commands() {
		files := cobra.ShellCompDirectiveNoFileComp
		if strings.Contains(c.Use, "FILE") || strings.Contains(c.Use, "MESSAGE") || strings.Contains(c.Use, "DIR") {
			files = cobra.ShellCompDirectiveDefault
		}
		c.CompletionOptions.SetDefaultShellCompDirective(files)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if fn := completeFlag(f); fn != nil {
				// It fails only for a flag that is not there or was registered before.
				_ = c.RegisterFlagCompletionFunc(f.Name, fn)
			}
		})
		complete(c)
	}
}

// completeFlag returns nil for flags whose values cannot be foretold.
func completeFlag(f *pflag.Flag) cobra.CompletionFunc {
	if c, ok := f.Value.(*cli.Choice); ok {
		return cobra.FixedCompletions(c.Choices, cobra.ShellCompDirectiveNoFileComp)
	}
	kind, _ := pflag.UnquoteUsage(f)
	switch {
	case f.Name == "config":
		return cobra.FixedCompletions([]cobra.Completion{"toml"}, cobra.ShellCompDirectiveFilterFileExt)
	case f.Name == "account":
		return completeAccount
	case kind == "file" || kind == "path" || kind == "dir":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	default:
		return nil
	}
}

func completeAccount(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	if path := cmd.Flags().Lookup("config"); path != nil {
		if c, err := config.Load(path.Value.String()); err == nil {
			for i := range c.Accounts {
				names = append(names, c.Accounts[i].Name)
			}
			if c.Kafka != nil {
				for i := range c.Kafka.Accounts {
					names = append(names, "kafka:"+c.Kafka.Accounts[i].Key)
				}
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
