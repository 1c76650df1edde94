// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"errors"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// isCode reports whether err is one of the broker's codes.
func isCode(err error, codes ...kafkago.Error) bool {
	for _, c := range codes {
		if errors.Is(err, c) {
			return true
		}
	}
	return false
}

// leastRefresh is the least time between two looks at the cluster that errors
// ask for. Partitions of one leader all notice that it is gone.
const leastRefresh = 500 * time.Millisecond

// stale returns err, and when it says that what we know of the cluster is out of
// date, has us ask again: kafka-go can be told so only by closing its pool.
// Requests under way keep their connections.
func (c *Client) stale(err error) error {
	if !isCode(err, kafkago.NotLeaderForPartition, kafkago.LeaderNotAvailable, kafkago.UnknownTopicOrPartition,
		kafkago.UnknownTopicID, kafkago.InconsistentTopicID, kafkago.FencedLeaderEpoch, kafkago.UnknownLeaderEpoch, kafkago.BrokerNotAvailable, kafkago.ReplicaNotAvailable) &&
		!errors.Is(err, protocol.ErrNoLeader) && !errors.Is(err, protocol.ErrNoTopic) && !errors.Is(err, protocol.ErrNoPartition) {
		return err
	}
	c.refresh.Lock()
	defer c.refresh.Unlock()
	if now := time.Now().UnixMilli(); now-c.refreshed >= leastRefresh.Milliseconds() {
		c.refreshed = now
		c.transport.CloseIdleConnections()
	}
	return err
}
