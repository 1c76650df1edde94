package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hinged/hinged/config"
)

// aim is what a group of verbs is for.
type aim struct {
	title string
	verbs []string
}

// aims puts the verbs into the order of `hinged --help`.
func aims() []aim {
	return []aim{
		{"To begin", []string{"demo", "init", "check", "bootstrap", "run"}},
		{"To see", []string{"status", "explain", "ledger", "words", "eval", "bound"}},
		{"To correct and stop", []string{"ask", "learn", "pause", "resume", "undo", "forget"}},
		{"To filter mail elsewhere", []string{"classify"}},
		{"To look after the state", []string{"backup", "restore", "verify", "digest", "compact", "export", "import", "replay", "prior"}},
		{"In the laboratory", []string{"solve", "lab", "vectors"}},
		{"About the program", []string{"version", "completion", "help"}},
	}
}

// arrange sets the groups of root's verbs.
func arrange(root *cobra.Command) {
	for i, a := range aims() {
		id := fmt.Sprint(i)
		member := func(c *cobra.Command) bool { return slices.Contains(a.verbs, c.Name()) }
		if !slices.ContainsFunc(root.Commands(), member) {
			continue
		}
		root.AddGroup(&cobra.Group{ID: id, Title: a.title + ":"})
		if slices.Contains(a.verbs, "help") {
			root.SetHelpCommandGroupID(id)
		}
		for _, c := range root.Commands() {
			if member(c) {
				c.GroupID = id
			}
		}
	}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Explain a verb",
		Long:  `Explain a verb, with an example session; without one, list them all.`,
		Example: `  $ hinged help status
  Say how every account is doing: whether it is connected, …`,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownVerb(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			about.SetContext(cmd.Context())
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if !c.Hidden {
						out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// configTopic is `hinged help config`. The text is made when it is asked for.
func configTopic() *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "The configuration file: every key with its default and what it is for"}
	c.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		text, err := config.Example()
		if err != nil {
			text = []byte(err.Error() + "\n")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", configPlaces, text)
	})
	return c
}

const configPlaces = `# Without --config, hinged reads $HINGED_CONFIG, else the first that there is of
# ~/.config/hinged/hinged.toml and /etc/hinged/hinged.toml. "hinged init" writes one for your mailbox.
`

// unknownVerb is a word in the place of a verb of cmd. The nearest verb's help
// is the hint.
func unknownVerb(cmd *cobra.Command, got string) error {
	problem, hint := fmt.Sprintf("unknown verb %q", got), cmd.CommandPath()+" --help"
	if near := cmd.SuggestionsFor(got); len(near) > 0 {
		problem += fmt.Sprintf("; did you mean %q?", near[0])
		hint = cmd.CommandPath() + " " + near[0] + " --help"
	}
	return &usageError{errors.New(problem), hint}
}

// unreadFlag is a flag that cmd does not have or whose value it cannot read.
func unreadFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			err = fmt.Errorf("%w; did you mean --%s?", err, near)
		}
	}
	return misuse(cmd, "%w", err)
}

// nearestFlag measures nearness as cobra does between verbs, one slip before two.
func nearestFlag(cmd *cobra.Command, got string) string {
	names := &cobra.Command{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	for names.SuggestionsMinimumDistance = 1; names.SuggestionsMinimumDistance <= 2; names.SuggestionsMinimumDistance++ {
		if near := names.SuggestionsFor(strings.ReplaceAll(got, "_", "-")); len(near) > 0 {
			return near[0]
		}
	}
	return ""
}
