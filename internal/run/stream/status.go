// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

// Counts are what the engine did since it was made.
type Counts struct {
	Records   uint64 `json:"records"`   // records read, of every kind
	Messages  uint64 `json:"messages"`  // number of messages among the records
	Own       uint64 `json:"own"`       // messages that the accounts' own owners wrote; they are not decided
	Repeated  uint64 `json:"repeated"`  // messages that came again; their decision was produced again
	Important uint64 `json:"important"` // number of decisions with this outcome
	Unsure    uint64 `json:"unsure"`    // number of decisions with this outcome
	Ordinary  uint64 `json:"ordinary"`  // number of decisions with this outcome
	Feedback  uint64 `json:"feedback"`  // number of feedback records
	Lessons   uint64 `json:"lessons"`   // number of lessons learnt
	Rewritten uint64 `json:"rewritten"` // number of undos and forgets that changed something
	Markers   uint64 `json:"markers"`   // control markers of transactions; they are skipped
	Aborted   uint64 `json:"aborted"`   // records of aborted transactions; they are skipped
	// DeadLetters counts refused records by reason.
	DeadLetters map[kafka.Reason]uint64 `json:"dead_letters"`
}

func (c *Counts) refuse(why kafka.Reason) {
	if c.DeadLetters == nil {
		c.DeadLetters = map[kafka.Reason]uint64{}
	}
	c.DeadLetters[why]++
}

func (c *Counts) decide(o store.Outcome) {
	switch o {
	case store.DecidedImportant:
		c.Important++
	case store.DecidedUnsure:
		c.Unsure++
	default:
		c.Ordinary++
	}
}

// Decisions is how many were produced.
func (c *Counts) Decisions() uint64 { return c.Important + c.Unsure + c.Ordinary }

func (c *Counts) add(d *Counts) {
	c.Records += d.Records
	c.Messages += d.Messages
	c.Own += d.Own
	c.Repeated += d.Repeated
	c.Important += d.Important
	c.Unsure += d.Unsure
	c.Ordinary += d.Ordinary
	c.Feedback += d.Feedback
	c.Lessons += d.Lessons
	c.Rewritten += d.Rewritten
	c.Markers += d.Markers
	c.Aborted += d.Aborted
	for why, n := range d.DeadLetters {
		if c.DeadLetters == nil {
			c.DeadLetters = map[kafka.Reason]uint64{}
		}
		c.DeadLetters[why] += n
	}
}

// Status is the status of the accounts whose mail comes through Kafka. The numbers are
// about committed records, counted since the daemon started.
type Status struct {
	Topic      string `json:"topic"`             // the input topic
	Doing      string `json:"doing"`             // Doing says in one sentence what the stream is doing.
	Connected  bool   `json:"connected"`         // Connected reports whether the consumer group has assigned its partitions, even if this process got none.
	Problem    string `json:"problem,omitempty"` // Problem says in words what is wrong with the whole stream; "" if nothing is.
	Rebalances int    `json:"rebalances"`        // number of times that the partitions were assigned
	Accounts   int    `json:"accounts"`          // accounts in the partitions of this process or, without a daemon, in the store

	Counts

	// Lag is the number of records not yet processed, up to the high watermark, over all
	// partitions of this process; absent if it is unknown for any of them.
	Lag *int64 `json:"lag,omitempty"`
	// InTransaction is the number of those that can't be read before a transaction of a
	// producer ends.
	InTransaction int64 `json:"in_transaction"`
	// OldestSeconds is the age of the oldest record that waits for its decision,
	// according to its timestamp; 0 if none waits; absent if it is unknown for any partition.
	OldestSeconds *float64          `json:"oldest_seconds,omitempty"`
	Partitions    []PartitionStatus `json:"partitions"` // the partitions of this process, in ascending order
}

// PartitionStatus is the status of one partition.
type PartitionStatus struct {
	Partition     int32      `json:"partition"`                // number of the partition
	Begun         bool       `json:"-"`                        // its position is known
	Position      int64      `json:"position"`                 // offset before which all records are processed; -1 if it is unknown
	End           int64      `json:"end"`                      // the high watermark, the offset of the end of the log, as last heard of; -1 if it is unknown
	Lag           *int64     `json:"lag,omitempty"`            // number of records not yet processed, up to the high watermark; absent if it is unknown
	InTransaction int64      `json:"in_transaction"`           // number of those that can't be read before a transaction of a producer ends
	HeldBytes     int64      `json:"held_bytes"`               // size of the records that were read and are not committed
	OldestSeconds *float64   `json:"oldest_seconds,omitempty"` // age of the oldest waiting record; 0 if none waits; absent if it is unknown
	LastRecord    *time.Time `json:"last_record,omitempty"`    // timestamp of the last processed record
	Snapshots     int        `json:"snapshots"`                // number of snapshots made by this process
	Restoring     int        `json:"restoring"`                // accounts not yet fetched from the snapshot from which the partition was taken over
	Stopped       bool       `json:"stopped"`                  // whether the partition needs help to continue; problem says why
	Problem       string     `json:"problem,omitempty"`        // the problem in words; "" if there is none
	TopicID       string     `json:"topic_id,omitempty"`       // id of the input topic that is read; another one if it was deleted and created again
	Recovered     string     `json:"recovered,omitempty"`      // how the partition was recovered, if it ever was: snapshot, start or empty
	// Differs lists the accounts last found in another state than another process, or an
	// earlier run, had come to by the same records.
	Differs []string `json:"differs,omitempty"`
	// DamagedFile is the path of the partition's file that was damaged and set aside; the
	// partition was taken over again. It is the last one if there are several. Delete it, or
	// move it away, and it isn't named any more.
	DamagedFile string `json:"damaged_file,omitempty"`
}

