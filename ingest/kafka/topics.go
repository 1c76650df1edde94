// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// Wanted says what EnsureTopics makes of topics that are missing.
type Wanted struct {
	// Create lets it create them. Otherwise a missing one is an error that says what
	// to type.
	Create bool
	// Partitions of an input topic that is missing; 8. The other topics get as many
	// as the input topic has.
	Partitions int32
	// Replication is how many brokers keep a copy; 0 leaves it to the cluster
	// (default.replication.factor).
	Replication int16
}

// role is what one of the topics is for.
type role struct {
	name    string
	what    string
	configs []kafkago.ConfigEntry
}

func (c *Client) roles() []role {
	t := c.o.Topics
	return []role{
		// Nothing of the input may go before it is in a snapshot, so how long it is
		// kept is the owner's decision: docs/kafka.md.
		{name: t.Input, what: "input"},
		{name: t.Decisions, what: "decisions"},
		{name: t.DeadLetters, what: "dead letters", configs: deadLimit(defaultLimit)},
		{name: t.Snapshots, what: "snapshots", configs: []kafkago.ConfigEntry{
			{ConfigName: "cleanup.policy", ConfigValue: "compact"},
		}},
	}
}

// EnsureTopics sees to it that the four topics are there and fit together, and
// returns the names of those that it created and the number of partitions of the
// input topic. The snapshots topic must have as many partitions as the input
// topic and be compacted, the input topic must not be compacted. What is wrong is
// ErrNoTopic or ErrUnfit, all of it at once, and says what to do.
func (c *Client) EnsureTopics(ctx context.Context, w Wanted) (created []string, partitions int32, err error) {
	if w.Partitions <= 0 {
		w.Partitions = 8
	}
	roles := c.roles()
	have := make([]int32, len(roles))
	var missing []int
	for i, r := range roles {
		n, err := c.Partitions(ctx, r.name)
		switch {
		case errors.Is(err, ErrNoTopic):
			missing = append(missing, i)
		case err != nil:
			return nil, 0, err
		}
		have[i] = n
	}
	partitions = have[0]
	if partitions == 0 {
		partitions = w.Partitions
	}
	if len(missing) > 0 && !w.Create {
		var errs []error
		for _, i := range missing {
			errs = append(errs, fmt.Errorf("%w: the %s topic %s; create it with: %s", ErrNoTopic, roles[i].what, roles[i].name,
				createCommand(roles[i], partitions, w.Replication)))
		}
		return nil, 0, errors.Join(errs...)
	}
	for _, i := range missing {
		if roles[i].name == c.o.Topics.DeadLetters {
			roles[i].configs = deadLimit(c.inputLimit(ctx))
		}
		made, err := c.create(ctx, roles[i], partitions, w.Replication)
		if err != nil {
			return created, 0, err
		}
		if made {
			created = append(created, roles[i].name)
		}
	}
	for _, i := range missing {
		if have[i], err = c.await(ctx, roles[i].name); err != nil {
			return created, 0, err
		}
	}
	partitions = have[0]
	return created, partitions, c.check(ctx, roles, have)
}

// DeadLetterRoom is how much larger the records of the dead letters may have to be
// than those of the input: a dead letter says why it is one.
const DeadLetterRoom = 64 << 10

// defaultLimit is how large a batch of a topic may be unless somebody said so
// (message.max.bytes).
const defaultLimit = 1_048_588

// deadLimit is the setting of a topic that takes the dead letters of another one,
// whose batches may have input bytes.
func deadLimit(input int64) []kafkago.ConfigEntry {
	return []kafkago.ConfigEntry{{ConfigName: "max.message.bytes", ConfigValue: strconv.FormatInt(min(input+DeadLetterRoom, math.MaxInt32), 10)}}
}

// inputLimit is how large a batch of the input may be; the brokers' default if it
// can't be found out.
func (c *Client) inputLimit(ctx context.Context) int64 {
	if _, err := c.await(ctx, c.o.Topics.Input); err == nil {
		if all, err := c.Settings(ctx, c.o.Topics.Input, "max.message.bytes"); err == nil {
			if n, err := strconv.ParseInt(all["max.message.bytes"], 10, 64); err == nil {
				return n
			}
		}
	}
	return defaultLimit
}

