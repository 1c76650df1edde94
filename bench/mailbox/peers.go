// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	_ "embed" // vw.py
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/bench/mailbox/life"
	"github.com/hinged/hinged/model"
)

// peer is another tool.
type peer struct {
	name    string
	lessons func(*opened, *played) []lesson
	open    func(*opened, *played) (learner, error)
}

// learner is one tool while it plays one life. Messages are named by their index in Mail.
type learner interface {
	learn(mail int, important bool) error
	marks(mail int) (bool, error)
	close() error
}

// lesson is what a tool is taught of one message, and when.
type lesson struct {
	at        time.Time
	mail      int
	important bool
}

// openPeers returns the other tools that are asked for and can be had, and says loudly which
// can't.
func (c *command) openPeers(log io.Writer) ([]peer, error) {
	if !c.peers {
		return nil, nil
	}
	peers := []peer{{"naive Bayes, read and kept", readAndKept, openBayes}}
	if _, err := exec.LookPath("bogofilter"); err != nil {
		fmt.Fprintln(log, "bogofilter: LEFT OUT, it is not here (Debian's package bogofilter)")
	} else {
		peers = append(peers, peer{"bogofilter", asAnswered, openBogofilter})
	}
	python, err := vowpalWabbit(log)
	if err != nil {
		fmt.Fprintln(log, "Vowpal Wabbit: LEFT OUT, its Python package could not be installed:", err)
	} else {
		peers = append(peers, peer{"Vowpal Wabbit, our vectors", asAnswered, func(_ *opened, p *played) (learner, error) { return openVW(python, p) }})
	}
	return peers, nil
}

