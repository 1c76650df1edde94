// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/face/cli"
	"github.com/hinged/hinged/internal/program/daemon"
	"github.com/hinged/hinged/internal/run/stream"
)

// link is the connection of a stream to its brokers, with what the options were made from.
type link struct {
	client *kafka.Client
	broker stream.Broker
	// settings are all of [kafka], wire those of the connection. "": they can't be told.
	settings, wire string
	group          string // those that the processes of the group are to have alike
}

// newLink turns the section [kafka] into what the engine needs, save the store. If the
// connection of before will do, it is used again. Otherwise the caller closes the client of
// the new one, which is not connected yet.
func newLink(k *config.Kafka, before *link, log *slog.Logger) (*link, stream.Options, error) {
	wire, err := kafkaOptions(k, log)
	if err != nil {
		return nil, stream.Options{}, fmt.Errorf("kafka: %w", err)
	}
	weights, err := cli.PriorWeights(&k.Judging)
	if err != nil {
		return nil, stream.Options{}, fmt.Errorf("kafka: %w", err)
	}
	l := &link{settings: fingerprintOf(k, k.CAFile, k.Prior), wire: wireOf(k), group: wire.Settings}
	if before != nil && l.wire != "" && l.wire == before.wire {
		l.client, l.broker = before.client, before.broker
	} else {
		l.client = kafka.New(wire)
		l.broker = stream.Ensured(l.client, wanted(k), log)
	}
	return l, stream.Options{
		Broker: l.broker, Topics: wire.Topics,
		Filter: cli.JudgingOptions(&k.Judging, nil), Prior: weights, Owner: k.OwnerOf,
		SnapshotEvery: int64(k.SnapshotEvery), SnapshotInterval: k.SnapshotInterval.Std(),
		Logger: log.With("source", "kafka"),
	}, nil
}

func wanted(k *config.Kafka) kafka.Wanted {
	return kafka.Wanted{Create: k.CreateTopics, Partitions: int32(k.Partitions)}
}

func wireOf(k *config.Kafka) string {
	w := *k
	w.Judging, w.Accounts, w.SnapshotEvery, w.SnapshotInterval = config.Judging{}, nil, 0, 0
	return fingerprintOf(&w, k.CAFile)
}

// groupSettings returns what all processes of the group are to have alike, "" if a file can't
// be read.
func groupSettings(k *config.Kafka) string {
	g := config.Kafka{Topics: k.Topics, MaxMessageBytes: k.MaxMessageBytes, Judging: k.Judging, Accounts: k.Accounts}
	if filepath.IsAbs(g.Prior) {
		g.Prior = "a file" // its content counts
	}
	return fingerprintOf(&g, k.Prior)
}

// withStream adds the stream of the configuration to the daemon's options, if there
// is one. The link is nil if there is none.
func withStream(o *daemon.Options, c *config.Config, log *slog.Logger) (*link, error) {
	if c.Kafka == nil {
		return nil, nil //nolint:nilnil // as close and renewed expect it
	}
	l, s, err := newLink(c.Kafka, nil, log)
	if err != nil {
		return nil, err
	}
	o.Stream = &s
	return l, nil
}

func (l *link) close() error {
	if l == nil {
		return nil
	}
	return l.client.Close()
}

// linkPatience is how long brokers may take to answer with other settings.
const linkPatience = 15 * time.Second

// renewed returns the link and the options for other settings; nil and nil if nothing
// changed. Other brokers, topics or logins must work, or it is an error: otherwise a
// misspelt name would end a stream that runs.
func (l *link) renewed(ctx context.Context, k *config.Kafka, log *slog.Logger) (*link, *stream.Options, error) {
	if l == nil || k == nil {
		return nil, nil, nil
	}
	next, o, err := newLink(k, l, log)
	if err != nil {
		return nil, nil, err
	}
	if next.settings != "" && next.settings == l.settings {
		return nil, nil, next.unless(l)
	}
	if next.client != l.client {
		ctx, cancel := context.WithTimeout(ctx, linkPatience)
		defer cancel()
		_, _, err := next.client.EnsureTopics(ctx, wanted(k))
		if err == nil {
			err = next.client.MayJoin(ctx)
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("kafka, with the new settings: %w", err), next.unless(l))
		}
	}
	return next, &o, nil
}

// unless closes the connections unless they are those of another link.
func (l *link) unless(other *link) error {
	if l == nil || other != nil && l.client == other.client {
		return nil
	}
	return l.close()
}

func kafkaOptions(k *config.Kafka, log *slog.Logger) (kafka.Options, error) {
	o := kafka.Options{
		Brokers: k.Brokers, ClientID: k.ClientID, Group: k.Group,
		Topics:      kafka.Topics(k.Topics),
		Compression: kafka.Compression(k.Compression), MaxRecord: k.MaxMessageBytes,
		Settings: groupSettings(k),
		Logger:   log.With("source", "kafka"),
	}
	if k.SASL != "none" {
		o.SASL = kafka.SASL{Mechanism: kafka.Mechanism(k.SASL), Username: k.Username, Password: k.ReadPassword}
	}
	if k.TLS == "none" {
		return o, nil
	}
	var err error
	o.TLS, err = tlsConfig(k.CAFile, k.CertFile, k.KeyFile)
	return o, err
}

// kafkaClient makes a client for the stream of the configuration at path, which is not
// connected yet. It takes larger records than the stream: what is there is to be listed.
func kafkaClient(path, follows string) (*kafka.Client, kafka.Topics, error) {
	c, err := loadStream(path, follows)
	if err != nil {
		return nil, kafka.Topics{}, err
	}
	o, err := kafkaOptions(c.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, o.Topics, fmt.Errorf("kafka: %w", err)
	}
	o.MaxRecord = max(o.MaxRecord, 64<<20)
	return kafka.New(o), o.Topics, nil
}

// streamOptions turns the section [kafka] into what the engine needs, save the
// store. The caller closes the client, which is not connected yet.
func streamOptions(k *config.Kafka, log *slog.Logger) (*kafka.Client, stream.Options, error) {
	l, o, err := newLink(k, nil, log)
	if err != nil {
		return nil, o, err
	}
	return l.client, o, nil
}

// loadStream reads a configuration that has a stream; follows is what follows if it has none.
func loadStream(path, follows string) (*config.Config, error) {
	conf, err := config.Load(path)
	if err == nil && conf.Kafka == nil {
		err = fmt.Errorf("the configuration has no [kafka], so %s", follows)
	}
	return conf, err
}
