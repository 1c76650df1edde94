// SPDX-License-Identifier: Apache-2.0

// Package kafka speaks to Apache Kafka: it reads the partitions of the input
// topic, produces decisions, dead letters and snapshots, takes part in a
// consumer group, and knows what the records look like.
//
// It decides nothing and keeps nothing. Which offset is the right one, what a
// record does to an account and when it is done for good is its caller's
// business: the truth about positions is in the store, and the offsets of the
// group are only published for tools that show lag.
//
// Data flow: broker → PartitionReader → Record → Parse → Event, and back:
// Decision, DeadLetter → Record → Produce → broker.
//
// Every call that goes to a broker makes one attempt, bounded by
// Options.RequestTimeout; Retryable says whether another one can help. Known
// limit: an unclean election of a leader, which loses records and gives their
// offsets to others, is noticed only when our position is beyond the new end.
package kafka
