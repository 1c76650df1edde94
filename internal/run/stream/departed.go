// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
	"github.com/hinged/hinged/store/boltfile"
)

// dropDeparted drops the copies of partitions that another process has now, once a snapshot has
// all of what they have: nobody would trim them, and nothing would be forgotten in them.
func (e *Engine) dropDeparted(ctx context.Context, g kafka.Generation) {
	for wait(ctx, e.o.dropAfter) == nil {
		if err := e.tryDropDeparted(ctx, g); err != nil && ctx.Err() == nil {
			e.log.Warn("can't drop the copies of partitions that another process has; trying again", "error", err)
		}
	}
}

func (e *Engine) tryDropDeparted(ctx context.Context, g kafka.Generation) error {
	return e.eachDeparted(ctx, g, func(id store.Partition, info *boltfile.PartitionInfo, topic kafka.TopicID) error {
		if !sameLog(topic, info.TopicID) {
			return nil // of the topic before this store may know the most
		}
		if needless, err := e.savedElsewhere(ctx, id, info); err != nil || !needless {
			return err
		}
		if err := e.o.Files.Drop(id); err != nil {
			return err
		}
		e.log.Info("dropped the copy of a partition that another process has", "partition", id.Number)
		return nil
	})
}

// eachDeparted visits the partitions of the input that have a file here and that another process has,
// with the id that the topic has now, until visit fails.
func (e *Engine) eachDeparted(ctx context.Context, g kafka.Generation, visit func(store.Partition, *boltfile.PartitionInfo, kafka.TopicID) error) error {
	for _, id := range e.o.Files.partitions() {
		if id.Topic != e.o.Topics.Input || slices.Contains(g.Partitions, id.Number) {
			continue
		}
		info, ok, err := e.o.Files.info(id)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		topic, err := e.o.Broker.TopicID(ctx, id.Topic)
		if err != nil {
			return err
		}
		if err := visit(id, &info, topic); err != nil {
			return err
		}
	}
	return nil
}

// savedElsewhere reports whether a whole snapshot has all that the store has of a partition.
func (e *Engine) savedElsewhere(ctx context.Context, id store.Partition, info *boltfile.PartitionInfo) (bool, error) {
	v := newVault(e.o.Broker, e.o.Topics.Snapshots, id.Number) // of which nothing is kept
	if err := v.scan(ctx, e.o.Now()); err != nil {
		return false, err
	}
	return v.covers(ctx, info.LogPosition)
}

// othersEvery is how often the members of the group are asked for their settings.
const othersEvery = 30 * time.Second

// OtherSettings says what is wrong with a group that has such members.
func OtherSettings(members []string) string {
	return "the group has members with other settings, which judge the accounts of their partitions differently: " +
		strings.Join(members, ", ") + "; give all processes of the group the same [kafka]"
}

// watchOthers says in the log and in the status whether a member of the group has other
// settings, until ctx is done.
func (e *Engine) watchOthers(ctx context.Context) {
	broker, ok := e.o.Broker.(interface { // not that of a replay
		OtherSettings(ctx context.Context) ([]string, error)
	})
	for ok {
		members, err := broker.OtherSettings(ctx)
		problem := ""
		if len(members) > 0 {
			problem = OtherSettings(members)
		}
		e.mu.Lock()
		news := err == nil && problem != e.others
		if news {
			e.others = problem
		}
		e.mu.Unlock()
		if news {
			e.log.Warn("the settings of the group's members", "problem", cmp.Or(problem, "none any more"))
		}
		if wait(ctx, othersEvery) != nil {
			return
		}
	}
}
