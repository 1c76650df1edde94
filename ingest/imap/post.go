// SPDX-License-Identifier: Apache-2.0

package imap

import (
	"context"
	"errors"
	"fmt"
	"time"

	goimap "github.com/emersion/go-imap/v2"

	"github.com/hinged/hinged/ingest"
)

var _ ingest.Poster = (*Source)(nil)

// posting is a message that is to be put into a mailbox.
type posting struct {
	mailbox, messageID string
	raw                []byte
}

// Post implements ingest.Poster, over the connection for headers. Whoever gives up waiting
// may find that it is there later.
func (s *Source) Post(ctx context.Context, mailbox, messageID string, raw []byte) error {
	if searchable(messageID) == "" {
		return errors.New("a message without a Message-ID that can be searched for")
	}
	if !s.Status().Connected {
		return s.unconnected()
	}
	ask := errand{posting: &posting{mailboxName(mailbox), messageID, raw}, done: make(chan error, 1)}
	select {
	case s.asked <- ask:
	case <-ctx.Done():
		return errHeadersSlow
	}
	select {
	case err := <-ask.done:
		return err
	case <-ctx.Done():
		return errHeadersSlow
	}
}

// post puts a message into a mailbox, unless it is there.
func (l *headerLine) post(ctx context.Context, p *posting) error {
	if l.sess == nil {
		if err := l.connect(ctx); err != nil {
			return err
		}
	}
	err := l.sess.post(p)
	if status, no := isStatus(err); no && !status.limited() {
		return err
	}
	if err != nil {
		l.drop() // what the server has of it is seen by the search before the next attempt
	}
	return err
}

func (s *session) post(p *posting) error {
	s.begin()
	data, err := s.client.Select(p.mailbox, &goimap.SelectOptions{ReadOnly: true}).Wait()
	s.guard.end()
	if err != nil {
		return s.fail("EXAMINE "+p.mailbox, err)
	}
	there := false
	if data.NumMessages > 0 {
		found, err := s.searchAll(goimap.SearchCriteria{Header: []goimap.SearchCriteriaHeaderField{{Key: "Message-ID", Value: p.messageID}}}, data.NumMessages)
		if err != nil {
			return fmt.Errorf("look for a message in %s: %w", p.mailbox, err)
		}
		there = len(found) > 0
	}
	s.takeHints()
	if err := s.unselect(); err != nil || there {
		return err
	}
	s.guard.begin(s.o.CommandTimeout, s.patience(), commandBudget)
	defer s.guard.end()
	cmd := s.client.Append(p.mailbox, int64(len(p.raw)), &goimap.AppendOptions{Time: time.Now()})
	_, err = cmd.Write(p.raw)
	if err == nil {
		err = cmd.Close()
	}
	if err != nil {
		s.guard.kill(err)
		return s.fail("APPEND to "+p.mailbox, err)
	}
	if _, err := cmd.Wait(); err != nil {
		return s.fail("APPEND to "+p.mailbox, err)
	}
	return nil
}
