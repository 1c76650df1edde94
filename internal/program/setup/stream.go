// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/desk"
)

// streamName stands for the section [kafka] where others have an account.
const streamName = "kafka"

const (
	// shortRetention is what the input is to be kept for at least: a machine that
	// breaks on a Friday evening is looked at on Monday.
	shortRetention = 3 * 24 * time.Hour
	// leastMessage is what the topic of snapshots has to take, in bytes.
	leastMessage = 1_000_000
)

// The settings of topics that are looked at.
const (
	cleanupPolicy   = "cleanup.policy"
	retentionMillis = "retention.ms"
	retentionBytes  = "retention.bytes"
	maxMessageBytes = "max.message.bytes"
)

// stream tests the way to Kafka, as far as it goes. It writes nothing there.
func (c *Checker) stream(ctx context.Context, k *config.Kafka) {
	ctx, cancel := context.WithTimeout(ctx, 12*c.Patience)
	defer cancel()
	if k.SASL != "none" && !c.secret(ctx, streamName, &k.Password) {
		return
	}
	o, err := c.Kafka(k)
	if err != nil {
		c.add(Fail, streamName, "tls", "correct ca_file, cert_file and key_file: certificates and a private key in PEM form", "%v", err)
		return
	}
	o.RequestTimeout = c.Patience
	o.Dial = c.dial
	if !c.brokers(ctx, k) {
		return
	}
	client := kafka.New(o)
	defer client.Close()
	if !c.greet(ctx, k, client) {
		return
	}
	s := &streamCheck{Checker: c, k: k, client: client, partitions: map[string]int32{}, others: map[int32]bool{}}
	if !s.topics(ctx) {
		return
	}
	s.fit(ctx)
	s.rights(ctx)
	s.recreated(ctx)
	s.group(ctx)
	s.running()
}

func (c *Checker) brokers(ctx context.Context, k *config.Kafka) bool {
	var up, down []string
	for _, address := range k.Brokers {
		conn, err := c.dial(ctx, "tcp", address)
		if err != nil {
			down = append(down, err.Error())
			continue
		}
		_ = conn.Close() // nothing was said
		up = append(up, address)
	}
	const mend = "correct brokers, or see whether they run and a firewall lets us through"
	switch {
	case len(up) == 0:
		c.add(Fail, streamName, "connect", mend, "no broker can be reached: %s", strings.Join(down, "; "))
		return false
	case len(down) > 0:
		c.add(Warn, streamName, "connect", mend, "%s: reached; but %s", strings.Join(up, ", "), strings.Join(down, "; "))
	default:
		c.add(OK, streamName, "connect", "", "%s: reached", strings.Join(up, ", "))
	}
	return true
}

// greet makes the first request: TLS, login, and whether it is Kafka at all.
func (c *Checker) greet(ctx context.Context, k *config.Kafka, client *kafka.Client) bool {
	_, err := client.Partitions(ctx, k.Topics.Input)
	var cert *tls.CertificateVerificationError
	switch {
	case err == nil, errors.Is(err, kafka.ErrNoTopic), kafka.IsDenied(err) && !kafka.IsLogin(err):
		who := "nobody is to log in"
		if k.SASL != "none" {
			who = "as " + k.Username
		}
		c.add(OK, streamName, "login", "", "the brokers answer; %s", who)
		return true
	case errors.As(err, &cert):
		c.add(Fail, streamName, "tls", "set ca_file to the certificate of whoever signed that of the brokers, and brokers to the names in it", "%v", err)
	case kafka.IsLogin(err):
		c.add(Fail, streamName, "login", "correct sasl, username and password", "the brokers let nobody in: %v", err)
	default:
		mend := `see whether tls and sasl are as the brokers' listener on that port has them`
		if k.SASL != "none" {
			mend += `, and username and password right`
		}
		if k.TLS == "none" {
			mend += `; a listener that wants TLS says nothing to who does not begin it`
		}
		c.add(Fail, streamName, "login", mend, "something listens and does not answer as Kafka does: %v", err)
	}
	return false
}

// streamCheck tests what is behind the login.
type streamCheck struct {
	*Checker
	k          *config.Kafka
	client     *kafka.Client
	partitions map[string]int32 // of the topics that are there
	others     map[int32]bool   // partitions of the input whose positions are not of its log
}

func (s *streamCheck) all() []struct{ key, name string } {
	t := s.k.Topics
	return []struct{ key, name string }{
		{"input", t.Input}, {"decisions", t.Decisions}, {"dead_letters", t.DeadLetters}, {"snapshots", t.Snapshots},
	}
}

