// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hinged/hinged/ingest/kafka"
	"github.com/hinged/hinged/internal/control"
	"github.com/hinged/hinged/internal/desk"
	"github.com/hinged/hinged/internal/stream"
)

// worker is one process of the group.
type worker struct {
	name    string
	config  string
	socket  string
	log     string
	process Process
	gone    bool
}

// hire starts a process with a state of its own, which is empty.
func (f *flow) hire(name string) error {
	dir := filepath.Join(f.dir, name)
	config, err := f.writeConfig(dir)
	if err != nil {
		return err
	}
	w := &worker{name: name, config: config, socket: filepath.Join(dir, "hinged.sock"), log: filepath.Join(dir, "log")}
	if w.process, err = f.o.Start(w.config, w.log); err != nil {
		return fmt.Errorf("demo: process %s: %w", name, err)
	}
	f.workers = append(f.workers, w)
	return nil
}

// stop ends the process in order, if it is still there.
func (w *worker) stop() error {
	if w.gone {
		return nil
	}
	w.gone = true
	return w.process.Stop()
}

// kill ends it at once.
func (w *worker) kill() error {
	w.gone = true
	return w.process.Kill()
}

// ask asks the process through its socket.
func ask[A any](ctx context.Context, w *worker, v desk.Verb[desk.None, A]) (out A, err error) {
	at, err := control.Dial(ctx, w.socket)
	if err != nil {
		return out, err
	}
	out, err = control.Ask(ctx, at, v, "", desk.None{})
	return out, errors.Join(err, at.Close())
}

// wait looks again and again until ready says so, or patience is over.
func (f *flow) wait(ctx context.Context, what string, ready func() (bool, error)) error {
	var last error
	for began := time.Now(); ; {
		ok, err := ready()
		if err == nil && ok {
			return nil
		}
		last = err
		if time.Since(began) > f.o.Patience {
			if last != nil {
				return fmt.Errorf("%w: %s: %w", ErrLoop, what, last)
			}
			return fmt.Errorf("%w: %s", ErrLoop, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// settleDown waits until the processes have all partitions between them, every
// process has some, and everything that was produced until now is committed. A
// process only knows the end of a log as of its last answer from the broker, which
// may be older than what was just produced; so the brokers are asked.
func (f *flow) settleDown(ctx context.Context) error {
	var ends []kafka.Watermark
	return f.wait(ctx, "the partitions were not dealt out", func() (bool, error) {
		if ends == nil {
			marks, err := f.client.Watermarks(ctx, f.topics().Input)
			if err != nil {
				return false, err
			}
			ends = marks
		}
		owned, idle := 0, true
		for _, w := range f.workers {
			if w.gone {
				continue
			}
			s, err := ask(ctx, w, desk.GetStatus)
			if err != nil || s.Stream == nil {
				return false, err
			}
			for _, p := range s.Stream.Partitions {
				if p.Stopped {
					return false, fmt.Errorf("process %s: %s", w.name, p.Problem)
				}
			}
			idle = idle && len(s.Stream.Partitions) > 0 && caughtUp(s.Stream.Partitions, ends)
			owned += len(s.Stream.Partitions)
		}
		return owned == streamPartitions && idle, nil
	})
}

// caughtUp reports whether partitions have been committed up to where their logs
// end, as the brokers say and as their owner knows.
func caughtUp(all []stream.PartitionStatus, ends []kafka.Watermark) bool {
	for _, p := range all {
		if int(p.Partition) >= len(ends) || p.End < 0 || p.Position < max(p.End, ends[p.Partition].End) {
			return false
		}
	}
	return true
}

// snapshots waits until every partition has one.
func (f *flow) snapshots(ctx context.Context) error {
	return f.wait(ctx, "no snapshot was made of some partition", func() (bool, error) {
		s, err := ask(ctx, f.workers[0], desk.GetStatus)
		if err != nil || s.Stream == nil {
			return false, err
		}
		for _, p := range s.Stream.Partitions {
			if p.Snapshots == 0 {
				return false, nil
			}
		}
		return len(s.Stream.Partitions) == streamPartitions, nil
	})
}

// takeovers reads in a process's log where it began each partition, the last time.
func (w *worker) takeovers() (map[int32]int64, error) {
	text, err := os.ReadFile(w.log)
	if err != nil {
		return nil, err
	}
	out := map[int32]int64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var line struct {
			Msg       string `json:"msg"`
			Partition int32  `json:"partition"`
			Offset    int64  `json:"offset"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "partition assigned to this process" {
			if _, before := out[line.Partition]; !before {
				out[line.Partition] = line.Offset
			}
		}
	}
	return out, lines.Err()
}
