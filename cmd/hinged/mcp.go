// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/assistant"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
)

func mcpCommand() *cobra.Command {
	var account string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Let an AI assistant ask hinged, by the Model Context Protocol",
		Long: `Serve the Model Context Protocol on standard input and output. An assistant on
this machine, such as an editor or a chat program, starts it and then can ask
how hinged is doing, what it decided and why, and which labels would teach it
most. It sees senders and words of subjects, and never the body of a message.
It changes nothing, unless the configuration has teach = true in [mcp]: then it
may label messages as well.

With --account, the assistant knows of that account alone. If no daemon runs, the
answers come from the store. It ends when the assistant closes standard input.`,
		Example: `  $ hinged mcp --config hinged.toml < requests.jsonl
  {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},…`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // a client that goes away is no failure
			path := configOf(cmd)
			o := assistant.Options{Version: versionString(), Account: account, Ask: func(ctx context.Context, o *desk.Offer, account string, q any) (any, error) {
				return askFor(ctx, path, o, account, q)
			}}
			conf, err := config.Load(path)
			if err == nil {
				o.Teach = conf.MCP.Teach
			} else { // each answer says so, until it is mended
				fmt.Fprintf(cmd.ErrOrStderr(), "hinged mcp: %v\n", err)
			}
			return assistant.Serve(cmd.Context(), os.Stdin, os.Stdout, o)
		},
	}
	accountFlag(c, &account)
	c.Flags().Lookup("account").Usage = "the only account that the assistant may ask about"
	return c
}

// askFor answers an assistant. It reads the configuration at path for each question: a daemon may
// start, stop or move meanwhile.
func askFor(ctx context.Context, path string, o *desk.Offer, account string, q any) (any, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	if o.Name == desk.Label.Name && !c.MCP.Teach {
		return nil, errors.New("the configuration does not let assistants teach: teach is not true in the section [mcp]")
	}
	return with(ctx, path, func(at *control.At) (any, error) { return control.AskFor(ctx, at, o, account, q) })
}