// CaughtUp reports whether it is known that no record waits.
func (s *Status) CaughtUp() bool { return s.Lag != nil && *s.Lag == 0 }

// CaughtUp reports whether it is known that no record waits.
func (p *PartitionStatus) CaughtUp() bool { return p.Lag != nil && *p.Lag == 0 }

// Reasons returns the reasons of dead letters in order.
func (c *Counts) Reasons() []kafka.Reason { return slices.Sorted(maps.Keys(c.DeadLetters)) }

// doing says in one sentence what a stream is at.
func (s *Status) doing() string {
	stopped := 0
	for _, p := range s.Partitions {
		if p.Stopped {
			stopped++
		}
	}
	switch {
	case !s.Connected:
		return "waiting for partitions"
	case len(s.Partitions) == 0:
		return "standing by: other processes have all partitions"
	case stopped == len(s.Partitions):
		return "stopped: no partition of this process can go on without help"
	case stopped > 0:
		return fmt.Sprintf("deciding and learning, but %d of %d partitions are stopped and need help", stopped, len(s.Partitions))
	case s.Lag == nil:
		return "deciding and learning; how many records wait is unknown at the moment"
	case s.InTransaction > 0 && s.InTransaction == *s.Lag:
		return fmt.Sprintf("waiting for the end of a producer's transaction, with %d records behind it", *s.Lag)
	case *s.Lag > 0:
		return fmt.Sprintf("deciding and learning, %d records behind", *s.Lag)
	default:
		return "deciding and learning; no record is waiting"
	}
}

// partitionState is what is known of a partition that is ours, for those who ask.
// Safe for concurrent use.
type partitionState struct {
	mu             sync.Mutex
	status         PartitionStatus
	at             store.LogPosition
	intake         *intake
	first, stable  int64     // of the log: its first offset, and the last stable one
	lastHeard      time.Time // when End, first and stable were heard of
	foreign        bool      // the position is of another topic of the same name
	oldest         waiting   // the record at which it waits, where none is held
	writing        string    // why the writer waits
	readingProblem string    // why the reader waits
}

func newPartitionState(number int32) *partitionState {
	return &partitionState{at: store.LogPosition{Next: -1}, status: PartitionStatus{Partition: number, Position: -1, End: -1}}
}

func (s *partitionState) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Stopped, s.status.Problem = true, err.Error()
	s.foreign = errors.Is(err, kafka.ErrRecreated)
}

func (s *partitionState) began(at *store.LogPosition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Begun = true
	s.stand(at)
	s.status.TopicID, s.status.Recovered = idText(at.TopicID), at.Recovered
}

// anew notes that the position is not known any more.
func (s *partitionState) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Begun, s.status.Stopped, s.status.Problem, s.status.End = false, false, "", -1
	s.writing, s.readingProblem, s.foreign = "", "", false
}

func (s *partitionState) holds(in *intake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intake = in
}

// stand notes the position. mu is held.
func (s *partitionState) stand(at *store.LogPosition) {
	s.at, s.status.Position = *at, at.Next
}

func (s *partitionState) commit(b *batch, at store.LogPosition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stand(&at)
	s.status.End = max(s.status.End, at.Next)
	if !b.newest.IsZero() {
		last := b.newest.UTC()
		s.status.LastRecord = &last
	}
}

func (s *partitionState) snapshot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Snapshots++
}

func (s *partitionState) differs(accounts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Differs = accounts
}

func (s *partitionState) restoring(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Restoring = n
}

// position is what was committed last.
func (s *partitionState) position() store.LogPosition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// get returns how it is now.
func (s *partitionState) get(now time.Time) PartitionStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.status
	var oldest time.Time
	if s.intake != nil {
		out.HeldBytes, oldest = s.intake.waiting()
	}
	s.behind(&out, oldest, now)
	out.Problem = cmp.Or(out.Problem, s.writing, s.readingProblem)
	return out
}

// total sums up what waits in the partitions.
func (s *Status) total() {
	if !s.Connected {
		return // what waits is unknown
	}
	lag, oldest := new(int64), new(float64)
	for i := range s.Partitions {
		p := &s.Partitions[i]
		s.InTransaction += p.InTransaction
		if p.Lag == nil {
			lag = nil
		} else if lag != nil {
			*lag += *p.Lag
		}
		if p.OldestSeconds == nil {
			oldest = nil
		} else if oldest != nil {
			*oldest = max(*oldest, *p.OldestSeconds)
		}
	}
	s.Lag, s.OldestSeconds = lag, oldest
}

// Status says how the engine is doing, save for the number of accounts. Safe for concurrent use.
func (e *Engine) Status() Status {
	e.mu.Lock()
	s := Status{
		Topic: e.o.Topics.Input, Connected: e.member, Problem: cmp.Or(e.problem, e.others), Rebalances: max(0, e.generations-1),
		Counts: e.counts, Partitions: []PartitionStatus{},
	}
	s.DeadLetters = map[kafka.Reason]uint64{}
	maps.Copy(s.DeadLetters, e.counts.DeadLetters)
	ours := e.ours
	e.mu.Unlock()
	now, damaged := e.o.Now(), e.o.Files.Damaged()
	for _, p := range ours {
		one := p.state.get(now)
		one.damaged(damaged[p.id])
		s.Partitions = append(s.Partitions, one)
	}
	s.total()
	s.Doing = s.doing()
	return s
}
