// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

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
