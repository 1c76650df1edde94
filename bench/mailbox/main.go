// SPDX-License-Identifier: Apache-2.0

// Command mailbox plays made-up private mailboxes through hinged's filter, as `hinged
// bootstrap` and the daemon would, and judges its marks by what their owners want.
//
// Of each life the last 120 messages of others are live. Before that hinged reads a past of
// so many messages: each where it lies then, with the flags that it has then. Each figure of
// the table is the mean over the lives of a person; "silent" is the share of lives without a
// mark, which count for neither precision nor first day. Days count from 0, the day on which
// the live part begins. What the owner had called important before it was marked counts as
// not marked.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hinged/hinged/bench/mailbox/persons"
)

// longestPast is that of the table: lives are long enough for it, whatever pasts are played.
const longestPast = 1400

// command is what the command line asks for.
type command struct {
	how
	persons []string
	pasts   []int
	seeds   int
	reader  bool
	csv     bool
	scores  bool
	peers   string // a Python that runs peers.py; "": no other tools
}

func main() {
	c, err := parse(os.Args[1:], os.Stderr)
	if err == nil {
		err = c.run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mailbox:", err)
		os.Exit(1)
	}
}

func parse(args []string, log io.Writer) (*command, error) {
	c := &command{}
	flags := flag.NewFlagSet("mailbox", flag.ContinueOnError)
	flags.SetOutput(log)
	who := flags.String("persons", "", "names of the `persons`, with commas; all if empty")
	pasts := flags.String("pasts", fmt.Sprintf("0,30,130,380,%d", longestPast), "`numbers` of messages of the past, with commas")
	flags.IntVar(&c.seeds, "seeds", 10, "how many lives of each person")
	flags.IntVar(&c.live, "live", 120, "how many messages are judged")
	flags.IntVar(&c.questions, "questions", 0, "how many questions the owner answers each evening")
	flags.IntVar(&c.atFirst, "first", 0, "how many they answer when the past is read")
	flags.BoolVar(&c.filed, "filed", false, "watch the owner's own folder, too, as `mailboxes` can say")
	flags.BoolVar(&c.book, "book", false, "the owner has an address book: whom they ever wrote to before the live part")
	flags.BoolVar(&c.reader, "reader", false, "only persons who answer nothing, and F1 of each day")
	flags.BoolVar(&c.csv, "csv", false, "every play, as CSV")
	flags.BoolVar(&c.scores, "scores", false, "also what hinged decided whether or not it marked, and the best threshold for its scores")
	flags.StringVar(&c.peers, "peers", "", "other tools, too: a `Python` with the packages of bench/requirements.txt")
	var settings []string
	flags.Func("set", "a setting, as `key=value` in the configuration: prior=none, shadow=off; may be repeated", func(s string) error {
		settings = append(settings, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	h, err := settled(settings...)
	if err != nil {
		return nil, err
	}
	h.live, h.questions, h.atFirst, h.filed, h.book = c.live, c.questions, c.atFirst, c.filed, c.book
	c.how = h
	if c.persons = persons.Names(); *who != "" {
		c.persons = strings.Split(*who, ",")
	}
	for _, p := range c.persons {
		if !slices.Contains(persons.Names(), p) {
			return nil, fmt.Errorf("there is no person %q; there are %s", p, strings.Join(persons.Names(), ", "))
		}
	}
	for p := range strings.SplitSeq(*pasts, ",") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no number of messages", p)
		}
		c.pasts = append(c.pasts, n)
	}
	return c, c.options.Validate()
}

// run plays all lives, each core one at a time, and prints what came of it.
func (c *command) run(out io.Writer) error {
	plays := make([][]result, c.seeds*len(c.persons))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range plays {
		g.Go(func() (err error) {
			person, seed := c.persons[i%len(c.persons)], 1+i/len(c.persons)
			if plays[i], err = c.playOne(person, seed); err != nil {
				return fmt.Errorf("%s, seed %d: %w", person, seed, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	all := slices.Concat(plays...)
	slices.SortFunc(all, c.compare)
	if c.csv {
		return writeCSV(all, out)
	}
	return c.table(all, out)
}

// playOne plays one life with each past.
func (c *command) playOne(person string, seed int) (all []result, err error) {
	o, err := c.open(persons.Make(person, uint64(seed), max(slices.Max(c.pasts), longestPast)+c.live))
	if err != nil || c.reader && o.answers {
		return nil, err
	}
	for _, past := range c.pasts {
		p, err := c.play(o, past)
		if err != nil {
			return nil, err
		}
		tools := []*outcome{ours(p), judge("rule", p.verdicts, func(v *verdict) bool { return rule(o.Mail[v.mail].Raw, o.Owner) })}
		if c.scores {
			tools = append(tools, judge("decided", p.verdicts, func(v *verdict) bool { return v.decided }), best(p.verdicts))
		}
		if c.peers != "" {
			others, err := peers(c.peers, o, p)
			if err != nil {
				return nil, err
			}
			tools = append(append(tools, judge("known correspondents", p.verdicts, func(v *verdict) bool { return v.correspondent })), others...)
		}
		all = append(all, result{person, seed, past, o.answers, tools})
	}
	return all, nil
}
