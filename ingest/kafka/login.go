// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mechanism returns the SASL mechanism. The secret is asked for at every login.
func (s SASL) mechanism(ctx context.Context) (sasl.Mechanism, error) {
	password, err := s.Password(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPassword, err)
	}
	if password == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrNoPassword)
	}
	algorithm := scram.SHA256
	switch s.Mechanism {
	case OAuthBearer:
		return bearer(password), nil
	case Plain:
		return plain.Mechanism{Username: s.Username, Password: password}, nil
	case ScramSHA512:
		algorithm = scram.SHA512
	}
	m, err := scram.Mechanism(algorithm, s.Username, password)
	if err != nil {
		// The error of the preparation of a password (RFC 4013) can quote it.
		return nil, errors.New("the username or the password contains characters that SCRAM does not allow")
	}
	return m, nil
}

// bearer is a token that logs in by OAUTHBEARER (RFC 7628, KIP-255).
type bearer string

func (bearer) Name() string { return "OAUTHBEARER" }

// Start sends the token at once. It names nobody: the token says who we are.
func (b bearer) Start(context.Context) (sasl.StateMachine, []byte, error) {
	return b, []byte("n,,\x01auth=Bearer " + string(b) + "\x01\x01"), nil
}

// Next answers what a broker says against the token with a byte, after which it refuses us.
func (bearer) Next(_ context.Context, challenge []byte) (done bool, response []byte, err error) {
	return len(challenge) == 0, []byte{1}, nil
}

// logIn logs in, or again, on a connection on which nothing else is under way. It returns
// how long the broker lets the connection live without another login (KIP-368); 0: for ever.
//
// kafka-go could log in once, but never again, and it does not learn how long that holds.
func (s SASL) logIn(ctx context.Context, rw io.ReadWriter, clientID string, again bool) (time.Duration, error) {
	m, err := s.mechanism(ctx)
	if err != nil {
		return 0, err
	}
	state, response, err := m.Start(ctx)
	if err != nil {
		return 0, err
	}
	w := &wire{ReadWriter: rw, clientID: clientID}
	version := int16(1)
	if !again { // any request but a login would end a session that is over
		versions, err := w.latest()
		if err != nil {
			return 0, err
		}
		version = min(version, versions[protocol.SaslAuthenticate]) // 0 tells no lifetime: before Kafka 2.2
	}
	var shake kmsg.SASLHandshakeResponse
	if err := w.ask(1, &kmsg.SASLHandshakeRequest{Mechanism: m.Name()}, &shake); err != nil {
		return 0, err
	}
	if shake.ErrorCode != 0 {
		return 0, fmt.Errorf("the broker does not take SASL %s: %w", m.Name(), kafkago.Error(shake.ErrorCode))
	}
	for {
		var res kmsg.SASLAuthenticateResponse
		err := w.ask(version, &kmsg.SASLAuthenticateRequest{SASLAuthBytes: response}, &res)
		if errors.Is(err, io.EOF) {
			err = kafkago.SASLAuthenticationFailed // some brokers say so by hanging up
		}
		if err != nil {
			return 0, err
		}
		if res.ErrorCode != 0 {
			return 0, kafkago.Error(res.ErrorCode) // its message may quote what was sent
		}
		done, next, err := state.Next(ctx, res.SASLAuthBytes)
		if err != nil || done {
			return time.Duration(res.SessionLifetimeMillis) * time.Millisecond, err
		}
		response = next
	}
}

// frames counts the requests or answers that pass over a connection, from their sizes.
type frames struct {
	head [4]byte
	got  int   // bytes of head
	left int64 // bytes of the frame still to come
	n    int   // whole frames, the one that has begun included
}

// pass notes bytes.
func (f *frames) pass(b []byte) {
	for len(b) > 0 {
		if f.left > 0 {
			k := min(f.left, int64(len(b)))
			f.left -= k
			b = b[k:]
			continue
		}
		k := copy(f.head[f.got:], b)
		f.got += k
		b = b[k:]
		if f.got == len(f.head) {
			f.got, f.left = 0, int64(binary.BigEndian.Uint32(f.head[:]))
			f.n++
		}
	}
}

// between reports whether no frame has begun and not ended.
func (f *frames) between() bool { return f.got == 0 && f.left == 0 }
