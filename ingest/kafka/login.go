// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// login is a mechanism that asks for the password at every connection.
type login struct{ SASL }

func (l login) Name() string {
	switch l.Mechanism {
	case ScramSHA256:
		return scram.SHA256.Name()
	case ScramSHA512:
		return scram.SHA512.Name()
	default:
		return plain.Mechanism{}.Name()
	}
}

func (l login) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	password, err := l.Password(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNoPassword, err)
	}
	if password == "" {
		return nil, nil, fmt.Errorf("%w: it is empty", ErrNoPassword)
	}
	if l.Mechanism == Plain {
		return plain.Mechanism{Username: l.Username, Password: password}.Start(ctx)
	}
	algorithm := scram.SHA256
	if l.Mechanism == ScramSHA512 {
		algorithm = scram.SHA512
	}
	m, err := scram.Mechanism(algorithm, l.Username, password)
	if err != nil {
		// The error of the preparation of a password (RFC 4013) can quote it.
		return nil, nil, errors.New("the username or the password contains characters that SCRAM does not allow")
	}
	return m.Start(ctx)
}
