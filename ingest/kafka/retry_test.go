// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

func TestWhatIsWorthAnotherAttempt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, false},
		{kafkago.NotLeaderForPartition, true},
		{kafkago.NotEnoughReplicas, true},
		{kafkago.RebalanceInProgress, true},
		{kafkago.UnknownTopicOrPartition, true},
		{kafkago.Unknown, true},
		{kafkago.TopicAuthorizationFailed, false},
		{kafkago.SASLAuthenticationFailed, false},
		{kafkago.MessageSizeTooLarge, false},
		{kafkago.OffsetOutOfRange, false},
		{protocol.NewErrNoLeader("t", 1), true},
		{&OffsetError{Position: 1, First: 2, End: 3}, false},
		{&ProduceError{Err: ErrTooLarge}, false},
		{&ProduceError{Err: kafkago.NotEnoughReplicas}, true},
		{ErrCorrupt, false},
		{ErrNoTopic, false},
		{&tls.CertificateVerificationError{Err: errors.New("unknown authority")}, false},
	} {
		for _, err := range []error{c.err, fmt.Errorf("produce: %w", c.err)} {
			if c.err != nil && Retryable(err) != c.want {
				t.Errorf("%v: got %v, want %v", err, !c.want, c.want)
			}
		}
	}
	if Retryable(nil) {
		t.Error("no error is worth another attempt")
	}
}

func TestOptionsSayAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := New(Options{
		Brokers: []string{"localhost"}, Topics: Topics{Input: "a b", Decisions: "d", DeadLetters: "d"},
		SASL: SASL{Mechanism: "kerberos"}, Compression: "zip", MaxRecord: 1, MaxWait: time.Second, HeartbeatInterval: time.Minute,
	})
	for _, want := range []string{
		`broker "localhost" is not host:port`, `topic "a b"`, `topic ""`, `topic "d" is named for two purposes`, `sasl mechanism "kerberos" is unknown`,
		`compression "zip" is unknown`, "largest record is 1 bytes", "fetch wait is 1s", "heartbeat interval 1m0s is above a third of the session timeout 10s",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwithout %q", err, want)
		}
	}
	good := Options{Brokers: []string{"[::1]:9092"}, Topics: Topics{Input: "a", Decisions: "b", DeadLetters: "c", Snapshots: "d"}}
	if c, err := New(good); err != nil || c.Options().Compression != Gzip {
		t.Errorf("the defaults gave %v", err)
	}
	good.SASL = SASL{Mechanism: Plain, Username: "u"}
	if _, err := New(good); err == nil {
		t.Error("a login without a password was taken")
	}
}
