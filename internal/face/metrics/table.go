// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hinged/hinged/internal/face/desk"
	"github.com/hinged/hinged/internal/run/stream"
)

type metric struct {
	name, help string
	counter    bool // else a gauge
	labels     []string
	desc       *prometheus.Desc
}

func newMetric(counter bool, name, help string, labels ...string) *metric {
	return &metric{name, help, counter, labels, prometheus.NewDesc(name, help, labels, nil)}
}

const account, partition = "account", "partition"

// ofAccount is a metric of one account with a mail server.
type ofAccount struct {
	*metric
	// value returns what it is; ok is false where there is nothing to say.
	value func(*desk.AccountStatus) (v float64, ok bool)
}

// accountMetrics is the table of what each account with a mail server has. Its values are
// those of status, hence of what is committed.
func accountMetrics() []ofAccount {
	n := func(counter bool, name, help string, value func(*desk.AccountStatus) float64) ofAccount {
		return ofAccount{newMetric(counter, "hinged_"+name, help, account), func(a *desk.AccountStatus) (float64, bool) { return value(a), true }}
	}
	type s = *desk.AccountStatus
	return []ofAccount{
		n(true, "messages_total", "Messages seen, the owner's own included.", func(a s) float64 { return float64(a.Messages) }),
		n(true, "messages_decided_total", "Messages decided.", func(a s) float64 { return float64(a.Decided) }),
		n(true, "messages_unsure_total", "Messages decided as unsure.", func(a s) float64 { return float64(a.Unsure) }),
		n(true, "model_updates_total", "Lessons that moved the weights.", func(a s) float64 { return float64(a.Updates) }),
		n(true, "mistakes_total", "Lessons whose score was on the wrong side of 0, or exactly 0.", func(a s) float64 { return float64(a.Mistakes) }),
		n(true, "labels_withdrawn_total", "Labels that taught nothing because too many came at once.", func(a s) float64 { return float64(a.CleanUps) }),
		n(true, "marks_set_total", "Marks that the mail server has confirmed.", func(a s) float64 { return float64(a.MarksConfirmed) }),
		n(true, "marks_reverted_by_user_total", "Marks that the owner removed.", func(a s) float64 { return float64(a.MarksRefused) }),
		n(true, "marks_undone_total", "Marks that hinged took back because the owner asked for it.", func(a s) float64 { return float64(a.MarksUndone) }),
		n(true, "imap_reconnects_total", "Connections to the mail server after the first one.", func(a s) float64 { return float64(a.Reconnects) }),

		n(false, "imap_connected", "1 if the mail server responds at present.", func(a s) float64 { return oneIf(a.Connected) }),
		n(false, "auth_required", "1 if the login fails until somebody steps in: a wrong password, or a consent to renew.", func(a s) float64 { return oneIf(a.LoginRefused || a.ConsentNeeded) }),
		n(false, "imap_remaining_messages", "Messages that have not been read yet.", func(a s) float64 { return float64(a.Remaining) }),
		n(false, "paused", "1 if the owner has paused the account.", func(a s) float64 { return oneIf(a.Paused) }),
		n(false, "in_shadow", "1 if decisions are only recorded and no marks are set.", func(a s) float64 { return oneIf(a.InShadow) }),
		n(false, "warnings", "Warnings that status shows.", func(a s) float64 { return float64(len(a.Warnings)) }),
		n(false, "marks_pending", "Marks that the mail server has not confirmed yet.", func(a s) float64 { return float64(a.MarksIntended) }),
		n(false, "labels_pending", "Labels whose settle window has not ended yet.", func(a s) float64 { return float64(a.Pending) }),
		n(false, "ledger_entries", "Marks of which the ledger knows.", func(a s) float64 { return float64(a.LedgerEntries) }),
		n(false, "weights", "Features with a weight.", func(a s) float64 { return float64(a.Weights) }),
		n(false, "threshold", "The threshold: a message with a higher score is important.", func(a s) float64 { return a.Threshold }),
		n(false, "false_alarms", "Known messages decided important whose label is ordinary.", func(a s) float64 { return float64(a.Judgement.FalseAlarms) }),
		n(false, "missed_messages", "Known messages not decided important whose label is important.", func(a s) float64 { return float64(a.Judgement.Missed) }),
		{newMetric(false, "hinged_decision_f1", "F1 of the decisions on the known messages whose label is known; absent before there are any.", account),
			func(a s) (float64, bool) { return a.Judgement.F1, a.Judgement.Messages > 0 }},
		{newMetric(false, "hinged_baseline_f1", "F1 on the same messages if mail from known correspondents were important.", account),
			func(a s) (float64, bool) { return a.Judgement.KnownF1(), a.Judgement.Messages > 0 }},
		{newMetric(false, "hinged_last_scored_timestamp_seconds", "Arrival of the newest message; absent before the first one.", account),
			func(a s) (float64, bool) { return unix(a.LastArrival) }},
		{newMetric(false, "hinged_last_feedback_timestamp_seconds", "Time of the last lesson, from silence or from what the owner did; absent before the first one.", account),
			func(a s) (float64, bool) { return unix(a.LastLesson) }},
	}
}

