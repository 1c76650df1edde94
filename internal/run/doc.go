// SPDX-License-Identifier: Apache-2.0

// Package run is the floor that keeps accounts alive: events come in, a batch is committed, and
// only then something is done outside.
//
//   - pipeline reads messages on all cores, and gives them back in order
//   - writer owns one account, applies its events and commits them
//   - stream holds the partitions of a Kafka topic, with the accounts in them
//   - replay and deadletters are what can be asked of such a topic beside it
//
// It imports the account's floor, the sources and the store. It knows no verb and no page.
package run
