// SPDX-License-Identifier: Apache-2.0

// Package stream runs the accounts whose mail comes through Kafka: it owns
// partitions of the input topic as a member of a consumer group, decides and
// learns, and produces the decisions.
//
// The unit of ownership is the partition. One goroutine for each that is ours is
// the only writer of its accounts:
//
//	PartitionReader → featurize (all cores, in order) → apply to the accounts
//	  → produce decisions and dead letters, and wait for the brokers
//	  → one commit: all accounts of the batch and the next offset
//	  → publish the offset, as a hint for tools that show lag
//
// While a batch is produced and committed the next one is read and featurised,
// never applied. What was read and is not committed is bounded in bytes: a broker
// that refuses makes the reader wait, not memory grow.
//
// # What is learnt exactly once, and why
//
// The state of an account is a function of its records in their order: there is
// no clock in it, no randomness, and the offset that comes next is committed in
// the same transaction as what the records before it did. A crash, a rebalance or
// another owner therefore repeats the same steps on the same state. Decisions are
// acknowledged before that commit, so none is lost; one that is produced again is
// the same record again, byte for byte, under the same ce_id.
//
// A process that believes it owns a partition when another one has it already (a
// zombie) does the same work on its own copy: it can only repeat what the owner
// says.
//
// # What it leaves to others
//
// What records look like and how to reach a broker (package kafka), the layout of
// the file (package boltfile), what an event does to an account (package filter).
package stream
