// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	kafkago "github.com/segmentio/kafka-go"
)

// digest tells settings apart. The zero value is that of none.
type digest [8]byte

func digestOf(settings string) (d digest) {
	if settings != "" {
		sum := sha256.Sum256([]byte(settings))
		copy(d[:], sum[:])
	}
	return d
}

// settings are what a member tells the group that it decides by.
type settings struct {
	mu      sync.Mutex
	digest  digest
	changed chan struct{} // closed when they change
}

func (s *settings) get() (digest, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.digest, s.changed
}

// SetSettings is told when Options.Settings have changed. A member of the group joins it again,
// as others know only what it said then, and keeps its partitions.
func (c *Client) SetSettings(text string) {
	s := &c.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := digestOf(text); d != s.digest {
		s.digest = d
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// OtherSettings returns the members of the group that joined it with other settings than ours,
// each by its client_id and its host, ascending. It needs the right Describe on the group.
func (c *Client) OtherSettings(ctx context.Context) (members []string, err error) {
	ours, _ := c.settings.get()
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	res, err := c.client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{c.o.Group}})
	if err == nil && len(res.Groups) == 1 {
		err = res.Groups[0].Error
	}
	if err != nil {
		return nil, fmt.Errorf("members of group %s: %w", c.o.Group, err)
	}
	for _, g := range res.Groups {
		for _, m := range g.Members {
			var theirs digest
			if copy(theirs[:], m.MemberMetadata.UserData) == len(theirs) && ours != (digest{}) && theirs != (digest{}) && theirs != ours {
				members = append(members, m.ClientID+" at "+m.ClientHost)
			}
		}
	}
	slices.Sort(members)
	return members, nil
}
