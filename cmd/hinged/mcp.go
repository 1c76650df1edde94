// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/internal/face/assistant"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/face/control"
	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/store/boltfile"
)

var errTeach = errors.New("the configuration does not let assistants teach: teach is not true in the section [mcp]")

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
			o := assistant.Options{Version: versionString(), Account: account, Ask: (&asked{path: configOf(cmd), store: make(chan struct{}, 1)}).ask}
			conf, err := config.Load(configOf(cmd))
			if err == nil {
				o.Teach = conf.MCP.Teach
			} else { // each answer says so, until it is mended
				fmt.Fprintf(cmd.ErrOrStderr(), "hinged mcp: %v\n", err)
			}
			return assistant.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), o)
		},
	}
	accountFlag(c, &account)
	c.Flags().Lookup("account").Usage = "the only account that the assistant may ask about"
	return c
}

// asked is who answers an assistant. It reads the configuration at path for each question: a
// daemon may start, stop or move meanwhile.
type asked struct {
	path  string
	store chan struct{} // has room for one who opens the store
}

func (a *asked) ask(ctx context.Context, o *desk.Offer, account string, q any) (out any, err error) {
	c, err := config.Load(a.path)
	if err != nil {
		return nil, err
	}
	if o.Name == desk.Label.Name && !c.MCP.Teach {
		return nil, errTeach
	}
	at, err := control.Dial(ctx, c.Socket)
	if errors.Is(err, control.ErrNotRunning) {
		select {
		case a.store <- struct{}{}:
			defer func() { <-a.store }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		at, err = connectTo(ctx, c, boltfile.Options{})
	}
	if err != nil {
		return nil, err
	}
	out, err = control.AskFor(ctx, at, o, account, q)
	return out, errors.Join(err, at.Close())
}