func (s *streamCheck) topics(ctx context.Context) bool {
	var there []string
	for _, t := range s.all() {
		n, err := s.client.Partitions(ctx, t.name)
		switch {
		case errors.Is(err, kafka.ErrNoTopic):
		case kafka.IsDenied(err):
			s.add(Fail, streamName, "topics", s.grant("Describe", "topic "+t.name)+", and what else this check then says", "we may not even see %s (%s): %v", t.name, t.key, err)
			return false
		case err != nil:
			s.add(Fail, streamName, "topics", "see what the brokers' log says of it", "%v", err)
			return false
		default:
			s.partitions[t.name] = n
			there = append(there, fmt.Sprintf("%s (%s)", t.name, desk.Count(int(n), "partition")))
		}
	}
	if len(there) > 0 {
		s.add(OK, streamName, "topics", "", "there are %s", strings.Join(there, ", "))
	}
	for _, t := range s.all() {
		if _, ok := s.partitions[t.name]; ok {
			continue
		}
		n := s.partitions[s.k.Topics.Input]
		if n == 0 {
			n = int32(s.k.Partitions)
		}
		if s.k.CreateTopics {
			s.add(OK, streamName, "topics", "", "%s will be created at the first start, with %s", t.name, desk.Count(int(n), "partition"))
			continue
		}
		creation := fmt.Sprintf("kafka-topics.sh --bootstrap-server %s --create --topic %s --partitions %d", s.k.Brokers[0], t.name, n)
		if t.key == "snapshots" {
			creation += " --config cleanup.policy=compact"
		}
		s.add(Fail, streamName, "topics", "create_topics = true, or "+creation, "the topic %s (%s) is not there, or hidden from us", t.name, t.key)
	}
	_, ok := s.partitions[s.k.Topics.Input]
	return ok
}

// fit tests that the topics are set up as they must be.
func (s *streamCheck) fit(ctx context.Context) {
	t := s.k.Topics
	s.counts(ctx)
	settings := map[string]map[string]string{}
	for _, topic := range s.all() {
		if _, ok := s.partitions[topic.name]; !ok {
			continue
		}
		got, err := s.client.Settings(ctx, topic.name, cleanupPolicy, retentionMillis, retentionBytes, maxMessageBytes)
		if err != nil {
			s.add(Warn, streamName, "retention", "give us the right DescribeConfigs on the topics", "how long topics keep records cannot be told: %v", err)
			return
		}
		settings[topic.name] = got
	}
	s.compaction(settings)
	s.retention(settings[t.Input])
	s.sizes(settings)
}

// set is the command that changes a setting of a topic.
func (s *streamCheck) set(topic, setting, value string) string {
	return fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --topic %s --add-config %s=%s", s.k.Brokers[0], topic, setting, value)
}

func (s *streamCheck) compaction(settings map[string]map[string]string) {
	t := s.k.Topics
	if policy := settings[t.Input][cleanupPolicy]; strings.Contains(policy, "compact") {
		s.add(Fail, streamName, "compaction", s.set(t.Input, cleanupPolicy, "delete"),
			"%s is compacted: of each account only its last record is kept", t.Input)
	}
	for _, name := range []string{t.Decisions, t.DeadLetters} {
		if policy := settings[name][cleanupPolicy]; strings.Contains(policy, "compact") {
			s.add(Warn, streamName, "compaction", s.set(name, cleanupPolicy, "delete"),
				"%s is compacted: of each account only the last record is kept", name)
		}
	}
	if settings[t.Snapshots] == nil {
		return
	}
	switch policy := settings[t.Snapshots][cleanupPolicy]; policy {
	case "compact":
		s.add(OK, streamName, "compaction", "", "%s is compacted", t.Snapshots)
	default:
		s.add(Fail, streamName, "compaction", s.set(t.Snapshots, cleanupPolicy, "compact"),
			"%s has cleanup.policy=%s: it would lose snapshots, or grow without end", t.Snapshots, policy)
	}
}

