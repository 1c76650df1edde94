package stream

import (
	"maps"
	"sync"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/store"
)

// Counts are what the engine did since it was made.
type Counts struct {
	Records   uint64                  // read and committed, of every kind
	Messages  uint64                  // of those, messages
	Own       uint64                  // of those, the owner's own, which are not decided
	Repeated  uint64                  // messages whose content came before: the decision taken then was said again
	Important uint64                  // decisions
	Unsure    uint64                  // decisions
	Ordinary  uint64                  // decisions
	Feedback  uint64                  // records of feedback
	Lessons   uint64                  // learnt
	Rewritten uint64                  // undos and forgets that changed something
	Dead      map[kafka.Reason]uint64 // dead letters, by reason
	Markers   uint64                  // control markers of transactions, passed over
	Aborted   uint64                  // records of aborted transactions, passed over
}

func (c *Counts) refuse(why kafka.Reason) {
	if c.Dead == nil {
		c.Dead = map[kafka.Reason]uint64{}
	}
	c.Dead[why]++
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
	for why, n := range d.Dead {
		if c.Dead == nil {
			c.Dead = map[kafka.Reason]uint64{}
		}
		c.Dead[why] += n
	}
}

// Status is how the engine is doing. Numbers are of what is committed.
type Status struct {
	// Member: the group has given us a generation, be it without partitions.
	Member bool
	// Problem is why not, or what is wrong with all partitions; "" when all is well.
	Problem    string
	Rebalances int // generations after the first
	Counts     Counts
	Partitions []PartitionStatus // those that are ours, ascending
}

// PartitionStatus is how one partition is doing.
type PartitionStatus struct {
	Partition int32
	// Begun: its position is known.
	Begun    bool
	Position int64 // of the next record to commit
	End      int64 // of its log, as far as known; -1: not at all
	Held     int64 // bytes of records read and not committed
	// Oldest is the timestamp of the oldest record that is read and not committed, or
	// zero when there is none.
	Oldest time.Time
	// Newest is the timestamp of the last record committed by this process, or zero.
	Newest    time.Time
	Snapshots int // made by this process
	// Restoring counts the accounts that are still to be fetched out of the snapshot
	// with which the partition was taken over, in whole or in part.
	Restoring int
	Stopped   bool   // it cannot go on without help
	Problem   string // "" when all is well
}

// Lag is how many records are still to be done.
func (s *PartitionStatus) Lag() int64 {
	if !s.Begun || s.End < 0 {
		return 0
	}
	return max(0, s.End-s.Position)
}

// partitionState is what is known of a partition that is ours, for those who ask.
// Safe for concurrent use.
type partitionState struct {
	mu             sync.Mutex
	status         PartitionStatus
	intake         *intake
	writing        string // why the writer waits
	readingProblem string // why the reader waits
}

func newPartitionState(number int32) *partitionState {
	return &partitionState{status: PartitionStatus{Partition: number, End: -1}}
}

func (s *partitionState) stop(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Stopped, s.status.Problem = true, err.Error()
}

func (s *partitionState) began(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Begun, s.status.Position = true, at
}

// anew notes that the position is not known any more.
func (s *partitionState) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Begun = false
}

// reached notes the end of the log.
func (s *partitionState) reached(end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.End = max(s.status.End, end)
}

func (s *partitionState) holds(in *intake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intake = in
}

func (s *partitionState) commit(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Position = b.next
	s.status.End = max(s.status.End, b.next)
	if !b.newest.IsZero() {
		s.status.Newest = b.newest
	}
}

func (s *partitionState) snapshot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Snapshots++
}

func (s *partitionState) restoring(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Restoring = n
}

// get returns how it is now.
func (s *partitionState) get() PartitionStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.status
	if s.intake != nil {
		out.Held, out.Oldest = s.intake.waiting()
	}
	if out.Problem == "" {
		out.Problem = s.writing
	}
	if out.Problem == "" {
		out.Problem = s.readingProblem
	}
	return out
}

// Status says how the engine is doing. Safe for concurrent use.
func (e *Engine) Status() Status {
	e.mu.Lock()
	s := Status{Member: e.member, Problem: e.problem, Rebalances: max(0, e.generations-1), Counts: e.counts}
	s.Counts.Dead = maps.Clone(e.counts.Dead)
	ours := e.ours
	e.mu.Unlock()
	for _, p := range ours {
		s.Partitions = append(s.Partitions, p.state.get())
	}
	return s
}
