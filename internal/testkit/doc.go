// SPDX-License-Identifier: Apache-2.0

// Package testkit has what tests of hinged need from the outside world: a real
// Dovecot, Cyrus, Courier, GreenMail and Apache Kafka, a second client that plays the
// owner, a scripted IMAP server for what a real one cannot be made to do, a proxy that
// cuts connections, and believable generated mail.
//
// It knows nothing of hinged but the events of package ingest.
package testkit
