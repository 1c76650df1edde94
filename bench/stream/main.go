// SPDX-License-Identifier: Apache-2.0

// Command stream writes a stream of mail as JSON, one line a message, for tools that
// are compared with hinged: what was decided on, when it arrived, its label, when
// the owner answered it, its plain words and hinged's own vector. All tools so judge
// the same examples, which are those of `hinged eval`.
//
//	stream -owner me@example.org [-raw DIR] mail.mbox.gz
//	stream -important DIR -ordinary DIR [-raw DIR]
//
// Labels come from the owner's answers, or from the archive that a message lies in.
// With -raw each example's message goes to a file in DIR, named after its number.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
)

// line is one message of the stream. One that is no example only moves the clock,
// and may answer examples.
type line struct {
	At      int64 `json:"at"`                // arrival, milliseconds since 1970
	Example *int  `json:"example,omitempty"` // its number, from 0; absent: the owner's own, or a second copy
	Answers []int `json:"answers,omitempty"` // the examples that this message of the owner's answers

	// Of an example only.
	Important     bool     `json:"important,omitempty"`
	Correspondent bool     `json:"correspondent,omitempty"` // the owner had written to its sender
	Words         []string `json:"words,omitempty"`         // each once
	// Vector is hinged's: number:value pairs, the numbers given in order of first
	// appearance, 1 for the constant coordinate.
	Vector string `json:"vector,omitempty"`
}

func main() {
	var t teller
	flag.Func("owner", "an `address` of the owner; may be repeated", func(s string) error {
		t.owner = append(t.owner, s)
		return nil
	})
	important := flag.String("important", "", "archive of important mail")
	ordinary := flag.String("ordinary", "", "archive of ordinary mail")
	flag.StringVar(&t.raw, "raw", "", "`directory` to write the examples' messages to")
	flag.Parse()
	var sources []source
	for _, path := range flag.Args() {
		sources = append(sources, source{path: path})
	}
	if *important != "" && *ordinary != "" {
		sources = append(sources, source{path: *important, label: model.Important}, source{path: *ordinary, label: model.Ordinary})
	}
	if err := t.tell(os.Stdout, sources); err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

// source is one archive; without a label of its own, answers tell.
type source struct {
	path  string
	label model.Label
}

// letter is a message of the archives. One without a date has that of the one before it.
type letter struct {
	raw   []byte
	date  time.Time
	label model.Label
}

// each calls fn with every message of the archives, merged by date as eval does.
func each(sources []source, fn func(letter) error) error {
	var paths []string
	for _, s := range sources {
		paths = append(paths, s.path)
	}
	r, err := archive.Open(paths, archive.Options{Order: archive.ByDate})
	if err != nil {
		return err
	}
	defer r.Close()
	var date time.Time
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if d := m.Date(); !d.IsZero() {
			date = d
		}
		if err := fn(letter{m.Raw, date, sources[m.Source].label}); err != nil {
			return err
		}
	}
}

// teller plays mail through a filter, for its features, and tells what it saw.
type teller struct {
	owner []string
	raw   string

	featurizer *featurize.Featurizer
	filter     *filter.Filter
	memory     filter.Memory
	answered   map[string]bool // Message-IDs that the owner answers anywhere in the stream
	examples   map[string]int  // by Message-ID, the first copy
	own        map[string]bool // the owner's Message-IDs so far
	total      int
	numbers    map[model.Index]int
}

func (t *teller) tell(w io.Writer, sources []source) error {
	o := filter.DefaultOptions()
	o.Featurize.Owner, o.Featurize.Names = t.owner, true
	o.Shadow, o.Settle, o.SilenceDays = filter.ShadowOn, 0, 0
	var err error
	if t.featurizer, err = featurize.New(o.Featurize); err != nil {
		return err
	}
	t.memory = filter.Memory{}
	if t.filter, err = filter.New(store.NewState(), t.memory); err != nil {
		return err
	}
	if _, err := t.filter.Apply(&filter.Configured{Options: o}); err != nil {
		return err
	}
	t.answered, t.examples, t.own = map[string]bool{}, map[string]int{}, map[string]bool{}
	t.numbers = map[model.Index]int{model.Affine: 1}
	if len(sources) == 0 {
		return errors.New("there is no archive; see stream -help")
	}
	if err := each(sources, t.look); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	err = each(sources, func(m letter) error {
		l, err := t.arrive(m)
		if err != nil {
			return err
		}
		return lines.Encode(l)
	})
	return errors.Join(err, out.Flush())
}