// createCommand is what someone would type to create a topic.
func createCommand(r role, partitions int32, replication int16) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kafka-topics.sh --bootstrap-server BROKER --create --topic %s --partitions %d", r.name, partitions)
	if replication > 0 {
		fmt.Fprintf(&b, " --replication-factor %d", replication)
	}
	for _, e := range r.configs {
		fmt.Fprintf(&b, " --config %s=%s", e.ConfigName, e.ConfigValue)
	}
	return b.String()
}

// create creates a topic, unless another process was faster.
func (c *Client) create(ctx context.Context, r role, partitions int32, replication int16) (made bool, err error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	if replication <= 0 {
		replication = -1 // the cluster's own default (KIP-464)
	}
	res, err := c.client.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{
		Topic: r.name, NumPartitions: int(partitions), ReplicationFactor: int(replication), ConfigEntries: r.configs,
	}}})
	if err == nil {
		err = res.Errors[r.name]
	}
	switch {
	case isCode(err, kafkago.TopicAlreadyExists):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("create the %s topic %s: %w", r.what, r.name, err)
	}
	return true, nil
}

// await waits until a topic that was just created is known to the brokers, and
// returns the number of its partitions. A broker says that it created a topic
// before it knows of it.
func (c *Client) await(ctx context.Context, topic string) (int32, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	for {
		n, err := c.Partitions(ctx, topic)
		if err == nil || !errors.Is(err, ErrNoTopic) && !Retryable(err) {
			return n, err
		}
		c.transport.CloseIdleConnections() // so that it asks again
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// check compares the topics with what they must be.
func (c *Client) check(ctx context.Context, roles []role, have []int32) error {
	var errs []error
	if have[3] != have[0] {
		advice := "create another topic for snapshots"
		if have[3] < have[0] {
			advice = "if partitions were added to the input, most accounts belong to another partition now, and docs/kafka-operation.md, “How many partitions”, says how to keep what was learnt; if nothing was learnt yet, create another topic for snapshots"
		}
		errs = append(errs, fmt.Errorf("%w: the snapshots topic %s has %s, the input topic %s has %s; they must have as many: %s",
			ErrUnfit, roles[3].name, plural(have[3]), roles[0].name, plural(have[0]), advice))
	}
	policies, err := c.cleanup(ctx, roles[0].name, roles[3].name)
	if err != nil {
		// Rights to read the settings of a topic are often not given.
		c.log.Warn("can't find out whether topics are compacted", "error", err)
		return errors.Join(errs...)
	}
	if p := policies[roles[3].name]; p != "compact" {
		errs = append(errs, fmt.Errorf("%w: the snapshots topic %s has cleanup.policy=%s and would lose snapshots or grow without end; change it with: kafka-configs.sh --bootstrap-server BROKER --alter --topic %s --add-config cleanup.policy=compact",
			ErrUnfit, roles[3].name, p, roles[3].name))
	}
	if p := policies[roles[0].name]; strings.Contains(p, "compact") {
		errs = append(errs, fmt.Errorf("%w: the input topic %s has cleanup.policy=%s, which keeps only the last record of each account; change it with: kafka-configs.sh --bootstrap-server BROKER --alter --topic %s --add-config cleanup.policy=delete",
			ErrUnfit, roles[0].name, p, roles[0].name))
	}
	return errors.Join(errs...)
}

func plural(n int32) string {
	if n == 1 {
		return "1 partition"
	}
	return strconv.Itoa(int(n)) + " partitions"
}

// cleanup returns the cleanup.policy of topics.
func (c *Client) cleanup(ctx context.Context, topics ...string) (map[string]string, error) {
	ctx, cancel, err := c.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	req := &kafkago.DescribeConfigsRequest{}
	for _, t := range topics {
		req.Resources = append(req.Resources, kafkago.DescribeConfigRequestResource{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: t, ConfigNames: []string{"cleanup.policy"},
		})
	}
	res, err := c.client.DescribeConfigs(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("settings of topics: %w", err)
	}
	out := map[string]string{}
	for _, r := range res.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("settings of topic %s: %w", r.ResourceName, r.Error)
		}
		for _, e := range r.ConfigEntries {
			if e.ConfigName == "cleanup.policy" {
				out[r.ResourceName] = e.ConfigValue
			}
		}
	}
	for _, t := range topics {
		if out[t] == "" {
			return nil, fmt.Errorf("settings of topic %s: the broker doesn't report its cleanup.policy", t)
		}
	}
	return out, nil
}