// retention tests that the input keeps its records until they are decided, and in
// a snapshot.
func (s *streamCheck) retention(input map[string]string) {
	name := s.k.Topics.Input
	size := ""
	if n, err := strconv.ParseInt(input[retentionBytes], 10, 64); err == nil && n >= 0 {
		size = fmt.Sprintf(", and at most %d bytes of each partition, however old", n)
	}
	millis, err := strconv.ParseInt(input[retentionMillis], 10, 64)
	if err != nil {
		s.add(Warn, streamName, "retention", "see that it is some days", "how long %s keeps records cannot be told", name)
		return
	}
	kept := time.Duration(min(millis, int64(1<<62)/int64(time.Millisecond))) * time.Millisecond
	needed := 2 * s.k.SnapshotInterval.Std()
	mend := s.set(name, retentionMillis, strconv.FormatInt((7*24*time.Hour).Milliseconds(), 10))
	switch {
	case millis < 0 && size == "":
		s.add(OK, streamName, "retention", "", "%s keeps its records for ever", name)
	case millis < 0:
		s.add(Warn, streamName, "retention", "see that they last for some days", "%s keeps its records for ever%s", name, size)
	case kept < needed:
		s.add(Fail, streamName, "retention", mend+", or a shorter snapshot_interval",
			"%s keeps records for %s, and a snapshot is made every %s: whoever takes a partition over would find records gone that are in no snapshot", name, config.Duration(kept), s.k.SnapshotInterval)
	case kept < shortRetention:
		s.add(Warn, streamName, "retention", mend,
			"%s keeps records for %s%s: when hinged stands still for longer, mail goes undecided and the partition stops", name, config.Duration(kept), size)
	case size != "":
		s.add(Warn, streamName, "retention", "see that they last for some days", "%s keeps records for %s%s", name, config.Duration(kept), size)
	default:
		s.add(OK, streamName, "retention", "", "%s keeps records for %s, and a snapshot is made every %s", name, config.Duration(kept), s.k.SnapshotInterval)
	}
}

func (s *streamCheck) sizes(settings map[string]map[string]string) {
	t := s.k.Topics
	most := func(topic string) (int64, bool) {
		n, err := strconv.ParseInt(settings[topic][maxMessageBytes], 10, 64)
		return n, err == nil
	}
	if n, ok := most(t.Snapshots); ok && n < leastMessage {
		s.add(Fail, streamName, "size", s.set(t.Snapshots, maxMessageBytes, "1048588"), "%s takes records of %d bytes at most, and the parts of a snapshot are larger", t.Snapshots, n)
	}
	in, ok := most(t.Input)
	if dead, found := most(t.DeadLetters); ok && found && dead < in+kafka.DeadLetterRoom {
		s.add(Warn, streamName, "size", s.set(t.DeadLetters, maxMessageBytes, strconv.FormatInt(in+kafka.DeadLetterRoom, 10)),
			"%s takes records of %d bytes at most, %s of %d: a dead letter is larger than its record, and one that is too large loses its headers or its value", t.DeadLetters, dead, t.Input, in)
	}
}

// grant is the command that gives us a right on something.
func (s *streamCheck) grant(right, on string) string {
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server %s --add --allow-principal User:%s --operation %s --%s", s.k.Brokers[0], cmp.Or(s.k.Username, "NAME"), right, on)
}

func (s *streamCheck) rights(ctx context.Context) {
	t := s.k.Topics
	var may, unknown []string
	ask := func(level Level, right, topic, why string, test func(context.Context, string) error) {
		if _, ok := s.partitions[topic]; !ok {
			return
		}
		switch err := test(ctx, topic); {
		case err == nil:
			may = append(may, strings.ToLower(right)+" "+topic)
		case kafka.IsDenied(err):
			s.add(level, streamName, "rights", s.grant(right, "topic "+topic),
				"we may not %s %s%s", strings.ToLower(right), topic, why)
		default:
			unknown = append(unknown, err.Error())
		}
	}
	ask(Fail, "Read", t.Input, "", s.client.MayRead)
	ask(Fail, "Read", t.Snapshots, "", s.client.MayRead)
	ask(Fail, "Write", t.Decisions, "", s.client.MayWrite)
	ask(Fail, "Write", t.DeadLetters, "", s.client.MayWrite)
	ask(Fail, "Write", t.Snapshots, "", s.client.MayWrite)
	ask(Warn, "Write", t.Input, ", so hinged learn cannot send lessons there", s.client.MayWrite)
	if len(unknown) > 0 {
		s.add(Fail, streamName, "rights", "see what the brokers' log says of it", "%s", strings.Join(slices.Compact(unknown), "; "))
	}
	if len(may) > 0 {
		s.add(OK, streamName, "rights", "", "we may %s", strings.Join(may, ", "))
	}
}
