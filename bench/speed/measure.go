// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// measuring is what main was asked for.
type measuring struct {
	owner, hinged, lab, dir string
	rounds                  int
	messages                int
}

// program is one line of the table.
type program struct {
	name    string
	command []string
	stdin   string   // a file; "" for none
	env     []string // beside that of this process
	code    int      // greatest exit code that is no error
	took    []cost   // by round
}

// cost is what one run took.
type cost struct {
	processor, wall time.Duration
}

// oneCore keeps a Go program to one processor, its garbage collector included.
var oneCore = []string{"GOMAXPROCS=1"}

// run has every program run in turn, so that all of them share what else the machine does,
// and prints the table.
func (m *measuring) run(ctx context.Context, w io.Writer) error {
	mail := filepath.Join(m.dir, "mail.mbox")
	bound := []string{m.lab, "eval", "--set", "prior=none", "--owner", m.owner, mail}
	eval := append(slices.Clone(bound), "--ceiling=false")
	classify := []string{m.hinged, "classify", "--config", filepath.Join(m.dir, "hinged.toml"), mail}
	programs := []*program{
		{name: "hinged classify: deciding alone", command: classify, env: oneCore},
		{name: "hinged eval: deciding and learning", command: eval, env: oneCore},
		{name: "the same on two cores", command: eval, env: []string{"GOMAXPROCS=2"}},
		{name: "hinged eval, and the search for a ceiling", command: bound, env: oneCore},
		{name: "wc -w", command: []string{"wc", "-w", mail}, env: []string{"LC_ALL=C.UTF-8"}},
	}
	if tokens, err := m.bogofilter(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bogofilter is left out:", err)
	} else {
		programs = append(programs, &program{name: "bogofilter -t -M", command: []string{"bogofilter", "-d", tokens, "-t", "-M"}, stdin: mail, code: 2})
	}
	for range m.rounds {
		for _, p := range programs {
			if err := p.run(ctx); err != nil {
				return err
			}
		}
	}
	return m.table(w, programs)
}

// bogofilter teaches bogofilter the mail and returns the folder of what it learnt.
func (m *measuring) bogofilter(ctx context.Context) (string, error) {
	dir := filepath.Join(m.dir, "bogofilter")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for _, class := range [][2]string{{"important", "-s"}, {"ordinary", "-n"}} {
		file, flag := class[0], class[1]
		p := program{name: "bogofilter " + flag, command: []string{"bogofilter", "-d", dir, flag, "-M"}, stdin: filepath.Join(m.dir, file)}
		if err := p.run(ctx); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// run runs the program once. What it prints is thrown away.
func (p *program) run(ctx context.Context) error {
	c := exec.CommandContext(ctx, p.command[0], p.command[1:]...) //nolint:gosec // the programs that are compared
	c.Env = append(c.Environ(), p.env...)
	c.Stderr = os.Stderr
	if p.stdin != "" {
		f, err := os.Open(p.stdin)
		if err != nil {
			return err
		}
		defer f.Close()
		c.Stdin = f
	}
	begun := time.Now()
	if err := c.Run(); err != nil && (c.ProcessState == nil || c.ProcessState.ExitCode() > p.code || c.ProcessState.ExitCode() < 0) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.took = append(p.took, cost{wall: time.Since(begun), processor: c.ProcessState.UserTime() + c.ProcessState.SystemTime()})
	return nil
}

// table prints medians over the rounds. Ratios are medians of the ratios within each
// round.
func (m *measuring) table(w io.Writer, programs []*program) error {
	find := func(name string) *program {
		i := slices.IndexFunc(programs, func(p *program) bool { return p.name == name })
		if i < 0 {
			return nil
		}
		return programs[i]
	}
	words, bogofilter := find("wc -w"), find("bogofilter -t -M")
	fmt.Fprintf(w, "%d messages, %d rounds; medians\n\n", m.messages, m.rounds)
	fmt.Fprintln(w, "| program | processor time | messages a processor second | as many times as bogofilter | as many times the time of `wc -w` | wall time |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, p := range programs {
		busy := median(p.each(func(c cost) float64 { return c.processor.Seconds() }))
		wall := median(p.each(func(c cost) float64 { return c.wall.Seconds() }))
		_, err := fmt.Fprintf(w, "| %s | %.2f s | %.0f | %s | %s | %.2f s |\n",
			p.name, busy, float64(m.messages)/busy, ratio(bogofilter, p), ratio(p, words), wall)
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *program) each(of func(cost) float64) []float64 {
	var all []float64
	for _, c := range p.took {
		all = append(all, of(c))
	}
	return all
}

// ratio is how many times the processor time of b that of a is.
func ratio(a, b *program) string {
	if a == nil || b == nil {
		return ""
	}
	var all []float64
	for i := range a.took {
		all = append(all, a.took[i].processor.Seconds()/b.took[i].processor.Seconds())
	}
	return fmt.Sprintf("%.1f", median(all))
}

func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
