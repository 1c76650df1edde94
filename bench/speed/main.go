// SPDX-License-Identifier: Apache-2.0

// Command speed teaches an account the mail of an archive, as `hinged eval` does with
// immediate labels, for bench/speed.sh. It prints the number of messages and leaves in DIR
//
//	hinged.db, hinged.toml  the account, for `hinged classify --config DIR/hinged.toml`
//	mail.mbox               the same mail without compression
//	important, ordinary     the same examples as two mboxes, for other tools
//
//	speed OWNER DIR ARCHIVE
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hinged/hinged/featurize"
	"github.com/hinged/hinged/ingest/archive"
	"github.com/hinged/hinged/internal/account/filter"
	"github.com/hinged/hinged/internal/run/writer"
	"github.com/hinged/hinged/model"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// account is the name of the one account.
const account = "me"

// settings are those of the account. Nobody connects to its mail server.
const settings = `state_dir = %q

[[account]]
name = %q
owner = [%q]

[account.imap]
address = "localhost"
username = "me"
password_file = "password"
`

// together is how many messages are committed at once.
const together = 500

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: speed OWNER DIR ARCHIVE")
		os.Exit(2)
	}
	messages, err := prepare(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
	fmt.Println(messages)
}

// prepare returns the number of messages.
func prepare(owner, dir, path string) (messages int, err error) {
	toml := fmt.Sprintf(settings, dir, account, owner)
	if err := os.WriteFile(filepath.Join(dir, "hinged.toml"), []byte(toml), 0o600); err != nil {
		return 0, err
	}
	o := filter.DefaultOptions()
	o.Featurize.Owner = []string{owner}
	o.Shadow, o.Settle, o.SilenceDays = filter.ShadowOff, 0, 0
	reader, err := featurize.New(o.Featurize)
	if err != nil {
		return 0, err
	}
	answered := map[string]bool{}
	err = each(path, func(m *archive.Message) error {
		if a := reader.ReadAnswer(m.Raw); a.Says == featurize.SaysAnswer {
			for _, id := range a.Answers {
				answered[id] = true
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	p := preparing{reader: reader, answered: answered}
	for name, out := range map[string]**mbox{"mail.mbox": &p.all, "important": &p.important, "ordinary": &p.ordinary} {
		if *out, err = create(filepath.Join(dir, name)); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, (*out).close()) }()
	}
	if p.store, err = boltfile.Open(filepath.Join(dir, "hinged.db"), boltfile.Options{}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	if p.writer, err = writer.Open(p.store, account); err != nil {
		return 0, err
	}
	if _, err := p.writer.Apply(&filter.Configured{Options: o}); err != nil {
		return 0, err
	}
	if err := each(path, p.message); err != nil {
		return 0, err
	}
	return p.messages, p.commit()
}

// each calls fn with every message of an archive.
func each(path string, fn func(*archive.Message) error) error {
	r, err := archive.Open([]string{path}, archive.Options{Order: archive.ByDate})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(m)
		}
		if err != nil {
			return err
		}
	}
}

// preparing is the account that is taught, and the files beside it.
type preparing struct {
	reader                   *featurize.Featurizer
	answered                 map[string]bool // Message-IDs
	store                    *boltfile.Store
	writer                   *writer.Writer
	all, important, ordinary *mbox
	messages                 int
}

// message teaches one message and copies it.
func (p *preparing) message(m *archive.Message) error {
	if err := p.all.write(m); err != nil {
		return err
	}
	read, at := p.reader.Read(m.Raw), store.MomentOf(m.Date())
	meta := filter.NewMeta(read)
	if read.FromOwner {
		meta = meta.ByOwner()
	}
	got, err := p.writer.Apply(&filter.Arrived{At: at, Meta: meta, Message: read})
	if err != nil {
		return err
	}
	if got.Decision != nil {
		label, out := model.Ordinary, p.ordinary
		if p.answered[read.MessageID] {
			label, out = model.Important, p.important
		}
		if _, err := p.writer.Apply(&filter.Labelled{At: at, Message: got.Decision.Message, Label: label}); err != nil {
			return err
		}
		if err := out.write(m); err != nil {
			return err
		}
	}
	if p.messages++; p.messages%together == 0 {
		return p.commit()
	}
	return nil
}

func (p *preparing) commit() error {
	if !p.writer.Dirty() {
		return nil
	}
	if err := p.store.Commit(account, p.writer.Filter().State(), p.writer.Batch()); err != nil {
		return err
	}
	p.writer.Committed()
	return nil
}

// mbox is a file of messages.
type mbox struct {
	file *os.File
	out  *bufio.Writer
}

func create(path string) (*mbox, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &mbox{f, bufio.NewWriter(f)}, nil
}

// write appends a message, with lines that begin a message elsewhere quoted as mboxrd
// does. close reports what went wrong.
func (b *mbox) write(m *archive.Message) error {
	fmt.Fprintf(b.out, "From sender@localhost %s\n", m.Date().UTC().Format("Mon Jan _2 15:04:05 2006"))
	text := bytes.TrimSuffix(m.Raw, []byte("\n"))
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		quote := ""
		if bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
			quote = ">"
		}
		fmt.Fprintf(b.out, "%s%s\n", quote, line)
	}
	_, err := b.out.WriteString("\n")
	return err
}

func (b *mbox) close() error { return errors.Join(b.out.Flush(), b.file.Close()) }
