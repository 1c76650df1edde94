// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Retryable reports whether the same call may succeed by itself a little later.
// Where it reports false, someone must change something first: the caller's own
// context, a topic, a password, a right. It may still be tried again, slowly,
// since that change can come from outside.
//
// A caller that wants to know whether it was itself asked to stop looks at its
// own context, not here.
func Retryable(err error) bool {
	var cert *tls.CertificateVerificationError
	var code kafkago.Error
	switch {
	case err == nil:
		return false // there is nothing to repeat
	case errors.Is(err, context.Canceled), errors.Is(err, kafkago.ErrGroupClosed), errors.Is(err, ErrClosed):
		return false // we were asked to stop
	case errors.Is(err, ErrBelowStart), errors.Is(err, ErrAboveEnd), errors.Is(err, ErrRecreated):
		return false // the log does not come back
	case errors.Is(err, ErrTooLarge):
		return false // the record does not get smaller
	case errors.Is(err, ErrCorrupt):
		return false // the same bytes would come again
	case errors.Is(err, ErrNoTopic), errors.Is(err, ErrUnfit):
		return false // someone must make or change the topic
	case errors.Is(err, ErrNoPassword), errors.Is(err, ErrOldBroker):
		return false // someone must change a setting or a broker
	case errors.As(err, &cert):
		return false // a wrong certificate stays wrong until it is replaced
	case errors.As(err, &code):
		return retryableCode(code)
	case errors.Is(err, protocol.ErrNoTopic), errors.Is(err, protocol.ErrNoPartition), errors.Is(err, protocol.ErrNoLeader):
		// What we know of the cluster may be older than the topic, or there is just
		// now no leader; within MetadataAge we know more.
		return true
	default:
		// What is left comes from the network: a deadline (the broker stands still),
		// a refused or broken connection (it restarts), end of file (it closed an idle
		// connection), an answer that is not Kafka. All of these pass.
		return true
	}
}

// insistTries and insistPause bound how long Insist tries: some 12 seconds, and what the
// tries themselves take.
const (
	insistTries = 8
	insistPause = 100 * time.Millisecond
)

// Insist calls do until it succeeds, ctx is done, the error is not Retryable, or it has
// tried for some seconds: a leader or a coordinator that moves is back by then. It is for
// commands that somebody waits for; a daemon tries for ever.
func Insist(ctx context.Context, do func() error) error {
	err := do()
	for n := 0; n < insistTries-1 && err != nil && Retryable(err) && ctx.Err() == nil; n++ {
		t := time.NewTimer(insistPause << n)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		err = do()
	}
	return err
}

// retryableCode does it for the codes of https://kafka.apache.org/protocol#protocol_error_codes.
func retryableCode(code kafkago.Error) bool {
	switch code {
	case kafkago.TopicAuthorizationFailed, kafkago.GroupAuthorizationFailed, kafkago.ClusterAuthorizationFailed,
		kafkago.TransactionalIDAuthorizationFailed, kafkago.SecurityDisabled:
		return false // we lack a right
	case kafkago.SASLAuthenticationFailed, kafkago.UnsupportedSASLMechanism, kafkago.IllegalSASLState:
		return false // the password or the mechanism is wrong
	case kafkago.MessageSizeTooLarge, kafkago.RecordListTooLarge:
		return false // the record does not get smaller
	case kafkago.OffsetOutOfRange:
		return false // the log does not come back
	case kafkago.InvalidTopic, kafkago.InvalidPartitionNumber, kafkago.InvalidReplicationFactor, kafkago.InvalidReplicaAssignment,
		kafkago.InvalidConfiguration, kafkago.PolicyViolation, kafkago.TopicAlreadyExists, kafkago.InvalidRequest:
		return false // the topic cannot be had as it was asked for
	case kafkago.InvalidTimestamp, kafkago.InvalidRecord, kafkago.UnsupportedForMessageFormat, kafkago.UnsupportedCompressionType,
		kafkago.UnsupportedVersion, kafkago.InvalidRequiredAcks:
		return false // the broker will say so to the same record each time
	case kafkago.InvalidGroupId, kafkago.InvalidSessionTimeout, kafkago.InconsistentGroupProtocol, kafkago.GroupMaxSizeReached:
		return false // the group and we do not fit together
	default:
		// Leaders and coordinators that move or start (LeaderNotAvailable,
		// NotLeaderForPartition, FencedLeaderEpoch, GroupLoadInProgress,
		// NotCoordinatorForGroup), replicas that lag (NotEnoughReplicas), timeouts,
		// quotas, disks; a topic that is just being made (UnknownTopicOrPartition); a
		// group that deals its partitions out (RebalanceInProgress, IllegalGeneration,
		// UnknownMemberId), where the next generation is on its way; a batch that was
		// damaged on the wire (InvalidMessage).
		return true
	}
}
