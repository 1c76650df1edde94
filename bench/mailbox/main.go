// SPDX-License-Identifier: Apache-2.0

// Command mailbox plays made-up private mailboxes through hinged's filter, as `hinged
// bootstrap` and the daemon would, and judges its marks by what their owners want.
//
// Of each life the last 120 messages of others are live. Before that hinged reads a past of
// so many messages: each where it lies then, with the flags that it has then. Each figure of
// the table is the mean over the seeds; precision is over those seeds in which there was a
// mark. Days count from 0, the day on which the live part begins.
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
	"sync"

	"github.com/hinged/hinged/bench/mailbox/life"
	"github.com/hinged/hinged/bench/mailbox/persons"
)

const (
	hinged      = "hinged"
	longestPast = 1400
)

// generator makes lives.
type generator struct {
	persons []string
	make    func(person string, seed uint64, arrivals int) *life.Life
}

// generators by their names.
var generators = map[string]generator{"persons": {persons.Names(), persons.Make}}

// command is what the command line asks for.
type command struct {
	*how
	generator generator
	persons   []string
	pasts     []int
	seeds     int
	reader    bool
	csv       bool
	peers     bool
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mailbox:", err)
		os.Exit(1)
	}
}

func run(args []string, out, log io.Writer) error {
	h, err := defaults()
	if err != nil {
		return err
	}
	c := command{how: h}
	flags := flag.NewFlagSet("mailbox", flag.ContinueOnError)
	flags.SetOutput(log)
	name := flags.String("generator", "persons", "whose lives are played")
	holdout := flags.Bool("holdout", false, "the same as -generator holdout")
	only := flags.String("persons", "", "names of the `persons`, with commas; all if empty")
	pasts := flags.String("pasts", fmt.Sprintf("0,30,130,380,%d", longestPast), "`numbers` of messages of the past, with commas")
	flags.IntVar(&c.seeds, "seeds", 10, "how many lives of each person")
	flags.IntVar(&c.live, "live", 120, "how many messages are judged")
	flags.IntVar(&c.questions, "questions", 0, "how many questions the owner answers each evening")
	flags.BoolVar(&c.filed, "filed", false, "watch the owner's own folder, too, as `mailboxes` can say")
	flags.BoolVar(&c.reader, "reader", false, "only persons who answer nothing, and their F1 day by day")
	flags.BoolVar(&c.csv, "csv", false, "every play, as CSV")
	flags.BoolVar(&c.peers, "peers", false, "other tools beside hinged")
	flags.Func("set", "a setting, as `key=value`: prior=none, shadow=off, threshold.per_day=3; may be repeated", h.set)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *holdout {
		*name = "holdout"
	}
	var known bool
	if c.generator, known = generators[*name]; !known {
		return fmt.Errorf("there is no generator %q", *name)
	}
	if c.persons = c.generator.persons; *only != "" {
		c.persons = strings.Split(*only, ",")
	}
	for _, p := range c.persons {
		if !slices.Contains(c.generator.persons, p) {
			return fmt.Errorf("there is no person %q; there are %s", p, strings.Join(c.generator.persons, ", "))
		}
	}
	for p := range strings.SplitSeq(*pasts, ",") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return fmt.Errorf("%q is no number of messages", p)
		}
		c.pasts = append(c.pasts, n)
	}
	if err := h.options.Validate(); err != nil {
		return err
	}
	results, err := c.playAll(log)
	if err != nil {
		return err
	}
	if c.csv {
		return results.csv(out)
	}
	return c.table(results, out)
}

// result is what came of one play.
type result struct {
	person  string
	seed    int
	past    int
	answers bool // the owner answers mail
	tools   []*outcome
}

type results []result

// playAll plays all lives, each core one at a time. The results are in the order of persons,
// pasts and seeds.
func (c *command) playAll(log io.Writer) (results, error) {
	type job struct {
		person string
		seed   int
	}
	peers, err := c.openPeers(log)
	if err != nil {
		return nil, err
	}
	jobs := make(chan job)
	var (
		mu     sync.Mutex
		all    results
		failed error
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				r, err := c.playOne(j.person, j.seed, peers)
				mu.Lock()
				all = append(all, r...)
				if err != nil && failed == nil {
					failed = fmt.Errorf("%s, seed %d: %w", j.person, j.seed, err)
				}
				mu.Unlock()
			}
		})
	}
	for seed := range c.seeds {
		for _, p := range c.persons {
			jobs <- job{p, seed + 1}
		}
	}
	close(jobs)
	wg.Wait()
	slices.SortFunc(all, c.compare)
	return all, failed
}

// playOne plays one life with each past.
func (c *command) playOne(person string, seed int, peers []peer) (results, error) {
	// The same life whatever the pasts.
	o, err := c.open(c.generator.make(person, uint64(seed), max(slices.Max(c.pasts), longestPast)+c.live))
	if err != nil {
		return nil, err
	}
	answers := o.answers()
	if c.reader && answers {
		return nil, nil
	}
	var rs results
	for _, past := range c.pasts {
		p, err := c.play(o, past)
		if err != nil {
			return nil, err
		}
		r := result{person, seed, past, answers, []*outcome{
			ours(p),
			judge("rule", p.verdicts, func(v *verdict) bool { return rule(o.Mail[v.mail].Raw, o.Owner) }),
		}}
		if c.peers {
			r.tools = append(r.tools, judge("known correspondents", p.verdicts, func(v *verdict) bool { return v.correspondent }))
		}
		for _, peer := range peers {
			outcome, err := peer.judge(o, p)
			if err != nil {
				return nil, err
			}
			r.tools = append(r.tools, outcome)
		}
		rs = append(rs, r)
	}
	return rs, nil
}