// ofStream is a metric of the accounts of a stream together.
type ofStream struct {
	*metric
	value func(*stream.Status) float64
}

// streamMetrics is the table of what all accounts of a stream have together. The counters
// begin at 0 with the process.
func streamMetrics() []ofStream {
	n := func(counter bool, name, help string, value func(*stream.Status) float64) ofStream {
		return ofStream{newMetric(counter, "hinged_kafka_"+name, help), value}
	}
	type s = *stream.Status
	return []ofStream{
		n(false, "connected", "1 if the consumer group has dealt out its partitions, even if this process got none.", func(t s) float64 { return oneIf(t.Connected) }),
		n(true, "rebalances_total", "Times that the partitions were dealt out anew.", func(t s) float64 { return float64(t.Rebalances) }),
		n(false, "accounts", "Accounts in the partitions of this process.", func(t s) float64 { return float64(t.Accounts) }),
		n(true, "records_total", "Records read and committed, of every kind.", func(t s) float64 { return float64(t.Records) }),
		n(true, "messages_total", "Messages among the records.", func(t s) float64 { return float64(t.Messages) }),
		n(true, "repeated_total", "Messages that came again; their decisions were produced again.", func(t s) float64 { return float64(t.Repeated) }),
		n(true, "feedback_events_total", "Records with feedback.", func(t s) float64 { return float64(t.Feedback) }),
		n(true, "lessons_total", "Lessons learnt.", func(t s) float64 { return float64(t.Lessons) }),
		n(true, "aborted_records_total", "Records of aborted transactions, which are skipped.", func(t s) float64 { return float64(t.Aborted) }),
	}
}

// ofPartition is a metric of one partition of a stream.
type ofPartition struct {
	*metric
	value func(*stream.PartitionStatus) (v float64, ok bool)
}

func partitionMetrics() []ofPartition {
	n := func(counter bool, name, help string, value func(*stream.PartitionStatus) (float64, bool)) ofPartition {
		return ofPartition{newMetric(counter, "hinged_kafka_"+name, help, partition), value}
	}
	type p = *stream.PartitionStatus
	return []ofPartition{
		n(false, "lag", "Records not yet processed, up to the high watermark; absent while that is unknown.", func(s p) (float64, bool) {
			return valueOf(s.Lag)
		}),
		n(false, "position", "Offset before which all records are processed; absent while it is unknown.", func(s p) (float64, bool) { return float64(s.Position), s.Position >= 0 }),
		n(false, "oldest_record_seconds", "Age of the oldest record that waits for its decision; 0 if none waits; absent while it is unknown.", func(s p) (float64, bool) { return valueOf(s.OldestSeconds) }),
		n(false, "transaction_records", "Records of the lag that can't be read before a transaction of a producer ends.", func(s p) (float64, bool) { return float64(s.InTransaction), s.Lag != nil }),
		n(false, "held_bytes", "Size of the records that were read and are not committed.", func(s p) (float64, bool) { return float64(s.HeldBytes), true }),
		n(false, "partition_stopped", "1 if the partition needs somebody to step in.", func(s p) (float64, bool) { return oneIf(s.Stopped), true }),
		n(false, "damaged_file", "1 while a damaged file of the partition lies there; the partition was taken over again.", func(s p) (float64, bool) { return oneIf(s.DamagedFile != ""), true }),
		n(false, "restoring_accounts", "Accounts that have not come in yet from the snapshot of the partition.", func(s p) (float64, bool) { return float64(s.Restoring), true }),
		n(true, "snapshots_total", "Snapshots of the partition made by this process.", func(s p) (float64, bool) { return float64(s.Snapshots), true }),
		n(false, "last_record_timestamp_seconds", "Timestamp of the last processed record; absent before the first one.", func(s p) (float64, bool) { return unix(s.LastRecord) }),
	}
}

// valueOf is a figure that may be unknown.
func valueOf[T int64 | float64](v *T) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return float64(*v), true
}