// judge plays the mail that hinged was played. Of the past a tool learns what hinged has
// vectors of.
func (t *peer) judge(o *opened, p *played) (out *outcome, err error) {
	l, err := t.open(o, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	lessons := t.lessons(o, p)
	slices.SortStableFunc(lessons, func(a, b lesson) int { return a.at.Compare(b.at) })
	marked, taught := map[*verdict]bool{}, map[bool]bool{}
	for _, v := range p.verdicts {
		for ; len(lessons) > 0 && !lessons[0].at.After(v.at); lessons = lessons[1:] {
			if err := l.learn(lessons[0].mail, lessons[0].important); err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			taught[lessons[0].important] = true
		}
		if len(taught) < 2 {
			continue
		}
		if marked[v], err = l.marks(v.mail); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return judge(t.name, p.verdicts, func(v *verdict) bool { return marked[v] }), nil
}

// patience is after how long without an answer a message is ordinary, as for hinged.
const patience = 7 * day

// asAnswered teaches yes when the owner answers, stars or passes on, no when they delete it
// or have done nothing of that after patience.
func asAnswered(o *opened, p *played) (out []lesson) {
	for i := range p.vectors {
		m := &o.Mail[i]
		no := m.At.Add(patience)
		for _, a := range m.Acts {
			switch a.Do {
			case life.Answer, life.Star, life.Forward:
				out = append(out, lesson{a.At, i, true})
				no = time.Time{} // whatever comes later
			case life.Delete, life.ToJunk:
				if a.At.Before(no) {
					no = a.At
				}
			}
		}
		if !no.IsZero() {
			out = append(out, lesson{no, i, false})
		}
	}
	return inOrder(out)
}

// readAndKept teaches, two days after a message came, yes if its owner has read it and not
// thrown it away, and else no.
func readAndKept(o *opened, p *played) (out []lesson) {
	for i := range p.vectors {
		m := &o.Mail[i]
		l := lesson{at: m.At.Add(2 * day), mail: i}
		thrown := false
		for _, a := range m.Acts {
			if a.At.Before(l.at) {
				l.important = l.important || a.Do == life.Read
				thrown = thrown || a.Do == life.Delete || a.Do == life.ToJunk
			}
		}
		l.important = l.important && !thrown
		out = append(out, l)
	}
	return inOrder(out)
}

// inOrder sorts lessons by message, so that the order of a map does not show.
func inOrder(list []lesson) []lesson {
	slices.SortStableFunc(list, func(a, b lesson) int { return a.mail - b.mail })
	return list
}

// bayes is naive Bayes over which features a message has.
type bayes struct {
	vectors map[int]model.Vector
	counts  [2]map[model.Index]float64 // of ordinary and of important mail
	total   [2]float64                 // messages
}

func openBayes(_ *opened, p *played) (learner, error) {
	return &bayes{vectors: p.vectors, counts: [2]map[model.Index]float64{{}, {}}}, nil
}

func (b *bayes) learn(mail int, important bool) error {
	class := 0
	if important {
		class = 1
	}
	b.total[class]++
	for _, f := range b.vectors[mail] {
		b.counts[class][f.Index]++
	}
	return nil
}

func (b *bayes) marks(mail int) (bool, error) {
	score := math.Log(b.total[1] / b.total[0])
	for _, f := range b.vectors[mail] {
		score += math.Log((b.counts[1][f.Index] + 0.5) / (b.total[1] + 1) * (b.total[0] + 1) / (b.counts[0][f.Index] + 0.5))
	}
	return score > 0, nil
}

func (b *bayes) close() error { return nil }

// bogofilter is the program, whose spam is important mail.
type bogofilter struct {
	o      *opened
	dir    string
	labels map[int]bool
}

func openBogofilter(o *opened, _ *played) (learner, error) {
	dir, err := os.MkdirTemp("", "bogofilter")
	return &bogofilter{o, dir, map[int]bool{}}, err
}

// run runs the program on one message and returns what it says. It ends with 0, 1 or 2.
func (b *bogofilter) run(mail int, args ...string) (string, error) {
	// The parameters are those of bench/peers.py.
	cmd := exec.Command("bogofilter", append(args, "-C", "-d", b.dir, "--min-dev=0.1", "--robs=0.1", "--spamicity-formats=%0.16f,%0.16f,%0.16f")...)
	cmd.Stdin = strings.NewReader(string(b.o.Mail[mail].Raw))
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() <= 2 {
		err = nil
	}
	return string(out), err
}

func (b *bogofilter) learn(mail int, important bool) error {
	before, known := b.labels[mail]
	if known && before == important {
		return nil
	}
	b.labels[mail] = important
	kind := map[bool]string{true: "s", false: "n"}[important]
	if known {
		kind = map[bool]string{true: "Ns", false: "Sn"}[important]
	}
	_, err := b.run(mail, "-"+kind)
	return err
}

func (b *bogofilter) marks(mail int) (bool, error) {
	said, err := b.run(mail, "-T")
	if err != nil {
		return false, err
	}
	words := strings.Fields(said)
	if len(words) != 2 {
		return false, fmt.Errorf("it said %q", said)
	}
	score, err := strconv.ParseFloat(words[1], 64)
	return score > 0.5, err
}

func (b *bogofilter) close() error { return os.RemoveAll(b.dir) }

// vw is Vowpal Wabbit behind a pipe.
type vw struct {
	vectors map[int]model.Vector
	numbers map[model.Index]int // it takes no 64-bit numbers, so it counts anew
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

//go:embed vw.py
var vwScript string

// vowpalWabbit returns a Python that has its package, which it installs where it is missing,
// in the folder and at the version of bench/quality.sh.
func vowpalWabbit(log io.Writer) (python string, err error) {
	cache := os.Getenv("BENCH_CACHE")
	if cache == "" {
		cache = filepath.Join(".bin", "bench")
	}
	venv := filepath.Join(cache, "venv")
	python = filepath.Join(venv, "bin", "python")
	if exec.Command(python, "-c", "import vowpalwabbit").Run() == nil {
		return python, nil
	}
	needs, err := os.ReadFile(filepath.Join("bench", "requirements.txt"))
	if err != nil {
		return "", err
	}
	for _, c := range [][]string{
		{"python3", "-m", "venv", venv},
		{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", string(regexp.MustCompile(`(?m)^vowpalwabbit==.*$`).Find(needs))},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			return "", err
		}
	}
	return python, exec.Command(python, "-c", "import vowpalwabbit").Run()
}

func openVW(python string, p *played) (learner, error) {
	v := &vw{vectors: p.vectors, numbers: map[model.Index]int{model.Affine: 1}, cmd: exec.Command(python, "-c", vwScript, "-l", "0.1")}
	v.cmd.Stderr = os.Stderr
	var err error
	if v.in, err = v.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	v.out = bufio.NewScanner(out)
	return v, v.cmd.Start()
}

// text writes a vector.
func (v *vw) text(mail int) string {
	var b []byte
	for _, f := range v.vectors[mail] {
		n, known := v.numbers[f.Index]
		if !known {
			n = len(v.numbers) + 1
			v.numbers[f.Index] = n
		}
		b = append(strconv.AppendInt(append(b, ' '), int64(n), 10), ':')
		b = strconv.AppendFloat(b, f.Value, 'g', -1, 32)
	}
	return string(b)
}

func (v *vw) learn(mail int, important bool) error {
	// A yes weighs twice, the setting of bench/peers.py that suits late labels.
	_, err := fmt.Fprintf(v.in, "l %s |f%s\n", map[bool]string{true: "1 2", false: "-1"}[important], v.text(mail))
	return err
}

func (v *vw) marks(mail int) (bool, error) {
	if _, err := fmt.Fprintf(v.in, "s |f%s\n", v.text(mail)); err != nil {
		return false, err
	}
	if !v.out.Scan() {
		return false, errors.Join(errors.New("it ended"), v.out.Err())
	}
	score, err := strconv.ParseFloat(v.out.Text(), 64)
	return score > 0, err
}

func (v *vw) close() error { return errors.Join(v.in.Close(), v.cmd.Wait()) }
