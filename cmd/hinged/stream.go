// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/stream"
)

// kafkaOptions turns the section [kafka] into what the connection needs.
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

// streamOptions turns the section [kafka] into what the engine needs, save the
// store. The caller closes the client, which is not connected yet.
func streamOptions(k *config.Kafka, log *slog.Logger) (*kafka.Client, stream.Options, error) {
	l, o, err := newLink(k, nil, log)
	if err != nil {
		return nil, o, err
	}
	return l.client, o, nil
}

// loadStream reads a configuration that has a stream. The error where it has none says
// what follows from that.
func loadStream(path, follows string) (*config.Config, error) {
	conf, err := config.Load(path)
	if err == nil && conf.Kafka == nil {
		err = fmt.Errorf("the configuration has no [kafka], so %s", follows)
	}
	return conf, err
}