// look notes what a message of the owner's answers.
func (t *teller) look(l letter) error {
	if m := t.featurizer.Read(l.raw); m.FromOwner {
		for _, id := range m.InReplyTo {
			t.answered[id] = true
		}
	}
	return nil
}

// arrive plays one message.
func (t *teller) arrive(s letter) (line, error) {
	m := t.featurizer.Read(s.raw)
	at := store.Moment(0)
	if !s.date.IsZero() {
		at = store.MomentOf(s.date)
	}
	meta := filter.NewMeta(m)
	if m.FromOwner {
		meta = meta.ByOwner()
	}
	got, err := t.filter.Apply(&filter.Arrived{At: at, Meta: meta, Message: m})
	if err != nil {
		return line{}, err
	}
	l := line{At: int64(at)}
	switch {
	case m.FromOwner:
		l.Answers = t.answers(m)
	case got.Decision != nil:
		err = t.example(&l, s, m, got)
	}
	return l, err
}

// answers returns the examples that a message of the owner's answers. A second copy
// answers nothing, nor does a second message under the same Message-ID.
func (t *teller) answers(m *featurize.Message) []int {
	if t.own[m.MessageID] {
		return nil
	}
	var found []int
	for _, id := range m.InReplyTo {
		if n, ok := t.examples[id]; ok && !t.own[id] && !slices.Contains(found, n) {
			found = append(found, n)
		}
	}
	if m.MessageID != "" {
		t.own[m.MessageID] = true
	}
	return found
}

// example fills in what only a message that was decided has.
func (t *teller) example(l *line, s letter, m *featurize.Message, got filter.Result) error {
	n := t.total
	t.total++
	l.Example, l.Correspondent = &n, got.Decision.Correspondent
	l.Important = s.label == model.Important || s.label == 0 && m.MessageID != "" && t.answered[m.MessageID]
	if _, ok := t.examples[m.MessageID]; !ok && m.MessageID != "" {
		t.examples[m.MessageID] = n
	}
	l.Words, l.Vector = words(got.Features), t.vector(got.Features)
	t.memory.Keep(got.Decision.Message, got.Features, false) // the filter learns from answers
	if t.raw == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(t.raw, fmt.Sprintf("%06d", n)), s.raw, 0o600)
}

// vector writes a vector. Other tools take no 64-bit numbers, so it counts anew.
func (t *teller) vector(x *featurize.Features) string {
	var b []byte
	for _, f := range x.Vector() {
		n, ok := t.numbers[f.Index]
		if !ok {
			n = len(t.numbers) + 1
			t.numbers[f.Index] = n
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(b, int64(n), 10), ':')
		b = strconv.AppendFloat(b, f.Value, 'g', -1, 32)
	}
	return string(b)
}

// plain are the kinds of feature whose names end in a word of the mail: of its
// subject, its text and the writer's name, or in an address or a path.
var plain = []string{"subject", "opening", "body", "quoted", "patch", "signature", "name", "from", "path"}

// words returns the plain words of a message, without telling where they stood:
// what a tool sees that knows nothing of mail.
func words(x *featurize.Features) []string {
	var found []string
	seen := map[string]bool{}
	for f := range x.All() {
		kind, word, _ := strings.Cut(f.Name, ":")
		word, _, _ = strings.Cut(word, " | ")
		if slices.Contains(plain, kind) && word != "" && !strings.Contains(word, " ") && !seen[word] {
			seen[word] = true
			found = append(found, word)
		}
	}
	return found
}
