package main

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/hinged/hinged/config"
	"github.com/hinged/hinged/ingest/kafka"
)

// kafkaOptions turns the section [kafka] into what the connection needs.
func kafkaOptions(k *config.Kafka, log *slog.Logger) (kafka.Options, error) {
	o := kafka.Options{
		Brokers: k.Brokers, ClientID: k.ClientID, Group: k.Group,
		Topics:      kafka.Topics(k.Topics),
		Compression: kafka.Compression(k.Compression), MaxRecord: k.MaxMessageBytes,
		Logger: log.With("source", "kafka"),
	}
	if k.SASL != "none" {
		o.SASL = kafka.SASL{Mechanism: kafka.Mechanism(k.SASL), Username: k.Username, Password: k.ReadPassword}
	}
	if k.TLS == "none" {
		return o, nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if k.CAFile != "" {
		var err error
		if o.TLS, err = trust(k.CAFile); err != nil {
			return o, fmt.Errorf("ca_file: %w", err)
		}
	}
	if k.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(k.CertFile, k.KeyFile)
		if err != nil {
			return o, fmt.Errorf("cert_file and key_file: %w", err)
		}
		o.TLS.Certificates = []tls.Certificate{pair}
	}
	return o, nil
}
