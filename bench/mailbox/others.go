// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hinged/hinged/bench/mailbox/persons"
	"github.com/hinged/hinged/model"
)

// told is one step of a play for others.py: a message is to be learnt or scored.
type told struct {
	at        time.Time
	Do        string `json:"do"` // learn or score
	Mail      int    `json:"mail"`
	By        string `json:"by,omitempty"` // answered or kept: what teaches it
	Important bool   `json:"important"`
	// Of the first step of a message only.
	Raw    []byte `json:"raw,omitempty"`
	Vector string `json:"vector,omitempty"`
}

// peers judges other tools on the mail that hinged was played: those that others.py can
// find. Of the past they learn what hinged decided.
func peers(python string, o *opened, p *played) (out []*outcome, err error) {
	var steps []told
	for _, mail := range slices.Sorted(maps.Keys(p.vectors)) {
		steps = append(steps, lessons(&o.Mail[mail], mail)...)
	}
	for _, v := range p.verdicts {
		steps = append(steps, told{at: v.at, Do: "score", Mail: v.mail})
	}
	slices.SortStableFunc(steps, func(a, b told) int { return a.at.Compare(b.at) })
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	shown, numbers := map[int]bool{}, map[model.Index]int{model.Affine: 1}
	for _, s := range steps {
		if !shown[s.Mail] {
			shown[s.Mail] = true
			s.Raw, s.Vector = o.Mail[s.Mail].Raw, vector(p.vectors[s.Mail], numbers)
		}
		if err := enc.Encode(s); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(context.Background(), python, filepath.Join("bench", "mailbox", "others.py")) //nolint:gosec // what the command line names
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("others.py: %w", err)
	}
	var marks map[string][]bool
	if err := json.Unmarshal(said, &marks); err != nil {
		return nil, fmt.Errorf("others.py: %w", err)
	}
	for _, tool := range slices.Sorted(maps.Keys(marks)) {
		i := -1
		out = append(out, judge(tool, p.verdicts, func(*verdict) bool { i++; return marks[tool][i] }))
	}
	return out, nil
}

// lessons are what a message teaches. By what is answered: yes when the owner answers it,
// stars it or passes it on; no when they delete it, or after a week without any of that. By
// what is kept: two days after it came, yes if the owner has read it and not thrown it away.
func lessons(m *persons.Mail, mail int) (out []told) {
	no := m.At.Add(7 * day)
	kept := told{m.At.Add(2 * day), "learn", mail, "kept", false, nil, ""}
	thrown := false
	for _, a := range m.Acts {
		early := a.At.Before(kept.at)
		switch a.Do {
		case persons.Answer, persons.Star, persons.Forward:
			out = append(out, told{a.At, "learn", mail, "answered", true, nil, ""})
			no = time.Time{} // whatever comes later
		case persons.Delete, persons.ToJunk:
			thrown = thrown || early
			if a.At.Before(no) {
				no = a.At
			}
		case persons.Read:
			kept.Important = kept.Important || early
		}
	}
	if !no.IsZero() {
		out = append(out, told{no, "learn", mail, "answered", false, nil, ""})
	}
	kept.Important = kept.Important && !thrown
	return append(out, kept)
}

// vector writes a vector. Other tools take no 64-bit numbers, so numbers counts anew.
func vector(x model.Vector, numbers map[model.Index]int) string {
	var b []byte
	for _, f := range x {
		n, known := numbers[f.Index]
		if !known {
			n = len(numbers) + 1
			numbers[f.Index] = n
		}
		b = append(strconv.AppendInt(append(b, ' '), int64(n), 10), ':')
		b = strconv.AppendFloat(b, f.Value, 'g', -1, 32)
	}
	return string(b)
}
