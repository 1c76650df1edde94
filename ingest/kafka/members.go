// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// GroupIdle reports whether nobody is a member of the group. A group that there never
// was is idle. It needs the right Describe.
func (c *Client) GroupIdle(ctx context.Context) (bool, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	res, err := c.client.DescribeGroups(ctx, &kafkago.DescribeGroupsRequest{GroupIDs: []string{c.o.Group}})
	if err == nil && len(res.Groups) != 1 {
		err = fmt.Errorf("the answer names %d groups", len(res.Groups))
	}
	if err == nil {
		err = res.Groups[0].Error
	}
	if isCode(err, kafkago.GroupIdNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("members of group %s: %w", c.o.Group, err)
	}
	state := res.Groups[0].GroupState
	return state == "Empty" || state == "Dead", nil
}
