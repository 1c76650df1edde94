// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
)

// Partition names one partition of a topic that is read into accounts. An
// account belongs to one partition or to none, for good, and whatever changes an
// account of a partition is committed with the position of the partition.
type Partition struct {
	Topic  string // 1 to 249 bytes, none of them 0
	Number int32  // from 0
}

func (p Partition) String() string { return fmt.Sprintf("partition %d of topic %s", p.Number, p.Topic) }

// Check demands that there may be such a partition.
func (p Partition) Check() error {
	if p.Topic == "" || len(p.Topic) > maxTopic || strings.Contains(p.Topic, "\x00") {
		return fmt.Errorf("name of a topic must have 1 to %d bytes, none of them 0", maxTopic)
	}
	if p.Number < 0 {
		return fmt.Errorf("there is no partition %d", p.Number)
	}
	return nil
}

const maxTopic = 249 // of Kafka
