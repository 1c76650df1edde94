package desk

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hinged/hinged/internal/filter"
)

// StreamStatus is the part of Status that is about Kafka. Numbers are of what is
// committed, and counted since the daemon started.
type StreamStatus struct {
	Topic string `json:"topic"` // the input topic
	// Doing says in one sentence what it is doing.
	Doing string `json:"doing"`
	// Connected: the consumer group has dealt its partitions out, be it none to us.
	Connected bool `json:"connected"`
	// Problem says in words what is wrong with all of it; "" when all is well.
	Problem    string `json:"problem,omitempty"`
	Rebalances int    `json:"rebalances"` // how often the partitions were dealt out anew
	Accounts   int    `json:"accounts"`   // accounts of the partitions that are ours, or, when no daemon runs, of the store

	Records   uint64 `json:"records"`   // read, of every kind
	Messages  uint64 `json:"messages"`  // of those, messages
	Own       uint64 `json:"own"`       // messages of the accounts' own owners, which are not decided
	Repeated  uint64 `json:"repeated"`  // messages that came before, whose decision was said again
	Important uint64 `json:"important"` // decisions
	Unsure    uint64 `json:"unsure"`    // decisions
	Ordinary  uint64 `json:"ordinary"`  // decisions
	Feedback  uint64 `json:"feedback"`  // records of feedback
	Lessons   uint64 `json:"lessons"`   // learnt
	Rewritten uint64 `json:"rewritten"` // undos and forgets that changed something
	Markers   uint64 `json:"markers"`   // control markers of transactions, passed over
	Aborted   uint64 `json:"aborted"`   // records of aborted transactions, passed over
	// DeadLetters counts the records that were refused, by reason.
	DeadLetters map[string]uint64 `json:"dead_letters"`

	Lag int64 `json:"lag"` // records still to be done, over all partitions that are ours
	// OldestSeconds is the age of the oldest record that waits for its decision, by
	// its timestamp; 0: none waits.
	OldestSeconds float64           `json:"oldest_seconds"`
	Partitions    []StreamPartition `json:"partitions"` // those that are ours, ascending
}

// StreamPartition is how one partition is doing.
type StreamPartition struct {
	Partition     int32      `json:"partition"`             // its number
	Position      int64      `json:"position"`              // offset of the next record
	End           int64      `json:"end"`                   // of its log, as far as known; -1: not at all
	Lag           int64      `json:"lag"`                   // records still to be done
	HeldBytes     int64      `json:"held_bytes"`            // of records read and not yet committed
	OldestSeconds float64    `json:"oldest_seconds"`        // age of the oldest record that waits; 0: none waits
	LastRecord    *time.Time `json:"last_record,omitempty"` // timestamp of the last record done
	Snapshots     int        `json:"snapshots"`             // made by this process
	Restoring     int        `json:"restoring"`             // accounts still to be fetched out of the snapshot that it was taken over with
	Stopped       bool       `json:"stopped"`               // it cannot go on without help; Problem says which
	Problem       string     `json:"problem,omitempty"`     // in words; "" when all is well
}

// Reasons returns the reasons of dead letters in order.
func (s *StreamStatus) Reasons() []string { return slices.Sorted(maps.Keys(s.DeadLetters)) }

// StreamDoing says in one sentence what a stream is at.
func StreamDoing(s *StreamStatus, stopped int) string {
	switch {
	case !s.Connected:
		return "waiting for partitions"
	case len(s.Partitions) == 0:
		return "standing by: other processes have all partitions"
	case stopped > 0:
		return fmt.Sprintf("deciding and learning, but %d of %d partitions are stopped and need help", stopped, len(s.Partitions))
	case s.Lag > 0:
		return fmt.Sprintf("deciding and learning, %d records behind", s.Lag)
	default:
		return "deciding and learning; nothing waits"
	}
}

// SummariseStreamed is Summarise for an account that has no mail server.
func SummariseStreamed(name string, f *filter.Filter) AccountStatus {
	a := Summarise(name, f)
	if a.InShadow {
		a.Doing = "in shadow: it decides and learns, and says of nothing that it is to be marked"
	} else if f.Trained() {
		a.Doing = "deciding, and learning"
	}
	return a
}
