// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/hinged/hinged/ingest/kafka"
)

// sendSource is the ce_source of what we put into the input topic ourselves.
const sendSource = "hinged"

// Send puts events about an account into the input topic, in order, and waits
// until the brokers have them. Whoever owns the account will do what they say, be
// it another process. After an error some of them may be there all the same.
func (e *Engine) Send(ctx context.Context, account string, events ...kafka.Event) error {
	key, ok := strings.CutPrefix(account, kafka.AccountPrefix)
	if !ok || kafka.ValidKey([]byte(key)) != nil {
		return fmt.Errorf("account %s does not belong to a stream", account)
	}
	records := make([]kafka.Record, 0, len(events))
	for _, event := range events {
		records = append(records, kafka.Encode(event, key, rand.Text(), sendSource, e.o.Now()))
	}
	e.mu.Lock()
	broker := e.o.Broker
	e.mu.Unlock()
	_, err := broker.Produce(ctx, e.o.Topics.Input, records)
	return err
}
