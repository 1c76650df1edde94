// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/model"
)

// truth tells what a message was. The label is 0 when it is not known.
type truth interface {
	label(m *featurize.Message, from mail) model.Label
}

// folders takes the label of the archive that the message lies in, or that its flags give.
type folders struct{}

func (folders) label(_ *featurize.Message, from mail) model.Label { return from.label }

// flagLabel is the label that the flags in an archive give.
func flagLabel(m *archive.Message) model.Label {
	if m.Wanted() {
		return model.Important
	}
	return model.Ordinary
}

// oneSided returns an error where no message was important: there was nothing to find.
func (r *Result) oneSided(labels string) error {
	switch {
	case r.Important > 0 || r.Feedback == Live:
		return nil
	case labels == "replies":
		return fmt.Errorf("%w: none of the owner's %d messages answers one of the %d others, so nothing is important; is the inbox in the archive, and is the sent mail?", ErrPlay, r.Own, r.Messages-r.Own)
	case labels == "flags":
		return fmt.Errorf("%w: none of the %d messages is flagged, starred, answered or called important in the archive; --owner without --labels takes the labels from the owner's answers", ErrPlay, r.Messages)
	}
	return nil
}

// stranger returns the error for a stream without a message from the owner; it names those
// who wrote most, the owner perhaps among them.
func stranger(s *stream, o featurize.Options) error {
	reader, err := featurize.New(o)
	count := map[string]int{}
	if s.rewind(); err == nil {
		err = s.each(func(m mail) error {
			for _, from := range reader.ReadHeader(m.Raw).From {
				count[from]++
			}
			return nil
		})
	}
	senders := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	return cmp.Or(err, fmt.Errorf("%w: no message is from the owner %v, so there is no label; is the address right, and are the owner's own messages in the archive? Most are from %s",
		ErrPlay, o.Owner, strings.Join(senders[:min(3, len(senders))], ", ")))
}

// Labels is what a label file says. The file has one message a line: its
// Message-ID, with or without angle brackets, or the path of the file that it
// lies in, then a tab, then "important" or "ordinary". Blank lines and those
// that begin with "#" are passed over.
//
// Not safe for concurrent use: it counts what was asked for.
type Labels struct {
	entries map[string]*labelEntry
}

type labelEntry struct {
	label model.Label
	line  int
	used  bool
}

const (
	maxLabelLine   = 64 << 10
	maxLabelErrors = 20
)

// ReadLabels reads a label file. All errors come at once, joined, up to a
// number, each as "name:line: …".
func ReadLabels(r io.Reader, name string) (*Labels, error) {
	l := &Labels{entries: map[string]*labelEntry{}}
	var errs []error
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLabelLine)
	n := 0
	for lines.Scan() {
		n++
		if err := l.add(lines.Text(), n); err != nil {
			if len(errs) == maxLabelErrors {
				errs = append(errs, fmt.Errorf("%s:%d: and perhaps more", name, n))
				return nil, errors.Join(errs...)
			}
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, n, err))
		}
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("%s:%d: %w", name, n+1, err))
	}
	if len(errs) == 0 && len(l.entries) == 0 {
		errs = append(errs, fmt.Errorf("%s:%d: no label in the whole file", name, max(n, 1)))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return l, nil
}

// add takes one line.
func (l *Labels) add(line string, n int) error {
	line = strings.TrimSuffix(line, "\r")
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	// A path may hold tabs; a label doesn't.
	at := strings.LastIndexByte(line, '\t')
	if at < 0 {
		return errors.New("no tab between the message and its label")
	}
	key := labelKey(strings.TrimSpace(line[:at]))
	if key == "" {
		return errors.New("no Message-ID or path before the tab")
	}
	label := model.Important
	switch word := strings.TrimSpace(line[at+1:]); word {
	case model.Important.String():
	case model.Ordinary.String():
		label = model.Ordinary
	default:
		return fmt.Errorf("unknown label %.40q, want %q or %q", word, model.Important, model.Ordinary)
	}
	if before, ok := l.entries[key]; ok && before.label != label {
		return fmt.Errorf("contradicts line %d, which says %q", before.line, before.label)
	} else if !ok {
		l.entries[key] = &labelEntry{label: label, line: n}
	}
	return nil
}

// labelKey brings a Message-ID or path into the form by which it is looked up.
func labelKey(s string) string {
	if id, ok := strings.CutPrefix(s, "<"); ok {
		return strings.TrimSuffix(id, ">")
	}
	if s == "" {
		return ""
	}
	return filepath.Clean(s)
}

func (l *Labels) label(m *featurize.Message, from mail) model.Label {
	for _, key := range []string{m.MessageID, labelKey(m.MessageID), filepath.Clean(from.Path)} {
		if e, ok := l.entries[key]; ok && key != "" {
			e.used = true
			return e.label
		}
	}
	return 0
}

// unmatched counts the entries that no message was found for.
func (l *Labels) unmatched() int {
	n := 0
	for _, e := range l.entries {
		if !e.used {
			n++
		}
	}
	return n
}

// wasted returns an error where no entry of l, which may be nil, found its message.
func (l *Labels) wasted() error {
	if l == nil || l.unmatched() < len(l.entries) {
		return nil
	}
	return fmt.Errorf("%w: none of the %d labels names a message of the archive; a label takes a Message-ID, or a path that begins with the archive's as you gave it", ErrPlay, len(l.entries))
}
