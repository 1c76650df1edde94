// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// kafkaBroker is one broker, running or not.
type kafkaBroker struct {
	cluster *kafkaCluster
	id      int
	dir     string
	ports   [listeners]int

	cmd    *exec.Cmd // nil: it does not run
	done   chan struct{}
	killed bool
}

const (
	startPatience = 3 * time.Minute
	stopPatience  = 2 * time.Minute
	killPatience  = time.Minute

	answerPatience = 10 * time.Second // for one answer of a broker that may be starting

	// fenceAfter is for how long a broker may be silent before others lead its partitions.
	// One that was killed waits for so long until it is let in again.
	fenceAfter = 9 * time.Second
	// fenceAloneAfter is that of a broker whose partitions nobody else can lead: a busy
	// machine keeps it silent for seconds, and without it there is no broker at all.
	fenceAloneAfter = time.Minute
)

func (b *kafkaBroker) addr(listener int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(b.ports[listener]))
}

// start starts the broker, unless it runs, and waits until it leads partitions.
func (b *kafkaBroker) start() error {
	if b.cmd != nil {
		return nil
	}
	out, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	args := []string{filepath.Join(b.dir, "server.properties")}
	if len(b.cluster.brokers) == 1 && !b.killed {
		args = append(args, "--override", fmt.Sprintf("broker.session.timeout.ms=%d", fenceAloneAfter.Milliseconds()))
	}
	cmd := exec.CommandContext(context.Background(), "java", b.cluster.java("kafka.Kafka", args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start broker %d: %w", b.id, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ends with the signal that it is sent
		close(done)
	}()
	b.cmd, b.done = cmd, done
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	for {
		if b.known(ctx) {
			return nil
		}
		select {
		case <-done:
			b.cmd = nil
			return fmt.Errorf("broker %d ended at once:\n%s", b.id, b.log())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("broker %d does not answer within %v:\n%s", b.id, startPatience, b.log()), b.end(syscall.SIGKILL, killPatience))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// known reports whether the broker answers and counts itself among the brokers.
func (b *kafkaBroker) known(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	conn, err := (&kafkago.Dialer{}).DialContext(ctx, "tcp", b.addr(listenPlain))
	if err != nil {
		return false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerPatience)); err != nil {
		return false
	}
	all, err := conn.Brokers()
	if err != nil {
		return false
	}
	for _, one := range all {
		if one.ID == b.id {
			return true
		}
	}
	return false
}

// end sends a signal and waits for the end. A broker that stands still is woken.
func (b *kafkaBroker) end(signal syscall.Signal, patience time.Duration) error {
	if b.cmd == nil {
		return nil
	}
	if err := b.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	b.killed = b.killed || signal == syscall.SIGKILL
	_ = b.resume() // it may be gone
	select {
	case <-b.done:
	case <-time.After(patience):
		_ = b.cmd.Process.Kill() // it may have ended just now
		<-b.done
		b.cmd = nil
		return fmt.Errorf("broker %d did not end within %v of %v:\n%s", b.id, patience, signal, b.log())
	}
	b.cmd = nil
	return nil
}

func (b *kafkaBroker) pause() error {
	if b.cmd == nil {
		return os.ErrProcessDone
	}
	if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(killPatience); !standsStill(b.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("broker %d does not stand still within %v", b.id, killPatience)
		}
	}
	return nil
}

func (b *kafkaBroker) resume() error {
	if b.cmd == nil {
		return os.ErrProcessDone
	}
	return b.cmd.Process.Signal(syscall.SIGCONT)
}

// log returns the last of what the broker said.
func (b *kafkaBroker) log() string {
	data, err := os.ReadFile(filepath.Join(b.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-8<<10):])
}
